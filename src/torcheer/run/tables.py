"""Columns of a table as bytes and back: numbers, whole numbers, texts, tensors of one shape."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TextIO

import msgspec
import numpy
from numpy.typing import NDArray

from torcheer.errors import FileFormatError, InputError
from torcheer.run.encode.arrays import Copied, check_size, copy_of, is_tensor
from torcheer.run.encode.steps_names_hparams import checked_name
from torcheer.run.read.saved_records import SavedRecord, array_of
from torcheer.run.read.scalars import needed_pandas, save_table
from torcheer.run.records import TableColumn, TableHead, plain_text, tensor_bytes

Cells = NDArray[Any] | list[str]  # of one column: a number, a text or an array for each row

_TEXTS: Final = msgspec.json.Decoder(list[str])


def encoded_table(columns: Mapping[str, Any]) -> tuple[TableHead, bytes]:
    """The head and the bytes of a table, whose columns are lists, arrays or tensors of one length."""
    heads, pieces = [], []
    num_rows: int | None = None
    for name, values in columns.items():
        its_rows, column, its_data = _column_of(name, values)
        if num_rows is not None and its_rows != num_rows:
            raise InputError(
                f"the column {name!r} has {its_rows} rows, and those before it {num_rows}: "
                "give all columns of a table the same length."
            )
        num_rows = its_rows
        heads.append(column)
        pieces.append(its_data)
    check_size(sum(map(len, pieces)))
    head, data = TableHead(num_rows=num_rows or 0, columns=heads), b"".join(pieces)
    if table_fault(head, len(data)):
        raise InputError("the cells of a table are all empty: give a column with something in it.")
    return head, data


def as_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """One row as columns of one cell each. A tensor without dimensions is a number.

    What is None the row does not have: NaN is a number that went wrong.
    """
    return {name: [_cell(value)] for name, value in row.items() if value is not None}


def _cell(value: Any) -> Any:
    return value.item() if _is_array(value) and value.ndim == 0 else value


def _is_array(value: Any) -> bool:
    return is_tensor(value) or isinstance(value, numpy.ndarray)


_Column = tuple[int, TableColumn, bytes]  # how many rows it has, its head, and its bytes


def _column_of(name: Any, values: Any) -> _Column:
    if _is_array(values) and values.ndim:
        return _of_array(checked_name(name), values)
    is_single = isinstance(values, str | bytes | Mapping) or _is_array(values)
    if is_single or not isinstance(values, Iterable):
        raise InputError(
            f"the column {name!r} is a {type(values).__name__}: give a list, an array or a tensor with an "
            "element for each row, or a single row to log_row."
        )
    return _of_list(checked_name(name), [_cell(value) for value in values])


def _of_array(name: str, values: Any) -> _Column:
    copied = copy_of(values)
    if copied.array.ndim > 1:
        return _of_tensors(name, copied)
    numbers = copied.numbers()
    if numbers.dtype.kind == "c":
        raise InputError("the numbers of a column are complex: log their parts, x.real and x.imag.")
    return _of_numbers(name, numbers, is_whole=numbers.dtype.kind in "iu" and numbers.dtype != numpy.uint64)


def _of_list(name: str, values: Sequence[Any]) -> _Column:
    if any(_is_array(value) or isinstance(value, list | tuple) for value in values):
        return _of_tensors(name, copy_of(list(values)))
    if any(isinstance(value, str) for value in values):
        data = msgspec.json.encode(["" if value is None else plain_text(value) for value in values])
        return len(values), TableColumn(name=name, form="text", num_bytes=len(data)), data
    numbers = [_number(name, value) for value in values]
    is_whole = all(isinstance(number, int) and -(2**63) <= number < 2**63 for number in numbers)
    return _of_numbers(name, numbers, is_whole=bool(numbers) and is_whole)


def _of_tensors(name: str, copied: Copied) -> _Column:
    num_rows, *shape = copied.array.shape
    size = len(copied.raw)
    head = TableColumn(name=name, form="tensor", num_bytes=size, shape=shape, dtype=copied.dtype)
    return num_rows, head, copied.raw


def _of_numbers(name: str, numbers: Any, *, is_whole: bool) -> _Column:
    data = numpy.asarray(numbers).astype("<i8" if is_whole else "<f8").tobytes()
    head = TableColumn(name=name, form="integer" if is_whole else "number", num_bytes=len(data))
    return len(numbers), head, data


def _number(name: str, value: Any) -> int | float:
    if value is None:
        return math.nan
    if isinstance(value, bool | numpy.bool_):
        return int(value)
    if isinstance(value, int | numpy.integer):
        return int(value)
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InputError(
            f"a cell of the column {name!r} is a {type(value).__name__}: give a number, a text or a tensor."
        ) from None


def table_fault(head: TableHead, num_bytes: int) -> str:
    """What contradicts itself in a table that somebody else wrote; empty where nothing does."""
    if head.num_rows < 0 or sum(column.num_bytes for column in head.columns) != num_bytes:
        return "its columns do not have as many bytes as it does"
    if head.num_rows > num_bytes:
        return "it has more rows than bytes"  # and somebody would count them all
    for column in head.columns:
        num_wanted = 8 * head.num_rows
        if column.form == "tensor":
            num_wanted = tensor_bytes([head.num_rows, *column.shape], column.dtype)
        if column.num_bytes < 0 or (column.form != "text" and column.num_bytes != num_wanted):
            return f"the column {column.name[:80]!r} does not have a cell for each row"
    return ""


def cells_of(head: TableHead, column: TableColumn, data: bytes) -> Cells:
    """The cells of a column from its bytes. Tensors as NumPy has them: bfloat16 becomes float32."""
    if column.form == "text":
        try:
            texts = _TEXTS.decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise FileFormatError(f"the texts of the column {column.name!r} are damaged: {error}") from None
        if len(texts) != head.num_rows:
            raise FileFormatError(f"the column {column.name!r} does not have a text for each row.")
        return texts
    if column.form != "tensor":
        return numpy.frombuffer(data, "<i8" if column.form == "integer" else "<f8")
    try:
        return array_of(data, column.dtype, [head.num_rows, *column.shape])
    except ValueError as error:  # of no bytes, any shape can be told
        raise FileFormatError(f"the column {column.name[:80]!r} is damaged: {error}.") from None


Cell = float | int | str | NDArray[Any] | None


class TableRecord(SavedRecord[TableHead]):
    """Rows of a table that were logged together."""

    @property
    def columns(self) -> list[str]:
        return [column.name for column in self.head.columns]

    @property
    def num_rows(self) -> int:
        return self._checked_head().num_rows

    def __len__(self) -> int:
        return self.num_rows

    def __getitem__(self, name: str) -> Cells:
        """The cells of a column: numbers or tensors as an array, texts as a list."""
        if name not in self.columns:
            raise _no_column(name, self.columns)
        return self.cells(name)[name]

    def cells(self, *names: str) -> dict[str, Cells]:
        """Some columns by name, or all. The bytes are read once."""
        head, raw, start, found = self._checked_head(), self.raw, 0, {}
        for column in head.columns:
            if not names or column.name in names:
                found[column.name] = cells_of(head, column, raw[start : start + column.num_bytes])
            start += column.num_bytes
        return found

    def _checked_head(self) -> TableHead:
        fault = table_fault(self.head, self.num_bytes)
        if fault:
            raise FileFormatError(f"the table {self.name!r} at step {self.step} is damaged: {fault}.")
        return self.head

    def _about(self) -> str:
        return f"{self.head.num_rows:,} rows of {len(self.head.columns)} columns"


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFigures:
    """What the finite numbers of a column come to. `std` is that of a sample: of one number there is none."""

    count: int
    mean: float | None
    std: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Rows that are alike in some columns, and what the others come to."""

    cells: tuple[Cell, ...]
    num_rows: int
    figures: dict[str, ColumnFigures]


