"""What the children say, and what goes wrong: to whom it is told, and how often."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from torcheer.inspector.messages import Lost, Raised, Told
from torcheer.inspector.telling import Announcer
from torcheer.inspector.watched import Watched

_MOST_ALARMS = 10_000


class Hearing:
    """Listens for a watcher."""

    def __init__(self, on_alarm: Callable[[Raised], Any] | None) -> None:
        self.announcer = Announcer()
        self.alarms: deque[Raised] = deque(maxlen=_MOST_ALARMS)
        self._on_alarm = on_alarm

    def hear(self, part: Watched) -> None:
        """All that a child has said since the last time."""
        for message in part.child.poll():
            if isinstance(message, Raised):
                self._alarm(message)
            elif isinstance(message, Lost):  # what the child could not write
                part.losses.counts.update(message.counts)
            elif isinstance(message, Told):
                self.announcer.warn(message.message)

    def report(self, error: Exception, name: str = "") -> None:
        """Something cannot be watched; `name` of the row, where it is one."""
        what = f"{name} cannot be watched" if name else "something cannot be watched"
        self.announcer.warn(
            f"{what}: {type(error).__name__}: {error}. The training goes on.",
            f"{type(error).__name__} {name}",
        )

    def tell_unseen(self, layers: Sequence[str], why: str) -> None:
        self.announcer.warn(f"of {_listed(layers)} only the parameters are watched: {why}.", "unseen")

    def tell_cut(self, rows: Sequence[str]) -> None:
        self.announcer.warn(
            f"of {_listed(rows)} only a piece is kept: there is no room for it in memory.", "cut"
        )

    def _alarm(self, alarm: Raised) -> None:
        self.alarms.append(alarm)
        place = alarm.alarm, alarm.layer, alarm.variable
        self.announcer.announce(alarm.alarm, place, alarm.message)
        if self._on_alarm is not None:
            try:
                self._on_alarm(alarm)
            except Exception as error:
                self.announcer.warn(f"on_alarm raised {type(error).__name__}: {error}", "on_alarm")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
