"""What a training that a person can step is made of: its parameters, its `tl.Setup`, and when it is done.

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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeVar, get_args, get_origin

import torch
from msgspec.structs import replace
from torch import nn
from torch.optim import Optimizer

from torcheer.errors import InputError, ParameterError
from torcheer.run import whole_number_of
from torcheer.training.control.control_commands import FormField, Value
from torcheer.training.trainer import fit_arguments
from torcheer.training.trainer.fit_arguments import LossFunction

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
            f"live is {live!r}: name an entry of the optimizer's groups, 'lr', or give a function."
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


Form = Literal["integer", "number", "truth", "text", "choice"]
P = TypeVar("P", bound=Parameters)

_FORMS: Final[dict[Any, Form]] = {int: "integer", float: "number", bool: "truth", str: "text"}
_NOUNS: Final = {"integer": "a whole number", "number": "a number", "truth": "true or false", "text": "text"}
_RESERVED: Final = ("run", "seed")  # columns of their own in the table of runs


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What the values of one field are."""

    field: FormField  # as a form shows it
    choices: tuple[Any, ...]  # as they stand in the code
    live: Live

    @property
    def requirement(self) -> str:
        """What a value must be, as it stands below a field: `must be 0 or more, or empty`."""
        form, low, high = self.field.form, self.field.low, self.field.high
        if form == "choice":
            wanted = f"one of {', '.join(self.field.choices)}"
        elif low is None and high is None:
            wanted = _NOUNS[form]
        else:
            wanted = "a whole number, " if form == "integer" else ""
            if low is not None and high is not None:
                wanted += f"from {low:.12g} to {high:.12g}"
            else:
                wanted += f"{high:.12g} or less" if low is None else f"{low:.12g} or more"
        return f"must be {wanted}{', or empty' if self.field.is_optional else ''}"

    def checked(self, value: Any) -> Any:
        """The value as the field's own type has it: 1 as 1.0, 35.0 as 35."""
        if self.field.is_optional and (value is None or value == ""):
            return None
        found = self._found(value)
        if found is None:
            name, wanted = self.field.name, self.requirement
            raise ParameterError(f"{name} is {value!r}: it {wanted}.", field=name, requirement=wanted)
        return found

    def _found(self, value: Any) -> Any:
        """None where it is no value of this kind."""
        form, low, high = self.field.form, self.field.low, self.field.high
        if form == "choice":  # as it stands in the code, or as a form has it: in words
            return next((one for one in self.choices if value in (one, str(one))), None)
        if form in ("truth", "text"):
            return value if isinstance(value, bool if form == "truth" else str) else None
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            return None
        if (low is not None and value < low) or (high is not None and value > high):
            return None
        if form == "number":
            return float(value)
        return int(value) if value == int(value) else None


_KINDS: Final[dict[type, dict[str, Kind]]] = {}  # by class, as far as they were asked for


def kinds_of(cls: type[Parameters]) -> dict[str, Kind]:
    """The fields of a class of parameters, in their order. Raises InputError for what no form can show."""
    if cls in _KINDS:
        return _KINDS[cls]
    for owner in cls.__mro__:
        own = inspect.get_annotations(owner) if issubclass(owner, Parameters) else {}
        if own and "__dataclass_fields__" not in owner.__dict__:
            what = f"{owner.__name__} has {', '.join(own)}, and is no dataclass"
            raise InputError(f"{what}: write @dataclass(frozen=True) above it.")
    hints = typing.get_type_hints(cls)
    names = [field.name for field in dataclasses.fields(cls)]
    return _KINDS.setdefault(cls, {name: _kind_of(cls, name, hints[name]) for name in names})


def _kind_of(cls: type[Parameters], name: str, hint: Any) -> Kind:
    if name in _RESERVED:
        raise InputError(f"{cls.__name__} has a field {name!r}, which every training has: call it another.")
    said: Mapping[str, Any] = parameter(None).metadata[_METADATA]
    for owner in reversed(cls.__mro__):  # a new default need not repeat what a class above says
        fields: Mapping[str, Any] = owner.__dict__.get("__dataclass_fields__", {})
        said = fields[name].metadata.get(_METADATA, said) if name in fields else said
    is_optional = False
    if get_origin(hint) in (typing.Union, types.UnionType):
        others = [one for one in get_args(hint) if one is not types.NoneType]
        is_optional = len(others) < len(get_args(hint))
        hint = others[0] if len(others) == 1 else hint
    choices = get_args(hint) if get_origin(hint) is Literal else said["choices"]
    form: Form | None = "choice" if choices else _FORMS.get(hint)
    if form is None:
        named = getattr(hint, "__name__", None) or str(hint)
        raise InputError(
            f"{name} of {cls.__name__} is a {named}: a parameter is int, float, bool, str or Literal, or one "
            "of these or None."
        )
    field = FormField(
        name=name,
        label=said["label"] or name.replace("_", " ").strip().capitalize(),
        section=said["section"] or "Training",
        form=form,
        value=None,
        choices=[str(choice) for choice in choices],
        low=said["low"],
        high=said["high"],
        is_optional=is_optional,
        is_live=bool(said["live"]),
        about=said["about"],
    )
    return Kind(field=field, choices=choices, live=said["live"])


def form_fields(parameters: Parameters) -> list[FormField]:
    """In their order, section by section; how things are shown comes last."""
    fields = []
    for name, kind in kinds_of(type(parameters)).items():
        value = getattr(parameters, name)
        is_text = kind.field.form == "choice" and value is not None
        fields.append(
            replace(kind.field, value=str(value) if is_text else value, requirement=kind.requirement)
        )
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


