"""Whole tables for the page: what their numbers come to by groups, and as CSV."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from torcheer.app.frames import as_json
from torcheer.app.runs.listing import clipped, finite
from torcheer.app.runs.openrun import OpenRun
from torcheer.app.runs.tablecells import plain_cell
from torcheer.app.runs.tables import Wish, last_of, read_many, table_head
from torcheer.app.tablemessages import (
    TableFigures,
    TableGroup,
    TableStatisticsAnswer,
    TableStatisticsQuestion,
    TableTextAnswer,
    TableTextQuestion,
)
from torcheer.errors import InputError, TorcheerError
from torcheer.run import Cells, ColumnFigures, RecordEntry, RunReader, Table, TableColumn, TableRecord

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
    run: OpenRun, name: str, most: Most, *, only_last: bool, with_tensors: bool
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
            Wish(entry, [column.name for column in columns])
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


def statistics_answer(question: TableStatisticsQuestion, records: Sequence[LoadedRecord]) -> str:
    table = Table(question.name, records)
    known = set(table.columns)
    by = [name for name in dict.fromkeys(question.by) if name in known or not records]
    if len(by) < len(set(question.by)):
        missing = next(name for name in question.by if name not in known)
        raise InputError(f"the table has no column {clipped(missing, 80)!r} of numbers or texts.")
    groups = table.statistics(by) if records else []
    if len(groups) > _MAX_GROUPS:
        raise InputError(f"there are {len(groups):,} groups: choose columns that differ less.")
    answer = TableStatisticsAnswer(
        id=question.id,
        by=by,
        groups=[
            TableGroup(
                cells=[plain_cell(cell) for cell in group.cells],
                num_rows=group.num_rows,
                figures=[_figures(name, found) for name, found in group.figures.items()],
            )
            for group in groups
        ],
    )
    return as_json(answer).decode()


def _figures(name: str, found: ColumnFigures) -> TableFigures:
    return TableFigures(
        column=name,
        count=found.count,
        mean=finite(found.mean),
        std=finite(found.std),
        low=finite(found.low),
        high=finite(found.high),
    )


def text_answer(question: TableTextQuestion, records: Sequence[LoadedRecord]) -> str:
    table = Table(question.name, records)
    # Before anything is written: one wide row makes all of them wide.
    if len(table) * _width_of(records) > _MAX_TEXT_CELLS:
        raise InputError(too_large(question.name, len(table)))
    stream = io.StringIO()
    table.write_csv(stream)
    return as_json(TableTextAnswer(id=question.id, text=stream.getvalue())).decode()


def _width_of(records: Sequence[LoadedRecord]) -> int:
    """How many numbers and texts a row takes."""
    widths: dict[str, int] = {}
    for record in records:
        for column in record.head.columns:
            widths[column.name] = max(widths.get(column.name, 0), math.prod(column.shape))
    return sum(widths.values())
