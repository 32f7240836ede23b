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

_NUM_TRIES: Final = 5


class Resumed:
    """What is in the run already, as of the first message that comes. In doubt, nothing is."""

    def __init__(self, folder: str, rank: int) -> None:
        self._folder, self._rank = folder, rank
        self._reader: RunReader | None = None
        self._known: set[tuple[str, float]] = set()  # gaps, by reason and time
        self._numbers_until: dict[str, float] = {}  # the time of the last point that it wrote, by name

    def missing(self, lost: Lost) -> Lost | None:
        """What of it is missing and not in the run already."""
        self._look()
        if (lost.reason, lost.time) in self._known:
            return None
        if lost.reason != "killed" or not lost.counts:
            return lost
        steps = self._steps_there(lost)
        counts = {name: count - len(steps) for name, count in lost.counts.items() if count > len(steps)}
        # Frames are written in order: what is missing, came after what is there.
        first_step = max([lost.first_step, *(step + 1 for step in steps)])
        first_step = min(first_step, lost.last_step)
        return msgspec.structs.replace(lost, counts=counts, first_step=first_step) if counts else None

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
                series = part.series().items()
                self._numbers_until = {
                    key.name: entry.last_time for key, entry in series if key.kind == "scalar"
                }

    def _steps_there(self, lost: Lost) -> list[int]:
        """Of the frames that may be lost, those that are in the run after all."""
        assert self._reader is not None
        name = max(lost.counts, key=lambda name: lost.counts[name])
        for _ in range(_NUM_TRIES):
            with suppress(Exception):
                figures = self._reader.watched.row(self._rank, name)
                if figures is not None:
                    is_of_it = (figures.steps >= lost.first_step) & (figures.steps <= lost.last_step)
                    is_of_it &= figures.times > lost.time
                    is_of_it &= ~numpy.isnan(figures.values).all(axis=0)
                    steps: list[int] = figures.steps[is_of_it].tolist()
                    return steps
                # This child writes, too, and has just put another record in the place of the one looked for.
                self._reader.refresh()
        return []


def _part_of_the_killed(reader: RunReader) -> Part | None:
    """A killed child's file is taken over by the next one: its session is the one before ours."""
    for part in reader.parts().values():
        status = part.status()
        if status.pid == os.getpid() and len(status.sessions) > 1:
            return part
    return None
