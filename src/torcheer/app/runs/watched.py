"""What is watched in a training: a figure of all rows for a heat map, and all figures of one row."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final, NamedTuple

import msgspec
import numpy
from numpy.typing import NDArray

from torcheer.app.frames import binary_frame
from torcheer.app.messages import MAX_DIMS
from torcheer.app.runmessages import (
    WatchedAnswer,
    WatchedQuestion,
    WatchedRowAnswer,
    WatchedRowQuestion,
)
from torcheer.app.runs.listing import clipped, countable
from torcheer.app.runs.openrun import OpenRun
from torcheer.app.runs.stepbuckets import (
    Figures,
    StepBuckets,
    Steps,
    bucket_steps,
    highest_figures,
    mean_figures,
)
from torcheer.run.parts import SeriesKey
from torcheer.run.reading.reader import RunReader
from torcheer.run.records import WatchedRow

MAX_ROWS: Final = 20_000
MAX_CELLS: Final = 4 << 20  # of one answer; with more rows there are fewer buckets
MAX_COLUMNS: Final = 256
_FEWEST_BUCKETS: Final = 16
_HIGHEST: Final = frozenset(("nan", "inf"))  # one step with such a value is what one looks for
_MARKS: Final = {"nan": numpy.uint8(1), "inf": numpy.uint8(2)}
_LONGEST_NAME: Final = 4096  # that a page can ask for


class Looked(NamedTuple):
    """An answer, and what it depends on: while that is the same, so is the answer."""

    frame: bytes
    seen: Hashable


# --- all rows ----------------------------------------------------------------------------------


def look_at_watched(run: OpenRun, question: WatchedQuestion, seen: Hashable) -> Looked | None:
    """The answer; None where nothing of it has changed since."""
    rank = question.rank
    with run.lock:
        reader = run.look()
        watched = reader.watched
        ranks = watched.ranks()
        now = (run, tuple(ranks), watched.version(rank))
        if now == seen:
            return None
        plan = watched.plan(rank)
        table = watched.table(rank, question.column)
        of_marks = {name: watched.table(rank, name) for name in _MARKS if name in plan.columns}
    shown = _shown(table.rows)
    most = min(question.num_buckets, max(_FEWEST_BUCKETS, MAX_CELLS // max(1, len(shown))))
    buckets = bucket_steps(table.steps, question.low, question.high, most)
    values = _reduced(question.column, _taken(table.values, shown), buckets)
    marks = numpy.zeros(values.shape, dtype=numpy.uint8)
    for name, other in of_marks.items():
        figures = _at_steps(other.values, other.steps, table.steps)
        marks |= _marked(_taken(figures, shown), buckets) * _MARKS[name]
    low, high = _limits(values)
    answer = WatchedAnswer(
        id=question.id,
        ranks=ranks,
        columns=_columns(plan.columns),
        rows=[_plain(table.rows[index]) for index in shown],
        first_steps=_countable(buckets.first_steps),
        last_steps=_countable(buckets.last_steps),
        low=low,
        high=high,
        num_steps=plan.num_steps,
        every=clipped(plan.every),
    )
    return Looked(binary_frame(answer, values.astype("<f4").tobytes() + marks.tobytes()), now)


def _shown(rows: Sequence[WatchedRow]) -> list[int]:
    """Those that a page can show, and ask for."""
    return [index for index, row in enumerate(rows) if len(row.name) <= _LONGEST_NAME][:MAX_ROWS]


def _taken(figures: Figures, shown: Sequence[int]) -> Figures:
    return figures if len(shown) == len(figures) else figures[numpy.asarray(shown, dtype=numpy.intp)]


def _at_steps(figures: Figures, steps: Steps, wanted: Steps) -> Figures:
    """The same figures at other steps: not every plan has every column."""
    if numpy.array_equal(steps, wanted):
        return figures
    places = numpy.minimum(numpy.searchsorted(steps, wanted), max(0, len(steps) - 1))
    found = numpy.full((len(figures), len(wanted)), numpy.nan, dtype=numpy.float32)
    if len(steps):
        is_there = steps[places] == wanted
        found[:, is_there] = figures[:, places[is_there]]
    return found


def _reduced(column: str, figures: Figures, buckets: StepBuckets) -> Figures:
    return highest_figures(figures, buckets) if column in _HIGHEST else mean_figures(figures, buckets)


def _marked(figures: Figures, buckets: StepBuckets) -> NDArray[numpy.bool_]:
    """Where there was any."""
    return highest_figures(figures, buckets) > 0.0  # NaN is not


def _limits(values: Figures) -> tuple[float | None, float | None]:
    finite = values[numpy.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if finite.size else (None, None)


# --- one row -----------------------------------------------------------------------------------


def look_at_row(run: OpenRun, question: WatchedRowQuestion, seen: Hashable) -> Looked | None:
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
        answer = WatchedRowAnswer(
            id=question.id,
            row=None,
            columns=(),
            first_steps=(),
            last_steps=(),
            tensor_name=names[0],
            histogram_name=names[1],
        )
        return Looked(binary_frame(answer, b""), now)
    columns = _columns(found.columns)
    buckets = bucket_steps(found.steps, question.low, question.high, question.num_buckets)
    values = mean_figures(found.values[: len(columns)], buckets)
    for index, column in enumerate(columns):
        if column in _HIGHEST:
            values[index : index + 1] = highest_figures(found.values[index : index + 1], buckets)
    answer = WatchedRowAnswer(
        id=question.id,
        row=_plain(found.row),
        columns=columns,
        first_steps=_countable(buckets.first_steps),
        last_steps=_countable(buckets.last_steps),
        tensor_name=names[0],
        histogram_name=names[1],
    )
    return Looked(binary_frame(answer, values.astype("<f4").tobytes()), now)


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
