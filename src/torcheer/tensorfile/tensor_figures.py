"""A tensor's values as numbers, also where NumPy has no type for them, their figures and their histogram.

Values are gone through in pieces, twice: first range and counts, then mean, spread and histogram, which need
the range. Only one piece is ever in double precision, so that a tensor of a gigabyte takes no second one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
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


NUM_BINS = 50
COMPLEX_NOTE = "complex numbers: their magnitude is shown"
ROUNDED_NOTE = "whole numbers beyond 2^53 are shown rounded"
_CHUNK = 1 << 15  # elements: a quarter of a megabyte in double precision stays in a processor's cache
_LARGEST_EXACT = 2**53
_SAFE_EXPONENT = 400  # squares of numbers up to two to this power, and down to it, are still numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Mean, spread and range are of the finite values; None where there are too few of them."""

    num_elements: int
    mean: float | None
    std: float | None  # as torch.std: divided by one less than the number of values
    min: float | None
    max: float | None
    num_zeros: int
    num_nan: int
    num_inf: int
    histogram: tuple[int, ...]  # of the finite values; a single bin where all are alike
    histogram_low: float
    histogram_high: float
    note: str


def share_of(figures: Figures, name: str) -> float | None:
    """The share of an op's values that are zero, or that are no numbers."""
    if not figures.num_elements:
        return None
    counted = figures.num_zeros if name == "zeros" else figures.num_nan + figures.num_inf
    return counted / figures.num_elements


def figures_of(array: Array, dtype: str) -> Figures:
    """`dtype` is torch's name for the numbers; see `as_numbers` for those that are given as bytes."""
    with numpy.errstate(all="ignore"):
        return _Sums(array, dtype).figures()


class _Sums:
    """The sums so far. A plain record: it is filled piece by piece."""

    def __init__(self, array: Array, dtype: str) -> None:
        self._array = array
        self._dtype = dtype
        self._num_finite = self._num_zeros = self._num_nan = self._num_inf = 0
        self._low: Any = None
        self._high: Any = None

    def figures(self) -> Figures:
        for numbers, times in self._pieces():
            self._see_range(numbers, times)
        mean = std = None
        bins: NDArray[numpy.int64] = numpy.zeros(0, dtype=numpy.int64)
        low = high = 0.0
        if self._num_finite:
            mean, std, bins, low, high = self._spread()
        is_beyond = isinstance(self._low, int) and max(-self._low, self._high) > _LARGEST_EXACT
        note = COMPLEX_NOTE if self._array.dtype.kind == "c" else ROUNDED_NOTE if is_beyond else ""
        return Figures(
            num_elements=self._array.size,
            mean=mean,
            std=std,
            min=None if self._low is None else float(self._low),
            max=None if self._high is None else float(self._high),
            num_zeros=self._num_zeros,
            num_nan=self._num_nan,
            num_inf=self._num_inf,
            histogram=tuple(bins.tolist()),
            histogram_low=low,
            histogram_high=high,
            note=note,
        )

    def _pieces(self) -> Iterator[tuple[Array, int]]:
        for piece, times in pieces_of(self._array):
            yield as_real(as_numbers(piece, self._dtype)), times

    def _see_range(self, numbers: Array, times: int) -> None:
        self._num_zeros += times * int(numpy.count_nonzero(numbers == 0))
        low, high = numbers.min(), numbers.max()
        # Either of them shows whether there is a NaN or an infinity anywhere.
        if numbers.dtype.kind == "f" and not (numpy.isfinite(low) and numpy.isfinite(high)):
            num_nan = int(numpy.count_nonzero(numpy.isnan(numbers)))
            finite = numbers[numpy.isfinite(numbers)]
            self._num_nan += times * num_nan
            self._num_inf += times * (numbers.size - finite.size - num_nan)
            if not finite.size:
                return
            numbers, low, high = finite, finite.min(), finite.max()
        self._num_finite += times * numbers.size
        low, high = low.item(), high.item()
        self._low = low if self._low is None else min(self._low, low)
        self._high = high if self._high is None else max(self._high, high)

    def _spread(self) -> tuple[float | None, float | None, NDArray[numpy.int64], float, float]:
        exponent = math.frexp(max(abs(float(self._low)), abs(float(self._high))))[1]
        if abs(exponent) <= _SAFE_EXPONENT:
            exponent = 0  # else a power of two to divide by: squares would be too large or too small
        bins = _Bins(self._low, self._high, self._array.dtype == numpy.bool_, exponent)
        count, mean, squares = 0, 0.0, 0.0
        for numbers, times in self._pieces():
            if self._num_nan or self._num_inf:
                numbers = numbers[numpy.isfinite(numbers)]
            if not numbers.size:
                continue
            exact = numbers.astype(numpy.float64)
            if exponent:
                exact = numpy.ldexp(exact, -exponent)
            bins.add(numbers, exact, times)
            # Means and squares of pieces are put together so that no digit is lost to a large mean.
            num_new, its_mean = times * exact.size, float(exact.mean())
            exact -= its_mean
            step, num_all = its_mean - mean, count + num_new
            mean += step * num_new / num_all
            # Not by a dot product: BLAS starts threads for it, which wait for each other on a busy machine.
            its_squares = float(numpy.square(exact, out=exact).sum())
            squares += times * its_squares + step * step * (count * num_new / num_all)
            count = num_all
        std = math.sqrt(squares / (count - 1)) if count > 1 else None
        return _scaled(mean, exponent), _scaled(std, exponent), bins.counts, bins.low, bins.high


