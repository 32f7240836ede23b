"""What is said of a run when it is opened, checked at once."""

from __future__ import annotations

from typing import Any

from torcheer.errors import InputError
from torcheer.run.observing.steps import step_of


def tags_of(tags: Any) -> tuple[str, ...]:
    try:
        return (tags,) if isinstance(tags, str) else tuple(map(str, tags or ()))
    except TypeError as error:
        raise InputError(f"tags is {tags!r}: give words, as a list.") from error


def whole_number_of(name: str, value: Any, least: int | None = None) -> int:
    try:
        number = step_of(value)
    except Exception:
        number = None
    if number is None or (least is not None and number < least):
        raise InputError(
            f"{name} is {value!r}: give a whole number{'' if least is None else f' from {least} on'}."
        )
    return number
