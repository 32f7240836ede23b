"""Tell the user what the children say and what goes wrong: once, on the terminal, never into the training."""

from __future__ import annotations

import sys
import warnings
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from torcheer.inspector.protocol import Lost, Raised, Told
from torcheer.inspector.watched_part import Watched

_MOST_ALARMS = 10_000
_MOST_OF_A_KIND = 3  # that are shown


class InspectorWarning(UserWarning):
    """Something could not be watched. The training goes on."""


class Announcer:
    """Tells the user, and remembers what was told."""

    def __init__(self, on_alarm: Callable[[Raised], Any] | None = None) -> None:
        self.alarms: deque[Raised] = deque(maxlen=_MOST_ALARMS)
        self._on_alarm = on_alarm
        self._told: set[str] = set()
        self._num_shown: Counter[str] = Counter()
        self._announced: set[tuple[str, ...]] = set()

    def hear(self, part: Watched) -> None:
        """All that a child has said since the last time."""
        for message in part.child.poll():
            if isinstance(message, Raised):
                self._alarm(message)
            elif isinstance(message, Lost):  # what the child could not write
                part.dropped.update(message.counts)
            elif isinstance(message, Told):
                self.warn(message.message)

    def warn(self, message: str, cause: str | None = None) -> None:
        """Once for each cause."""
        cause = cause or message
        if cause in self._told:
            return
        self._told.add(cause)
        with suppress(Exception):  # warnings are errors in this process: ours must not end a training
            warnings.warn(message, InspectorWarning, stacklevel=2)

    def report(self, error: Exception, name: str = "") -> None:
        """Something cannot be watched; `name` of the row, where it is one."""
        what = f"{name} cannot be watched" if name else "something cannot be watched"
        self.warn(
            f"{what}: {type(error).__name__}: {error}. The training goes on.",
            f"{type(error).__name__} {name}",
        )

    def tell_unseen(self, layers: Sequence[str], why: str) -> None:
        """Of these layers only the parameters are watched."""
        self.warn(f"of {_listed(layers)} only the parameters are watched: {why}.", "unseen")

    def tell_cut(self, rows: Sequence[str]) -> None:
        self.warn(f"of {_listed(rows)} only a piece is kept: there is no room for it in memory.", "cut")

    def _alarm(self, alarm: Raised) -> None:
        self.alarms.append(alarm)
        self._announce(alarm)
        if self._on_alarm is not None:
            try:
                self._on_alarm(alarm)
            except Exception as error:
                self.warn(f"on_alarm raised {type(error).__name__}: {error}", "on_alarm")

    def _announce(self, alarm: Raised) -> None:
        """Once for each layer; of many of a kind, the first ones."""
        place = alarm.alarm, alarm.layer, alarm.variable
        if place in self._announced:
            return
        self._announced.add(place)
        self._num_shown[alarm.alarm] += 1
        if self._num_shown[alarm.alarm] > _MOST_OF_A_KIND:
            return
        message = alarm.message
        if self._num_shown[alarm.alarm] == _MOST_OF_A_KIND:
            message += " (More of this kind are kept in the run and not shown here.)"
        with suppress(Exception):  # there may be no terminal
            sys.stderr.write(f"torcheer: {message}\n")
            sys.stderr.flush()


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
