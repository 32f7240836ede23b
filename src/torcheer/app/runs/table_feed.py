"""Tables of runs: rows as they come, tensors in cells, statistics by groups, CSV.

Heads are checked before anything is allocated, and no more is read than is wanted.
"""

from __future__ import annotations

import io
import math
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import Annotated, Any, Final

import numpy
from msgspec import Meta, Struct

from torcheer.app.cache import Cache
from torcheer.app.runs.open_run import OpenRun
from torcheer.app.runs.run_messages import RecordId, RunQuestion, SeriesName
from torcheer.app.runs.run_news import News, Watch, follow_anew
from torcheer.app.runs.run_records import entry_of
from torcheer.app.wire import (
    LARGEST,
    Answer,
    Count,
    Name,
    Question,
    as_text,
    binary_frame,
    chunks,
    clipped,
    copied,
    countable,
    finite,
)
from torcheer.errors import FileFormatError, InputError, TorcheerError
from torcheer.netview import grid_of
from torcheer.run import (
    Cells,
    Grid,
    RecordEntry,
    RunReader,
    Slice,
    SqlitePart,
    Table,
    TableColumn,
    TableHead,
    TableRecord,
    cells_of,
    record_id,
    table_fault,
)
from torcheer.tensorfile import Array

RunIds = Annotated[list[Name], Meta(max_length=256)]
# "NaN", "inf" and "-inf" of numbers that JSON does not have; None of a tensor.
Cell = float | int | str | None

MAX_CELL_VALUES = 1 << 20  # of one answer


class RowsQuestion(Question, frozen=True):
    """About the rows of a table over some runs, in their order.

    With `only_last`, of each run the rows that were logged last, together.
    """

    run_ids: RunIds
    name: SeriesName
    only_last: bool


class TableQuestion(RowsQuestion, frozen=True, tag="table"):
    """The rows of a table. Followed: later answers bring what is new."""


class TableCellsQuestion(RunQuestion, frozen=True, tag="table_cells"):
    """The tensors of one column in some rows of a record."""

    record: RecordId
    column: SeriesName
    first_row: Count
    num_rows: Count


class TableStatisticsQuestion(Question, frozen=True, tag="table_statistics"):
    """What the columns of numbers come to in rows with equal cells in the columns `by`."""

    run_ids: RunIds
    name: SeriesName
    by: Annotated[list[SeriesName], Meta(max_length=256)]


class TableTextQuestion(RowsQuestion, frozen=True, tag="table_text"):
    """The whole table as CSV, tensors cell by cell: `Output[0]`, `Output[1]`…"""


class TableRows(Struct, frozen=True, kw_only=True):
    """Rows that were logged together. The cells of a row stand in the order of `columns`."""

    run_id: str
    record: str
    step: int
    columns: Sequence[TableColumn]
    grids: Mapping[str, Grid]  # by column of tensors: how the values of a cell lie in its picture
    rows: Sequence[Sequence[Cell]]


class TableAnswer(Answer, frozen=True, tag="table"):
    """`is_all`: what was known before is void. A note says what is left out, and why."""

    is_all: bool
    parts: Sequence[TableRows]
    note: str


class TableCellsAnswer(Answer, frozen=True, tag="table_cells"):
    """The head of a binary frame; the values follow as float32, row by row.

    The limits are of the finite values in all rows of the record; where it is large, of the rows asked for.
    """

    num_rows: int
    shape: Sequence[int]  # of a cell
    low: float | None
    high: float | None


class TableFigures(Struct, frozen=True, kw_only=True):
    """Of one column in the rows of a group, of the finite numbers."""

    column: str
    count: int
    mean: float | None
    std: float | None  # of a sample: divided by count - 1; None for one number
    low: float | None
    high: float | None


class TableGroup(Struct, frozen=True, kw_only=True):
    """Rows that are alike in the columns that were asked for."""

    cells: Sequence[Cell]
    num_rows: int
    figures: Sequence[TableFigures]


class TableStatisticsAnswer(Answer, frozen=True, tag="table_statistics"):
    by: Sequence[str]
    groups: Sequence[TableGroup]


class TableTextAnswer(Answer, frozen=True, tag="table_text"):
    text: str


_MAX_COLUMNS: Final = 4096
_MAX_TEXT_BYTES: Final = 16 << 20  # of a column
_GONE: Final = "these rows are not in the run any more: they were thinned out or taken back."
_ALL_ROWS: Final = range(LARGEST)

CellsByColumn = Mapping[str, Cells]
Wanted = Callable[[TableColumn], bool]


