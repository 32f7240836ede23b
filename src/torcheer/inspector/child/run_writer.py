"""What the child keeps in the run: figures in blocks, tensors, histograms, alarms, and gaps.

A gap says what is missing: looks that were dropped, frames lost with a kill, figures the disk refused. The
ring says what was given: its journal has the step, time and rows of each frame, its tallies count looks that
never became one. The run says what is stored: figures stand there with the times of their frames, gaps with
their counts. What was given and is not stored is lost, and is written as a gap.
"""

from __future__ import annotations

import math
import os
import shutil
import sqlite3
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote

import msgspec
import numpy
from numpy.typing import NDArray

from torcheer.inspector.frame_format import (
    COLUMN,
    COLUMNS,
    DTYPES,
    NO_EXCERPT,
    Frame,
    FrameFlag,
    Plan,
    RowFlag,
)
from torcheer.inspector.protocol import Job, Lost, Numbers, Raised, Reason
from torcheer.inspector.ring import TALLIES, Note, Ring, Tally
from torcheer.run import (
    ESTIMATES,
    PART_ENDING,
    EncodedRecord,
    Ending,
    Gap,
    HistogramHead,
    Mark,
    Run,
    RunAccess,
    RunReader,
    StatisticsHead,
    TensorHead,
    WatchedRow,
    decode_head,
    group_of,
    plain_text,
    rank_in,
    table_of,
)

if TYPE_CHECKING:
    from torcheer.inspector.child.child_loop import UserMessages

_BLOCK_SECONDS: Final = 0.35
_SHAPE_SECONDS: Final = 5.0  # between two records of what is watched, where shapes become known one by one
_MOST_CELLS: Final = 4 << 20  # of figures in a block


class Looked(NamedTuple):
    """What was made of some frames: copies, so that their slots can be given back."""

    frames: list[tuple[int, int, float]]  # number, step and time of each
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
        self._run: Run | None = None
        if job.run is not None and job.is_again and not os.path.isdir(job.run):
            voice.tell(f"the folder {job.run} of the run is gone: nothing more is kept.")
        elif job.run is not None:
            self._run = Run(job.run, rank=job.rank, max_bytes=job.max_bytes)
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

    def begin(self, plan: Plan, ring: Ring) -> None:
        """From here on frames have these rows. What came before is written."""
        if self._plan is not None:
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
                records += self._histograms.records(frame, now)
                if self._shapes_left.any():
                    self._note_shapes(frame.rows)
        return Looked([(frame.number, frame.step, frame.time) for frame in frames], table, records)

    def keep(self, looked: Looked) -> None:
        if self._run is None:
            return
        self._blocks.append(looked)
        self._num_cells += looked.table.size
        if looked.records and _has_room_for(self._run, looked.records):
            self._run.keep_encoded(looked.records)
        elif looked.records:
            self._voice.tell(
                f"the disk of the run {self._run.path} is nearly full: tensors and histograms are left out, "
                "so that there is room for the figures of all steps. Make room, and they are kept again.",
                cause="disk space",
            )
        if self._num_cells > _MOST_CELLS:
            self._write_block()

    def numbers(self, numbers: Numbers) -> None:
        if self._run is not None:
            RunAccess(self._run).put_scalars(numbers.step, numbers.time, numbers.values)

    def alarm(self, alarm: Raised) -> None:
        if self._run is not None:
            details = msgspec.structs.asdict(alarm)
            self._run.log_alarm(details.pop("step"), details.pop("alarm"), **details)

    def lost(self, lost: Lost | None) -> None:
        if self._run is not None and lost is not None and lost.counts:
            log_gap(self._run, lost)
            self._gaps.append(lost)

    def tick(self) -> None:
        """Write blocks when it is time, and note which frames are on disk by now."""
        if time.monotonic() - self._written_at >= _BLOCK_SECONDS:
            self.write()
        self.look_at_marks()

    def write(self, *, at_once: bool = False) -> Mark:
        """Hand all to the run. The mark is settled when it is on disk, or never will be.

        `at_once`: with all that the training has counted, and written without delay.
        """
        self._written_at = time.monotonic()
        self._write_block(at_once=at_once)
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
        if not self._unwritten or self._run is None or self._is_ended:
            return
        access = RunAccess(self._run)
        if not (access.queue.is_short_of_room or access.queue.is_stuck or access.disk.is_gone):
            unwritten, self._unwritten = self._unwritten, []
            for lost in unwritten:
                self.lost(lost)

    def _note_unwritten(self, lost: Lost) -> None:
        self._unwritten.append(lost)
        self._voice.say(lost)

    def end(self, ending: Ending, patience: float) -> None:
        """Write what is left and say how it ended. Again, it does nothing."""
        if self._is_ended:
            return
        self._is_ended = True
        self.write(at_once=True)
        if self._run is not None:
            RunAccess(self._run).writer.close_with(ending, patience)
        self.look_at_marks()
        if self._unwritten and self._run is not None and os.path.isdir(self._run.path):
            # Gaps are small: there may be room for them where there was none for what is missing.
            write_gaps(self._job, self._unwritten, ending, patience)

    # --- writing -----------------------------------------------------------------------------------------

    def _write_block(self, *, at_once: bool = False) -> None:
        blocks, self._blocks, self._num_cells = self._blocks, [], 0
        if not blocks or self._run is None or self._plan is None:
            return
        numbers, steps, times = zip(*(frame for looked in blocks for frame in looked.frames), strict=True)
        table = numpy.concatenate([looked.table for looked in blocks])
        if not RunAccess(self._run).queue.press(table.nbytes):  # the disk has stood still for long
            if (lost := lost_frames(self._ring, self._plan, numbers, "error")) is not None:
                self._note_unwritten(lost)
            return
        self._numbers += numbers
        is_time = not self._shapes_left.any() or time.monotonic() - self._shapes_at > _SHAPE_SECONDS
        if self._has_new_shapes and (at_once or is_time):
            self._write_rows(steps[0], times[0])
        self._run.log_statistics(
            self._digest,
            numpy.array(steps, dtype=numpy.int64),
            numpy.array(times, dtype=numpy.float64),
            numpy.ascontiguousarray(table.transpose(2, 1, 0)),
        )

    def _write_rows(self, step: int, at: float) -> None:
        if self._run is None or self._plan is None:
            return
        self._has_new_shapes = False
        self._shapes_at = time.monotonic()
        known = ("name", "layer", "variable", "role", "module")
        rows = [
            WatchedRow(**{name: getattr(row, name) for name in known}, shape=shape)
            for row, shape in zip(self._plan.rows, self._shapes, strict=True)
        ]
        how: dict[str, Any] = {"digest": self._digest, "every": self._job.every, "watch": self._job.name}
        self._run.log_watch(step, rows, COLUMNS, time=at, **how)

    def _note_shapes(self, rows: NDArray[Any]) -> None:
        for index in numpy.flatnonzero(self._shapes_left & ((rows["flags"] & RowFlag.SEEN) != 0)).tolist():
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


