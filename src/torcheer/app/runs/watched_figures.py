"""What is watched in a training: a figure of all rows for a heat map, and all figures of one row.

Where there are more steps than a picture has room for, they stand together in buckets.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import numpy
from numpy.typing import NDArray

from torcheer.app.passes.source import MAX_DIMS
from torcheer.app.runs.open_run import OpenRun
from torcheer.app.runs.run_messages import (
    WatchedAnswer,
    WatchedQuestion,
    WatchedRowAnswer,
    WatchedRowQuestion,
)
from torcheer.app.runs.run_news import Looked, Watch, follow_run
from torcheer.app.wire import binary_frame, clipped, countable
from torcheer.run import (
    ESTIMATES,
    NUM_VALUES,
    Kind,
    SeriesKey,
    WatchedReader,
    WatchedRow,
    at_steps,
    figures_of,
)

Figures = NDArray[numpy.float32]  # [lane][step], later [lane][bucket]; NaN where nothing is known
Steps = NDArray[numpy.int64]
Places = NDArray[numpy.intp]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepBuckets:
    """Which steps stand together: some in a row, none in two buckets. A bucket may be empty."""

    chosen: slice  # the steps that are in buckets at all
    starts: Places  # where each bucket begins, among those; of buckets that hold something
    places: Places  # which buckets these are
    first_steps: list[int]  # of all buckets
    last_steps: list[int]

    @property
    def count(self) -> int:
        return len(self.first_steps)


def bucket_steps(steps: Steps, low: int | None, high: int | None, most: int) -> StepBuckets:
    """Buckets for the steps from low to high, rising: one each, or of equal widths where they are many."""
    begin = 0 if low is None else _num_below(steps, low)
    end = len(steps) if high is None else _num_below(steps, high + 1)
    chosen = slice(begin, max(begin, end))
    steps = steps[chosen]
    if len(steps) <= most:
        alone = numpy.arange(len(steps), dtype=numpy.intp)
        each = steps.tolist()
        return StepBuckets(chosen=chosen, starts=alone, places=alone, first_steps=each, last_steps=each)
    first, last = int(steps[0]), int(steps[-1])
    width = -((first - last - 1) // most)
    edges = list(range(first, last + 1, width))  # whole numbers of Python: these differences may be too large
    starts = numpy.searchsorted(steps, numpy.array(edges, dtype=numpy.int64))
    places = numpy.flatnonzero(numpy.diff(starts, append=len(steps)))
    return StepBuckets(
        chosen=chosen,
        starts=starts[places],
        places=places,
        first_steps=edges,
        last_steps=[min(edge + width - 1, last) for edge in edges],
    )


def _num_below(steps: Steps, step: int) -> int:
    """How many steps come before this one, which may be further away than any step can be."""
    limits = numpy.iinfo(numpy.int64)
    if step > limits.max:
        return len(steps)
    return int(numpy.searchsorted(steps, max(step, limits.min)))


def mean_figures(figures: Figures, buckets: StepBuckets) -> Figures:
    chosen = figures[:, buckets.chosen]
    means = numpy.full((len(figures), buckets.count), numpy.nan, dtype=numpy.float32)
    if chosen.size:
        is_finite = numpy.isfinite(chosen)
        finite = chosen if is_finite.all() else numpy.where(is_finite, chosen, numpy.float32(0))
        with numpy.errstate(invalid="ignore"):  # 0 / 0 is NaN
            means[:, buckets.places] = numpy.add.reduceat(
                finite, buckets.starts, axis=1, dtype=numpy.float64
            ) / numpy.add.reduceat(is_finite, buckets.starts, axis=1, dtype=numpy.int32)
    return means


def highest_figures(figures: Figures, buckets: StepBuckets) -> Figures:
    chosen = figures[:, buckets.chosen]
    highest = numpy.full((len(figures), buckets.count), numpy.nan, dtype=numpy.float32)
    if chosen.size:
        highest[:, buckets.places] = numpy.fmax.reduceat(chosen, buckets.starts, axis=1)
    return highest


HIGHEST: Final = frozenset(("nan", "inf"))  # one step with such a value is what one looks for
MARKS: Final = {"nan": numpy.uint8(1), "inf": numpy.uint8(2)}
ESTIMATE: Final = numpy.uint8(4)  # some of the values in it are of samples
MAX_ROWS: Final = 20_000
MAX_CELLS: Final = 4 << 20  # of one answer; with more rows there are fewer buckets
MAX_COLUMNS: Final = 256
_FEWEST_BUCKETS: Final = 16
_LONGEST_NAME: Final = 4096  # that a page can ask for
_KINDS: Final[tuple[Kind, ...]] = ("tensor", "histogram")

# An answer, and what it depends on: while that is the same, so is the answer.
Answered = tuple[bytes, Hashable]


def look_at_watched(run: OpenRun, question: WatchedQuestion, seen: Hashable) -> Answered | None:
    """The answer; None where nothing of it has changed since."""
    with run.lock:
        watched = run.look().watched
        ranks = watched.ranks()
        now = (run, tuple(ranks), watched.version(question.rank))
        if now == seen:
            return None
        plan = watched.plan(question.rank)
        # Those that a page can show, and ask for.
        shown = [index for index, row in enumerate(plan.rows) if len(row.name) <= _LONGEST_NAME][:MAX_ROWS]
        most = min(question.num_buckets, max(_FEWEST_BUCKETS, MAX_CELLS // max(1, len(shown))))
        got = watched.got(question.rank)
        buckets, values, marks = heat_map(watched, question, most)
    if len(shown) < len(values):
        values, marks = values[shown], marks[shown]
    answer = WatchedAnswer(
        id=question.id,
        ranks=ranks,
        columns=_columns(figures_of(plan.columns)),
        rows=[_plain(plan.rows[index]) for index in shown],
        first_steps=_countable(buckets.first_steps),
        last_steps=_countable(buckets.last_steps),
        num_steps=plan.num_steps,
        every=clipped(plan.every),
        got=got,
    )
    return binary_frame(answer, values.astype("<f4").tobytes() + marks.tobytes()), now


def heat_map(
    watched: WatchedReader, question: WatchedQuestion, most: int
) -> tuple[StepBuckets, Figures, NDArray[numpy.uint8]]:
    """A line for each row of the plan, a column for each bucket: the figure, and the marks of an answer."""
    rank, column = question.rank, question.column
    table = watched.table(rank, column)
    buckets = bucket_steps(table.steps, question.low, question.high, most)
    values = (highest_figures if column in HIGHEST else mean_figures)(table.values, buckets)
    marks = numpy.zeros(values.shape, dtype=numpy.uint8)
    for name in MARKS.keys() & set(watched.plan(rank).columns):
        other = watched.table(rank, name)
        shares = highest_figures(at_steps(other.values, other.steps, table.steps), buckets)
        marks |= (shares > 0.0) * MARKS[name]  # NaN is not
    if table.is_estimate.any():
        marks |= (highest_figures(table.is_estimate.astype(numpy.float32), buckets) > 0.0) * ESTIMATE
    return buckets, values, marks


def look_at_row(run: OpenRun, question: WatchedRowQuestion, seen: Hashable) -> Answered | None:
    """The answer; None where nothing of it has changed since."""
    with run.lock:
        reader = run.look()
        watched, series = reader.watched, reader.series()
        name = f"rank {question.rank}/{question.row}" if question.rank else question.row
        # The series of tensors and of histograms of the row; empty where there is none.
        names = tuple(name if SeriesKey(kind, name) in series else "" for kind in _KINDS)
        now = (run, names, watched.version(question.rank))
        if now == seen:
            return None
        found = watched.row(question.rank, question.row)
    if found is None:
        answer = WatchedRowAnswer(question.id, None, (), None, tensor_name=names[0], histogram_name=names[1])
        return binary_frame(answer, b""), now
    shown = found.columns[:MAX_COLUMNS]
    buckets = bucket_steps(found.steps, question.low, question.high, question.num_buckets)
    figures = numpy.empty((len(shown), len(found.steps)), dtype=numpy.float32)
    is_estimate = numpy.zeros(figures.shape, dtype=bool)
    for index, name in enumerate(shown):
        figures[index], is_estimate[index] = found[name].values, found[name].is_estimate
    # Where a bucket holds figures of whole tensors, those of samples are left out of it.
    exact = mean_figures(numpy.where(is_estimate, numpy.nan, figures), buckets)
    values = numpy.where(numpy.isnan(exact), mean_figures(figures, buckets), exact)
    estimates = numpy.isnan(exact) & ~numpy.isnan(values)
    for index, name in enumerate(shown):
        if name in HIGHEST:
            values[index : index + 1] = highest_figures(figures[index : index + 1], buckets)
    # How many values the estimates are of.
    known = found.column(NUM_VALUES)[numpy.nan_to_num(found.column(ESTIMATES)) > 0]
    is_known = len(known) > 0 and numpy.isfinite(known[-1])
    answer = WatchedRowAnswer(
        id=question.id,
        row=_plain(found.row),
        columns=_columns(shown),
        num_values=countable(int(known[-1])) if is_known else None,
        first_steps=_countable(buckets.first_steps),
        last_steps=_countable(buckets.last_steps),
        tensor_name=names[0],
        histogram_name=names[1],
    )
    return binary_frame(answer, values.astype("<f4").tobytes() + estimates.tobytes()), now


def _columns(columns: Sequence[str]) -> list[str]:
    return [clipped(column, 64) for column in columns[:MAX_COLUMNS]]


def _plain(row: WatchedRow) -> WatchedRow:
    """A row with nothing in it that a page could not hold."""
    shape = row.shape
    if shape is not None and (len(shape) > MAX_DIMS or any(countable(length) != length for length in shape)):
        shape = None
    return msgspec.structs.replace(
        row,
        layer=clipped(row.layer),
        variable=clipped(row.variable),
        role=clipped(row.role, 64),
        module=clipped(row.module, 200),
        shape=shape,
    )


def _countable(steps: Sequence[int]) -> list[int]:
    return [countable(step) or 0 for step in steps]


_PUSH_SECONDS: Final = 1.0  # between two answers


def follow_figures(
    watch: Watch, look: Callable[[OpenRun, Any, Hashable], Answered | None], question: Any
) -> AsyncGenerator[bytes, None]:
    """The answers of a look, those that differ from the one before."""
    sent = b""  # a digest of it: it may be large

    def look_for_news(run: OpenRun, seen: Hashable) -> Looked[bytes, Hashable] | None:
        nonlocal sent
        looked = look(run, question, seen)
        if looked is None:
            return None
        former, sent = sent, hashlib.blake2b(looked[0]).digest()
        return () if sent == former else looked[:1], looked[1]

    return follow_run(watch, question.run_id, look_for_news, _PUSH_SECONDS)
