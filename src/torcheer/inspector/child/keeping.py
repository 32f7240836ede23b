"""What the child keeps in the run: figures in blocks, tensors, histograms, alarms, and what is missing."""

from __future__ import annotations

import math
import os
import time
from collections import deque
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy
from numpy.typing import NDArray

from torcheer.inspector.child.histograms import Histograms
from torcheer.inspector.child.losing import words_for
from torcheer.inspector.child.telling import Voice
from torcheer.inspector.child.tensors import Tensors
from torcheer.inspector.columns import COLUMNS
from torcheer.inspector.frames import IS_SEEN, Frame
from torcheer.inspector.messages import Job, Lost, Numbers, Raised
from torcheer.inspector.ring import Ring
from torcheer.inspector.rows import Plan
from torcheer.run.endings import Ending
from torcheer.run.observations import EncodedRecord
from torcheer.run.queueing import Mark
from torcheer.run.records import WatchedRow
from torcheer.run.run import Run

_BLOCK_SECONDS: Final = 0.35
_SHAPE_SECONDS: Final = 5.0  # between two records of what is watched, where shapes become known one by one
_MOST_CELLS: Final = 4 << 20  # of figures in a block


class Looked(NamedTuple):
    """What was made of some frames: copies, so that their slots can be given back."""

    steps: list[int]
    times: list[float]
    table: NDArray[numpy.float32]  # [frame][row][column]
    records: list[EncodedRecord]


class _Noted(NamedTuple):
    """A place in the queue of the run: when it is on disk, so are these frames of the ring."""

    mark: Mark
    ring: Ring
    num_given_back: int


