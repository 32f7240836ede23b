"""What a child that was killed had put on disk without being able to say so: that is not missing."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Final

import msgspec
import numpy

from torcheer.inspector.messages import Lost, Numbers
from torcheer.run.parts import Part
from torcheer.run.reading.reader import RunReader

_SLACK_SECONDS: Final = 1.0  # between two clocks that are set at the same time


class Resumed:
    """What is in the run already, as of the first message that comes. In doubt, nothing is."""

    def __init__(self, folder: str, rank: int) -> None:
        self._folder, self._rank = folder, rank
        self._reader: RunReader | None = None
        self._known: set[tuple[str, float]] = set()  # gaps, by reason and time
        self._since: float | None = None  # when the child that was killed began
        self._numbers_until: dict[str, float] = {}  # the time of the last point that it wrote, by name

    def missing(self, lost: Lost) -> Lost | None:
        """What of it is missing and not in the run already."""
        self._look()
        if (lost.reason, lost.time) in self._known:
            return None
        if lost.reason != "killed" or not lost.counts:
            return lost
        num_there = self._num_there(lost)
        counts = {name: count - num_there for name, count in lost.counts.items() if count > num_there}
        return msgspec.structs.replace(lost, counts=counts) if counts else None

    def new_of(self, numbers: Numbers) -> Numbers:
        """Those that are not in the run already."""
        self._look()
        if not self._numbers_until:
            return numbers
        until = self._numbers_until
        values = {
            name: value for name, value in numbers.values.items() if numbers.time > until.get(name, 0.0)
        }
        return msgspec.structs.replace(numbers, values=values)

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()

    def _look(self) -> None:
        if self._reader is not None:
            return
        self._reader = RunReader(self._folder)
        with suppress(Exception):  # it can be read later, or not at all: then what is there counts twice
            gaps = self._reader.events().gaps
            self._known = {(gap.reason, gap.time) for gap in gaps if gap.rank == self._rank}
            part = _part_of_the_killed(self._reader)
            if part is not None:
                self._since = part.status().sessions[-2]
                series = part.series().items()
                self._numbers_until = {
                    key.name: entry.last_time for key, entry in series if key.kind == "scalar"
                }

    def _num_there(self, lost: Lost) -> int:
        """Frames of the killed child that are in the run after all. Where in doubt, none."""
        if self._since is None or self._reader is None:
            return 0
        name = max(lost.counts, key=lambda name: lost.counts[name])
        figures = self._reader.watched.row(self._rank, name)
        if figures is None:
            return 0
        is_of_it = (figures.steps >= lost.first_step) & (figures.steps <= lost.last_step)
        is_of_it &= figures.times >= self._since - _SLACK_SECONDS
        is_of_it &= ~numpy.isnan(figures.values).all(axis=0)
        return int(numpy.count_nonzero(is_of_it))


def _part_of_the_killed(reader: RunReader) -> Part | None:
    """A killed child's file is taken over by the next one: its session is the one before ours."""
    for part in reader.parts().values():
        status = part.status()
        if status.pid == os.getpid() and len(status.sessions) > 1:
            return part
    return None