def _scaled(value: float | None, exponent: int) -> float | None:
    try:
        return value if value is None or not exponent else math.ldexp(value, exponent)
    except OverflowError:
        return None


class _Bins:
    """Equal bins over the range. Whole numbers get bins that each hold equally many of them."""

    def __init__(self, low: Any, high: Any, is_bool: bool, exponent: int) -> None:
        self._is_whole = isinstance(low, int)
        self._start, self._exponent = low, exponent
        if is_bool:
            low, high, self._start = 0, 1, 0
        if self._is_whole:
            num_values = high - low + 1
            self._width = -(-num_values // NUM_BINS)
            num_bins = -(-num_values // self._width)
            self.low = low - 0.5
            self.high = float(low + self._width * num_bins) - 0.5
        else:
            self.low, self.high = low, high
            num_bins = NUM_BINS if high > low else 1
            scaled_low, scaled_high = math.ldexp(low, -exponent), math.ldexp(high, -exponent)
            self._first, self._range = scaled_low, scaled_high - scaled_low
        self.counts: NDArray[numpy.int64] = numpy.zeros(num_bins, dtype=numpy.int64)

    def add(self, numbers: Array, exact: NDArray[numpy.float64], times: int) -> None:
        num_bins = len(self.counts)
        if self._is_whole:
            # Without sign, differences that no signed number holds still come out right.
            offsets = numbers.astype(numpy.uint64) - numpy.uint64(self._start % 2**64)
            places = (offsets // numpy.uint64(self._width)).astype(numpy.intp)
        elif num_bins == 1:
            self.counts[0] += times * exact.size
            return
        else:
            places = ((exact - self._first) * (num_bins / self._range)).astype(numpy.intp)
            numpy.minimum(places, num_bins - 1, out=places)
        self.counts += times * numpy.bincount(places, minlength=num_bins)


def pieces_of(array: Array) -> Iterator[tuple[Array, int]]:
    """All elements in flat pieces, in any order, each with how often it stands in the array.

    An expanded array is read once: it may be far larger than its memory.
    """
    if not array.size:
        return
    times = 1
    for dim in range(array.ndim - 1, -1, -1):
        if array.strides[dim] == 0 and array.shape[dim] > 1:
            times *= array.shape[dim]
            array = array[(*(slice(None),) * dim, slice(1))]
    # In the order of memory a transposed array is flat too, and needs no copy.
    array = array.transpose(sorted(range(array.ndim), key=lambda dim: -abs(array.strides[dim])))
    for piece in _flat_pieces(array):
        yield piece, times


def _flat_pieces(array: Array) -> Iterator[Array]:
    if array.size <= _CHUNK:
        yield array.reshape(-1)
    elif array.flags.c_contiguous:
        flat = array.reshape(-1)
        yield from (flat[start : start + _CHUNK] for start in range(0, flat.size, _CHUNK))
    elif array.shape[0] == 1:
        yield from _flat_pieces(array[0])
    else:
        num_rows = max(1, _CHUNK // (array.size // array.shape[0]))
        for start in range(0, array.shape[0], num_rows):
            yield from _flat_pieces(array[start : start + num_rows])
