"""Tensors as event files hold them, and back."""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy

from torcheer.run.events import protobuf as pb

_STRING: Final = 7
# The number of a type, its name in torch, and how NumPy reads the bytes; where NumPy lacks it, its bits.
_TYPES: Final = {
    1: ("float32", "<f4"),
    2: ("float64", "<f8"),
    3: ("int32", "<i4"),
    4: ("uint8", "<u1"),
    5: ("int16", "<i2"),
    6: ("int8", "<i1"),
    8: ("complex64", "<c8"),
    9: ("int64", "<i8"),
    10: ("bool", "|b1"),
    14: ("bfloat16", "<u2"),
    17: ("uint16", "<u2"),
    18: ("complex128", "<c16"),
    19: ("float16", "<f2"),
    22: ("uint32", "<u4"),
    23: ("uint64", "<u8"),
    24: ("float8_e5m2", "<u1"),
    25: ("float8_e4m3fn", "<u1"),
    26: ("float8_e4m3fnuz", "<u1"),
    28: ("float8_e5m2fnuz", "<u1"),
}
_NUMBERS: Final = {name: number for number, (name, _) in _TYPES.items()}
# Fields with one number for each element, where the elements do not come as bytes.
_FLOATS: Final = {5: "<f4", 6: "<f8", 9: "<f4", 12: "<f8"}
_MAX_ELEMENTS: Final = 1 << 28


class ReadTensor(NamedTuple):
    """A tensor of numbers, raw, or of texts."""

    shape: list[int]
    dtype: str  # torch's name; `string` for texts
    data: bytes
    strings: list[bytes]


def read_tensor(message: bytes) -> ReadTensor:
    number, shape, content = 0, list[int](), b""
    strings, floats, whole = list[bytes](), list[Any](), list[int]()
    for field, form, value in pb.fields(message):
        match field:
            case 1:
                number = value
            case 2:
                shape = _read_shape(pb.inner(value))
            case 4 | 18:
                content = pb.inner(value)
            case 8:
                strings.append(pb.inner(value))
            case 5 | 6 | 9 | 12:
                floats.append(pb.numbers(form, value, _FLOATS[field]))
            case 7 | 10 | 11 | 13 | 16 | 17:
                whole += pb.varints(form, value)
    if number == _STRING:
        return ReadTensor(shape, "string", b"", strings)
    return _read_numbers(number, shape, content, floats, whole)


def _read_numbers(
    number: int, shape: list[int], content: bytes, floats: list[Any], whole: list[int]
) -> ReadTensor:
    if number not in _TYPES:
        raise pb.DamagedMessageError(f"a tensor of the type {number}, which is not known")
    name, kind = _TYPES[number]
    data = content or _elements(kind, name, floats, whole)
    return ReadTensor(shape, name, _filled(data, shape, numpy.dtype(kind).itemsize), [])


def _elements(kind: str, name: str, floats: list[Any], whole: list[int]) -> bytes:
    if floats:
        return (
            numpy.concatenate(floats)
            .astype(numpy.dtype(kind.replace("c8", "f4").replace("c16", "f8")))
            .tobytes()
        )
    size = numpy.dtype(kind).itemsize
    if name in ("float16", "bfloat16"):
        return _halves(name, numpy.array([value & 0xFFFFFFFF for value in whole], dtype="<u4"))
    mask = (1 << 8 * size) - 1
    return b"".join((value & mask).to_bytes(size, "little") for value in whole)


def _halves(name: str, bits: Any) -> bytes:
    """Floats of two bytes. torch writes the four bytes of the same number as a float32 in their place."""
    if bits.max(initial=0) <= 0xFFFF:
        return bytes(bits.astype("<u2").tobytes())
    return bytes((bits >> 16).astype("<u2") if name == "bfloat16" else bits.view("<f4").astype("<f2"))


def _filled(data: bytes, shape: list[int], size: int) -> bytes:
    """These tensors may leave out elements that are like the last one."""
    count = math.prod(shape)
    if count > _MAX_ELEMENTS:
        raise pb.DamagedMessageError(f"a tensor of {count:,} elements")
    wanted = count * size
    if len(data) == wanted:
        return data
    if len(data) > wanted or len(data) % size:
        raise pb.DamagedMessageError(f"a tensor of {wanted:,} bytes with {len(data):,}")
    return data + (data[-size:] or bytes(size)) * ((wanted - len(data)) // size)


def _read_shape(message: bytes) -> list[int]:
    shape = []
    for field, _, value in pb.fields(message):
        if field == 2:
            size = next(
                (pb.signed(inner) for number, _, inner in pb.fields(pb.inner(value)) if number == 1), 0
            )
            if size < 0:
                raise pb.DamagedMessageError("a tensor of unknown size")
            shape.append(size)
    return shape


def tensor_message(shape: list[int], dtype: str, data: bytes) -> bytes | None:
    """A tensor as a message; None for a type that they do not have."""
    number = _NUMBERS.get(dtype)
    if number is None:
        return None
    return pb.int_field(1, number) + _shape_field(shape) + pb.bytes_field(4, data)


def strings_message(strings: list[bytes]) -> bytes:
    rows = b"".join(pb.bytes_field(8, one) for one in strings)
    return pb.int_field(1, _STRING) + _shape_field([len(strings)]) + rows


def _shape_field(shape: list[int]) -> bytes:
    dims = b"".join(pb.bytes_field(2, pb.int_field(1, size)) for size in shape)
    return pb.bytes_field(2, dims)
