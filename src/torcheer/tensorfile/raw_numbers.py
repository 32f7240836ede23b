"""Numbers that NumPy has no type for: bfloat16 and the floats of eight bits, read from their bytes."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

Array = NDArray[Any]


class _Float8(NamedTuple):
    """How the eight bits are divided, and what the odd patterns mean."""

    exponent_bits: int
    mantissa_bits: int
    bias: int
    odd: str  # "ieee": as in larger floats; "finite": all ones is NaN; "unsigned zero": minus zero is NaN


_FLOAT8 = {
    "float8_e4m3fn": _Float8(4, 3, 7, "finite"),
    "float8_e5m2": _Float8(5, 2, 15, "ieee"),
    "float8_e4m3fnuz": _Float8(4, 3, 8, "unsigned zero"),
    "float8_e5m2fnuz": _Float8(5, 2, 16, "unsigned zero"),
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
    if dtype == _SCALE_ONLY:
        values = [2.0 ** (code - 127) for code in range(255)] + [numpy.nan]
    else:
        values = [_float8_value(code, _FLOAT8[dtype]) for code in range(256)]
    return numpy.array(values, dtype=numpy.float32)


def _float8_value(code: int, kind: _Float8) -> float:
    if kind.odd == "unsigned zero" and code == 0x80:
        return float(numpy.nan)
    sign = -1.0 if code & 0x80 else 1.0
    exponent = (code & 0x7F) >> kind.mantissa_bits
    mantissa = code & ((1 << kind.mantissa_bits) - 1)
    if kind.odd == "ieee" and exponent == (1 << kind.exponent_bits) - 1:
        return float(numpy.nan) if mantissa else sign * float(numpy.inf)
    if kind.odd == "finite" and code & 0x7F == 0x7F:
        return float(numpy.nan)
    fraction = mantissa / (1 << kind.mantissa_bits)
    if exponent == 0:
        return sign * fraction * 2.0 ** (1 - kind.bias)
    return float(sign * (1 + fraction) * 2.0 ** (exponent - kind.bias))