Row = Mapping[str, Any]
Criterion = Callable[[Sequence[Row]], Any]


def no_errors_for(num_epochs: int, column: str = "errors") -> Criterion:
    """A run is done after so many epochs in a row without any error; `"test errors"` counts tests instead."""
    num_epochs = whole_number_of("num_epochs", num_epochs, least=1)

    def is_done(rows: Sequence[Row]) -> bool:
        found = _numbers(rows, column)[-num_epochs:]
        return len(found) == num_epochs and not any(found)

    # The name is what ended the run, in words.
    is_done.__name__ = f"{'an epoch' if num_epochs == 1 else f'{num_epochs} epochs'} without {column}"
    return is_done


def loss_below(limit: float, column: str = "loss") -> Criterion:
    """A run is done when the loss of an epoch is below a limit; `"test loss"` looks at the tests instead."""
    if isinstance(limit, bool) or not isinstance(limit, int | float) or limit != limit:
        raise InputError(f"loss_below({limit!r}): give a number.")

    def is_done(rows: Sequence[Row]) -> bool:
        found = _numbers(rows, column)
        return bool(found) and found[-1] < limit

    is_done.__name__ = f"{column} below {limit:g}"
    return is_done


def _numbers(rows: Sequence[Row], column: str) -> list[float]:
    """Of the epochs that have it: not every epoch has a test."""
    if rows and column not in rows[-1]:
        raise InputError(
            f"the criterion looks at {column!r}, and an epoch has {', '.join(rows[-1])}: name one of these; "
            "errors are there where `errors=` of the setup says which items are wrong."
        )
    return [row[column] for row in rows if row.get(column) is not None]


Statistic = Callable[[Any, Any], Any]
ErrorFunction = Callable[[Any, Any], Any]

AUTOMATIC: Final = "auto"

_TAKEN: Final = frozenset(("loss", "errors", "accuracy", "grad_norm", "lr", "run", "epoch", "trial", "name"))


@dataclass(frozen=True, kw_only=True, eq=False)
class Setup:
    """What a function of the parameters builds at the beginning of every run of a `tl.Loop`.

    The training:

    - `model`, `loss`, `optimizer`: as in `tl.fit`. A loss is a function of outputs and targets, or None where
      the model computes it; an optimizer may be a function of the parameters, such as `torch.optim.Adam`.
    - `train`, `test`: loaders, or any iterables of batches that can be gone through again and again.
    - `scheduler`, `clip_norm`, `accumulate`, `autocast`, `device`: as in `tl.fit`.

    What is said of it:

    - `errors`: for each item, whether it is wrong: a function of outputs and targets; None for no errors.
      `"auto"`: by class, or by the bits of targets of 0 and 1, or -1 and 1.
    - `statistics`: more numbers by name: functions of outputs and targets, of each item or as a mean.
    - `is_done`: ends a run: a function of the rows of its epochs, such as `tl.no_errors_for(5)`.
    - `layers`: whose values are kept for every item of a test: names as NetView has them. None: all with up
      to 512 units.
    - `item_names`: of the items of the test set, in their order.
    - `shapes`: how NetView lays out the units of a layer: `{"hidden": (5, 7)}`. `netview`: more for
      `tl.NetView`: `{"items": 25, "weights": "all"}`.
    - `plots`: which scalars are shown together: `{"loss": ["train/loss", "test/loss"]}`.
    """

    model: nn.Module
    loss: LossFunction | None
    optimizer: Optimizer | Callable[[Any], Optimizer]
    train: Iterable[Any]
    test: Iterable[Any] | None = None
    scheduler: Any = None
    clip_norm: float | None = None
    accumulate: int = 1
    autocast: str | torch.dtype | None = None
    device: str | torch.device | None = None
    errors: str | ErrorFunction | None = AUTOMATIC
    statistics: Mapping[str, Statistic] = field(default_factory=dict)
    is_done: Criterion | None = None
    layers: Sequence[str] | None = None
    item_names: Sequence[str] | None = None
    shapes: Mapping[str, Sequence[int]] = field(default_factory=dict)
    netview: Mapping[str, Any] = field(default_factory=dict)
    plots: Mapping[str, Sequence[str]] | None = None

    def __post_init__(self) -> None:
        fit_arguments.checked_model(self.model)
        fit_arguments.checked_function(self.loss)
        fit_arguments.checked_loader(self.train, "train", num_passes=2)
        if self.test is not None:
            fit_arguments.checked_loader(self.test, "test", num_passes=2)
        for name, given in (("errors", self.errors), ("is_done", self.is_done)):
            if not (given is None or callable(given) or (name, given) == ("errors", AUTOMATIC)):
                raise InputError(f"{name}={given!r}: give a function, or None.")
        if not isinstance(self.plots, Mapping | None):
            raise InputError(f"plots={self.plots!r}: give a dict by name.")
        for name, names in (("layers", self.layers), ("item_names", self.item_names)):
            if isinstance(names, str) or not isinstance(names, Sequence | None):
                raise InputError(f"{name}={names!r}: give a list of names, or None.")
        for name, function in self.statistics.items():
            if name in _TAKEN or not callable(function):
                raise InputError(
                    f"a statistic cannot be called {name!r}, which is there already, or is no function: give "
                    "{'another name': function}."
                )
