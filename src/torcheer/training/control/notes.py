"""What a person should know of a training that goes on: the warnings of its process, as notes in the page."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Final

from torcheer.training.telling import TrainingWarning

_NUM_LAST: Final = 2


class Notes:
    """The first, which says why there is no network where there is none, and the last ones. Each once."""

    def __init__(self) -> None:
        self._notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return "\n".join(self._notes)

    def add(self, note: str) -> None:
        if note not in self._notes:
            notes = (*self._notes, note)
            self._notes = notes[:1] + notes[1:][-_NUM_LAST:]

    def clear(self) -> None:
        self._notes = ()


def pass_on_warnings(note: Callable[[str], None]) -> None:
    """From now on each TrainingWarning is a note, too, however often it was given before."""
    warnings.simplefilter("always", TrainingWarning)
    show = warnings.showwarning

    def show_and_note(message: Warning | str, category: type[Warning], *others: Any, **more: Any) -> None:
        if issubclass(category, TrainingWarning):
            note(str(message))
        show(message, category, *others, **more)

    warnings.showwarning = show_and_note
