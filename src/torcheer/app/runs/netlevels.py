"""Numbers of a run as levels of two bytes, from the lowest to the highest, and codes for what is none."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy
from numpy.typing import NDArray

from torcheer.app.netmessages import LEVELS, MINUS_INFINITY, NOT_A_NUMBER, NOT_THERE, PLUS_INFINITY
from torcheer.app.storedarrays import NUMPY_TYPES
from torcheer.tensorfile import Array, as_numbers, as_real

# A page takes the highest less the lowest, which must be a number, too.
_LARGEST: Final = float(numpy.finfo(numpy.float64).max) / 2
_EXACT_IN_FLOAT32: Final = 2  # bytes of whole numbers

Codes = NDArray[numpy.uint16]


class Levels(NamedTuple):
    """A code for each value, and what level 0 and the highest level stand for."""

    codes: Codes
    low: float
    high: float


NO_LEVELS: Final = Levels(numpy.empty(0, dtype=numpy.uint16), 0.0, 0.0)


def numbers_in(data: bytes, dtype: str) -> Array:
    """Real numbers, flat: complex ones by their magnitude. The bytes were held against the shape before."""
    if dtype == "complex32":  # two float16 each, for which NumPy has no type
        parts = numpy.frombuffer(data, "<f2").astype(numpy.float32)
        return as_real(parts.view(numpy.complex64))
    raw = numpy.frombuffer(data, dtype=NUMPY_TYPES[dtype].newbyteorder("<"))
    return as_real(as_numbers(raw != 0 if dtype == "bool" else raw, dtype))


def levels_of(numbers: Array, is_there: NDArray[numpy.bool_] | None = None) -> Levels:
    """Of the same shape. What is not there has a code of its own and does not count."""
    if is_there is not None:
        found = levels_of(numbers[is_there])
        codes = numpy.full(numbers.shape, NOT_THERE, dtype=numpy.uint16)
        codes[is_there] = found.codes
        return Levels(codes, found.low, found.high)
    values = _floats(numbers)
    if not values.size:
        return Levels(numpy.empty(values.shape, dtype=numpy.uint16), 0.0, 0.0)
    with numpy.errstate(all="ignore"):
        low, high = float(values.min()), float(values.max())  # NaN where there is one
        if low >= -_LARGEST and high <= _LARGEST:
            return Levels(_scaled(values, low, high), low, high)
        return _with_codes(values)


def _floats(numbers: Array) -> NDArray[Any]:
    if numbers.dtype.kind == "f":
        return numbers
    return numbers.astype(numpy.float32 if numbers.dtype.itemsize <= _EXACT_IN_FLOAT32 else numpy.float64)


def _with_codes(values: NDArray[Any]) -> Levels:
    # In the type of the values: in a smaller one, the limit itself would be infinite.
    is_number = numpy.abs(values) <= min(_LARGEST, float(numpy.finfo(values.dtype).max))
    codes = numpy.where(values > 0, PLUS_INFINITY, MINUS_INFINITY).astype(numpy.uint16)
    codes[numpy.isnan(values)] = NOT_A_NUMBER
    numbers = values[is_number]
    if not numbers.size:
        return Levels(codes, 0.0, 0.0)
    low, high = float(numbers.min()), float(numbers.max())
    codes[is_number] = _scaled(numbers, low, high)
    return Levels(codes, low, high)


def _scaled(values: NDArray[Any], low: float, high: float) -> Codes:
    span = high - low
    if span == 0:
        return numpy.zeros(values.shape, dtype=numpy.uint16)
    scale = LEVELS / span
    if not _is_plain(values.dtype, span, scale):
        values = values.astype(numpy.float64)
    # The scale of a span that is hardly more than 0 can be infinite.
    work = values - values.dtype.type(low)
    work = work * values.dtype.type(scale) if numpy.isfinite(scale) else work / span * LEVELS
    codes: Codes = numpy.rint(work, out=work).astype(numpy.uint16)
    return codes


def _is_plain(dtype: numpy.dtype[Any], span: float, scale: float) -> bool:
    """Whether the type of the values has room for what comes between."""
    limits = numpy.finfo(dtype)
    return span < float(limits.max) and float(limits.tiny) < scale < float(limits.max)
