"""How the values of a tensor are spread: bars over an axis that stays where it is from frame to frame."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy
from numpy.typing import NDArray

from torcheer.inspector.recording.charts.limits import AxisLimits
from torcheer.inspector.recording.charts.measuring import Values
from torcheer.inspector.recording.readable import readable_number, ticks
from torcheer.inspector.recording.sheet import Box, Sheet

_NUM_BINS: Final = 60
_STEEP: Final = 25.0  # times the mean bar: from there on, the small ones only show by their logarithm
_FINE: Final = 40  # times as many bins are counted, so that they can be shared out anew when the axis grows
_FEW: Final = 1 << 14  # values; of more, counts in fine bins are kept
_LOWEST_SHARE: Final = 1e-6
_TINY: Final = 1e-300


@dataclass(frozen=True, slots=True, kw_only=True)
class FewValues:
    """So few that all of them are kept, in order."""

    values: NDArray[Any]

    @property
    def low(self) -> float:
        return float(self.values[0]) if self.values.size else math.nan

    @property
    def high(self) -> float:
        return float(self.values[-1]) if self.values.size else math.nan

    @property
    def num(self) -> float:
        return float(self.values.size)

    def shares(self, low: float, high: float, num_bins: int) -> NDArray[numpy.float64]:
        """The share of all values in each of so many equal bins."""
        places = numpy.searchsorted(self.values, numpy.linspace(low, high, num_bins + 1)[1:-1])
        below = numpy.concatenate([[0], places, [self.values.size]])
        shares: NDArray[numpy.float64] = numpy.diff(below) / max(1, self.values.size)
        return shares


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Counts between edges. Within a bin values are taken to lie evenly."""

    edges: NDArray[numpy.float64]
    counts: NDArray[numpy.float64]
    low: float
    high: float

    @property
    def num(self) -> float:
        return float(self.counts.sum())

    def shares(self, low: float, high: float, num_bins: int) -> NDArray[numpy.float64]:
        below = numpy.concatenate([[0.0], numpy.cumsum(self.counts)])
        bounds = numpy.linspace(low, high, num_bins + 1)
        shares: NDArray[numpy.float64] = numpy.diff(numpy.interp(bounds, self.edges, below))
        return shares / max(self.num, _TINY)


Spread = FewValues | Counts


