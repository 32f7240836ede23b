"""What the child keeps in the run: figures in blocks, tensors, histograms, alarms, and what is missing."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy
from numpy.typing import NDArray

from torcheer.inspector.child.histograms import Histograms
from torcheer.inspector.child.losing import log_gap
from torcheer.inspector.child.resuming import Resumed
from torcheer.inspector.child.scarcity import Scarcity
from torcheer.inspector.child.settling import Settling, block_of
from torcheer.inspector.child.telling import Voice
from torcheer.inspector.child.tensors import Tensors
from torcheer.inspector.columns import COLUMNS
from torcheer.inspector.frames import IS_SEEN, Frame
from torcheer.inspector.messages import Job, Lost, Numbers, Raised
from torcheer.inspector.ring import Ring
from torcheer.inspector.rows import Plan
from torcheer.run import EncodedRecord, Ending, Mark, Run, WatchedRow

_BLOCK_SECONDS: Final = 0.35
_SHAPE_SECONDS: Final = 5.0  # between two records of what is watched, where shapes become known one by one
_MOST_CELLS: Final = 4 << 20  # of figures in a block


class Looked(NamedTuple):
    """What was made of some frames: copies, so that their slots can be given back."""

    steps: list[int]
    times: list[float]
    table: NDArray[numpy.float32]  # [frame][row][column]
    records: list[EncodedRecord]


class Keeper:
    """The run of one child. Without a folder it keeps nothing, and only counts."""

    def __init__(self, job: Job, voice: Voice) -> None:
        self._job, self._voice = job, voice
        self._run = _open(job, voice)
        self._scarcity = None if self._run is None else Scarcity(self._run, voice)
        self._settling = Settling()
        self._unwritten: list[Lost] = []  # which the run has to be told of, as soon as it can be written
        self._blocks: list[Looked] = []
        self._num_cells = 0
        self._written_at = time.monotonic()
        self._plan: Plan | None = None
        self._is_ended = False

    # --- one plan after the other --------------------------------------------------------------------

    def begin(self, plan: Plan) -> None:
        """From here on frames have these rows. What came before is written."""
        self._write_block(is_last=True)
        self._write_histograms(time.monotonic())
        prefix = f"rank {self._job.rank}/" if self._job.rank else ""
        names = [prefix + row.name for row in plan.rows]
        self._row_names = [row.name for row in plan.rows]
        self._plan, self._digest = plan, plan.digest()
        self._tensors = Tensors(names)
        self._histograms = Histograms(names, self._job.histogram_seconds)
        self._shapes = [None if row.shape is None else list(row.shape) for row in plan.rows]
        self._shapes_left = numpy.array([shape is None for shape in self._shapes], dtype=bool)
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
        self._keep_large(looked.records)
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
            log_gap(self._run, lost)
            self._settling.add_gap(lost)

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
        self._settling.note(mark, ring)
        return mark

    def look_at_marks(self) -> None:
        """Note what is on disk by now, and count what never will be."""
        refused = self._settling.refused()
        if refused and self._job.run is not None:
            for missing in filter(None, map(Resumed(self._job.run, self._job.rank).missing, refused)):
                self._note_unwritten(missing)
        if self._unwritten and self._run is not None and not self._is_ended and _can_write(self._run):
            unwritten, self._unwritten = self._unwritten, []
            for lost in unwritten:
                self.lost(lost)

    def _note_unwritten(self, lost: Lost) -> None:
        self._unwritten.append(lost)
        if lost.reason == "error":  # the training knows of all others
            self._voice.report(lost)

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
        if self._unwritten and self._run is not None and os.path.isdir(self._run.path):
            # Gaps are small: there may be room for them where there was none for what is missing.
            run = Run(self._run.path, rank=self._job.rank, max_bytes=self._job.max_bytes)
            for lost in self._unwritten:
                log_gap(run, lost)
            run._writer.close_with(ending, patience)

    # --- writing -----------------------------------------------------------------------------------------

    def _write_block(self, *, is_last: bool = False) -> None:
        blocks, self._blocks, self._num_cells = self._blocks, [], 0
        if not blocks or self._run is None:
            return
        steps = [step for looked in blocks for step in looked.steps]
        times = [at for looked in blocks for at in looked.times]
        table = numpy.concatenate([looked.table for looked in blocks])
        block = block_of(self._row_names, steps, times, table)
        if not self._run._queue.press(table.nbytes):  # the disk has stood still for long
            self._note_unwritten(block.lost())
            return
        self._settling.add_block(block)
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
            self._keep_large(self._histograms.take(now))

    def _keep_large(self, records: list[EncodedRecord]) -> None:
        if self._run is None or self._scarcity is None or not records:
            return
        if self._scarcity.has_room_for(len(records), sum(record.num_bytes for record in records)):
            self._run.keep_encoded(records)

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
        how: dict[str, Any] = {"every": self._job.every, "watch": self._job.name}
        self._run.log_watch(step, rows, COLUMNS, digest=self._digest, **how, time=at)

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


def _can_write(run: Run) -> bool:
    return not (run._queue.is_short_of_room or run._queue.is_stuck or run._disk.is_gone)


def _open(job: Job, voice: Voice) -> Run | None:
    if job.run is None:
        return None
    if job.is_again and not os.path.isdir(job.run):
        voice.tell(f"the folder {job.run} of the run is gone: nothing more is kept.")
        return None
    return Run(job.run, rank=job.rank, max_bytes=job.max_bytes)
