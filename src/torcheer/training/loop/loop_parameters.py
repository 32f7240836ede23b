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


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a field says of itself besides its name, type and default."""

    low: float | None = None
    high: float | None = None
    live: Live = False
    choices: tuple[Any, ...] = ()
    section: str = ""
    label: str = ""
    about: str = ""


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
    described = About(
        low=low, high=high, live=live, choices=tuple(choices), section=section, label=label, about=about
    )
    return dataclasses.field(default=default, metadata={_METADATA: described})


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
        check_parameters(self)


def about_of(cls: type[Parameters], name: str) -> About:
    """What was said of a field, by a class above, too: a new default need not repeat it."""
    for owner in cls.__mro__:
        fields: Mapping[str, Any] = owner.__dict__.get("__dataclass_fields__", {})
        found = fields[name].metadata.get(_METADATA) if name in fields else None
        if isinstance(found, About):
            return found
    return About()


# --- what a parameter may be --------------------------------------------------------------------------------

Form = Literal["integer", "number", "truth", "text", "choice"]

_FORMS: Final[dict[Any, Form]] = {int: "integer", float: "number", bool: "truth", str: "text"}
_NOUNS: Final = {"integer": "a whole number", "number": "a number", "truth": "true or false", "text": "text"}
_RESERVED: Final = ("run", "seed")  # columns of their own in the table of runs


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What the values of one field are."""

    name: str
    form: Form
    is_optional: bool
    choices: tuple[Any, ...]
    about: About

    @property
    def requirement(self) -> str:
        """What a value must be, as it stands below a field: `must be 0 or more, or empty`."""
        if self.form == "choice":
            listed = ", ".join(map(str, self.choices))
            return f"must be {'' if len(self.choices) == 1 else 'one of '}{listed}{self._or_empty}"
        low, high = self.about.low, self.about.high
        if low is None and high is None:
            return f"must be {_NOUNS[self.form]}{self._or_empty}"
        if low is not None and high is not None:
            limits = f"from {low:g} to {high:g}"
        else:
            limits = f"{high:g} or less" if low is None else f"{low:g} or more"
        whole = "a whole number, " if self.form == "integer" else ""
        return f"must be {whole}{limits}{self._or_empty}"

    @property
    def _or_empty(self) -> str:
        return ", or empty" if self.is_optional else ""

    def checked(self, value: Any) -> Any:
        """The value as the field's own type has it: 1 as 1.0, 35.0 as 35."""
        if self.is_optional and (value is None or value == ""):
            return None
        found = self._found(value)
        if found is None:
            raise ParameterError(
                f"{self.name} is {value!r}: it {self.requirement}.",
                field=self.name,
                requirement=self.requirement,
            )
        return found

    def _found(self, value: Any) -> Any:
        """None where it is no value of this kind."""
        if self.form == "choice":
            return self._choice(value)
        if self.form in ("truth", "text"):
            return value if isinstance(value, bool if self.form == "truth" else str) else None
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        low, high = self.about.low, self.about.high
        is_within = (low is None or value >= low) and (high is None or value <= high)
        try:
            number = float(value)
        except OverflowError:
            return None
        if not is_within or not math.isfinite(number):
            return None
        if self.form == "number":
            return number
        return int(value) if value == int(value) else None

    def _choice(self, value: Any) -> Any:
        """One of them, or as a form has it: in words."""
        for choice in self.choices:
            if type(value) is type(choice) and value == choice:
                return choice
        return next((one for one in self.choices if isinstance(value, str) and value == str(one)), None)


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
    try:
        hints = typing.get_type_hints(cls)
    except Exception as error:
        raise InputError(
            f"the types of {cls.__name__} cannot be read ({error}): write them so that they can be found "
            "where the class is."
        ) from error
    fields = dataclasses.fields(cls)
    _KINDS[cls] = {field.name: _kind_of(cls, field.name, hints[field.name]) for field in fields}
    return _KINDS[cls]


def _kind_of(cls: type[Parameters], name: str, hint: Any) -> Kind:
    if name in _RESERVED:
        raise InputError(f"{cls.__name__} has a field {name!r}, which every training has: call it another.")
    about = about_of(cls, name)
    is_optional = False
    if get_origin(hint) in (typing.Union, types.UnionType):
        others = [one for one in get_args(hint) if one is not types.NoneType]
        is_optional = len(others) < len(get_args(hint))
        hint = others[0] if len(others) == 1 else hint
    choices = get_args(hint) if get_origin(hint) is Literal else about.choices
    form: Form | None = "choice" if choices else _FORMS.get(hint)
    if form is None:
        named = getattr(hint, "__name__", None) or str(hint)
        raise InputError(
            f"{name} of {cls.__name__} is a {named}: a parameter is int, float, bool, str or Literal, or one "
            "of these or None."
        )
    return Kind(name=name, form=form, is_optional=is_optional, choices=tuple(choices), about=about)


# --- forms --------------------------------------------------------------------------------------------------

P = TypeVar("P", bound=Parameters)

_SECTION: Final = "Training"  # of fields that name none


def form_fields(parameters: Parameters) -> list[FormField]:
    """In their order, section by section; how things are shown comes last."""
    kinds = kinds_of(type(parameters)).values()
    sections = list(dict.fromkeys(_section(kind) for kind in kinds))
    order = sorted(sections, key=lambda section: (section == VIEW, sections.index(section)))
    return [
        _field_of(kind, getattr(parameters, kind.name))
        for section in order
        for kind in kinds
        if _section(kind) == section
    ]


def _section(kind: Kind) -> str:
    return kind.about.section or _SECTION


def _field_of(kind: Kind, value: Value) -> FormField:
    return FormField(
        name=kind.name,
        label=kind.about.label or label_of(kind.name),
        section=_section(kind),
        form=kind.form,
        value=str(value) if kind.form == "choice" and value is not None else value,
        choices=[str(choice) for choice in kind.choices],
        low=kind.about.low,
        high=kind.about.high,
        is_optional=kind.is_optional,
        is_live=bool(kind.about.live),
        about=kind.about.about,
    )


def label_of(name: str) -> str:
    """`learning_rate` as people write it: Learning rate."""
    words = name.replace("_", " ").strip()
    return words[:1].upper() + words[1:]


def values_of(parameters: Parameters) -> dict[str, Value]:
    """By name, as they are in force."""
    return {name: getattr(parameters, name) for name in kinds_of(type(parameters))}


def with_values(parameters: P, values: Mapping[str, Any]) -> P:
    """The same with some other values. Raises ParameterError, which names the field and what it must be."""
    kinds = kinds_of(type(parameters))
    for name in values:
        if name not in kinds:
            raise _unknown(name, list(kinds))
    return dataclasses.replace(
        parameters, **{name: kinds[name].checked(value) for name, value in values.items()}
    )


def live_names(parameters: Parameters) -> list[str]:
    return [name for name, kind in kinds_of(type(parameters)).items() if kind.about.live]


def check_parameters(parameters: Parameters) -> None:
    """Each field holds what its type and limits allow; a whole number will do for a float."""
    for name, kind in kinds_of(type(parameters)).items():
        value = getattr(parameters, name)
        checked = kind.checked(value)
        if type(checked) is not type(value):
            object.__setattr__(parameters, name, checked)  # still being made, though frozen


def _unknown(name: str, names: list[str]) -> InputError:
    near = difflib.get_close_matches(str(name), names, 1)
    hint = f"did you mean {near[0]!r}? There are" if near else "there are"
    return ParameterError(
        f"there is no parameter {name!r}: {hint} {', '.join(names)}.",
        field=str(name),
        requirement="is no parameter of this training",
    )