def table_head(entry: RecordEntry) -> TableHead:
    """The head of a record of a table, if it can be true. FileFormatError where it cannot."""
    head = entry.head
    if not isinstance(head, TableHead):
        raise InputError("this record is no table.")
    fault = table_fault(head, entry.num_bytes)
    if len(head.columns) > _MAX_COLUMNS:
        fault = f"it has {len(head.columns):,} columns"
    elif any(column.form == "text" and column.num_bytes > _MAX_TEXT_BYTES for column in head.columns):
        fault = "its texts are too long"
    if fault:
        raise FileFormatError(f"the rows at step {entry.step} are damaged: {fault}.")
    return head


def read_cells(
    reader: RunReader, entry: RecordEntry, wanted: Wanted, rows: range = _ALL_ROWS
) -> CellsByColumn:
    """The cells of some columns of a record. Whoever asks holds the run."""
    head = table_head(entry)
    rows = range(rows.start, min(rows.stop, head.num_rows))
    columns, slices = [], []
    end = 0
    for column in head.columns:
        start, size = end, column.num_bytes
        end += size
        if column.form != "text":  # cells of one size each
            cell_bytes = size // max(1, head.num_rows)
            start, size = start + rows.start * cell_bytes, len(rows) * cell_bytes
        if wanted(column):
            columns.append(column)
            slices.append(Slice(entry.id, entry.num_bytes, start, size))
    part = reader.parts().get(entry.part)
    # No other part has tables.
    pieces = part.slices(slices) if isinstance(part, SqlitePart) else [None] * len(slices)
    some_rows = TableHead(num_rows=len(rows), columns=head.columns)
    found: dict[str, Cells] = {}
    for column, data in zip(columns, pieces, strict=True):
        if data is None:
            raise InputError(_GONE)
        if column.form == "text":
            found[column.name] = cells_of(head, column, data)[rows.start : rows.stop]
        else:
            found[column.name] = cells_of(some_rows, column, data)
    return found


def _is_plain(column: TableColumn) -> bool:
    """Numbers and texts."""
    return column.form != "tensor"


def last_of(entries: Sequence[RecordEntry]) -> list[RecordEntry]:
    by_time = sorted(entries, key=lambda one: (one.time if math.isfinite(one.time) else -math.inf, one.id))
    return by_time[-1:]


def plain_cell(cell: Any) -> Cell:
    """A cell as JSON has it; None for a tensor. What JSON or a page cannot hold is a text."""
    if isinstance(cell, numpy.ndarray) or cell is None:
        return None
    if isinstance(cell, str):
        return clipped(cell)
    if isinstance(cell, int | numpy.integer):
        return int(cell) if abs(int(cell)) <= LARGEST else str(cell)
    number = float(cell)
    if math.isfinite(number):
        return number
    return "NaN" if math.isnan(number) else "inf" if number > 0 else "-inf"


_MAX_LIMITS_BYTES: Final = 1 << 26  # of a column that is read for its limits
_HELD_LIMITS: Final = 1024


class TableTensors:
    """Tensors in the cells. The limits of a column are those of all its rows, and kept."""

    def __init__(self) -> None:
        self._limits: Cache[tuple[float | None, float | None]] = Cache(_HELD_LIMITS)

    def answer(self, run: OpenRun, question: TableCellsQuestion) -> bytes:
        entry = entry_of(run, question.record)
        head = table_head(entry)
        column = _tensor_column(head, question.column)
        rows = range(question.first_row, question.first_row + question.num_rows)
        if rows.stop > head.num_rows:
            raise InputError(f"these rows of the table end at {head.num_rows:,}.")
        num_values = len(rows) * math.prod(column.shape)
        if num_values > MAX_CELL_VALUES:
            raise InputError(
                f"{num_values:,} values are too many for one answer: ask for fewer rows, "
                f"{MAX_CELL_VALUES:,} values is the most."
            )
        array = _column(run, entry, column, rows)
        key = (run, record_id(entry), entry.time, column.name)
        known = self._limits.get(key)
        if known is None:
            is_small = column.num_bytes <= _MAX_LIMITS_BYTES
            whole = _column(run, entry, column, _ALL_ROWS) if is_small else array
            shown = whole[numpy.isfinite(whole)] if whole.dtype.kind == "f" else whole
            known = (float(shown.min()), float(shown.max())) if shown.size else (None, None)
            if is_small:
                self._limits.put(key, known)
        low, high = known
        with numpy.errstate(over="ignore"):
            values = array.astype("<f4").tobytes()
        answer = TableCellsAnswer(
            id=question.id, num_rows=len(rows), shape=list(column.shape), low=finite(low), high=finite(high)
        )
        return binary_frame(answer, values)


def _column(run: OpenRun, entry: RecordEntry, column: TableColumn, rows: range) -> Array:
    with run.lock:
        found = read_cells(run.look(), entry, lambda one: one.name == column.name, rows)
    return numpy.asarray(found[column.name])


