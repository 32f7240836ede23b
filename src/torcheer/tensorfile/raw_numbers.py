"""Numbers that NumPy has no type for: bfloat16 and the floats of eight bits, read from their bytes."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy
from numpy.typing import NDArray

Array = NDArray[Any]


# Bits of the mantissa, the bias of the exponent, and the bytes that are NaN.
_FLOAT8 = {
    "float8_e4m3fn": (3, 7, [0x7F, 0xFF]),
    "float8_e5m2": (2, 15, [0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF]),
    "float8_e4m3fnuz": (3, 8, [0x80]),
    "float8_e5m2fnuz": (2, 16, [0x80]),
}
_SCALE_ONLY = "float8_e8m0fnu"  # powers of two and nothing else: no sign, no zero
RAW_TYPES = {"bfloat16": 2, **dict.fromkeys((*_FLOAT8, _SCALE_ONLY), 1)}  # bytes of one number


def as_numbers(array: Array, dtype: str) -> Array:
    """An array whose elements are numbers to NumPy. Those of raw bytes are read as `dtype`, a torch name.

    Float16 is widened: NumPy works with it far more slowly than with float32.
    """
    if array.dtype.kind in "iu" and array.dtype.itemsize == RAW_TYPES.get(dtype):
        if dtype == "bfloat16":
            return (array.view(numpy.uint16).astype(numpy.uint32) << 16).view(numpy.float32)
        return float8_values(dtype)[array.view(numpy.uint8)]
    if array.dtype == numpy.bool_:
        return array.view(numpy.uint8)
    return array.astype(numpy.float32) if array.dtype == numpy.float16 else array


def as_real(numbers: Array) -> Array:
    """Complex numbers by their magnitude, rounded once; real ones as they are."""
    if numbers.dtype.kind != "c":
        return numbers
    with numpy.errstate(all="ignore"):
        magnitudes = numpy.abs(numbers.astype(numpy.complex128))
        return magnitudes.astype(numpy.float32) if numbers.dtype == numpy.complex64 else magnitudes


@cache
def float8_values(dtype: str) -> NDArray[numpy.float32]:
    """What each of the 256 bytes stands for."""
    codes = numpy.arange(256)
    if dtype == _SCALE_ONLY:
        values, nan_codes = 2.0 ** (codes - 127), [0xFF]
    else:
        mantissa_bits, bias, nan_codes = _FLOAT8[dtype]
        exponents, fractions = (codes & 0x7F) >> mantissa_bits, codes % 2**mantissa_bits / 2**mantissa_bits
        # An exponent of zero has no leading one.
        sizes = numpy.where(exponents, 1 + fractions, 2 * fractions) * 2.0 ** (exponents - bias)
        values = numpy.where(codes & 0x80, -sizes, sizes)
    if dtype == "float8_e5m2":  # the only one with infinities
        values[0x7C], values[0xFC] = numpy.inf, -numpy.inf
    values[nan_codes] = numpy.nan
    return values.astype(numpy.float32)
