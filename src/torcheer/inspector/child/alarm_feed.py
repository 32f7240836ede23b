"""Raise alarms: for what frames show, and for losses, whichever way they come. Run and user hear of them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import numpy
from numpy.typing import NDArray

from torcheer.inspector.alarms import Alarms
from torcheer.inspector.child.lifetime import Parent
from torcheer.inspector.child.run_writer import RunWriter
from torcheer.inspector.child.user_messages import UserMessages
from torcheer.inspector.frame_format import Frame, Plan
from torcheer.inspector.protocol import Job, Numbers, Raised
from torcheer.run import Part, RunReader, is_loss

_LAST_LOSS_SECONDS: Final = 0.3  # a run is written a few times a second


class AlarmFeed:
    """The alarms of one child. Where none are wanted, it does nothing."""

    def __init__(self, job: Job, run_writer: RunWriter, voice: UserMessages) -> None:
        self._thresholds, self._run_writer, self._voice = job.thresholds, run_writer, voice
        self._alarms: Alarms | None = None
        self._losses: Losses | None = None
        if job.run is not None and job.follows_losses and job.thresholds is not None:
            self._losses = Losses(job.run, job.rank, is_loss)

    def begin(self, plan: Plan) -> None:
        """From here on frames have these rows. What was raised before stays raised."""
        if self._alarms is not None:
            self._alarms = self._alarms.renewed(plan)
        elif self._thresholds is not None:
            self._alarms = Alarms(plan, self._thresholds)

    def look(self, frames: Sequence[Frame], table: NDArray[numpy.float32]) -> None:
        """Figures as [frame][row][column]."""
        if self._alarms is not None:
            for frame, figures in zip(frames, table, strict=True):
                self._raise(self._alarms.look(frame, figures))

    def look_at(self, numbers: Numbers, names: Iterable[str] = ()) -> None:
        """`names` are those that they have in the run, where they need not be found again."""
        if self._losses is not None:
            self._losses.known_names.update(names)
        if self._alarms is not None:
            self._raise(self._alarms.look_at_numbers(numbers))

    def follow_losses(self, *, at_once: bool = False) -> None:
        """Those that the training logs into the run by itself."""
        if self._losses is None or self._alarms is None:
            return
        try:
            found = self._losses.new(at_once=at_once)
        except Exception:  # a file that is being written, moved or deleted: the next look may see more
            return
        for numbers in found:
            self.look_at(numbers)

    def follow_the_last_losses(self, parent: Parent) -> None:
        """What a training dies of, it often logs last, and that is written a moment later."""
        self.follow_losses(at_once=True)
        if self._losses is not None and self._losses.are_being_written and not parent.is_gone:
            parent.wait(_LAST_LOSS_SECONDS)
            self.follow_losses(at_once=True)

    def _raise(self, alarms: Sequence[Raised]) -> None:
        for alarm in alarms:
            self._run_writer.alarm(alarm)
            self._voice.raise_alarm(alarm)


# --- losses in the run ----------------------------------------------------------------------------------


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