class Table:
    """All rows of a table, from however many records: `table["loss"]` is a column, `table.rows()` dicts."""

    def __init__(self, name: str, records: Sequence[TableRecord]) -> None:
        self.name = name
        self.records = records

    @property
    def columns(self) -> list[str]:
        """In the order in which they came."""
        return list(dict.fromkeys(name for record in self.records for name in record.columns))

    @property
    def steps(self) -> NDArray[numpy.int64]:
        """Of each row, the step at which it was logged."""
        return numpy.repeat(
            numpy.array([record.step for record in self.records], numpy.int64),
            [record.num_rows for record in self.records],
        )

    def __len__(self) -> int:
        return sum(record.num_rows for record in self.records)

    def __getitem__(self, name: str) -> Any:
        """A column: an array of numbers, or of tensors where all have one shape; else a list of cells."""
        if name not in self.columns:
            raise _no_column(name, self.columns)
        found = [record[name] if name in record.columns else None for record in self.records]
        arrays = [cells for cells in found if isinstance(cells, numpy.ndarray)]
        if len(arrays) == len(found) and len({array.shape[1:] for array in arrays}) == 1:
            return numpy.concatenate(arrays)
        return [
            None if cells is None else _plain(cells[row])
            for record, cells in zip(self.records, found, strict=True)
            for row in range(record.num_rows)
        ]

    def __iter__(self) -> Iterator[dict[str, Cell]]:
        return self.rows()

    def rows(self) -> Iterator[dict[str, Cell]]:
        """Each row by column. What a row does not have is not in it."""
        for record in self.records:
            cells = record.cells()
            for row in range(record.num_rows):
                yield {name: _plain(column[row]) for name, column in cells.items()}

    def statistics(self, by: Sequence[str] = ()) -> list[Group]:
        """Rows in groups of equal cells in the columns `by`, and what the numbers come to in each."""
        for name in by:
            if name not in self.columns:
                raise _no_column(name, self.columns)
        groups: dict[tuple[Any, ...], list[dict[str, Cell]]] = {}
        for row in self.rows():
            key = tuple(_key(row.get(name)) for name in by)
            groups.setdefault(key, []).append(row)
        texts_and_tensors = {
            column.name
            for record in self.records
            for column in record.head.columns
            if column.form in ("text", "tensor")
        }
        numbers = [name for name in self.columns if name not in by and name not in texts_and_tensors]
        return [
            Group(
                cells=tuple(rows[0].get(name) for name in by),
                num_rows=len(rows),
                figures={name: figures_of([row[name] for row in rows if name in row]) for name in numbers},
            )
            for rows in groups.values()
        ]

    def to_pandas(self) -> Any:
        """A data frame, tensors as arrays in their cells. Needs pandas."""
        return needed_pandas("to_pandas").DataFrame(list(self.rows()), columns=self.columns)

    def to_csv(self, path: str | os.PathLike[str], *, separator: str = ",") -> None:
        """Write all rows, tensors number by number: `Output[0]`, `Output[1]`…"""
        save_table(path, lambda stream: self.write_csv(stream, separator=separator))

    def write_csv(self, stream: TextIO, *, separator: str = ",") -> None:
        writer = csv.writer(stream, delimiter=separator, lineterminator="\n")
        widths = {name: self._indices(name) for name in self.columns}
        writer.writerow([f"{name}{index}" for name, indices in widths.items() for index in indices])
        for row in self.rows():
            writer.writerow(
                [cell for name, indices in widths.items() for cell in _spread(row.get(name), len(indices))]
            )

    def _indices(self, name: str) -> list[str]:
        """What stands behind the name of a column in a heading: nothing, or an index for each number."""
        shapes = {
            tuple(column.shape)  # () of a number or a text
            for record in self.records
            for column in record.head.columns
            if column.name == name and record.num_rows
        }
        tensors = [shape for shape in shapes if shape]
        if not tensors:
            return [""]
        if len(tensors) == 1 and 0 not in tensors[0]:
            return [f"[{','.join(map(str, index))}]" for index in numpy.ndindex(*tensors[0])]
        return [f"[{index}]" for index in range(max(math.prod(shape) for shape in shapes))]

    def __repr__(self) -> str:
        return f"<Table {self.name!r}: {len(self):,} rows of {', '.join(self.columns) or 'nothing'}>"