ALL_ROWS: Final = "all that is watched"  # by name, it would be a list of all rows each time
_REASONS: Final[Mapping[Tally, Reason]] = {"full": "full", "budget": "budget", "thinned": "full"}
_PAUSES: Final[Mapping[Tally, float]] = {"full": 0.5, "budget": 10.0, "thinned": 10.0}
_LONGEST_PAUSE: Final = 600.0

_CALL = "callback("  # before the name of a row for which a callback was not called
_WORDS: Mapping[Reason, str] = {
    "full": "the training was faster than the process that watches it",
    "killed": "the process that watches was killed",
    "budget": "watching them would have cost too much time",
    "error": "they could not be computed, or not be written",
}


class Missing:
    """Finds what is missing of the rings of one run."""

    def __init__(self, folder: str, rank: int) -> None:
        self._folder, self._rank = folder, rank
        self._said_at: dict[Tally, float] = dict.fromkeys(TALLIES, time.monotonic())
        self._pauses = dict(_PAUSES)

    def after_kill(self, ring: Ring, plan: Plan) -> list[Lost]:
        """What another child took from this ring and did not store. Asked before frames are read."""
        numbers = range(ring.num_kept, ring.num_given_back)
        has_tallies = any(ring.counted(tally).num for tally in TALLIES)
        if not numbers and not has_tallies:
            return []
        gaps = self._gaps()
        # Only these name their rows, so that they can be found again; of others, a kill may take a last word.
        if (full := ring.counted("full")).num:
            name = plain_text(plan.rows[0].name)
            told = [gap for gap in gaps if gap.reason == "full" and gap.first_step >= full.start]
            ring.note_told("full", sum(gap.counts.get(name, 0) for gap in told))
        lost = self.unstored(ring, plan, numbers, "killed", gaps)
        return ([lost] if lost else []) + self.counted(ring, plan, at_once=True)

    def unstored(
        self, ring: Ring, plan: Plan, numbers: Iterable[int], reason: Reason, gaps: Iterable[Gap] = ()
    ) -> Lost | None:
        """Which of these frames the run has neither figures of, nor counts in one of the gaps."""
        notes = {number: ring.noted(number) for number in numbers}
        known = [note for note in notes.values() if note is not None]
        if not known:
            return lost_frames(ring, plan, notes, reason)
        stored = _stored_times(self._folder, self._rank, plan.digest(), min(note.time for note in known))
        # A gap has the time of its first frame, and goes on to its last step.
        ends = {gap.time: gap.last_step for gap in gaps if gap.reason in ("killed", "error")}
        end, left = -1, []
        for number, note in notes.items():
            if note is not None:
                end = max(end, ends.get(note.time, -1))
                if note.time in stored or note.step <= end:
                    continue
            left.append(number)
        return lost_frames(ring, plan, left, reason)

    def counted(self, ring: Ring, plan: Plan, *, at_once: bool = False) -> list[Lost]:
        """What the training counted since it was last asked, if it is time to say so: less and less often."""
        found, now = [], time.monotonic()
        for tally in TALLIES:
            counted = ring.counted(tally)
            if counted.num_new <= 0 or not (at_once or now - self._said_at[tally] > self._pauses[tally]):
                continue
            self._said_at[tally] = now
            if tally == "full":
                counts = {row.name: counted.num_new for row in plan.rows}
            else:
                self._pauses[tally] = min(_LONGEST_PAUSE, 2 * self._pauses[tally])
                counts = {ALL_ROWS: counted.num_new * len(plan.rows)}
            ring.note_told(tally, counted.num)
            found.append(_lost(_REASONS[tally], counts, [counted.first, counted.last]))
        return found

    def _gaps(self) -> list[Gap]:
        # In doubt, there are none: then something is counted twice.
        with suppress(Exception), closing(RunReader(self._folder)) as reader:
            return [gap for gap in reader.events().gaps if gap.rank == self._rank]
        return []


