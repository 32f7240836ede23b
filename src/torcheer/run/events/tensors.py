"""Tensors as event files hold them, and back."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy

from torcheer.run.events import protobuf as pb
from torcheer.run.events.limits import (
    ELEMENT_WORK,
    FILL_BYTES,
    MOST_DIMS,
    TEXT_WORK,
    Room,
    TooLargeError,
)

_STRING: Final = 7
_WORD: Final = (1 << 64) - 1
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
_KINDS: Final = {name: numpy.dtype(kind) for name, kind in _TYPES.values()}
# Fields with one number for each element, where the elements do not come as bytes: floats, and whole numbers.
_FLOATS: Final = {5: "<f4", 6: "<f8", 9: "<f4", 12: "<f8"}
_WHOLE: Final = (7, 10, 11, 13, 16, 17)
_TEXTS: Final = 8


class ReadTensor(NamedTuple):
    """A tensor of numbers, raw, or of texts."""

    shape: list[int]
    dtype: str  # torch's name; `string` for texts
    data: pb.Buffer
    message: pb.Buffer

    def texts(self) -> Iterator[tuple[pb.Buffer, int]]:
        """One after the other, and where in the message each begins: there may be very many."""
        for field, _, value, start in pb.placed_fields(self.message):
            if field == _TEXTS:
                yield pb.inner(value), start

    def array(self) -> Any:
        """The tensor as NumPy has it; types that NumPy lacks as their bits."""
        return numpy.frombuffer(self.data, dtype=_KINDS[self.dtype]).reshape(self.shape)


def read_tensor(message: pb.Buffer, room: Room) -> ReadTensor:
    number, shape = 0, list[int]()
    content: pb.Buffer = b""
    floats, whole = dict[int, bytearray](), array("Q")
    for field, form, value, _ in pb.placed_fields(message):
        if field == _TEXTS:
            room.take(0, TEXT_WORK)
        elif field in _WHOLE:
            _take_whole(whole, form, value, room)
        elif field in _FLOATS:
            room.take(0, ELEMENT_WORK)
            floats.setdefault(field, bytearray()).extend(pb.inner(value))
        elif field == 1:
            number = pb.signed(value)
        elif field == 2:
            shape = _read_shape(pb.inner(value))
        elif field in (4, 18):
            content = pb.inner(value)
    if number == _STRING:
        return ReadTensor(shape, "string", b"", message)
    if number not in _TYPES:
        raise pb.DamagedMessageError(f"a tensor of the type {number}, which is not known")
    name = _TYPES[number][0]
    data = content if len(content) else _elements(name, floats, whole)
    return ReadTensor(shape, name, _filled(data, shape, _KINDS[name].itemsize, room), message)


def _take_whole(whole: array[int], form: int, value: Any, room: Room) -> None:
    if form == pb.VARINT:
        room.take(8, ELEMENT_WORK)
        whole.append(value & _WORD)
        return
    room.take(8 * len(value))
    for block in pb.varints(value):
        whole.frombytes(block.tobytes())


def _elements(name: str, floats: Mapping[int, bytearray], whole: array[int]) -> pb.Buffer:
    """Elements that stood one by one in fields of their own."""
    kind = _KINDS[name]
    for field, data in floats.items():
        if len(data) % numpy.dtype(_FLOATS[field]).itemsize:
            raise pb.DamagedMessageError("a row of numbers that ends within one")
        # A complex number is two of them.
        wanted = numpy.dtype(f"<f{kind.itemsize // 2}") if kind.kind == "c" else kind
        with numpy.errstate(all="ignore"):
            numbers = numpy.frombuffer(data, _FLOATS[field]).astype(wanted, copy=False)
        return numbers.data.cast("B") if len(numbers) else b""
    if kind.kind == "c":
        if whole:
            raise pb.DamagedMessageError("whole numbers in the place of complex ones")
        return b""
    bits = numpy.frombuffer(whole, "=u8")
    if name in ("float16", "bfloat16"):
        bits = _halves(name, bits.astype("<u4"))
    elements = bits.astype(f"<u{kind.itemsize}", copy=False)
    return elements.data.cast("B") if len(elements) else b""


def _halves(name: str, bits: Any) -> Any:
    """Floats of two bytes. torch writes the four bytes of the same number as a float32 in their place."""
    if bits.max(initial=0) <= 0xFFFF:
        return bits.astype("<u2")
    with numpy.errstate(all="ignore"):
        return (
            (bits >> 16).astype("<u2") if name == "bfloat16" else bits.view("<f4").astype("<f2").view("<u2")
        )


def _filled(data: pb.Buffer, shape: Sequence[int], size: int, room: Room) -> pb.Buffer:
    """These tensors may leave out elements that are like the last one."""
    # A size of zero must not hide that the others are out of all bounds.
    if math.prod(length for length in shape if length) * size >= 1 << 62:
        raise TooLargeError("a tensor larger than any memory")
    num_bytes = math.prod(shape) * size
    if len(data) > num_bytes or len(data) % size:
        raise pb.DamagedMessageError(f"a tensor of {num_bytes:,} bytes with {len(data):,}")
    missing = num_bytes - len(data)
    if not missing:
        return data
    room.take(FILL_BYTES * missing)
    return bytes(data) + (bytes(data[-size:]) or bytes(size)) * (missing // size)


def _read_shape(message: pb.Buffer) -> list[int]:
    shape: list[int] = []
    for field, _, value in pb.fields(message):
        if field == 2:
            if len(shape) == MOST_DIMS:
                raise TooLargeError(f"a tensor of more than {MOST_DIMS} dimensions")
            shape.append(pb.size(pb.first_field(pb.inner(value), 1) or 0, 1 << 62))
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
