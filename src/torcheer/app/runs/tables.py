"""Rows of tables as they are read: checked before anything is allocated, and no more than is wanted."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from itertools import accumulate, islice
from typing import Final, NamedTuple

from torcheer.errors import FileFormatError, InputError, TorcheerError
from torcheer.run import (
    Cells,
    RecordEntry,
    RunReader,
    Slice,
    SqlitePart,
    TableColumn,
    TableHead,
    cells_of,
    misfit_of,
)

_MAX_COLUMNS: Final = 4096
_MAX_TEXT_BYTES: Final = 16 << 20  # of a column
_SMALL_BYTES: Final = 1 << 14  # of a record that is read in one piece
_GONE: Final = "these rows are not in the run any more: they were thinned out or taken back."


def table_head(entry: RecordEntry) -> TableHead:
    """The head of a record of a table, if it can be true. FileFormatError where it cannot."""
    head = entry.head
    if not isinstance(head, TableHead):
        raise InputError("this record is no table.")
    fault = misfit_of(head, entry.num_bytes) or _excess_of(head)
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


class Wish(NamedTuple):
    """Some columns of a record, in some rows; in all of them by default."""

    entry: RecordEntry
    columns: Collection[str]
    rows: range | None = None


def read_cells(reader: RunReader, wish: Wish) -> Mapping[str, Cells]:
    """The cells of one record, by column. Whoever asks holds the run."""
    (found,) = read_many(reader, [wish])
    if isinstance(found, TorcheerError):
        raise found
    return found


def read_many(reader: RunReader, wishes: Sequence[Wish]) -> Sequence[Mapping[str, Cells] | TorcheerError]:
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


def _plan_of(wish: Wish) -> _Plan:
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