# --- gaps -----------------------------------------------------------------------------------------------


def lost_frames(ring: Ring, plan: Plan, numbers: Iterable[int], reason: Reason) -> Lost | None:
    """Frames by their numbers; None where there are none. Of those that left the journal, all rows count."""
    names = [row.name for row in plan.rows]
    totals = numpy.zeros(len(names), dtype=numpy.int64)
    notes: list[Note] = []
    num_frames = 0
    for number in numbers:
        num_frames += 1
        note = ring.noted(number)
        if note is None:
            totals += 1
            continue
        notes.append(note)
        totals += numpy.unpackbits(numpy.frombuffer(note.seen, numpy.uint8), count=len(names))
    if not num_frames:
        return None
    counts = {name: count for name, count in zip(names, totals.tolist(), strict=True) if count}
    first_time = min((note.time for note in notes), default=time.time())
    return _lost(reason, counts, [note.step for note in notes] or [0], first_time)


def lost_calls(names: Iterable[str], step: int) -> Lost:
    """Rows for which the user's callback was not called. Their records are there: calls have other names."""
    return _lost("killed", {f"{_CALL}{name})": 1 for name in names}, [step])


def _lost(reason: Reason, counts: dict[str, int], steps: list[int], at: float | None = None) -> Lost:
    at = time.time() if at is None else at
    return Lost(reason=reason, counts=counts, first_step=min(steps), last_step=max(steps), time=at)


def together(one: Lost | None, other: Lost) -> Lost:
    """Both in one, with the reason of the second."""
    if one is None:
        return other
    counts = dict(Counter(one.counts) + Counter(other.counts))
    return msgspec.structs.replace(
        other,
        counts=counts,
        first_step=min(one.first_step, other.first_step),
        last_step=max(one.last_step, other.last_step),
        time=min(one.time, other.time),
    )


def words_for(lost: Lost) -> str:
    """As it stands in the run."""
    count = sum(lost.counts.values())
    are = "record is" if count == 1 else "records are"
    where = f"from step {lost.first_step} to {lost.last_step}"
    if lost.first_step == lost.last_step:
        where = f"at step {lost.first_step}"
    if lost.counts and all(name.startswith(_CALL) for name in lost.counts):
        are = "call of the callback is" if count == 1 else "calls of the callback are"
        return f"{count:,} {are} missing {where}: the training ended before they could be made."
    return f"{count:,} {are} missing {where}: {_WORDS[lost.reason]}."


def log_gap(run: Run, lost: Lost) -> None:
    details = msgspec.structs.asdict(lost)
    first, last = details.pop("first_step"), details.pop("last_step")
    run.log_gap(first, last, message=words_for(lost), **details)


_NUM_TRIES: Final = 5
_PAUSE_SECONDS: Final = 0.1
_BUSY_SECONDS: Final = 1.0
_HEADS: Final = "SELECT r.id, r.head FROM records r JOIN names n ON n.id = r.name WHERE n.kind = 'statistics'"
_DATA: Final = "SELECT bytes FROM data WHERE record = ?"


