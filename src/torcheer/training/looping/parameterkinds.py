"""What a parameter may be: read from the type of its field, and held against a value."""

from __future__ import annotations

import dataclasses
import inspect
import math
import types
import typing
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args, get_origin

from torcheer.errors import InputError, ParameterError
from torcheer.training.looping.parameters import About, Parameters, about_of

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
        found = _CHECKS[self.form](self, value)
        if found is None:
            raise ParameterError(
                f"{self.name} is {value!r}: it {self.requirement}.",
                field=self.name,
                requirement=self.requirement,
            )
        return found

    def _is_within(self, number: float) -> bool:
        low, high = self.about.low, self.about.high
        return (low is None or number >= low) and (high is None or number <= high)


def _whole(kind: Kind, value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not math.isfinite(value) or value != int(value) or not kind._is_within(value):
        return None
    return int(value)


def _number(kind: Kind, value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) and kind._is_within(number) else None


def _truth(_: Kind, value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _text(_: Kind, value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _choice(kind: Kind, value: Any) -> Any:
    """One of them, or as a form has it: in words."""
    for choice in kind.choices:
        if type(value) is type(choice) and value == choice:
            return choice
    return next((choice for choice in kind.choices if isinstance(value, str) and value == str(choice)), None)


_CHECKS: Final[dict[Form, typing.Callable[[Kind, Any], Any]]] = {
    "integer": _whole,
    "number": _number,
    "truth": _truth,
    "text": _text,
    "choice": _choice,
}


_KINDS: Final[dict[type, dict[str, Kind]]] = {}  # by class, as far as they were asked for


def kinds_of(cls: type[Parameters]) -> dict[str, Kind]:
    """The fields of a class of parameters, in their order. Raises InputError for what no form can show."""
    if cls not in _KINDS:
        _check_class(cls)
        _KINDS[cls] = _read_kinds(cls)
    return _KINDS[cls]


def _read_kinds(cls: type[Parameters]) -> dict[str, Kind]:
    try:
        hints = typing.get_type_hints(cls)
    except Exception as error:
        raise InputError(
            f"the types of {cls.__name__} cannot be read ({error}): write them so that they can be found "
            "where the class is."
        ) from error
    return {field.name: _kind_of(cls, field.name, hints[field.name]) for field in dataclasses.fields(cls)}


def _check_class(cls: type[Parameters]) -> None:
    for owner in cls.__mro__:
        own = inspect.get_annotations(owner) if issubclass(owner, Parameters) else {}
        if own and "__dataclass_fields__" not in owner.__dict__:
            raise InputError(
                f"{owner.__name__} has {', '.join(own)}, and is no dataclass: write @dataclass(frozen=True) "
                "above it."
            )


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
