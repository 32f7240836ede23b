"""Parameters as a form shows them, and what somebody filled in as parameters again."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Mapping
from typing import Any, Final, TypeVar

from torcheer.errors import InputError, ParameterError
from torcheer.training.control.protocol import FormField, Value
from torcheer.training.looping.parameterkinds import Kind, kinds_of
from torcheer.training.looping.parameters import VIEW, Parameters

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
