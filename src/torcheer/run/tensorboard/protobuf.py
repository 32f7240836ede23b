"""Protocol buffers by hand: the few rules by which event files are written.

A message is a row of fields; each begins with its number and how it is written. Whatever comes from a file is
checked against the bytes that are really there. A message in a message is a view of the same bytes, no copy.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy
from numpy.typing import NDArray

VARINT: Final = 0
FIXED64: Final = 1
BYTES: Final = 2
FIXED32: Final = 5
_WIDTHS: Final = {FIXED64: 8, FIXED32: 4}
_MAX_VARINT_BYTES: Final = 10
_BLOCK_BYTES: Final = 1 << 16  # of packed numbers that are read at once

Buffer = bytes | memoryview


class DamagedMessageError(ValueError):
    """The bytes are no message."""


def fields(data: Buffer) -> Iterator[tuple[int, int, Any]]:
    """Number, form and value of each field: a whole number for varints, bytes for all else."""
    for number, form, value, _ in placed_fields(data):
        yield number, form, value


def placed_fields(data: Buffer) -> Iterator[tuple[int, int, Any, int]]:
    """The same with where in the message the value begins."""
    at, end = 0, len(data)
    while at < end:
        tag, at = (data[at], at + 1) if data[at] < 0x80 else read_varint(data, at)
        form, number = tag & 7, tag >> 3
        if number == 0:
            raise DamagedMessageError("a field without a number")
        start = at
        if form == VARINT:
            value, at = read_varint(data, at)
            yield number, form, value, start
            continue
        if form == BYTES:
            is_short = at < end and data[at] < 0x80
            length, start = (data[at], at + 1) if is_short else read_varint(data, at)
        elif form in _WIDTHS:
            length = _WIDTHS[form]
        else:
            raise DamagedMessageError(f"a field is written in the form {form}, which does not exist")
        at = start + length
        if at > end:
            raise DamagedMessageError(f"a field of {length} bytes where {end - start} are left")
        yield number, form, data[start:at], start


def chosen_fields(data: Buffer, *numbers: int) -> dict[int, Any]:
    """The values of some fields by number, the last one where there are several; all others are skipped."""
    return {number: value for number, _, value in fields(data) if number in numbers}


def first_field(data: Buffer, wanted: int) -> Any:
    """The value of a field, no bytes where it is not there."""
    return next((value for number, _, value in fields(data) if number == wanted), b"")


def read_varint(data: Buffer, at: int) -> tuple[int, int]:
    """A whole number, and where it ends."""
    value = shift = 0
    for index in range(at, min(len(data), at + _MAX_VARINT_BYTES)):
        byte = data[index]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, index + 1
        shift += 7
    raise DamagedMessageError("a number that does not end")


def signed(value: Any) -> int:
    """A varint as the signed number of 64 bits that it stands for."""
    if not isinstance(value, int):
        raise DamagedMessageError("bytes where there should be a number")
    number = value & ((1 << 64) - 1)
    return number - (1 << 64) if number >> 63 else number


def size(value: Any, most: int) -> int:
    """A varint as a size, which cannot be below zero, nor above what there can be."""
    number = signed(value)
    if not 0 <= number <= most:
        raise DamagedMessageError(f"a size of {number}")
    return number


def double(data: Any) -> float:
    return _unpacked("<d", data)


def single(data: Any) -> float:
    return _unpacked("<f", data)


def _unpacked(form: str, data: Any) -> float:
    if isinstance(data, int) or len(data) != struct.calcsize(form):
        raise DamagedMessageError("a number of the wrong size")
    return float(struct.unpack(form, data)[0])


def text(data: Any) -> str:
    if isinstance(data, int):
        raise DamagedMessageError("a number where there should be text")
    return str(data, "utf-8", "replace")


def inner(data: Any) -> Buffer:
    """The bytes of a message within a message."""
    if isinstance(data, int):
        raise DamagedMessageError("a number where there should be a message")
    found: Buffer = data
    return found


def varints(data: Buffer) -> Iterator[NDArray[numpy.uint64]]:
    """Whole numbers that stand in one piece, in blocks: they take up to eight times as much room as there."""
    start, end = 0, len(data)
    while start < end:
        block = numpy.frombuffer(data[start : start + _BLOCK_BYTES], numpy.uint8)
        ends = numpy.flatnonzero(block < 0x80)
        if not len(ends):
            raise DamagedMessageError("a number that does not end")
        block = block[: int(ends[-1]) + 1]
        starts = numpy.concatenate([[0], ends[:-1] + 1])
        if int((ends - starts).max()) >= _MAX_VARINT_BYTES:
            raise DamagedMessageError("a number that does not end")
        places = numpy.arange(len(block)) - numpy.repeat(starts, ends - starts + 1)
        parts = (block & 0x7F).astype(numpy.uint64) << (7 * places).astype(numpy.uint64)
        yield numpy.add.reduceat(parts, starts)
        start += len(block)


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def int_field(number: int, value: int) -> bytes:
    return varint(number << 3 | VARINT) + varint(value)


def double_field(number: int, value: float) -> bytes:
    return varint(number << 3 | FIXED64) + struct.pack("<d", value)


def single_field(number: int, value: float) -> bytes:
    return varint(number << 3 | FIXED32) + numpy.float32(value).tobytes()


def bytes_field(number: int, value: bytes) -> bytes:
    return varint(number << 3 | BYTES) + varint(len(value)) + value


def text_field(number: int, value: str) -> bytes:
    return bytes_field(number, value.encode("utf-8", "replace"))


def doubles_field(number: int, values: Sequence[float] | NDArray[Any]) -> bytes:
    return bytes_field(number, numpy.asarray(values, dtype="<f8").tobytes())