def _stored_times(folder: str, rank: int, digest: str, since: float) -> set[float]:
    """The times of the frames of a plan that have figures in the run. A file that cannot be read has none.

    Read in one transaction: a reader that follows the run would leave out what another child of this rank is
    moving at that moment, and then it would count as missing.
    """
    found: set[float] = set()
    paths = [path for path in Path(folder).glob(f"*{PART_ENDING}") if rank_in(path.stem) == rank]
    for path in paths:
        for number in range(_NUM_TRIES):
            time.sleep(_PAUSE_SECONDS if number else 0.0)
            with suppress(sqlite3.Error, OSError):
                found.update(_times_in(path, digest, since))
                break
    return found


def _times_in(path: Path, digest: str, since: float) -> Iterator[float]:
    place = f"file:{quote(str(path.absolute()))}?mode=rw"  # which makes no file where there is none
    with closing(sqlite3.connect(place, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)) as connection:
        connection.execute("BEGIN")  # all that follows sees the same moment
        for id, encoded in connection.execute(_HEADS).fetchall():
            with suppress(msgspec.MsgspecError, TypeError, ValueError, RecursionError):
                head = decode_head(encoded)
                if isinstance(head, StatisticsHead) and head.digest == digest and head.last_time >= since:
                    yield from table_of(head, connection.execute(_DATA, (id,)).fetchone()[0]).times.tolist()


_FIGURES: Final = ("mean", "std", "min", "max", "zeros", "nan", "inf")
_FIGURE_COLUMNS: Final = [COLUMN[name] for name in _FIGURES]
# Types that NumPy has not, and the bits of theirs that are 0 for zero of either sign.
_MAGNITUDE: Final = {"bfloat16": 0x7FFF, "float8_e4m3fn": 0x7F, "float8_e5m2": 0x7F}


class Tensors:
    """Excerpts as records of one plan. Figures are not of the excerpt: of the whole tensor, or estimates."""

    def __init__(self, names: list[str]) -> None:
        self._names = names
        self._is_described = [False] * len(names)

    def records(self, frame: Frame, figures: NDArray[numpy.float32]) -> list[EncodedRecord]:
        """Figures as [row][column]. Everything is copied."""
        if not frame.flags & FrameFlag.EXCERPTS:
            return []
        rows = frame.rows
        # Lists, once for all rows: items of structured arrays are slow to get at.
        flags, codes, num_dims = (rows[name].tolist() for name in ("flags", "dtype", "num_excerpt_dims"))
        shapes, num_elements, num_sampled = (
            rows[name].tolist() for name in ("excerpt_shape", "num_elements", "num_sampled")
        )
        table = figures.tolist()
        found = []
        for row, flag in enumerate(flags):
            if not flag & RowFlag.SEEN or num_dims[row] == NO_EXCERPT:
                continue
            shape = shapes[row][: num_dims[row]]
            size = math.prod(shape)
            if size == 0 and num_elements[row]:
                continue
            name, stored = DTYPES[codes[row]]
            at = frame.layout.excerpts_at[row]
            data = bytes(frame.slot[at : at + size * numpy.dtype(stored).itemsize])
            mean, std, low, high, zeros, nan, inf = (table[row][column] for column in _FIGURE_COLUMNS)
            groups = int(table[row][COLUMN[ESTIMATES]]) if num_elements[row] else 0
            of_sample = [figure for figure in _FIGURES if groups & group_of(figure)]
            num_zeros = _count(zeros, size)
            if "zeros" in of_sample and not flag & RowFlag.CUT:  # they can be counted
                num_zeros = _zeros_in(data, name, stored)
                of_sample.remove("zeros")
            head = TensorHead(
                shape=shape,
                dtype=name,
                mean=_finite(mean),
                std=_finite(std),
                min=_finite(low),
                max=_finite(high),
                num_zeros=num_zeros,
                num_nan=_count(nan, size),
                num_inf=_count(inf, size),
                estimates=tuple(of_sample),
                num_values=num_sampled[row] if of_sample else None,
            )
            description = ""
            if flag & RowFlag.CUT and not self._is_described[row]:
                self._is_described[row] = True
                description = _described(rows[row])
            found.append(
                EncodedRecord("tensor", self._names[row], frame.step, frame.time, head, data, description)
            )
        return found


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _count(share: float, size: int) -> int:
    """Some, where there are some: a share too small for one of an excerpt is not none."""
    return max(1, round(share * size)) if size and share > 0 else 0


