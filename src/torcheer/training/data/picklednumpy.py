"""The names that a pickled array needs, and what they stand for: nothing that the file names is called."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import numpy
from numpy.typing import NDArray

_CODE: Final = re.compile(r"b1|[iu][1248]|f[248]")  # whole numbers, truth values, floating point: no objects
_LATIN: Final = ("latin1", "latin-1")


class Known(Enum):
    """What a name of the file may stand for."""

    NDARRAY = "ndarray"
    DTYPE = "dtype"
    RECONSTRUCT = "_reconstruct"
    SCALAR = "scalar"
    FROM_BUFFER = "_frombuffer"
    ENCODE = "encode"  # how Python 3 writes bytes for Python 2
    BYTES = "bytes"  # the same for no bytes at all


# numpy 2 has other names for its modules than numpy 1.
_NAMES: Final = {
    ("numpy", "ndarray"): Known.NDARRAY,
    ("numpy", "dtype"): Known.DTYPE,
    ("numpy.core.multiarray", "_reconstruct"): Known.RECONSTRUCT,
    ("numpy._core.multiarray", "_reconstruct"): Known.RECONSTRUCT,
    ("numpy.core.multiarray", "scalar"): Known.SCALAR,
    ("numpy._core.multiarray", "scalar"): Known.SCALAR,
    ("numpy.core.numeric", "_frombuffer"): Known.FROM_BUFFER,
    ("numpy._core.numeric", "_frombuffer"): Known.FROM_BUFFER,
    ("_codecs", "encode"): Known.ENCODE,
    ("__builtin__", "bytes"): Known.BYTES,
    ("builtins", "bytes"): Known.BYTES,
}


@dataclass(slots=True)
class BlankArray:
    """An array before its numbers are there. Not frozen: the file fills in what it has named already."""

    made: NDArray[Any] | None = None


@dataclass(slots=True)
class PlainType:
    """The type of an array's numbers; its byte order comes later."""

    code: str
    order: str = "="
    made: None = None


Blank = BlankArray | PlainType
BLANKS: Final = (BlankArray, PlainType)


def known_name(module: str, name: str) -> Known | None:
    return _NAMES.get((module, name))


def call(what: Known, arguments: tuple[Any, ...]) -> Any:
    """What a call in the file gives. Anything but the calls that numpy writes is a ValueError."""
    match what, arguments:
        case Known.RECONSTRUCT, (Known.NDARRAY, (0,), "b" | b"b"):
            return BlankArray()
        case Known.DTYPE, (str(code), 0 | 1, 0 | 1):
            if not _CODE.fullmatch(code):
                raise ValueError(f"an array of {code[:20]!r} is no array of plain numbers")
            return PlainType(code)
        case Known.SCALAR, (PlainType() as plain, raw):
            return array_of(raw, plain, ()).item()
        case Known.FROM_BUFFER, (raw, PlainType() as plain, tuple(shape), "C" | "F" as order):
            return array_of(raw, plain, shape, order)
        case Known.FROM_BUFFER, (raw, PlainType() as plain, tuple(shape), "K", tuple(axes)):
            return array_of(raw, plain, shape).transpose(axes)
        case Known.ENCODE, (str(text), str(encoding)) if encoding in _LATIN:
            return text.encode("latin-1")
        case Known.BYTES, ():
            return b""
    raise ValueError(f"{what.value} is called as numpy never does")


def build(item: Blank, state: tuple[Any, ...]) -> Any:
    """Fill in what was blank."""
    match item, state:
        case BlankArray(made=None), (int(), tuple(shape), PlainType() as plain, 0 | 1 as is_fortran, raw):
            item.made = array_of(raw, plain, shape, "F" if is_fortran else "C")
            return item.made
        case PlainType(), (int(), "<" | ">" | "|" | "=" as order, *rest) if all(map(_says_nothing, rest)):
            item.order = order
            return item
    raise ValueError("an array has a state that numpy never gives it")


def _says_nothing(item: Any) -> bool:
    """What stands for no fields, no names, no size of its own; older numpys write fewer of them."""
    return item is None or (type(item) is int and item in (-1, 0))


def array_of(raw: Any, plain: PlainType, shape: tuple[Any, ...], order: Any = "C") -> NDArray[Any]:
    """The numbers that the bytes are, when they are exactly as many as the shape says."""
    if type(raw) is str:  # the bytes of Python 2
        raw = raw.encode("latin-1")
    dtype = numpy.dtype(f"{plain.order}{plain.code}")
    if type(raw) not in (bytes, bytearray) or not all(type(size) is int and size >= 0 for size in shape):
        raise ValueError("an array has no bytes or no shape")
    if math.prod(shape) * dtype.itemsize != len(raw):
        raise ValueError(f"an array of shape {str(shape)[:60]} has {len(raw)} bytes")
    return numpy.frombuffer(raw, dtype).reshape(shape, order=order)
