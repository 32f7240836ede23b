"""What a child that was killed had put on disk without being able to say so: that is not missing."""

from __future__ import annotations

import os
from typing import Final

import msgspec
import numpy

from torcheer.inspector.messages import Lost
from torcheer.run.reading.reader import RunReader

_SLACK_SECONDS: Final = 1.0  # between two clocks that are set at the same time


class Resumed:
    """Looks once into the run, when the first message about something lost comes."""

    def __init__(self, folder: str, rank: int) -> None:
        self._folder, self._rank = folder, rank
        self._known: set[tuple[str, float]] | None = None  # gaps that are in the run
        self._reader: RunReader | None = None
        self._since: float | None = None  # when the child that was killed began

    def missing(self, lost: Lost) -> Lost | None:
        """What of it is missing and not in the run already. Raises OSError or sqlite3.Error."""
        if self._known is None:
            self._reader = RunReader(self._folder)
            gaps = self._reader.events().gaps
            self._known = {(gap.reason, gap.time) for gap in gaps if gap.rank == self._rank}
            self._since = _start_of_the_killed(self._reader)
        if (lost.reason, lost.time) in self._known:
            return None
        if lost.reason != "killed" or not lost.counts:
            return lost
        num_there = self._num_there(lost)
        counts = {name: count - num_there for name, count in lost.counts.items() if count > num_there}
        return msgspec.structs.replace(lost, counts=counts) if counts else None

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()

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


def _start_of_the_killed(reader: RunReader) -> float | None:
    """A killed child's file is taken over by the next one: its session is the one before ours."""
    for part in reader.parts().values():
        status = part.status()
        if status.pid == os.getpid() and len(status.sessions) > 1:
            return status.sessions[-2]
    return None
