"""Tables of runs: rows as they come, tensors in cells, statistics by groups, CSV.

Heads are checked before anything is allocated, and no more is read than is wanted.
"""

from __future__ import annotations

import io
import math
from collections.abc import AsyncGenerator, Collection, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import Any, Final, NamedTuple

import numpy

from torcheer.app.cache import Cache
from torcheer.app.runs import table_messages as messages
from torcheer.app.runs.open_run import OpenRun
from torcheer.app.runs.run_news import News, Watch, follow_many
from torcheer.app.runs.run_records import entry_of
from torcheer.app.wire import as_text, binary_frame, clipped, countable, finite
from torcheer.errors import FileFormatError, InputError, TorcheerError
from torcheer.run import (
    Cells,
    ColumnFigures,
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

_MAX_COLUMNS: Final = 4096
_MAX_TEXT_BYTES: Final = 16 << 20  # of a column
_SMALL_BYTES: Final = 1 << 14  # of a record that is read in one piece
_GONE: Final = "these rows are not in the run any more: they were thinned out or taken back."


def table_head(entry: RecordEntry) -> TableHead:
    """The head of a record of a table, if it can be true. FileFormatError where it cannot."""
    head = entry.head
    if not isinstance(head, TableHead):
        raise InputError("this record is no table.")
    fault = table_fault(head, entry.num_bytes) or _excess_of(head)
    if fault:
        raise FileFormatError(f"the rows at step {entry.step} are damaged: {fault}.")
    return head


def _excess_of(head: TableHead) -> str:
    """What no program of ours writes, and a page should not be asked to show."""
    if len(head.columns) > _MAX_COLUMNS:
        return f"it has {len(head.columns):,} columns"
    for column in head.columns:
        if column.form == "text" and column.num_bytes > _MAX_TEXT_BYTES:
            return f"the texts of {column.name[:80]!r} are too long"
    return ""


class CellRequest(NamedTuple):
    """Some columns of a record, in some rows; in all of them by default."""

    entry: RecordEntry
    columns: Collection[str]
    rows: range | None = None


def read_cells(reader: RunReader, wish: CellRequest) -> Mapping[str, Cells]:
    """The cells of one record, by column. Whoever asks holds the run."""
    (found,) = read_many(reader, [wish])
    if isinstance(found, TorcheerError):
        raise found
    return found


def read_many(
    reader: RunReader, wishes: Sequence[CellRequest]
) -> Sequence[Mapping[str, Cells] | TorcheerError]:
    """The cells of many records at once, or what is wrong with one. One by one it would take much longer."""
    found: dict[int, Mapping[str, Cells] | TorcheerError] = {}
    plans: dict[str, list[tuple[int, _Plan]]] = {}  # by part
    for number, wish in enumerate(wishes):
        try:
            plans.setdefault(wish.entry.part, []).append((number, _plan_of(wish)))
        except TorcheerError as error:
            found[number] = error
    for name, numbered in plans.items():
        part = reader.parts().get(name)
        if not isinstance(part, SqlitePart):  # no other has tables
            found |= {number: InputError(_GONE) for number, _ in numbered}
            continue
        pieces = iter(part.slices([piece for _, plan in numbered for piece in plan.pieces]))
        for number, plan in numbered:
            found[number] = _taken(plan, list(islice(pieces, len(plan.pieces))))
    return [found[number] for number in range(len(wishes))]


class _Plan(NamedTuple):
    """Which bytes are to be read: a piece for each column, or one for all where that is quicker."""

    head: TableHead
    rows: range
    columns: Sequence[tuple[TableColumn, int, int]]  # each with the start and the size of what is wanted
    pieces: Sequence[Slice]


def _plan_of(wish: CellRequest) -> _Plan:
    entry, head = wish.entry, table_head(wish.entry)
    rows = range(head.num_rows) if wish.rows is None else wish.rows
    columns = []
    ends = accumulate(column.num_bytes for column in head.columns)
    for column, end in zip(head.columns, ends, strict=True):
        start, size = end - column.num_bytes, column.num_bytes
        if column.form != "text":  # cells of one size each
            size_of_cell = column.num_bytes // max(1, head.num_rows)
            start, size = start + rows.start * size_of_cell, len(rows) * size_of_cell
        if column.name in wish.columns:
            columns.append((column, start, size))
    pieces = [(0, entry.num_bytes)] if entry.num_bytes <= _SMALL_BYTES else [place for _, *place in columns]
    return _Plan(
        head, rows, columns, [Slice(entry.id, entry.num_bytes, start, size) for start, size in pieces]
    )


def _taken(plan: _Plan, pieces: Sequence[bytes | None]) -> Mapping[str, Cells] | TorcheerError:
    found = {}
    for number, (column, start, size) in enumerate(plan.columns):
        is_whole = len(pieces) == 1 and plan.pieces[0].size == plan.pieces[0].num_bytes
        data = pieces[0] if is_whole else pieces[number]
        if data is None:
            return InputError(_GONE)
        try:
            data = data[start : start + size] if is_whole else data
            found[column.name] = _cells(plan.head, column, data, plan.rows)
        except TorcheerError as error:
            return error
    return found


def _cells(head: TableHead, column: TableColumn, data: bytes, rows: range) -> Cells:
    if column.form == "text":
        return cells_of(head, column, data)[rows.start : rows.stop]
    return cells_of(TableHead(num_rows=len(rows), columns=head.columns), column, data)


def last_of(entries: Sequence[RecordEntry]) -> RecordEntry:
    """What was logged last."""
    return max(entries, key=lambda entry: (entry.time if math.isfinite(entry.time) else -math.inf, entry.id))


# --- cells ----------------------------------------------------------------------------------------


_MAX_CELL: Final = 2_000  # characters of a text
_MAX_LIMITS_BYTES: Final = 1 << 26  # of a column that is read for its limits
_HELD_LIMITS: Final = 1024
_LARGEST: Final = 2**53 - 1  # that a page can count to

_Limits = tuple[float | None, float | None]


def plain_cell(cell: Any) -> messages.Cell:
    """A cell as JSON has it; None for a tensor. What JSON or a page cannot hold is a text."""
    if isinstance(cell, numpy.ndarray) or cell is None:
        return None
    if isinstance(cell, str):
        return clipped(cell, _MAX_CELL)
    if isinstance(cell, int | numpy.integer):
        return int(cell) if abs(int(cell)) <= _LARGEST else str(cell)
    number = float(cell)
    if math.isfinite(number):
        return number
    return "NaN" if math.isnan(number) else "inf" if number > 0 else "-inf"


# --- tensors of some rows ------------------------------------------------------------------------


class TableTensors:
    """Tensors in the cells. The limits of a column are those of all its rows, and kept."""

    def __init__(self) -> None:
        self._limits: Cache[_Limits] = Cache(_HELD_LIMITS)

    def answer(self, run: OpenRun, question: messages.TableCellsQuestion) -> bytes:
        entry = entry_of(run, question.record)
        head = table_head(entry)
        column = _tensor_column(head, question.column)
        rows = range(question.first_row, question.first_row + question.num_rows)
        if rows.stop > head.num_rows:
            raise InputError(f"these rows of the table end at {head.num_rows:,}.")
        num_values = len(rows) * math.prod(column.shape)
        if num_values > messages.MAX_CELL_VALUES:
            raise InputError(
                f"{num_values:,} values are too many for one answer: ask for fewer rows, "
                f"{messages.MAX_CELL_VALUES:,} values is the most."
            )
        with run.lock:
            array = _numbers(read_cells(run.look(), CellRequest(entry, [column.name], rows))[column.name])
        low, high = self._limits_of(run, question, entry, column, array)
        with numpy.errstate(over="ignore"):
            values = array.astype("<f4").tobytes()
        answer = messages.TableCellsAnswer(
            id=question.id, num_rows=len(rows), shape=list(column.shape), low=finite(low), high=finite(high)
        )
        return binary_frame(answer, values)

    def _limits_of(
        self,
        run: OpenRun,
        question: messages.TableCellsQuestion,
        entry: RecordEntry,
        column: TableColumn,
        array: Array,
    ) -> _Limits:
        key = (run, question.record, entry.time, column.name)
        known = self._limits.get(key)
        if known is not None:
            return known
        if column.num_bytes > _MAX_LIMITS_BYTES:
            return limits_of(array)
        with run.lock:
            whole = _numbers(read_cells(run.look(), CellRequest(entry, [column.name]))[column.name])
        found = limits_of(whole)
        self._limits.put(key, found)
        return found


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


def _numbers(cells: Any) -> Array:
    return numpy.asarray(cells)


def limits_of(array: Array) -> _Limits:
    """The lowest and the highest of the numbers that are finite."""
    if array.dtype.kind == "f":
        array = array[numpy.isfinite(array)]
    return (float(array.min()), float(array.max())) if array.size else (None, None)


# --- rows that go on ------------------------------------------------------------------------------


MAX_ROWS: Final = 20_000  # of what is there when it is asked for, and of one record
_CHUNK_CELLS: Final = 1 << 16  # of one answer, about
_CHUNK_BYTES: Final = 1 << 24  # of records that are read at a time, about
_AT_A_TIME: Final = 256  # records: others may want to know of a run, too


class _Place(NamedTuple):
    """How far the records of a part were seen."""

    restarts: int
    last_record: int


class _Rows(NamedTuple):
    """Rows that were read, and what is wrong with those that were not."""

    parts: Sequence[messages.TableRows]
    fault: str


class TableFeed:
    """The answers to one question about a table."""

    def __init__(self, watch: Watch, question: messages.TableQuestion) -> None:
        self._watch = watch
        self._question = question
        self._run_ids = list(dict.fromkeys(question.run_ids))
        self._num_rows = self._num_left_out = 0  # of what was there when it was asked for
        self._fault = ""

    async def frames(self) -> AsyncGenerator[str, None]:
        async with aclosing(follow_many(self._watch, self._run_ids, self._new_records)) as rounds:
            async for found, is_all in rounds:
                if is_all:
                    self._fault = ""
                    found, self._num_rows, self._num_left_out = _newest(found)
                async for frame in self._frames_of(found, is_all):
                    yield frame

    def _new_records(self, run: OpenRun, known: News | None) -> News | None:
        def look(reader: RunReader) -> News:
            places: Mapping[str, _Place] = {} if known is None else known.cursor
            is_fresh = not places or any(
                part not in reader.parts() or reader.restarts(part) != place.restarts
                for part, place in places.items()
            )
            entries, reached = _records_after(reader, self._question.name, {} if is_fresh else places)
            if self._question.only_last and entries:
                entries = [last_of(entries)]
            return News(run, run.version, reached, is_fresh, entries)

        return run.try_look(look)

    async def _frames_of(self, found: Sequence[News], is_all: bool) -> AsyncGenerator[str, None]:
        parts: list[messages.TableRows] = []
        num_cells = 0
        fault = self._fault
        for one in found:
            for first in range(0, len(one.found), _AT_A_TIME):
                some = one.found[first : first + _AT_A_TIME]
                for entries in _by_size(some):
                    rows = await one.run.turns.take(_read_rows, one.run, entries)
                    self._fault = rows.fault or self._fault
                    parts += rows.parts
                    num_cells += sum(len(part.rows) * len(part.columns) for part in rows.parts)
                    if num_cells > _CHUNK_CELLS:
                        yield self._frame(parts, is_all)
                        parts, num_cells, is_all = [], 0, False
        if parts or is_all or self._fault != fault:
            yield self._frame(parts, is_all)

    def _frame(self, parts: Sequence[messages.TableRows], is_all: bool) -> str:
        notes = []
        if self._num_left_out:
            notes.append(
                f"The {self._num_rows:,} newest rows are here; {self._num_left_out:,} others are left out."
            )
        if self._fault:
            notes.append(f"Some rows cannot be shown: {self._fault}")
        answer = messages.TableAnswer(
            id=self._question.id, is_all=is_all, parts=parts, note=clipped(" ".join(notes))
        )
        return as_text(answer)


def _newest(found: Sequence[News]) -> tuple[list[News], int, int]:
    """As many of the newest as may be sent, how many rows these are, and how many are left out."""
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
    return chosen[::-1], num_rows, num_left_out


def _by_size(entries: Sequence[RecordEntry]) -> Iterator[Sequence[RecordEntry]]:
    """A few at a time, and fewer where they are large."""
    chunk: list[RecordEntry] = []
    num_rows = num_bytes = 0
    for entry in entries:
        chunk.append(entry)
        num_rows += _num_rows(entry)
        num_bytes += entry.num_bytes
        if num_rows > MAX_ROWS // 8 or num_bytes > _CHUNK_BYTES:
            yield chunk
            chunk, num_rows, num_bytes = [], 0, 0
    if chunk:
        yield chunk


def _num_rows(entry: RecordEntry) -> int:
    """As many as it says, but not more than it has bytes."""
    return min(entry.head.num_rows, entry.num_bytes) if isinstance(entry.head, TableHead) else 0


# --- in threads ------------------------------------------------------------------------------------


def _records_after(
    reader: RunReader, name: str, places: Mapping[str, _Place]
) -> tuple[list[RecordEntry], Mapping[str, _Place]]:
    found: list[RecordEntry] = []
    reached = {}
    for part_name, part in reader.parts().items():
        last = places[part_name].last_record if part_name in places else 0
        new = part.records("table", name, last)
        found += new
        reached[part_name] = _Place(reader.restarts(part_name), new[-1].id if new else last)
    return sorted(found, key=lambda entry: (entry.step, entry.time)), reached


def _read_rows(run: OpenRun, entries: Sequence[RecordEntry]) -> _Rows:
    with run.lock:
        try:
            found = read_many(run.look(), [_plain_columns(entry) for entry in entries])
        except (TorcheerError, OSError) as error:
            return _Rows((), f"{error}.")
    parts, fault = [], ""
    for entry, cells in zip(entries, found, strict=True):
        if isinstance(cells, TorcheerError):
            fault = str(cells)
        else:
            parts.append(_rows_of(run, entry, table_head(entry), cells))
    return _Rows(parts, fault)


def _plain_columns(entry: RecordEntry) -> CellRequest:
    """Numbers and texts. What the head says is checked before it is believed."""
    if not isinstance(entry.head, TableHead):
        return CellRequest(entry, ())
    names = {column.name for column in entry.head.columns if column.form != "tensor"}
    return CellRequest(entry, names, range(min(MAX_ROWS, entry.head.num_rows)))


def _rows_of(
    run: OpenRun, entry: RecordEntry, head: TableHead, cells: Mapping[str, Cells]
) -> messages.TableRows:
    columns = [cells.get(column.name) for column in head.columns]
    rows = [
        [None if column is None else plain_cell(column[row]) for column in columns]
        for row in range(min(MAX_ROWS, head.num_rows))
    ]
    return messages.TableRows(
        run_id=run.place.id,
        record=record_id(entry),
        step=countable(entry.step) or 0,
        columns=head.columns,
        rows=rows,
    )


# --- whole tables ---------------------------------------------------------------------------------


_MAX_TEXT_CELLS: Final = 1 << 22  # of CSV
_MAX_GROUPS: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Most:
    """How much of tables may be read for one answer."""

    num_rows: int
    num_bytes: int

    def less(self, records: Sequence[LoadedRecord]) -> Most:
        """What may be read after these."""
        return Most(
            num_rows=self.num_rows - sum(record.num_rows for record in records),
            num_bytes=self.num_bytes - sum(record.num_loaded_bytes for record in records),
        )


MOST_FOR_STATISTICS: Final = Most(num_rows=100_000, num_bytes=1 << 27)
MOST_FOR_TEXT: Final = Most(num_rows=100_000, num_bytes=1 << 24)


class LoadedRecord(TableRecord):
    """A record of which some columns were read already, so that nobody has to hold the run."""

    __slots__ = ("_cells",)

    def __init__(self, name: str, entry: RecordEntry, reader: RunReader, cells: Mapping[str, Cells]) -> None:
        super().__init__(name, entry, reader)
        self._cells = dict(cells)

    @property
    def columns(self) -> list[str]:
        return list(self._cells)

    @property
    def num_loaded_bytes(self) -> int:
        return sum(column.num_bytes for column in self.head.columns if column.name in self._cells)

    def cells(self, columns: Sequence[TableColumn] | None = None) -> dict[str, Cells]:
        if columns is None:
            return self._cells
        return {column.name: self._cells[column.name] for column in columns}


def load_records(
    run: OpenRun, name: str, most: Most, *, only_last: bool = False, with_tensors: bool = False
) -> list[LoadedRecord]:
    """The records of a table, with their cells. InputError where they are more than may be read."""
    with run.lock:
        reader = run.look()
        entries = reader.records("table", name)
        if only_last and entries:
            entries = [last_of(entries)]
        # What has no rows may say any shape.
        entries = [entry for entry in entries if table_head(entry).num_rows]
        heads = [table_head(entry) for entry in entries]
        num_rows = sum(head.num_rows for head in heads)
        wanted = [
            [column for column in head.columns if with_tensors or column.form != "tensor"] for head in heads
        ]
        num_bytes = sum(column.num_bytes for columns in wanted for column in columns)
        if num_rows > most.num_rows or num_bytes > most.num_bytes:
            raise InputError(too_large(name, num_rows))
        wishes = [
            CellRequest(entry, [column.name for column in columns])
            for entry, columns in zip(entries, wanted, strict=True)
        ]
        records = []
        for entry, cells in zip(entries, read_many(reader, wishes), strict=True):
            if isinstance(cells, TorcheerError):
                raise cells
            records.append(LoadedRecord(name, entry, reader, cells))
        return records


def too_large(name: str, num_rows: int) -> str:
    return (
        f"the table {name[:80]!r} has {num_rows:,} rows, too many for a page: in Python, "
        "tl.open_run(path).table(name) reads it, and .to_csv(path) writes it."
    )


# --- answers -------------------------------------------------------------------------------------


def statistics_answer(question: messages.TableStatisticsQuestion, records: Sequence[LoadedRecord]) -> str:
    table = Table(question.name, records)
    known = set(table.columns)
    by = [name for name in dict.fromkeys(question.by) if name in known or not records]
    if len(by) < len(set(question.by)):
        missing = next(name for name in question.by if name not in known)
        raise InputError(f"the table has no column {clipped(missing, 80)!r} of numbers or texts.")
    groups = table.statistics(by) if records else []
    if len(groups) > _MAX_GROUPS:
        raise InputError(f"there are {len(groups):,} groups: choose columns that differ less.")
    answer = messages.TableStatisticsAnswer(
        id=question.id,
        by=by,
        groups=[
            messages.TableGroup(
                cells=[plain_cell(cell) for cell in group.cells],
                num_rows=group.num_rows,
                figures=[_figures(name, found) for name, found in group.figures.items()],
            )
            for group in groups
        ],
    )
    return as_text(answer)


def _figures(name: str, found: ColumnFigures) -> messages.TableFigures:
    return messages.TableFigures(
        column=name,
        count=found.count,
        mean=finite(found.mean),
        std=finite(found.std),
        low=finite(found.low),
        high=finite(found.high),
    )


def text_answer(question: messages.TableTextQuestion, records: Sequence[LoadedRecord]) -> str:
    table = Table(question.name, records)
    # Before anything is written: one wide row makes all of them wide.
    if len(table) * _width_of(records) > _MAX_TEXT_CELLS:
        raise InputError(too_large(question.name, len(table)))
    stream = io.StringIO()
    table.write_csv(stream)
    return as_text(messages.TableTextAnswer(id=question.id, text=stream.getvalue()))


def _width_of(records: Sequence[LoadedRecord]) -> int:
    """How many numbers and texts a row takes."""
    widths: dict[str, int] = {}
    for record in records:
        for column in record.head.columns:
            widths[column.name] = max(widths.get(column.name, 0), math.prod(column.shape))
    return sum(widths.values())
