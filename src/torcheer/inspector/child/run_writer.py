"""What the child keeps in the run: figures in blocks, tensors, histograms, alarms, and what is missing."""

from __future__ import annotations

import math
import os
import shutil
import time
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import numpy
from numpy.typing import NDArray

from torcheer.inspector.child.excerpts import Histograms, Tensors
from torcheer.inspector.child.gaps import Missing, log_gap, lost_frames, together
from torcheer.inspector.child.user_calls import UserMessages
from torcheer.inspector.frame_format import COLUMNS, IS_SEEN, Frame, Plan
from torcheer.inspector.protocol import Job, Lost, Numbers, Raised
from torcheer.inspector.ring import Ring
from torcheer.run import EncodedRecord, Ending, Mark, Run, RunAccess, WatchedRow

_BLOCK_SECONDS: Final = 0.35
_SHAPE_SECONDS: Final = 5.0  # between two records of what is watched, where shapes become known one by one
_MOST_CELLS: Final = 4 << 20  # of figures in a block


class Looked(NamedTuple):
    """What was made of some frames: copies, so that their slots can be given back."""

    numbers: list[int]
    steps: list[int]
    times: list[float]
    table: NDArray[numpy.float32]  # [frame][row][column]
    records: list[EncodedRecord]


class _Handed(NamedTuple):
    """What was handed to the run: it is on disk, or refused for good, when the mark is settled."""

    mark: Mark
    ring: Ring
    plan: Plan
    num_given_back: int
    numbers: list[int]  # frames
    gaps: list[Lost]


class RunWriter:
    """The run of one child. Without a folder it keeps nothing, and only counts."""

    def __init__(self, job: Job, voice: UserMessages) -> None:
        self._job, self._voice = job, voice
        self._run = _open(job, voice)
        self._space = None if self._run is None else _DiskSpace(self._run, voice)
        self._missing = None if job.run is None else Missing(job.run, job.rank)
        self._handed: deque[_Handed] = deque()
        self._numbers: list[int] = []  # of frames that were handed to the run since the last mark
        self._gaps: list[Lost] = []  # the same of gaps
        self._unwritten: list[Lost] = []  # gaps for the run, as soon as it can be written
        self._blocks: list[Looked] = []
        self._num_cells = 0
        self._written_at = time.monotonic()
        self._plan: Plan | None = None
        self._is_ended = False

    # --- one plan after the other --------------------------------------------------------------------

    def begin(self, plan: Plan, ring: Ring) -> None:
        """From here on frames have these rows. What came before is written."""
        self._write_histograms(time.monotonic())
        if self._plan is not None:
            self._write_block(is_last=True)
            self.write(at_once=True)
        if self._missing is not None and self._run is not None:
            for lost in self._missing.after_kill(ring, plan):
                self.lost(lost)
        prefix = f"rank {self._job.rank}/" if self._job.rank else ""
        names = [prefix + row.name for row in plan.rows]
        self._plan, self._ring, self._digest = plan, ring, plan.digest()
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
                self._histograms.add(frame, now)
                if self._shapes_left.any():
                    self._note_shapes(frame.rows)
        steps, times = [frame.step for frame in frames], [frame.time for frame in frames]
        return Looked([frame.number for frame in frames], steps, times, table, records)

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
            RunAccess(self._run).put_scalars(numbers.step, numbers.time, numbers.values)

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
            self._gaps.append(lost)

    # --- now and then ----------------------------------------------------------------------------------

    def tick(self) -> None:
        """Write blocks when it is time, and note which frames are on disk by now."""
        now = time.monotonic()
        if now - self._written_at >= _BLOCK_SECONDS:
            self.write()
            if self._run is not None and self._plan is not None and self._histograms.is_due(now):
                self._write_histograms(now)
        self.look_at_marks()

    def write(self, *, at_once: bool = False) -> Mark:
        """Hand all to the run. The mark is settled when it is on disk, or never will be.

        `at_once`: with all that the training has counted, and written without delay.
        """
        self._written_at = time.monotonic()
        self._write_block()
        if self._run is None:
            mark = Mark()
            mark.settle(is_done=True)
        else:
            if self._missing is not None and self._plan is not None:
                for lost in self._missing.counted(self._ring, self._plan, at_once=at_once):
                    self.lost(lost)
            mark = self._run.mark(hurry=at_once)
        if self._plan is not None:
            num_given_back = self._ring.num_given_back
            if self._ring.num_kept < num_given_back or self._numbers or self._gaps:
                handed = _Handed(mark, self._ring, self._plan, num_given_back, self._numbers, self._gaps)
                self._handed.append(handed)
                self._numbers, self._gaps = [], []
        return mark

    def look_at_marks(self) -> None:
        """Note what is on disk by now, and count what never will be."""
        refused: Lost | None = None
        while self._handed and self._handed[0].mark.is_settled:
            handed = self._handed.popleft()
            if not handed.mark.is_done and self._missing is not None:
                lost = self._missing.unstored(handed.ring, handed.plan, handed.numbers, "error")
                refused = refused if lost is None else together(refused, lost)
                self._unwritten += handed.gaps
            handed.ring.note_kept(handed.num_given_back)
        if refused is not None:
            self._note_unwritten(refused)
        if self._unwritten and self._run is not None and not self._is_ended and _can_write(self._run):
            unwritten, self._unwritten = self._unwritten, []
            for lost in unwritten:
                self.lost(lost)

    def _note_unwritten(self, lost: Lost) -> None:
        self._unwritten.append(lost)
        self._voice.report(lost)

    def end(self, ending: Ending, patience: float) -> None:
        """Write what is left and say how it ended. Again, it does nothing."""
        if self._is_ended:
            return
        self._is_ended = True
        self._write_histograms(time.monotonic())
        self._write_block(is_last=True)
        self.write(at_once=True)
        if self._run is not None:
            RunAccess(self._run).writer.close_with(ending, patience)
        self.look_at_marks()
        if self._unwritten and self._run is not None and os.path.isdir(self._run.path):
            # Gaps are small: there may be room for them where there was none for what is missing.
            write_gaps(self._job, self._unwritten, ending, patience)

    # --- writing -----------------------------------------------------------------------------------------

    def _write_block(self, *, is_last: bool = False) -> None:
        blocks, self._blocks, self._num_cells = self._blocks, [], 0
        if not blocks or self._run is None or self._plan is None:
            return
        numbers = [number for looked in blocks for number in looked.numbers]
        steps = [step for looked in blocks for step in looked.steps]
        times = [at for looked in blocks for at in looked.times]
        table = numpy.concatenate([looked.table for looked in blocks])
        if not RunAccess(self._run).queue.press(table.nbytes):  # the disk has stood still for long
            if (lost := lost_frames(self._ring, self._plan, numbers, "error")) is not None:
                self._note_unwritten(lost)
            return
        self._numbers += numbers
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
        if self._run is None or self._space is None or not records:
            return
        if self._space.has_room_for(len(records), sum(record.num_bytes for record in records)):
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


