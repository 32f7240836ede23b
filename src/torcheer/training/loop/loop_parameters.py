"""The parameters of a training that a person can step: a frozen dataclass, of which a form can be made.

@dataclass(frozen=True)
class Parameters(tl.Parameters):
    hidden: int = tl.parameter(35, low=1, section="Network")
    learning_rate: float = tl.parameter(0.1, low=0.0, live="lr", section="Optimizer")
"""

from __future__ import annotations

import dataclasses
import difflib
import inspect
import math
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar, get_args, get_origin

from torcheer.errors import InputError, ParameterError
from torcheer.training.control.control_commands import FormField, Value

Live = str | bool | Callable[[Any, Any], None]

SCHEDULE: Final = "Schedule"
VIEW: Final = "View"
EVERY: Final = ("1 trial", "10 trials", "100 trials", "1 epoch", "10 epochs", "never")
_METADATA: Final = "torcheer"


def parameter(
    default: Any,
    *,
    low: float | None = None,
    high: float | None = None,
    live: Live = False,
    choices: Sequence[Any] = (),
    section: str = "",
    label: str = "",
    about: str = "",
) -> Any:
    """A field of `tl.Parameters`, with what a form should know of it.

    - `low`, `high`: the least and the most that it may be. `choices`: all that it may be.
    - `live`: a new value takes effect at once. A text names an entry of the optimizer's groups, `"lr"`; a
      function is called with the `tl.Setup` and the value; True is for what is looked up anew each time.
    - `section`, `label`, `about`: where it stands in the form, what it is called, and what there is to know.
    """
    if not (isinstance(live, str | bool) or callable(live)):
        raise InputError(
            f"live is {live!r}: name an entry of the optimizer's groups, such as 'lr', or give a function of "
            "the setup and the value."
        )
    said = {"low": low, "high": high, "live": live, "choices": tuple(choices)}
    said |= {"section": section, "label": label, "about": about}
    return dataclasses.field(default=default, metadata={_METADATA: said})


@dataclass(frozen=True)
class Parameters:
    """What every training that can be stepped has. Yours go into a subclass, each with its default."""

    runs: int = parameter(1, low=1, section=SCHEDULE, about="how often it is trained from the beginning")
    epochs: int = parameter(
        10, low=1, section=SCHEDULE, label="Epochs per run", about="at most, where something else ends a run"
    )
    test_every: int | None = parameter(
        1,
        low=1,
        live=True,
        section=SCHEDULE,
        label="Epochs per test",
        about="a run ends with a test in any case; empty: only then",
    )
    netview_every: str = parameter(
        "1 trial",
        choices=EVERY,
        live=True,
        section=VIEW,
        label="NetView every",
        about="how often the network is recorded; a trial that you step to always is, unless never",
    )
    plots_every: str = parameter(
        "1 trial",
        choices=EVERY,
        live=True,
        section=VIEW,
        label="Plots every",
        about="how often the loss of a trial and the like are recorded",
    )

    def __post_init__(self) -> None:
        # Each field holds what its type and limits allow; a whole number will do for a float.
        for name, kind in kinds_of(type(self)).items():
            object.__setattr__(self, name, kind.checked(getattr(self, name)))  # still being made


# --- what a parameter may be --------------------------------------------------------------------------------

Form = Literal["integer", "number", "truth", "text", "choice"]
P = TypeVar("P", bound=Parameters)

_FORMS: Final[dict[Any, Form]] = {int: "integer", float: "number", bool: "truth", str: "text"}
_NOUNS: Final = {"integer": "a whole number", "number": "a number", "truth": "true or false", "text": "text"}
_RESERVED: Final = ("run", "seed")  # columns of their own in the table of runs


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What the values of one field are, and what a form says of it."""

    name: str
    form: Form
    is_optional: bool
    choices: tuple[Any, ...] = ()
    low: float | None = None
    high: float | None = None
    live: Live = False
    section: str = ""
    label: str = ""
    about: str = ""

    @property
    def requirement(self) -> str:
        """What a value must be, as it stands below a field: `must be 0 or more, or empty`."""
        low, high = self.low, self.high
        if self.form == "choice":
            wanted = f"one of {', '.join(map(str, self.choices))}"
        elif low is None and high is None:
            wanted = _NOUNS[self.form]
        else:
            wanted = "a whole number, " if self.form == "integer" else ""
            if low is not None and high is not None:
                wanted += f"from {low:g} to {high:g}"
            else:
                wanted += f"{high:g} or less" if low is None else f"{low:g} or more"
        return f"must be {wanted}{', or empty' if self.is_optional else ''}"

    def checked(self, value: Any) -> Any:
        """The value as the field's own type has it: 1 as 1.0, 35.0 as 35."""
        if self.is_optional and (value is None or value == ""):
            return None
        found = self._found(value)
        if found is None:
            wanted = self.requirement
            raise ParameterError(
                f"{self.name} is {value!r}: it {wanted}.", field=self.name, requirement=wanted
            )
        return found

    def _found(self, value: Any) -> Any:
        """None where it is no value of this kind."""
        if self.form == "choice":  # as it stands in the code, or as a form has it: in words
            return next((one for one in self.choices if value in (one, str(one))), None)
        if self.form in ("truth", "text"):
            return value if isinstance(value, bool if self.form == "truth" else str) else None
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            return None
        if (self.low is not None and value < self.low) or (self.high is not None and value > self.high):
            return None
        if self.form == "number":
            return float(value)
        return int(value) if value == int(value) else None

    def field(self, value: Value) -> FormField:
        return FormField(
            name=self.name,
            label=self.label or self.name.replace("_", " ").strip().capitalize(),
            section=self.section or "Training",
            form=self.form,
            value=str(value) if self.form == "choice" and value is not None else value,
            choices=[str(choice) for choice in self.choices],
            low=self.low,
            high=self.high,
            is_optional=self.is_optional,
            is_live=bool(self.live),
            about=self.about,
        )