def _tensor_column(head: TableHead, name: str) -> TableColumn:
    column = next((one for one in head.columns if one.name == name), None)
    if column is None:
        raise InputError(f"these rows have no column {clipped(name, 80)!r}.")
    if column.form != "tensor":
        raise InputError(f"the cells of {clipped(name, 80)!r} are no tensors: they come with the rows.")
    if column.dtype.startswith("complex"):
        raise InputError(
            f"the tensors of {clipped(name, 80)!r} are complex: log their parts, x.real and x.imag."
        )
    return column


MAX_ROWS: Final = 20_000  # of what is there when it is asked for, and of one record
_CHUNK_CELLS: Final = 1 << 16  # of one answer, about
_CHUNK_BYTES: Final = 1 << 24  # of records that are read at a time, about
_AT_A_TIME: Final = 256  # records: others may want to know of a run, too


async def follow_table(watch: Watch, question: TableQuestion) -> AsyncGenerator[str, None]:
    run_ids = list(dict.fromkeys(question.run_ids))
    left_out = fault = ""
    async with aclosing(follow_anew(watch, run_ids, lambda *given: _new_records(question, *given))) as rounds:
        async for found, is_all in rounds:
            if is_all:
                fault = ""
                found, left_out = _newest(found)
            told = fault
            parts: list[TableRows] = []
            new = [one for one in found if one.found]
            for run, entries in [(one.run, some) for one in new for some in chunks(one.found, _share, 1.0)]:
                rows, new_fault = await run.turns.take(_read_rows, run, entries)
                parts, fault = [*parts, *rows], new_fault or fault
                if sum(len(part.rows) * len(part.columns) for part in parts) > _CHUNK_CELLS:
                    yield _table_answer(question, parts, is_all, left_out, fault)
                    parts, is_all, told = [], False, fault
            if parts or is_all or fault != told:
                yield _table_answer(question, parts, is_all, left_out, fault)


def _table_answer(
    question: TableQuestion, parts: Sequence[TableRows], is_all: bool, left_out: str, fault: str
) -> str:
    note = " ".join(filter(None, (left_out, f"Some rows cannot be shown: {fault}" if fault else "")))
    return as_text(TableAnswer(id=question.id, is_all=is_all, parts=parts, note=clipped(note)))


def _newest(found: Sequence[News]) -> tuple[list[News], str]:
    """As many of the newest as may be sent, and a note where rows are left out."""
    chosen = []
    num_rows = num_left_out = 0
    for one in reversed(found):
        entries = []
        for entry in reversed(one.found):
            size = _num_rows(entry)
            if num_left_out or (num_rows and num_rows + size > MAX_ROWS):
                num_left_out += size  # as is all that is older: there are no gaps
                continue
            num_rows += min(size, MAX_ROWS)
            num_left_out += max(0, size - MAX_ROWS)
            entries.append(entry)
        chosen.append(one._replace(found=entries[::-1]))
    note = f"The {num_rows:,} newest rows are here; {num_left_out:,} others are left out."
    return chosen[::-1], note if num_left_out else ""