class Keeper:
    """The run of one child. Without a folder it keeps nothing, and only counts."""

    def __init__(self, job: Job, voice: Voice) -> None:
        self._job = job
        self._run = _open(job, voice)
        self._blocks: list[Looked] = []
        self._num_cells = 0
        self._written_at = time.monotonic()
        self._noted: deque[_Noted] = deque()
        self._plan: Plan | None = None
        self._is_ended = False

    # --- one plan after the other --------------------------------------------------------------------

    def begin(self, plan: Plan) -> None:
        """From here on frames have these rows. What came before is written."""
        self._write_block(is_last=True)
        self._write_histograms(time.monotonic())
        prefix = f"rank {self._job.rank}/" if self._job.rank else ""
        names = [prefix + row.name for row in plan.rows]
        self._plan, self._digest = plan, plan.digest()
        self._tensors = Tensors(names)
        self._histograms = Histograms(names, self._job.histogram_seconds)
        self._shapes: list[list[int] | None] = [None] * len(plan.rows)
        self._shapes_left = numpy.ones(len(plan.rows), dtype=bool)
        self._has_new_shapes = False
        self._write_rows(0, time.time())
        self._shapes_at = -math.inf  # the first that are seen are written at once

    def look(self, frames: Sequence[Frame], table: NDArray[numpy.float32]) -> Looked:
        """Copy what is to be kept."""
        records = []
        if self._run is not None:
            now = time.monotonic()
            for index, frame in enumerate(frames):
                if self._job.keeps_tensors:
                    records += self._tensors.records(frame, table[index])
                self._histograms.add(frame, table[index], now)
                if self._shapes_left.any():
                    self._note_shapes(frame.rows)
        steps, times = [frame.step for frame in frames], [frame.time for frame in frames]
        return Looked(steps, times, table, records)

    def keep(self, looked: Looked) -> None:
        if self._run is None:
            return
        self._blocks.append(looked)
        self._num_cells += looked.table.size
        self._run.keep_encoded(looked.records)
        if self._num_cells > _MOST_CELLS:
            self._write_block()

    # --- what comes by itself ------------------------------------------------------------------------

    def numbers(self, numbers: Numbers) -> None:
        if self._run is not None:
            self._run._put_scalars(numbers.step, numbers.time, numbers.values)

    def alarm(self, alarm: Raised) -> None:
        if self._run is not None:
            self._run.log_alarm(
                alarm.step,
                alarm.alarm,
                layer=alarm.layer,
                variable=alarm.variable,
                value=alarm.value,
                threshold=alarm.threshold,
                message=alarm.message,
                time=alarm.time,
            )

    def lost(self, lost: Lost) -> None:
        if self._run is not None and lost.counts:
            self._run.log_gap(
                lost.first_step,
                lost.last_step,
                reason=lost.reason,
                counts=lost.counts,
                message=words_for(lost),
                time=lost.time,
            )

    # --- now and then ----------------------------------------------------------------------------------

    def tick(self, ring: Ring | None) -> None:
        """Write blocks when it is time, and note which frames are on disk by now."""
        now = time.monotonic()
        if now - self._written_at >= _BLOCK_SECONDS:
            self.write(ring)
            if self._run is not None and self._plan is not None and self._histograms.is_due(now):
                self._write_histograms(now)
        self.look_at_marks()

    def write(self, ring: Ring | None, *, hurry: bool = False) -> Mark:
        """Hand all to the run. The mark is settled when it is on disk, or never will be."""
        self._written_at = time.monotonic()
        self._write_block()
        mark = self._mark(hurry=hurry)
        if ring is not None and ring.num_kept < ring.num_given_back:
            self._noted.append(_Noted(mark, ring, ring.num_given_back))
        return mark

    def look_at_marks(self) -> None:
        while self._noted and self._noted[0].mark.is_settled:
            noted = self._noted.popleft()
            # Where the disk refused them for good, the run has counted them; nobody has to do so again.
            noted.ring.note_kept(max(noted.ring.num_kept, noted.num_given_back))

    def is_waiting_for(self, ring: Ring) -> bool:
        """Whether frames of that ring are on their way to the disk."""
        return ring.num_kept < ring.num_given_back

    def end(self, ring: Ring | None, ending: Ending, patience: float) -> None:
        """Write what is left and say how it ended. Again, it does nothing."""
        if self._is_ended:
            return
        self._is_ended = True
        self._write_histograms(time.monotonic())
        self._write_block(is_last=True)
        self.write(ring)
        if self._run is not None:
            self._run._writer.close_with(ending, patience)
        self.look_at_marks()

    # --- writing -----------------------------------------------------------------------------------------

    def _write_block(self, *, is_last: bool = False) -> None:
        blocks, self._blocks, self._num_cells = self._blocks, [], 0
        if not blocks or self._run is None:
            return
        steps = [step for looked in blocks for step in looked.steps]
        times = [at for looked in blocks for at in looked.times]
        table = numpy.concatenate([looked.table for looked in blocks])
        if self._has_new_shapes and (is_last or self._is_time_for_shapes()):
            self._write_rows(steps[0], times[0])
        self._run.log_statistics(
            self._digest,
            numpy.array(steps, dtype=numpy.int64),
            numpy.array(times, dtype=numpy.float64),
            numpy.ascontiguousarray(table.transpose(2, 1, 0)),
        )

    def _write_histograms(self, now: float) -> None:
        if self._run is not None and self._plan is not None:
            self._run.keep_encoded(self._histograms.take(now))

    def _is_time_for_shapes(self) -> bool:
        return not self._shapes_left.any() or time.monotonic() - self._shapes_at > _SHAPE_SECONDS

    def _write_rows(self, step: int, at: float) -> None:
        if self._run is None or self._plan is None:
            return
        self._has_new_shapes = False
        self._shapes_at = time.monotonic()
        rows = [
            WatchedRow(
                name=row.name,
                layer=row.layer,
                variable=row.variable,
                role=row.role,
                module=row.module,
                shape=shape,
            )
            for row, shape in zip(self._plan.rows, self._shapes, strict=True)
        ]
        self._run.log_watch(step, rows, COLUMNS, digest=self._digest, every=self._job.every, time=at)

    def _note_shapes(self, rows: NDArray[Any]) -> None:
        for index in numpy.flatnonzero(self._shapes_left & ((rows["flags"] & IS_SEEN) != 0)).tolist():
            self._shapes[index] = rows["shape"][index][: rows["num_dims"][index]].tolist()
            self._shapes_left[index] = False
            self._has_new_shapes = True

    def _mark(self, *, hurry: bool) -> Mark:
        if self._run is not None:
            return self._run.mark(hurry=hurry)
        mark = Mark()
        mark.settle(is_done=True)
        return mark


def _open(job: Job, voice: Voice) -> Run | None:
    if job.run is None:
        return None
    if job.is_again and not os.path.isdir(job.run):
        voice.tell(f"the folder {job.run} of the run is gone: nothing more is kept.")
        return None
    return Run(job.run, rank=job.rank, max_bytes=job.max_bytes)