_KINDS: Final[dict[type, dict[str, Kind]]] = {}  # by class, as far as they were asked for


def kinds_of(cls: type[Parameters]) -> dict[str, Kind]:
    """The fields of a class of parameters, in their order. Raises InputError for what no form can show."""
    if cls in _KINDS:
        return _KINDS[cls]
    for owner in cls.__mro__:
        own = inspect.get_annotations(owner) if issubclass(owner, Parameters) else {}
        if own and "__dataclass_fields__" not in owner.__dict__:
            raise InputError(
                f"{owner.__name__} has {', '.join(own)}, and is no dataclass: write @dataclass(frozen=True) "
                "above it."
            )
    hints = typing.get_type_hints(cls)
    names = [field.name for field in dataclasses.fields(cls)]
    return _KINDS.setdefault(cls, {name: _kind_of(cls, name, hints[name]) for name in names})


def _kind_of(cls: type[Parameters], name: str, hint: Any) -> Kind:
    if name in _RESERVED:
        raise InputError(f"{cls.__name__} has a field {name!r}, which every training has: call it another.")
    said: dict[str, Any] = {}
    for owner in reversed(cls.__mro__):  # a new default need not repeat what a class above says
        fields: Mapping[str, Any] = owner.__dict__.get("__dataclass_fields__", {})
        said = fields[name].metadata.get(_METADATA, said) if name in fields else said
    is_optional = False
    if get_origin(hint) in (typing.Union, types.UnionType):
        others = [one for one in get_args(hint) if one is not types.NoneType]
        is_optional = len(others) < len(get_args(hint))
        hint = others[0] if len(others) == 1 else hint
    if get_origin(hint) is Literal:
        said = {**said, "choices": get_args(hint)}
    form: Form | None = "choice" if said.get("choices") else _FORMS.get(hint)
    if form is None:
        named = getattr(hint, "__name__", None) or str(hint)
        raise InputError(
            f"{name} of {cls.__name__} is a {named}: a parameter is int, float, bool, str or Literal, or one "
            "of these or None."
        )
    return Kind(name=name, form=form, is_optional=is_optional, **said)


# --- values -------------------------------------------------------------------------------------------------


def form_fields(parameters: Parameters) -> list[FormField]:
    """In their order, section by section; how things are shown comes last."""
    fields = [kind.field(getattr(parameters, name)) for name, kind in kinds_of(type(parameters)).items()]
    sections = list(dict.fromkeys(field.section for field in fields))
    return sorted(fields, key=lambda field: (field.section == VIEW, sections.index(field.section)))


def values_of(parameters: Parameters) -> dict[str, Value]:
    """By name, as they are in force."""
    return {name: getattr(parameters, name) for name in kinds_of(type(parameters))}


def with_values(parameters: P, values: Mapping[str, Any]) -> P:
    """The same with some other values. Raises ParameterError, which names the field and what it must be."""
    kinds = kinds_of(type(parameters))
    for name in values:
        if name not in kinds:
            near = difflib.get_close_matches(str(name), kinds, 1)
            hint = f"did you mean {near[0]!r}? There are" if near else "there are"
            raise ParameterError(
                f"there is no parameter {name!r}: {hint} {', '.join(kinds)}.",
                field=str(name),
                requirement="is no parameter of this training",
            )
    checked = {name: kinds[name].checked(value) for name, value in values.items()}
    return dataclasses.replace(parameters, **checked)


def live_names(parameters: Parameters) -> list[str]:
    return [name for name, kind in kinds_of(type(parameters)).items() if kind.live]