def _share(entry: RecordEntry) -> float:
    """Of what is read at a time."""
    return max(1 / _AT_A_TIME, _num_rows(entry) / (MAX_ROWS // 8 + 1), entry.num_bytes / _CHUNK_BYTES)


def _num_rows(entry: RecordEntry) -> int:
    """As many as it says, but not more than it has bytes."""
    return min(entry.head.num_rows, entry.num_bytes) if isinstance(entry.head, TableHead) else 0


def _new_records(question: TableQuestion, run: OpenRun, known: News | None) -> News | None:
    def look(reader: RunReader) -> News:
        # Of each part, how often it began anew, and the last record that was seen.
        places: Mapping[str, tuple[int, int]] = {} if known is None else known.cursor
        parts = reader.parts()
        is_fresh = not places or any(
            name not in parts or reader.restarts(name) != restarts for name, (restarts, _) in places.items()
        )
        entries: list[RecordEntry] = []
        reached = {}
        for name, part in parts.items():
            last = 0 if is_fresh or name not in places else places[name][1]
            new = part.records("table", question.name, last)
            entries += new
            reached[name] = reader.restarts(name), new[-1].id if new else last
        entries.sort(key=lambda entry: (entry.step, entry.time))
        return News(run, run.version, reached, is_fresh, last_of(entries) if question.only_last else entries)

    return run.try_look(look)


def _read_rows(run: OpenRun, entries: Sequence[RecordEntry]) -> tuple[list[TableRows], str]:
    """Rows, and what is wrong with those that cannot be read."""
    parts, fault = [], ""
    with run.lock:
        try:
            reader = run.look()
            with reader.holding():
                for entry in entries:
                    try:
                        cells = read_cells(reader, entry, _is_plain, range(MAX_ROWS))
                        parts.append(_rows_of(run, entry, table_head(entry), cells))
                    except TorcheerError as error:
                        fault = str(error)
        except (TorcheerError, OSError) as error:
            fault = f"{error}."
    return parts, fault


def _rows_of(run: OpenRun, entry: RecordEntry, head: TableHead, cells: CellsByColumn) -> TableRows:
    columns = [cells.get(column.name) for column in head.columns]
    rows = [
        [None if column is None else plain_cell(column[row]) for column in columns]
        for row in range(min(MAX_ROWS, head.num_rows))
    ]
    return TableRows(
        run_id=run.place.id,
        record=record_id(entry),
        step=countable(entry.step) or 0,
        columns=head.columns,
        grids={
            column.name: grid_of(column.shape, is_picture=column.name.lower() == "input")
            for column in head.columns
            if column.form == "tensor"
        },
        rows=rows,
    )


_MOST_ROWS: Final = 100_000
_MOST_BYTES: Final = 1 << 27  # of cells, for statistics
_MOST_TEXT_BYTES: Final = 1 << 24  # of cells, for CSV
_MAX_TEXT_CELLS: Final = 1 << 22  # of CSV
_MAX_GROUPS: Final = 10_000


class LoadedRecord(TableRecord):
    """A record of which some columns were read already, so that nobody has to hold the run."""

    __slots__ = ("_cells",)

    def __init__(self, name: str, entry: RecordEntry, reader: RunReader, cells: CellsByColumn) -> None:
        super().__init__(name, entry, reader)
        self._cells = dict(cells)

    @property
    def columns(self) -> list[str]:
        return list(self._cells)

    def cells(self, *names: str) -> dict[str, Cells]:
        return {name: self._cells[name] for name in names or self._cells}


def load_records(
    run: OpenRun, question: TableStatisticsQuestion | TableTextQuestion, before: Sequence[LoadedRecord]
) -> list[LoadedRecord]:
    """The records of a table, with their cells. InputError where, with those before, they are too many."""
    is_text = isinstance(question, TableTextQuestion)
    wanted: Wanted = (lambda column: True) if is_text else _is_plain
    with run.lock:
        reader = run.look()
        entries = reader.records("table", question.name)
        if isinstance(question, TableTextQuestion) and question.only_last:
            entries = last_of(entries)
        # What has no rows may say any shape.
        entries = [entry for entry in entries if table_head(entry).num_rows]
        heads = [*(record.head for record in before), *map(table_head, entries)]
        num_rows = sum(head.num_rows for head in heads)
        num_bytes = sum(column.num_bytes for head in heads for column in head.columns if wanted(column))
        if num_rows > _MOST_ROWS or num_bytes > (_MOST_TEXT_BYTES if is_text else _MOST_BYTES):
            raise InputError(_too_large(question.name, num_rows))
        with reader.holding():
            return [
                LoadedRecord(question.name, entry, reader, read_cells(reader, entry, wanted))
                for entry in entries
            ]


def _too_large(name: str, num_rows: int) -> str:
    return (
        f"the table {name[:80]!r} has {num_rows:,} rows, too many for a page: in Python, "
        "tl.open_run(path).table(name) reads it, and .to_csv(path) writes it."
    )


def statistics_answer(question: TableStatisticsQuestion, records: Sequence[LoadedRecord]) -> str:
    table = Table(question.name, records)
    by = list(dict.fromkeys(question.by))
    missing = [name for name in by if name not in table.columns]
    if records and missing:
        raise InputError(f"the table has no column {clipped(missing[0], 80)!r} of numbers or texts.")
    groups = table.statistics(by) if records else []
    if len(groups) > _MAX_GROUPS:
        raise InputError(f"there are {len(groups):,} groups: choose columns that differ less.")
    told = [
        TableGroup(
            cells=[plain_cell(cell) for cell in group.cells],
            num_rows=group.num_rows,
            figures=[copied(TableFigures, found, column=name) for name, found in group.figures.items()],
        )
        for group in groups
    ]
    return as_text(TableStatisticsAnswer(id=question.id, by=by, groups=told))


def text_answer(question: TableTextQuestion, records: Sequence[LoadedRecord]) -> str:
    table = Table(question.name, records)
    # Before anything is written: one wide row makes all of them wide.
    widths: dict[str, int] = {}  # how many numbers and texts a row takes
    for column in (column for record in records for column in record.head.columns):
        widths[column.name] = max(widths.get(column.name, 0), math.prod(column.shape))
    if len(table) * sum(widths.values()) > _MAX_TEXT_CELLS:
        raise InputError(_too_large(question.name, len(table)))
    stream = io.StringIO()
    table.write_csv(stream)
    return as_text(TableTextAnswer(id=question.id, text=stream.getvalue()))