def _zeros_in(data: bytes, name: str, stored: str) -> int:
    values: NDArray[Any] = numpy.frombuffer(data, stored)
    if name in _MAGNITUDE:
        values = values & values.dtype.type(_MAGNITUDE[name])
    return int(values.size - numpy.count_nonzero(values))


def _described(row: Any) -> str:
    shape = " × ".join(str(size) for size in row["shape"][: row["num_dims"]].tolist())
    steps = ", ".join(str(step) for step in row["excerpt_steps"][: row["num_excerpt_dims"]].tolist())
    return (
        f"A piece of a tensor of {shape}: every so many-th in each dimension ({steps}). "
        "Its figures are those of the whole tensor; those of a sample of it are marked as estimates."
    )


_OCTAVES: Final = 16  # below the largest value of a row; what lies nearer to zero is in one bin of each sign
_PER_OCTAVE: Final = 8
_MOST_A_SECOND: Final = 40  # of histograms: of many rows they come less often


class Histograms:
    """A histogram of each row every few seconds, of the sample in the next frame that has one."""

    def __init__(self, names: list[str], seconds: float) -> None:
        self._names = names
        self._seconds = max(seconds, len(names) / _MOST_A_SECOND) if seconds else math.inf
        self._due = numpy.full(len(names), -math.inf if seconds else math.inf)  # when the next one is

    def records(self, frame: Frame, now: float) -> list[EncodedRecord]:
        num_sampled = numpy.where(frame.rows["flags"] & RowFlag.SEEN, frame.rows["num_sampled"], 0)
        is_sample = num_sampled < frame.rows["num_elements"]
        chosen = numpy.flatnonzero((num_sampled > 0) & (now >= self._due))
        self._due[chosen] = now + self._seconds
        records = []
        for row in chosen.tolist():
            head, data = _counted(frame.samples[row, : num_sampled[row]], bool(is_sample[row]))
            records.append(EncodedRecord("histogram", self._names[row], frame.step, frame.time, head, data))
        return records


def _counted(values: NDArray[numpy.float32], is_sample: bool) -> tuple[HistogramHead, bytes]:
    finite = values[numpy.isfinite(values)].astype(numpy.float64)
    num_nan = int(numpy.isnan(values).sum())
    edges, counts = numpy.array([0.0, 1.0]), numpy.zeros(1)
    low = high = total = squares = None
    if finite.size:
        low, high, total = float(finite.min()), float(finite.max()), float(finite.sum())
        squares = float(finite.dot(finite))
        edges, counts = _bins(finite, max(-low, high))
    head = HistogramHead(
        num_bins=len(counts),
        num=float(finite.size),
        min=low,
        max=high,
        sum=total,
        sum_squares=squares,
        num_nan=num_nan,
        num_inf=values.size - finite.size - num_nan,
        is_sample=is_sample,
    )
    return head, edges.astype("<f8").tobytes() + counts.astype("<f8").tobytes()


def _bins(finite: NDArray[numpy.float64], largest: float) -> tuple[NDArray[Any], NDArray[Any]]:
    """Edges and counts without empty ends: bins of an eighth of an octave, and one up to zero."""
    if largest == 0:
        return numpy.array([0.0, 1.0]), numpy.array([float(finite.size)])
    top = math.ceil(_PER_OCTAVE * math.log2(largest))
    rising = 2.0 ** (numpy.arange(top - _OCTAVES * _PER_OCTAVE, top + 2) / _PER_OCTAVE)
    edges = numpy.concatenate([-rising[::-1], [0.0], rising])
    counts, _ = numpy.histogram(finite, edges)
    first, last = numpy.flatnonzero(counts)[[0, -1]]
    return edges[first : last + 2], counts[first : last + 1].astype(numpy.float64)


_LEFT_BYTES: Final = 256 << 20  # which tensors leave to all else
_LEFT_SHARE: Final = 4  # of a small disk: one part in so many
_HEAD_BYTES: Final = 512  # of a record, beside its data


def _has_room_for(run: Run, records: Sequence[EncodedRecord]) -> bool:
    """True if tensors and histograms may be kept: where there is little room, figures come first."""
    queue = RunAccess(run).queue
    if queue.is_short_of_room or queue.is_stuck:
        return False
    try:
        total, _, free = shutil.disk_usage(run.path)
    except OSError:  # it will be seen when it is written
        return True
    num_bytes = queue.num_bytes + sum(record.num_bytes + _HEAD_BYTES for record in records)
    # Each byte stands in the log of the database first, and then in its place.
    return free - min(_LEFT_BYTES, total // _LEFT_SHARE) >= 2 * num_bytes