def figures_of(cells: Sequence[Cell]) -> ColumnFigures:
    numbers = [float(cell) for cell in cells if isinstance(cell, int | float) and math.isfinite(cell)]
    if not numbers:
        return ColumnFigures(count=0, mean=None, std=None, low=None, high=None)
    values = numpy.array(numbers)
    return ColumnFigures(
        count=len(values),
        mean=float(values.mean()),
        std=float(values.std(ddof=1)) if len(values) > 1 else None,
        low=float(values.min()),
        high=float(values.max()),
    )


def _plain(cell: Any) -> Cell:
    plain: Cell = cell.item() if isinstance(cell, numpy.generic) else cell
    return plain


def _key(cell: Cell) -> Any:
    """Something that is equal for equal cells: NaN is not equal to itself, and arrays cannot be looked up."""
    if isinstance(cell, numpy.ndarray):
        return cell.shape, cell.tobytes()
    return "nan" if isinstance(cell, float) and math.isnan(cell) else cell


def _spread(cell: Cell, width: int) -> list[Any]:
    values = cell.reshape(-1).tolist() if isinstance(cell, numpy.ndarray) else [] if cell is None else [cell]
    return [*values, *[""] * (width - len(values))]


def _no_column(name: str, columns: Sequence[str]) -> InputError:
    return InputError(f"the table has no column {name!r}: it has {', '.join(map(repr, columns)) or 'none'}.")
