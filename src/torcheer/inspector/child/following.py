"""Find the losses that the training logs into the same run by itself, for the alarm that looks at them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Final

from torcheer.inspector.messages import Numbers
from torcheer.run import Part, RunReader

_SECONDS: Final = 0.5
_MOST_SHARE: Final = 0.01  # of the time may be spent on it
_MOST_POINTS: Final = 2000  # at a time, the latest ones


class Losses:
    """Scalars of this rank that other processes write, as far as they are losses."""

    def __init__(self, folder: str, rank: int, is_loss: Callable[[str], bool]) -> None:
        self._folder, self._rank, self._is_loss = folder, rank, is_loss
        self._reader: RunReader | None = None
        self._counts: dict[tuple[str, int, str], int] = {}  # points seen, by part, its restarts and name
        self._next = 0.0
        self.known_names: set[str] = set()  # which the training tells by itself
        self._since = time.time()  # what an earlier training logged says nothing about this one

    def new(self, *, at_once: bool = False) -> list[Numbers]:
        """What came since; nothing where it is not yet time to look. Raises OSError or sqlite3.Error."""
        started = time.monotonic()
        if started < self._next and not at_once:
            return []
        try:
            if self._reader is None:
                self._reader = RunReader(self._folder)
            else:
                self._reader.refresh()
            found = [numbers for part in self._parts(self._reader) for numbers in self._new_in(part)]
        finally:
            now = time.monotonic()
            self._next = now + max(_SECONDS, (now - started) / _MOST_SHARE)
        return sorted(found, key=lambda numbers: numbers.time)

    @property
    def are_being_written(self) -> bool:
        """Whether somebody logs something at this time, as of the last look."""
        if self._reader is None:
            return False
        return any(part.status().state == "running" for part in self._parts(self._reader))

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()

    def _parts(self, reader: RunReader) -> list[Part]:
        of_rank = f"rank-{self._rank}"
        return [
            part
            for name, part in reader.parts().items()
            if (name == of_rank or name.startswith(of_rank + ".")) and part.status().pid != os.getpid()
        ]

    def _new_in(self, part: Part) -> list[Numbers]:
        assert self._reader is not None
        restarts = self._reader.restarts(part.name)
        found = []
        for key, entry in part.series().items():
            if key.kind != "scalar" or key.name in self.known_names or not self._is_loss(key.name):
                continue
            place = part.name, restarts, key.name
            start = self._counts.get(place, 0)
            self._counts[place] = entry.count
            if entry.count <= start or entry.last_time < self._since:
                continue
            points = part.points(key.name, max(start, entry.count - _MOST_POINTS))
            steps, times, values = (column.tolist() for column in points)
            found += [
                Numbers(step=step, time=at, values={key.name: value})
                for step, at, value in zip(steps, times, values, strict=True)
                if at >= self._since
            ]
        return found
