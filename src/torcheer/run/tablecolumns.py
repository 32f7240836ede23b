"""Columns of a table as bytes and back: numbers, whole numbers, texts, tensors of one shape."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import numpy
from numpy.typing import NDArray

from torcheer.errors import FileFormatError, InputError
from torcheer.run.observing.arrays import check_size, copy_of, is_tensor
from torcheer.run.observing.plaintext import plain_text
from torcheer.run.observing.steps import checked_name
from torcheer.run.records import TableColumn, TableHead
from torcheer.tensorfile import MAX_DIMS, RAW_TYPES, as_numbers

Cells = NDArray[Any] | list[str]  # of one column: a number, a text or an array for each row

_INTEGERS: Final = (-(2**63), 2**63 - 1)
_TENSOR_TYPES: Final = {
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128", *RAW_TYPES),
}
_TEXTS: Final = msgspec.json.Decoder(list[str])


class _Column(NamedTuple):
    """A column to be."""

    form: str
    data: bytes
    num_rows: int
    shape: tuple[int, ...] = ()
    dtype: str = ""


# --- writing --------------------------------------------------------------------------------------------


def encoded_table(columns: Mapping[str, Any]) -> tuple[TableHead, bytes]:
    """The head and the bytes of a table, whose columns are lists, arrays or tensors of one length."""
    heads, pieces = [], []
    num_rows: int | None = None
    for name, values in columns.items():
        found = _column_of(name, values)
        if num_rows is not None and found.num_rows != num_rows:
            raise InputError(
                f"the column {name!r} has {found.num_rows} rows, and those before it {num_rows}: "
                "give all columns of a table the same length."
            )
        num_rows = found.num_rows
        pieces.append(found.data)
        heads.append(
            TableColumn(
                name=checked_name(name),
                form=found.form,  # type: ignore[arg-type]
                num_bytes=len(found.data),
                shape=list(found.shape),
                dtype=found.dtype,
            )
        )
    check_size(sum(map(len, pieces)))
    head, data = TableHead(num_rows=num_rows or 0, columns=heads), b"".join(pieces)
    if misfit_of(head, len(data)):
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


def _column_of(name: str, values: Any) -> _Column:
    if _is_array(values) and values.ndim:
        return _of_array(values)
    is_single = isinstance(values, str | bytes | Mapping) or _is_array(values)
    if is_single or not isinstance(values, Iterable):
        raise InputError(
            f"the column {name!r} is a {type(values).__name__}: give a list, an array or a tensor with an "
            "element for each row, or a single row to log_row."
        )
    return _of_list(name, [_cell(value) for value in values])


def _of_array(values: Any) -> _Column:
    copied = copy_of(values)
    if copied.array.ndim > 1:
        num_rows, *shape = copied.array.shape
        return _Column("tensor", copied.raw, num_rows, tuple(shape), copied.dtype)
    numbers = copied.numbers()
    if numbers.dtype.kind == "c":
        raise InputError("the numbers of a column are complex: log their parts, x.real and x.imag.")
    if numbers.dtype.kind in "iu" and numbers.dtype != numpy.uint64:
        return _Column("integer", numbers.astype("<i8").tobytes(), len(numbers))
    return _Column("number", numbers.astype("<f8").tobytes(), len(numbers))


def _of_list(name: str, values: Sequence[Any]) -> _Column:
    if any(_is_array(value) or isinstance(value, list | tuple) for value in values):
        copied = copy_of(list(values))
        return _Column("tensor", copied.raw, len(values), copied.array.shape[1:], copied.dtype)
    if any(isinstance(value, str) for value in values):
        texts = ["" if value is None else plain_text(value) for value in values]
        return _Column("text", msgspec.json.encode(texts), len(texts))
    numbers = [_number(name, value) for value in values]
    if numbers and all(isinstance(number, int) and _fits(number) for number in numbers):
        return _Column("integer", numpy.array(numbers, "<i8").tobytes(), len(numbers))
    return _Column("number", numpy.array(numbers, "<f8").tobytes(), len(numbers))


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


def _fits(number: int) -> bool:
    return _INTEGERS[0] <= number <= _INTEGERS[1]


# --- reading --------------------------------------------------------------------------------------------


def misfit_of(head: TableHead, num_bytes: int) -> str:
    """What contradicts itself in a table that somebody else wrote; empty where nothing does."""
    if head.num_rows < 0 or sum(column.num_bytes for column in head.columns) != num_bytes:
        return "its columns do not have as many bytes as it does"
    if head.num_rows > num_bytes:
        return "it has more rows than bytes"  # and somebody would count them all
    for column in head.columns:
        if column.num_bytes < 0 or (column.form != "text" and column.num_bytes != _num_bytes(head, column)):
            return f"the column {column.name[:80]!r} does not have a cell for each row"
    return ""


def _num_bytes(head: TableHead, column: TableColumn) -> int:
    if column.form != "tensor":
        return 8 * head.num_rows
    # Many dimensions would make a number that takes long to work out.
    if column.dtype not in _TENSOR_TYPES or len(column.shape) > MAX_DIMS or min(column.shape, default=0) < 0:
        return -1
    return head.num_rows * math.prod(column.shape) * _numpy_type(column.dtype).itemsize


def cells_of(head: TableHead, column: TableColumn, data: bytes) -> Cells:
    """The cells of a column from its bytes. Tensors as NumPy has them: bfloat16 becomes float32."""
    if column.form == "text":
        return _texts(head, column, data)
    if column.form != "tensor":
        return numpy.frombuffer(data, "<i8" if column.form == "integer" else "<f8")
    try:
        raw = numpy.frombuffer(data, _numpy_type(column.dtype)).reshape(head.num_rows, *column.shape)
    except ValueError as error:  # of no bytes, any shape can be told
        raise FileFormatError(f"the column {column.name[:80]!r} is damaged: {error}.") from None
    return as_numbers(raw, column.dtype) if column.dtype in RAW_TYPES else raw


def _texts(head: TableHead, column: TableColumn, data: bytes) -> list[str]:
    try:
        texts = _TEXTS.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise FileFormatError(f"the texts of the column {column.name!r} are damaged: {error}") from None
    if len(texts) != head.num_rows:
        raise FileFormatError(f"the column {column.name!r} does not have a text for each row.")
    return texts


def _numpy_type(dtype: str) -> numpy.dtype[Any]:
    return numpy.dtype(f"<u{RAW_TYPES[dtype]}" if dtype in RAW_TYPES else dtype).newbyteorder("<")