class HistogramChart:
    """The histograms of one tensor over time."""

    def __init__(self) -> None:
        self.limits = AxisLimits()
        self._most = 0.0
        self._least = 1.0  # the share of one value
        self._is_log = False

    def take(self, values: Values, sheet: Sheet, box: Box) -> Spread:
        return self.take_spread(_spread(values))

    def take_spread(self, spread: Spread) -> Spread:
        if spread.num:
            self.limits.include(spread.low, spread.high)
            shares = spread.shares(self.limits.low, self.limits.high, _NUM_BINS)
            self._most = max(self._most, float(shares.max()))
            self._least = min(self._least, 1 / max(1.0, spread.num))
            self._is_log = self._is_log or self._most > _STEEP * float(shares[shares > 0].mean())
        return spread

    def draw(self, sheet: Sheet, box: Box, taken: Spread) -> str:
        foot, side = sheet.line_height("caption") + sheet.px(6), sheet.px(46)
        has_axes = box.width > 3 * side and box.height > 4 * foot
        area = Box(
            box.x + side, box.y + sheet.px(4), box.width - side - sheet.px(8), box.height - foot - sheet.px(4)
        )
        area = area if has_axes else box
        bottom, top = self._heights()
        if has_axes:
            self._draw_grid(sheet, area, bottom, top)
        shares = taken.shares(self.limits.low, self.limits.high, _NUM_BINS)
        _draw_bars(sheet, area, self._places(shares, bottom, top))
        if has_axes:
            self._draw_across(sheet, area)
        return (
            "share of the values in a bar, by its logarithm"
            if self._is_log
            else "share of the values in a bar"
        )

    def _heights(self) -> tuple[float, float]:
        """What the lower and the upper end of the axis of shares stand for."""
        if not self._is_log:
            return 0.0, max(self._most, 1e-9) * 1.02
        return max(_LOWEST_SHARE, 10.0 ** math.floor(math.log10(self._least))) / 2, 1.0

    def _places(self, shares: NDArray[Any], bottom: float, top: float) -> NDArray[Any]:
        """How high each share stands, from 0 to 1."""
        if not self._is_log:
            return shares / top
        with numpy.errstate(divide="ignore"):
            return numpy.clip(numpy.log(shares / bottom) / math.log(top / bottom), 0, 1)

    def _draw_grid(self, sheet: Sheet, area: Box, bottom: float, top: float) -> None:
        shares = _decades(bottom, top) if self._is_log else ticks(0.0, top, 5)
        for share in shares:
            place = float(self._places(numpy.array([share]), bottom, top)[0])
            y = area.y + round((1 - place) * (area.height - 1))
            sheet.fill(Box(area.x, y, area.width, 1), sheet.theme.line)
            text = f"{readable_number(share * 100)} %"
            middle = y - sheet.line_height("caption") // 2
            sheet.text(text, "caption", area.x - sheet.px(6), middle, sheet.theme.text_3, "right")

    def _draw_across(self, sheet: Sheet, area: Box) -> None:
        theme, limits = sheet.theme, self.limits
        sheet.fill(Box(area.x, area.y + area.height, area.width, 1), theme.line_2)
        for value in ticks(limits.low, limits.high, max(2, min(6, area.width // sheet.px(90)))):
            x = area.x + round((value - limits.low) / (limits.high - limits.low) * (area.width - 1))
            sheet.fill(Box(x, area.y + area.height, 1, sheet.px(4)), theme.line_2)
            sheet.text(
                readable_number(value),
                "caption",
                x,
                area.y + area.height + sheet.px(5),
                theme.text_3,
                "middle",
            )


def _spread(values: Values) -> Spread:
    flat = values.reshape(-1)
    with numpy.errstate(all="ignore"):
        finite = flat if math.isfinite(float(flat.sum(dtype=numpy.float64))) else flat[numpy.isfinite(flat)]
        if finite.size <= _FEW:
            return FewValues(values=numpy.sort(finite))
        low, high = float(finite.min()), float(finite.max())
        num_bins = _NUM_BINS * _FINE
        span = high - low
        if not (0 < span < math.inf) or num_bins / span == math.inf:  # they cannot be told apart
            return FewValues(values=numpy.array([low, high]))
        bins = ((finite - finite.dtype.type(low)) * (num_bins / span)).astype(numpy.intp)
    counts = numpy.bincount(numpy.clip(bins, 0, num_bins - 1), minlength=num_bins).astype(float)
    return Counts(edges=numpy.linspace(low, high, num_bins + 1), counts=counts, low=low, high=high)


def _decades(bottom: float, top: float) -> list[float]:
    first, last = math.ceil(math.log10(bottom) - 1e-9), math.floor(math.log10(top) + 1e-9)
    return [10.0**power for power in range(first, last + 1)]


def _draw_bars(sheet: Sheet, area: Box, places: NDArray[Any]) -> None:
    """Every bar at once: a pixel is part of one where it lies below the bar of its column."""
    edges = numpy.arange(len(places) + 1) * area.width // len(places)
    bar = numpy.repeat(numpy.arange(len(places)), numpy.diff(edges))
    heights = numpy.rint(places * area.height).astype(int)
    heights[(places > 0) & (heights == 0)] = 1  # what is there is seen
    tops = (area.height - heights)[bar]
    if area.width // len(places) >= 4:
        tops[edges[1:] - 1] = area.height  # a gap between two bars
    inside = sheet.pixels[area.y : area.y + area.height, area.x : area.x + area.width]
    inside[numpy.arange(inside.shape[0])[:, None] >= tops[: inside.shape[1]]] = sheet.theme.bar
