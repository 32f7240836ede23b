"""Cells of tables for the page: single numbers and texts as JSON has them, tensors of some rows."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from typing import Any, Final

import numpy

from torcheer.app.frames import binary_frame
from torcheer.app.runs.listing import clipped, finite
from torcheer.app.runs.openrun import OpenRun
from torcheer.app.runs.recorded import entry_of
from torcheer.app.runs.tables import Wish, read_cells, table_head
from torcheer.app.tablemessages import (
    MAX_CELL_VALUES,
    Cell,
    TableCellsAnswer,
    TableCellsQuestion,
)
from torcheer.errors import InputError
from torcheer.run import RecordEntry, TableColumn, TableHead
from torcheer.tensorfile import Array

_MAX_CELL: Final = 2_000  # characters of a text
_MAX_LIMITS_BYTES: Final = 1 << 26  # of a column that is read for its limits
_HELD_LIMITS: Final = 1024
_LARGEST: Final = 2**53 - 1  # that a page can count to

_Limits = tuple[float | None, float | None]
_Key = tuple[OpenRun, str, float, str]


def plain_cell(cell: Any) -> Cell:
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
        self._lock = threading.Lock()
        self._limits: OrderedDict[_Key, _Limits] = OrderedDict()

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
        with run.lock:
            array = _numbers(read_cells(run.look(), Wish(entry, [column.name], rows))[column.name])
        low, high = self._limits_of(run, question, entry, column, array)
        with numpy.errstate(over="ignore"):
            values = array.astype("<f4").tobytes()
        answer = TableCellsAnswer(
            id=question.id, num_rows=len(rows), shape=list(column.shape), low=finite(low), high=finite(high)
        )
        return binary_frame(answer, values)

    def _limits_of(
        self,
        run: OpenRun,
        question: TableCellsQuestion,
        entry: RecordEntry,
        column: TableColumn,
        array: Array,
    ) -> _Limits:
        key = (run, question.record, entry.time, column.name)
        with self._lock:
            known = self._limits.get(key)
        if known is not None:
            return known
        if column.num_bytes > _MAX_LIMITS_BYTES:
            return limits_of(array)
        with run.lock:
            whole = _numbers(read_cells(run.look(), Wish(entry, [column.name]))[column.name])
        found = limits_of(whole)
        with self._lock:
            self._limits[key] = found
            while len(self._limits) > _HELD_LIMITS:
                self._limits.popitem(last=False)
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
