"""Scales of charts: limits that are round and only ever grow, ticks, and numbers in a few characters."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy
from numpy.typing import NDArray

from torcheer.video.canvas import NUM_LEVELS, THIN_SPACE

INFINITE: Final = NUM_LEVELS  # the level of what is not finite, one above the last

_ROUND: Final = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
_STEPS: Final = (1.0, 2.0, 5.0, 10.0)
_NEARLY: Final = 1 + 1e-9  # what is left of it by rounding does not count
_LARGEST: Final = 1e300  # beyond it differences are no numbers any more
_SMALLEST: Final = 1e-300
_NARROW: Final = 0.5  # of the largest value: what lies within so little of it is shown without zero


# --- numbers -------------------------------------------------------------------------------------------


def readable_number(value: float) -> str:
    """Three digits: `0.0123`, `−4.5`, `1.2e−7`."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("∞" if value > 0 else "−∞")
    size = abs(value)
    if size == 0:
        return "0"
    if 1e-4 <= size < 1e5:
        text = f"{value:.3g}" if size < 1000 else f"{value:.0f}"
    else:
        mantissa, _, exponent = f"{value:.2e}".partition("e")
        text = f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"
    return text.replace("-", "−")


def readable_whole(value: int) -> str:
    """In groups of three: `12 345`."""
    return f"{value:,}".replace(",", THIN_SPACE).replace("-", "−")


def round_up(value: float) -> float:
    """The next round number that is not smaller; of a number above 0."""
    power = math.floor(math.log10(value))
    for factor in _ROUND:
        # By its digits: 3 × 0.1 would be 0.30000000000000004.
        candidate = float(f"{factor}e{power}")
        if candidate * _NEARLY >= value:
            return candidate
    return float(f"1e{power + 1}")


def round_step(span: float, num_steps: float) -> float:
    """The round step that goes into a span no more often than that."""
    raw = span / num_steps
    power = math.floor(math.log10(raw))
    return next(float(f"{f}e{power}") for f in _STEPS if float(f"{f}e{power}") * _NEARLY >= raw)


def ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers between two limits, at most so many."""
    if not high > low:
        return []
    step = round_step(high - low, max(1, most - 1))
    first, last = math.ceil(low / step - 1e-6), math.floor(high / step + 1e-6)
    return [number * step for number in range(first, last + 1)]


# --- limits --------------------------------------------------------------------------------------------


class ColourLimits:
    """What the ends of a colour scale mean.

    With both signs the scale is centred on zero. Otherwise it begins with zero, at the quiet end, but
    where all values lie close together far from it.
    """

    def __init__(self) -> None:
        self.low, self.high = 0.0, 1.0
        self._least, self._most = math.inf, -math.inf
        self._is_set = False

    @property
    def is_centred(self) -> bool:
        return self.low < 0 < self.high

    @property
    def is_negative(self) -> bool:
        return self.high <= 0

    @property
    def bound(self) -> float:
        return max(abs(self.low), abs(self.high))

    def include_all(self, values: NDArray[Any]) -> None:
        """Every finite value must have its place."""
        finite = values[numpy.isfinite(values)]
        if finite.size:
            self.include(float(finite.min()), float(finite.max()))

    def include(self, low: float, high: float) -> None:
        """Values from low to high must have their place."""
        if not (low <= high):  # there were none
            return
        least, most = min(self._least, max(low, -_LARGEST)), max(self._most, min(high, _LARGEST))
        if (least, most) == (self._least, self._most):
            return
        self._least, self._most = least, most
        if max(abs(least), abs(most)) < _SMALLEST:  # all zeros say nothing about what will come
            return
        low, high = self._around(least, most)
        self.low, self.high = (min(self.low, low), max(self.high, high)) if self._is_set else (low, high)
        self._is_set = True

    @staticmethod
    def _around(least: float, most: float) -> tuple[float, float]:
        if least < 0 < most:
            bound = round_up(max(-least, most))
            return -bound, bound
        if most <= 0:
            high, low = ColourLimits._around(-most, -least)
            return -low, -high
        if most - least >= _NARROW * most:
            return 0.0, round_up(most)
        step = round_step(max(most - least, most / 10), 2)
        first, last = math.floor(least / step), math.ceil(most / step)
        return (first - (first == last)) * step, (last + (first == last)) * step

    def levels(self, values: NDArray[Any]) -> NDArray[numpy.uint8]:
        """Where each value is on the ramp, the quiet end first. NaN is on none, and needs a mask."""
        low, high = (self.high, self.low) if self.is_negative else (self.low, self.high)
        with numpy.errstate(all="ignore"):
            places = (values - low) * ((NUM_LEVELS - 1) / (high - low))
            numpy.clip(places, 0, NUM_LEVELS - 1, out=places)
            numpy.nan_to_num(places, copy=False, nan=0.0)
            numpy.rint(places, out=places)
        levels = places.astype(numpy.uint8)
        levels[numpy.isinf(values)] = INFINITE
        return levels


class AxisLimits:
    """The ends of an axis."""

    def __init__(self) -> None:
        self.low, self.high = -1.0, 1.0
        self._is_set = False

    def include(self, low: float, high: float) -> None:
        if not (low <= high):
            return
        low, high = max(low, -_LARGEST), min(high, _LARGEST)
        if self._is_set and self.low <= low and high <= self.high:
            return
        if self._is_set:
            low, high = min(low, self.low), max(high, self.high)
        span = high - low
        if span <= max(abs(low), abs(high)) * 1e-6:  # one value: it stands in the middle
            if max(abs(low), abs(high)) < _SMALLEST:
                return
            span = max(abs(low), abs(high))
            low, high = low - span / 2, high + span / 2
        step = round_step(span, 10)
        # Almost round is round enough, but nothing may fall out.
        self.low = min(low, math.floor(low / step + 1e-9) * step)
        self.high = max(high, math.ceil(high / step - 1e-9) * step)
        self._is_set = True

    def place(self, value: Any) -> Any:
        """Where values are, from 0 at the lower end to 1 at the upper."""
        return (value - self.low) / (self.high - self.low)
