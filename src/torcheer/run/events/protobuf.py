"""Protocol buffers by hand: the few rules by which event files are written.

A message is a row of fields; each begins with its number and how it is written. Whatever comes from a file is
checked against the bytes that are really there.
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


class DamagedMessageError(ValueError):
    """The bytes are no message."""


# --- reading -----------------------------------------------------------------------------------------


def fields(data: bytes) -> Iterator[tuple[int, int, Any]]:
    """Number, form and value of each field: a whole number for varints, bytes for all else."""
    at, end = 0, len(data)
    while at < end:
        tag, at = read_varint(data, at)
        form = tag & 7
        if form == VARINT:
            value, at = read_varint(data, at)
            yield tag >> 3, form, value
            continue
        if form == BYTES:
            length, at = read_varint(data, at)
        elif form in _WIDTHS:
            length = _WIDTHS[form]
        else:
            raise DamagedMessageError(f"a field is written in the form {form}, which does not exist")
        if length > end - at:
            raise DamagedMessageError(f"a field of {length} bytes where {end - at} are left")
        yield tag >> 3, form, data[at : at + length]
        at += length


def read_varint(data: bytes, at: int) -> tuple[int, int]:
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


def double(data: Any) -> float:
    return _unpacked("<d", data)


def single(data: Any) -> float:
    return _unpacked("<f", data)


def _unpacked(form: str, data: Any) -> float:
    if not isinstance(data, bytes) or len(data) != struct.calcsize(form):
        raise DamagedMessageError("a number of the wrong size")
    return float(struct.unpack(form, data)[0])


def text(data: Any) -> str:
    if not isinstance(data, bytes):
        raise DamagedMessageError("a number where there should be text")
    return data.decode("utf-8", "replace")


def inner(data: Any) -> bytes:
    """The bytes of a message within a message."""
    if not isinstance(data, bytes):
        raise DamagedMessageError("a number where there should be a message")
    return data


def numbers(form: int, value: Any, kind: str) -> NDArray[Any]:
    """Numbers of a repeated field, `kind` as NumPy names it: all in one piece, or one of them."""
    if form == BYTES and isinstance(value, bytes):
        size = numpy.dtype(kind).itemsize
        if len(value) % size:
            raise DamagedMessageError("a row of numbers that ends within one")
        return numpy.frombuffer(value, dtype=kind)
    return numpy.frombuffer(inner(value), dtype=kind)


def varints(form: int, value: Any) -> list[int]:
    """Whole numbers of a repeated field: all in one piece, or one of them."""
    if form == VARINT:
        return [value]
    data, at, found = inner(value), 0, []
    while at < len(data):
        number, at = read_varint(data, at)
        found.append(number)
    return found


# --- writing -----------------------------------------------------------------------------------------


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
