"""What is watched in a training: a figure of all rows for a heat map, and all figures of one row."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Callable, Hashable, Sequence
from typing import Final, NamedTuple, TypeVar

import msgspec
import numpy
from numpy.typing import NDArray

from torcheer.app.passes.source import MAX_DIMS
from torcheer.app.runs.heatmap import (
    HIGHEST,
    FigureRequest,
    Figures,
    bucket_steps,
    highest_figures,
    mean_figures,
    whole_heat_map,
)
from torcheer.app.runs.messages import WatchedAnswer, WatchedQuestion, WatchedRowAnswer, WatchedRowQuestion
from torcheer.app.runs.open_run import OpenRun
from torcheer.app.runs.run_news import Looked, Watch, follow_run
from torcheer.app.wire import binary_frame, clipped, countable
from torcheer.run import ESTIMATES, NUM_VALUES, RunReader, SeriesKey, WatchedFigures, WatchedRow, figures_of

MAX_ROWS: Final = 20_000
MAX_CELLS: Final = 4 << 20  # of one answer; with more rows there are fewer buckets
MAX_COLUMNS: Final = 256
_FEWEST_BUCKETS: Final = 16
_LONGEST_NAME: Final = 4096  # that a page can ask for

Number = TypeVar("Number", bound=numpy.generic)


class WatchedLook(NamedTuple):
    """An answer, and what it depends on: while that is the same, so is the answer."""

    frame: bytes
    seen: Hashable


# --- all rows ----------------------------------------------------------------------------------


def look_at_watched(run: OpenRun, question: WatchedQuestion, seen: Hashable) -> WatchedLook | None:
    """The answer; None where nothing of it has changed since."""
    wish = FigureRequest(rank=question.rank, column=question.column, low=question.low, high=question.high)
    with run.lock:
        reader = run.look()
        watched = reader.watched
        ranks = watched.ranks()
        now = (run, tuple(ranks), watched.version(wish.rank))
        if now == seen:
            return None
        plan = watched.plan(wish.rank)
        shown = _shown(plan.rows)
        most = min(question.num_buckets, max(_FEWEST_BUCKETS, MAX_CELLS // max(1, len(shown))))
        got = watched.got(wish.rank)
        growing = run.heat_maps.look(reader, wish)
        if growing is None:
            heat_map = whole_heat_map(watched, wish, most)
    if growing is not None:
        heat_map = growing.heat_map(most)
    values, marks = _taken(heat_map.values, shown), _taken(heat_map.marks, shown)
    low, high = _limits(values)
    answer = WatchedAnswer(
        id=question.id,
        ranks=ranks,
        columns=_columns(figures_of(plan.columns)),
        rows=[_plain(plan.rows[index]) for index in shown],
        first_steps=_countable(heat_map.first_steps),
        last_steps=_countable(heat_map.last_steps),
        low=low,
        high=high,
        num_steps=plan.num_steps,
        every=clipped(plan.every),
        got=got,
    )
    return WatchedLook(binary_frame(answer, values.astype("<f4").tobytes() + marks.tobytes()), now)


def _shown(rows: Sequence[WatchedRow]) -> list[int]:
    """Those that a page can show, and ask for."""
    return [index for index, row in enumerate(rows) if len(row.name) <= _LONGEST_NAME][:MAX_ROWS]


def _taken(lines: NDArray[Number], shown: Sequence[int]) -> NDArray[Number]:
    return lines if len(shown) == len(lines) else lines[numpy.asarray(shown, dtype=numpy.intp)]


def _limits(values: Figures) -> tuple[float | None, float | None]:
    finite = values[numpy.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if finite.size else (None, None)


# --- one row -----------------------------------------------------------------------------------


def look_at_row(run: OpenRun, question: WatchedRowQuestion, seen: Hashable) -> WatchedLook | None:
    """The answer; None where nothing of it has changed since."""
    with run.lock:
        reader = run.look()
        watched = reader.watched
        names = _names_of(reader, question)
        now = (run, names, watched.version(question.rank))
        if now == seen:
            return None
        found = watched.row(question.rank, question.row)
    if found is None:
        answer = WatchedRowAnswer(question.id, None, (), None, tensor_name=names[0], histogram_name=names[1])
        return WatchedLook(binary_frame(answer, b""), now)
    shown = figures_of(found.columns)[:MAX_COLUMNS]
    buckets = bucket_steps(found.steps, question.low, question.high, question.num_buckets)
    figures = numpy.stack([found.column(name) for name in shown]) if shown else found.values[:0]
    is_estimate = numpy.zeros(figures.shape, dtype=bool)
    for index, name in enumerate(shown):
        is_estimate[index] = found.is_estimate(name)
    # Where a bucket holds figures of whole tensors, those of samples are left out of it.
    exact = mean_figures(numpy.where(is_estimate, numpy.nan, figures), buckets)
    values = numpy.where(numpy.isnan(exact), mean_figures(figures, buckets), exact)
    estimates = numpy.isnan(exact) & ~numpy.isnan(values)
    for index, name in enumerate(shown):
        if name in HIGHEST:
            values[index : index + 1] = highest_figures(figures[index : index + 1], buckets)
    answer = WatchedRowAnswer(
        id=question.id,
        row=_plain(found.row),
        columns=_columns(shown),
        num_values=_num_values(found),
        first_steps=_countable(buckets.first_steps),
        last_steps=_countable(buckets.last_steps),
        tensor_name=names[0],
        histogram_name=names[1],
    )
    return WatchedLook(binary_frame(answer, values.astype("<f4").tobytes() + estimates.tobytes()), now)


def _num_values(found: WatchedFigures) -> int | None:
    """How many values the estimates of a row are of; None where that is not known, or there are none."""
    known = found.column(NUM_VALUES)[numpy.nan_to_num(found.column(ESTIMATES)) > 0]
    return countable(int(known[-1])) if len(known) and numpy.isfinite(known[-1]) else None


def _names_of(reader: RunReader, question: WatchedRowQuestion) -> tuple[str, str]:
    """The series of tensors and of histograms of a row; empty where there is none."""
    name = f"rank {question.rank}/{question.row}" if question.rank else question.row
    series = reader.series()
    return (
        name if SeriesKey("tensor", name) in series else "",
        name if SeriesKey("histogram", name) in series else "",
    )


# --- what anybody may have written -------------------------------------------------------------


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


# --- answers that go on ---------------------------------------------------------------------------


_PUSH_SECONDS: Final = 1.0  # between two answers

Look = Callable[[OpenRun, Hashable], WatchedLook | None]  # with what the last answer depended on


def follow_watched(watch: Watch, question: WatchedQuestion) -> AsyncGenerator[bytes, None]:
    """One figure of all rows."""
    return _follow(watch, question.run_id, lambda run, seen: look_at_watched(run, question, seen))


def follow_row(watch: Watch, question: WatchedRowQuestion) -> AsyncGenerator[bytes, None]:
    """All figures of one row."""
    return _follow(watch, question.run_id, lambda run, seen: look_at_row(run, question, seen))


def _follow(watch: Watch, run_id: str, look: Look) -> AsyncGenerator[bytes, None]:
    sent = b""  # a digest of it: it may be large

    def look_for_news(run: OpenRun, seen: Hashable) -> Looked[bytes, Hashable] | None:
        nonlocal sent
        looked = look(run, seen)
        if looked is None:
            return None
        former, sent = sent, hashlib.blake2b(looked.frame).digest()
        return Looked(() if sent == former else (looked.frame,), looked.seen)

    return follow_run(watch, run_id, look_for_news, _PUSH_SECONDS)