def write_gaps(job: Job, gaps: Iterable[Lost], ending: Ending, patience: float) -> None:
    """Into a part of the run of their own."""
    assert job.run is not None
    run = Run(job.run, rank=job.rank, max_bytes=job.max_bytes)
    for lost in gaps:
        log_gap(run, lost)
    RunAccess(run).writer.close_with(ending, patience)


def _can_write(run: Run) -> bool:
    return not (
        RunAccess(run).queue.is_short_of_room or RunAccess(run).queue.is_stuck or RunAccess(run).disk.is_gone
    )


def _open(job: Job, voice: UserMessages) -> Run | None:
    if job.run is None:
        return None
    if job.is_again and not os.path.isdir(job.run):
        voice.tell(f"the folder {job.run} of the run is gone: nothing more is kept.")
        return None
    return Run(job.run, rank=job.rank, max_bytes=job.max_bytes)


# --- a disk with little room left -----------------------------------------------------------------------

_LEFT_BYTES: Final = 256 << 20  # which tensors leave to all else
_LEFT_SHARE: Final = 4  # of a small disk: one part in so many
_HEAD_BYTES: Final = 512  # of a record, beside its data
_LOOK_SECONDS: Final = 1.0  # for which it is known how much is free
_MANY_BYTES: Final = 1 << 20  # that were kept since, and it has to be looked again


class _DiskSpace:
    """Says whether tensors and histograms may be kept: where there is little room, figures come first."""

    def __init__(self, run: Run, voice: UserMessages) -> None:
        self._run, self._voice = run, voice
        self._looked_at, self._room = float("-inf"), 0

    def has_room_for(self, num_records: int, num_bytes: int) -> bool:
        """False: they are left out, which the user is told once."""
        num_bytes += num_records * _HEAD_BYTES
        now = time.monotonic()
        if now - self._looked_at > _LOOK_SECONDS or num_bytes > _MANY_BYTES or self._room < _MANY_BYTES:
            self._looked_at, self._room = now, self._free_bytes()
        # Each byte stands in the log of the database first, and then in its place.
        self._room -= 2 * num_bytes
        queue = RunAccess(self._run).queue
        if self._room >= 0 and not queue.is_short_of_room and not queue.is_stuck:
            return True
        self._voice.tell(
            f"the disk of the run {self._run.path} is nearly full: tensors and histograms are left out, so "
            "that there is room for the figures of all steps. Make room, and they are kept again.",
            cause="disk space",
        )
        return False

    def _free_bytes(self) -> int:
        """Beside what is on its way, and what is for others."""
        try:
            total, _, free = shutil.disk_usage(self._run.path)
        except OSError:  # it will be seen when it is written
            return 1 << 62
        return free - min(_LEFT_BYTES, total // _LEFT_SHARE) - 2 * RunAccess(self._run).queue.num_bytes
