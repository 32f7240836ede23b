"""Say things once: to the terminal, never into the training."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from contextlib import suppress


class InspectorWarning(UserWarning):
    """Something could not be watched. The training goes on."""


_MOST_OF_A_KIND = 3


class Announcer:
    """What was told already."""

    def __init__(self) -> None:
        self._told: set[str] = set()
        self._alarms: Counter[str] = Counter()
        self._announced: set[tuple[str, ...]] = set()

    def warn(self, message: str, cause: str | None = None) -> None:
        """Once for each cause."""
        cause = cause or message
        if cause in self._told:
            return
        self._told.add(cause)
        with suppress(Exception):  # warnings are errors in this process: ours must not end a training
            warnings.warn(message, InspectorWarning, stacklevel=2)

    def announce(self, kind: str, place: tuple[str, ...], message: str) -> None:
        """An alarm, once for each layer; of many of a kind, the first ones."""
        if place in self._announced:
            return
        self._announced.add(place)
        self._alarms[kind] += 1
        if self._alarms[kind] > _MOST_OF_A_KIND:
            return
        if self._alarms[kind] == _MOST_OF_A_KIND:
            message += " (More of this kind are kept in the run and not shown here.)"
        with suppress(Exception):  # there may be no terminal
            sys.stderr.write(f"torcheer: {message}\n")
            sys.stderr.flush()
