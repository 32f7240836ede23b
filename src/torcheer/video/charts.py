"""The charts of a video: a matrix as a picture, filters as tiles, a histogram, rows as points, an image.

A chart stays with its tensor over time. `take` keeps what is to be seen of the tensor at one step, small and
nobody else's, and widens the scales; `draw` draws that later and returns the note below the chart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

import numpy
from numpy.typing import NDArray
from PIL import Image

from torcheer.errors import InputError
from torcheer.video.canvas import NUM_LEVELS, THIN_SPACE, Box, Canvas, Pixels, Theme, ramp

Kind = Literal["picture", "tiles", "histogram", "pca"]
WantedKind = Literal["auto", "picture", "tiles", "histogram", "pca"]
Values = NDArray[numpy.floating[Any]]


INFINITE: Final = NUM_LEVELS  # the level of what is not finite, one above the last

_ROUND: Final = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
_STEPS: Final = (1.0, 2.0, 5.0, 10.0)
_NEARLY: Final = 1 + 1e-9  # what is left of it by rounding does not count
_LARGEST: Final = 1e300  # beyond it differences are no numbers any more
_SMALLEST: Final = 1e-300
_NARROW: Final = 0.5  # of the largest value: what lies within so little of it is shown without zero


# --- scales ------------------------------------------------------------------------------------------


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


class Limits:
    """The ends of a scale: round numbers that hold all that was seen, and only ever move apart."""

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high
        self._seen = math.inf, -math.inf
        self._is_set = False

    def include(self, low: float, high: float) -> None:
        """Values from low to high must have their place."""
        if not (low <= high):  # there were none
            return
        least, most = min(self._seen[0], max(low, -_LARGEST)), max(self._seen[1], min(high, _LARGEST))
        if (least, most) == self._seen:
            return
        self._seen = least, most
        if max(abs(least), abs(most)) < _SMALLEST:  # all zeros say nothing about what will come
            return
        low, high = self._around(least, most)
        self.low, self.high = (min(self.low, low), max(self.high, high)) if self._is_set else (low, high)
        self._is_set = True

    def place(self, value: Any) -> Any:
        """Where values are, from 0 at the lower end to 1 at the upper."""
        return (value - self.low) / (self.high - self.low)

    def _around(self, least: float, most: float) -> tuple[float, float]:
        raise NotImplementedError


class AxisLimits(Limits):
    """The ends of an axis."""

    def __init__(self) -> None:
        super().__init__(-1.0, 1.0)

    def _around(self, least: float, most: float) -> tuple[float, float]:
        largest = max(abs(least), abs(most))
        if most - least <= largest * 1e-6:  # one value: it stands in the middle
            least, most = least - largest / 2, most + largest / 2
        step = round_step(most - least, 10)
        # Almost round is round enough, but nothing may fall out.
        low, high = math.floor(least / step + 1e-9) * step, math.ceil(most / step - 1e-9) * step
        return min(least, low), max(most, high)


class ColourLimits(Limits):
    """What the ends of a colour scale mean.

    With both signs the scale is centred on zero. Otherwise it begins with zero, at the quiet end, but
    where all values lie close together far from it.
    """

    def __init__(self) -> None:
        super().__init__(0.0, 1.0)

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

    def _around(self, least: float, most: float) -> tuple[float, float]:
        if least < 0 < most:
            bound = round_up(max(-least, most))
            return -bound, bound
        if most <= 0:
            high, low = self._around(-most, -least)
            return -low, -high
        if most - least >= _NARROW * most:
            return 0.0, round_up(most)
        step = round_step(max(most - least, most / 10), 2)
        first, last = math.floor(least / step), math.ceil(most / step)
        return (first - (first == last)) * step, (last + (first == last)) * step

    def levels(self, values: NDArray[Any]) -> NDArray[numpy.uint8]:
        """Where each value is on the ramp, the quiet end first. NaN is on none, and needs a mask."""
        with numpy.errstate(all="ignore"):
            places = self.place(values) * (NUM_LEVELS - 1)
            if self.is_negative:
                places = NUM_LEVELS - 1 - places
            places = numpy.nan_to_num(numpy.clip(places, 0, NUM_LEVELS - 1))
            levels: NDArray[numpy.uint8] = numpy.rint(places).astype(numpy.uint8)
        levels[numpy.isinf(values)] = INFINITE
        return levels


# --- which chart suits a tensor ------------------------------------------------------------------------

_LARGEST_KERNEL: Final = 32  # of a side: what is larger is no filter, but what a layer gives
_PARAMETERS: Final = ("weight", "bias", "kernel", "filters")


def checked_kind(kind: str) -> WantedKind:
    for known in get_args(WantedKind):
        if kind == known:
            return known  # type: ignore[no-any-return]
    raise InputError(f"there is no kind {kind!r}: {', '.join(get_args(WantedKind))}.")


def kind_of(name: str, shape: Sequence[int], wanted: WantedKind = "auto") -> Kind:
    """What is wanted where the shape allows it, otherwise what suits the shape. Never an error."""
    if 0 in shape:
        return "histogram"
    if wanted != "auto" and _is_possible(shape, wanted):
        return wanted
    if len(shape) == 2 or (len(shape) == 3 and shape[0] == 1):
        return "picture"
    if len(shape) == 4 and max(shape[2:]) <= _LARGEST_KERNEL and not _is_of_activations(name):
        # A kernel of one weight makes a filter a row of a matrix.
        return "picture" if tuple(shape[2:]) == (1, 1) else "tiles"
    return "histogram"


def _is_possible(shape: Sequence[int], kind: Kind) -> bool:
    if kind == "picture":
        return bool(shape) and math.prod(_matrix_shape(shape)) == math.prod(shape)
    return {"tiles": len(shape) == 4, "pca": len(shape) >= 2}.get(kind, True)


def _matrix_shape(shape: Sequence[int]) -> tuple[int, int]:
    """How a tensor is laid out as a picture: as it is, or as filters by channels."""
    if len(shape) == 4 and tuple(shape[2:]) == (1, 1):
        return shape[0], shape[1]
    return (1, shape[0]) if len(shape) == 1 else (shape[-2], shape[-1])


def _is_of_activations(name: str) -> bool:
    """`features.0.Act`, or `features.0.Grad`; but `features.0.weight.Grad` is as the weight is."""
    owner, _, variable = name.rpartition(".")
    if variable == "Act":
        return True
    return variable == "Grad" and not owner.rpartition(".")[2].endswith(_PARAMETERS)


# --- the colour scale of pictures and tiles ------------------------------------------------------------

_BAR: Final = 12
_SCALE_WIDTH: Final = 80  # with its numbers and the room to the picture


def _coloured(values: NDArray[Any], limits: ColourLimits, theme: Theme) -> Pixels:
    return _ramp_of(limits, theme)[limits.levels(values)]


def _ramp_of(limits: ColourLimits, theme: Theme) -> Pixels:
    """A colour for each level, and a last one for what is infinite."""
    colours = theme.diverging if limits.is_centred else theme.sequential
    return numpy.vstack([colours, numpy.array([theme.danger], numpy.uint8)])


def picture_width(canvas: Canvas, box: Box) -> int:
    """What the colour scale leaves for the picture; where there is little, the scale is left out."""
    scale = canvas.px(_SCALE_WIDTH)
    return box.width - scale if box.width >= 3 * scale else box.width


def _draw_scale(canvas: Canvas, x: int, y: int, height: int, limits: ColourLimits) -> None:
    """The colours exactly as the cells have them, high values above, with the limits in numbers."""
    width, line = canvas.px(_BAR), canvas.line_height("caption")
    levels = numpy.linspace(NUM_LEVELS - 1, 0, height).round().astype(numpy.uint8)
    if limits.is_negative:  # zero, the quiet end, is above
        levels = levels[::-1]
    canvas.put(x, y, numpy.repeat(_ramp_of(limits, canvas.theme)[levels][:, None], width, axis=1))
    marks = [(0.0, limits.high), (1.0, limits.low)]
    if height >= 5 * line:
        marks.append((0.5, (limits.low + limits.high) / 2))
    for place, value in marks:
        top = min(max(y + round(place * height) - line // 2, y - 3), y + height - line + 3)
        canvas.text(readable_number(value), "caption", x + width + canvas.px(5), top, canvas.theme.text_3)


# --- a matrix as a picture -----------------------------------------------------------------------------

_SLENDER: Final = 0.6  # of the box: what would be narrower is drawn with cells that are no squares
_SHARP: Final = 3.0  # from so many pixels a cell on, all cells are exactly equal


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """What is drawn of a matrix: never more cells than there are pixels for them."""

    cells: NDArray[Any]
    rows: int
    columns: int
    height: int  # in pixels
    width: int


class PictureChart:
    """A cell for each value of a matrix, coloured by a scale that lasts from frame to frame."""

    def __init__(self) -> None:
        self.limits = ColourLimits()

    def take(self, values: Values, canvas: Canvas, box: Box) -> Matrix:
        rows, columns = _matrix_shape(values.shape)
        height, width = fitted_size(rows, columns, picture_width(canvas, box), box.height)
        cells = averaged(values.reshape(rows, columns), height, width)
        self.limits.include_all(cells)
        own = cells.copy() if numpy.may_share_memory(cells, values) else cells
        return Matrix(cells=own, rows=rows, columns=columns, height=height, width=width)

    def draw(self, canvas: Canvas, box: Box, taken: Matrix) -> str:
        room, height, width = picture_width(canvas, box), taken.height, taken.width
        pixels = _coloured(taken.cells, self.limits, canvas.theme)
        is_nan = numpy.isnan(taken.cells)
        x, y = box.x + (room - width) // 2, box.y + (box.height - height) // 2
        hatched = enlarged(is_nan, height, width) if is_nan.any() else None
        cell = min(height // len(taken.cells), width // taken.cells.shape[1])
        canvas.put(x, y, enlarged(pixels, height, width), hatched, cell)
        if room < box.width:
            _draw_scale(canvas, x + width + canvas.px(12), y, height, self.limits)
        down, across = taken.rows / height, taken.columns / width
        if down <= 1 and across <= 1:
            return ""
        return f"a pixel is the mean of about {max(1, round(down))} × {max(1, round(across))} values"


def fitted_size(rows: int, columns: int, width: int, height: int) -> tuple[int, int]:
    """How many pixels high and wide a grid becomes in a box."""
    scale = _whole(min(width / columns, height / rows))
    across, down = columns * scale, rows * scale
    if across < _SLENDER * width:
        across = columns * _whole(_SLENDER * width / columns)
    elif down < _SLENDER * height:
        down = rows * _whole(_SLENDER * height / rows)
    return max(1, min(height, round(down))), max(1, min(width, round(across)))


def _whole(scale: float) -> float:
    return float(int(scale)) if scale >= _SHARP else scale


def averaged(values: NDArray[Any], height: int, width: int) -> NDArray[Any]:
    """No more rows and columns than that: each then stands for the mean of those that share a pixel.

    One value that is not finite makes its whole pixel so: it must not get lost.
    """
    with numpy.errstate(all="ignore"):
        for axis, most in ((1, width), (0, height)):
            if values.shape[axis] > most:
                starts = numpy.arange(most + 1) * values.shape[axis] // most
                counts = numpy.diff(starts).astype(values.dtype)
                sums = numpy.add.reduceat(values, starts[:-1], axis=axis)
                values = sums / (counts if axis == 1 else counts[:, None])
    return values


def enlarged(cells: NDArray[Any], height: int, width: int) -> NDArray[Any]:
    """Each cell over the pixels that it covers; nothing is blurred."""
    down = (numpy.arange(height) * 2 + 1) * cells.shape[0] // (2 * height)
    across = (numpy.arange(width) * 2 + 1) * cells.shape[1] // (2 * width)
    large: NDArray[Any] = cells[:, across][down]
    return large


# --- filters as tiles ----------------------------------------------------------------------------------

_LEGIBLE: Final = 2  # pixels a weight, where not all tiles have room
_GAPS: Final = ((4, 10), (2, 4), (1, 1))  # pixels between two tiles, and the least pixels a weight for it


@dataclass(frozen=True, slots=True, kw_only=True)
class Wall:
    """Tiles in rows and columns; in colour they have a last axis of three."""

    tiles: NDArray[Any]  # rows, columns, height, width (, channels); NaN where there is no tile any more
    num_missing: int  # places in the last row that stay empty
    scale: int  # pixels a weight
    gap: int  # pixels between two tiles
    note: str

    @property
    def is_rgb(self) -> bool:
        return self.tiles.ndim == 5


class TileChart:
    """The filters of a convolution: in colour where they look at three channels."""

    def __init__(self) -> None:
        self.limits = ColourLimits()

    def take(self, values: Values, canvas: Canvas, box: Box) -> Wall:
        # Of all weights, not only of those that are seen: the same for every frame.
        self.limits.include_all(values)
        room = picture_width(canvas, box)
        if values.shape[1] == 3:
            return _wrapped(values.transpose(0, 2, 3, 1), box.width, box.height)
        if values.shape[1] == 1:
            return _wrapped(values[:, 0], room, box.height)
        return _by_channel(values, room, box.height)

    def draw(self, canvas: Canvas, box: Box, taken: Wall) -> str:
        tiles, theme, bound = taken.tiles, canvas.theme, self.limits.bound
        if taken.is_rgb:
            with numpy.errstate(all="ignore"):
                shares = numpy.clip(0.5 + tiles / (2 * bound), 0, 1)
            pixels = (numpy.nan_to_num(shares) * 255).round().astype(numpy.uint8)
            pixels[numpy.isinf(tiles).any(axis=-1)] = theme.danger
            is_nan = numpy.isnan(tiles).any(axis=-1)
        else:
            pixels = _coloured(tiles, self.limits, theme)
            is_nan = numpy.isnan(tiles)
        if taken.num_missing:
            pixels[-1, -taken.num_missing :] = theme.surface
            is_nan[-1, -taken.num_missing :] = False
        room = box.width if taken.is_rgb else picture_width(canvas, box)
        picture = _laid_out(pixels, taken, theme.surface)[: box.height, :room]
        hatched = _laid_out(is_nan, taken, False)[: box.height, :room] if is_nan.any() else None
        height, width = picture.shape[:2]
        x, y = box.x + max(0, (room - width) // 2), box.y + max(0, (box.height - height) // 2)
        canvas.put(x, y, picture, hatched, taken.scale)
        if room < box.width:
            _draw_scale(canvas, x + width + canvas.px(12), y, height, self.limits)
        if not taken.is_rgb:
            return taken.note
        number = readable_number(bound)
        colours = f"red, green and blue are the three channels, from −{number} (dark) to {number}"
        return f"{colours} · {taken.note}" if taken.note else colours


def _wrapped(tiles: NDArray[Any], width: int, height: int) -> Wall:
    """One tile after the other, in as many columns as make them largest."""
    num, high, wide = tiles.shape[:3]
    columns = max(
        range(1, num + 1), key=lambda count: _scale(-(-num // count), count, tiles, width, height, 1)
    )
    scale, gap = _scale_and_gap(-(-num // columns), columns, tiles, width, height)
    note = ""
    if not scale:
        scale = _fallback(high, wide, width, height)
        columns = max(1, width // (wide * scale + gap))
        tiles = tiles[: columns * max(1, height // (high * scale + gap))]
        note = _shown(len(tiles), num, "filters")
    columns = min(columns, len(tiles))
    num_missing = -len(tiles) % columns
    filled = numpy.concatenate([tiles, numpy.full((num_missing, *tiles.shape[1:]), numpy.nan, tiles.dtype)])
    wall = filled.reshape(-1, columns, *tiles.shape[1:])
    return Wall(tiles=wall, num_missing=num_missing, scale=scale, gap=gap, note=note)


def _by_channel(filters: NDArray[Any], width: int, height: int) -> Wall:
    """A row for each filter, a column for each channel that it looks at."""
    num_rows, num_columns, high, wide = filters.shape
    note = "a row is a filter, a column a channel of its input"
    scale, gap = _scale_and_gap(num_rows, num_columns, filters[0], width, height)
    if not scale:
        scale = _fallback(high, wide, width, height)
        shown_rows = min(num_rows, max(1, height // (high * scale + gap)))
        shown_columns = min(num_columns, max(1, width // (wide * scale + gap)))
        filters = filters[:shown_rows, :shown_columns]
        rows = _shown(shown_rows, num_rows, "filters")
        note = f"rows: {rows} · columns: {_shown(shown_columns, num_columns, 'channels')}"
    return Wall(tiles=filters.copy(), num_missing=0, scale=scale, gap=gap, note=note)


def _scale(rows: int, columns: int, tiles: NDArray[Any], width: int, height: int, gap: int) -> int:
    """Pixels a weight, with so many rows and columns of tiles."""
    high, wide = (int(size) for size in tiles.shape[1:3])
    return min((width // columns - gap) // wide, (height // rows - gap) // high)


def _scale_and_gap(rows: int, columns: int, tiles: NDArray[Any], width: int, height: int) -> tuple[int, int]:
    """With the widest gap for which they are large enough. A scale of 0: there is no room for all."""
    for gap, least in _GAPS:
        scale = _scale(rows, columns, tiles, width, height, gap)
        if scale >= least:
            return scale, gap
    return 0, 1


def _fallback(high: int, wide: int, width: int, height: int) -> int:
    return _LEGIBLE if max(high, wide) * _LEGIBLE < min(width, height) // 4 else 1


def _shown(num_shown: int, num: int, what: str) -> str:
    return f"the first {num_shown} of {num} {what}" if num_shown < num else f"{num} {what}"


def _laid_out(tiles: NDArray[Any], wall: Wall, background: Any) -> NDArray[Any]:
    """Tiles side by side, with a gap after each but the last."""
    rows, columns, high, wide, *channels = tiles.shape
    down, across = high * wall.scale + wall.gap, wide * wall.scale + wall.gap
    large = numpy.full((rows, columns, down, across, *channels), background, tiles.dtype)
    large[:, :, : -wall.gap, : -wall.gap] = tiles.repeat(wall.scale, axis=2).repeat(wall.scale, axis=3)
    flat = large.swapaxes(1, 2).reshape(rows * down, columns * across, *channels)
    return flat[: -wall.gap, : -wall.gap]


# --- how values are spread -----------------------------------------------------------------------------

_NUM_BINS: Final = 60
_STEEP: Final = 25.0  # times the mean bar: from there on, the small ones only show by their logarithm
_FINE: Final = 40  # times as many bins are counted, so that they can be shared out anew when the axis grows
_FEW: Final = 1 << 14  # values; of more, counts in fine bins are kept
_LOWEST_SHARE: Final = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How many values lie below each of some rising edges. Between two edges they are taken to lie evenly."""

    edges: NDArray[Any]
    below: NDArray[Any]
    low: float
    high: float

    @classmethod
    def of_values(cls, values: NDArray[Any]) -> Spread:
        """Exactly: the number below rises by one at each value."""
        edges = numpy.sort(values).repeat(2)
        below = numpy.arange(len(edges) + 1)[1:] // 2
        low, high = (float(edges[0]), float(edges[-1])) if len(edges) else (math.nan, math.nan)
        return cls(edges=edges, below=below, low=low, high=high)

    @classmethod
    def of_counts(cls, edges: NDArray[Any], counts: NDArray[Any]) -> Spread:
        below = numpy.concatenate([[0.0], numpy.cumsum(counts)])
        return cls(edges=edges, below=below, low=float(edges[0]), high=float(edges[-1]))

    @property
    def num(self) -> float:
        return float(self.below[-1]) if len(self.below) else 0.0

    def shares(self, low: float, high: float, num_bins: int) -> NDArray[numpy.float64]:
        """The share of all values in each of so many equal bins, of limits that hold all of them."""
        if not self.num:
            return numpy.zeros(num_bins)
        # What lies on a bound belongs to the bin above it.
        bounds = numpy.nextafter(numpy.linspace(low, high, num_bins + 1)[1:-1], -numpy.inf)
        below = numpy.interp(bounds, self.edges, self.below, left=0.0, right=self.num)
        shares: NDArray[numpy.float64] = numpy.diff([0.0, *below, self.num]) / self.num
        return shares


class HistogramChart:
    """Bars over an axis that stays where it is from frame to frame."""

    def __init__(self) -> None:
        self.limits = AxisLimits()
        self._most = 0.0
        self._least = 1.0  # the share of one value
        self._is_log = False

    def take(self, values: Values, canvas: Canvas, box: Box) -> Spread:
        return self.take_spread(_spread(values))

    def take_spread(self, spread: Spread) -> Spread:
        if spread.num:
            self.limits.include(spread.low, spread.high)
            shares = spread.shares(self.limits.low, self.limits.high, _NUM_BINS)
            self._most = max(self._most, float(shares.max()))
            self._least = min(self._least, 1 / max(1.0, spread.num))
            self._is_log = self._is_log or self._most > _STEEP * float(shares[shares > 0].mean())
        return spread

    def draw(self, canvas: Canvas, box: Box, taken: Spread) -> str:
        foot, side, top = canvas.line_height("caption") + canvas.px(6), canvas.px(46), canvas.px(4)
        area = box
        has_axes = box.width > 3 * side and box.height > 4 * foot
        if has_axes:
            width, height = box.width - side - canvas.px(8), box.height - foot - top
            area = Box(box.x + side, box.y + top, width, height)
            self._draw_grid(canvas, area)
        shares = taken.shares(self.limits.low, self.limits.high, _NUM_BINS)
        _draw_bars(canvas, area, self._places(shares))
        if has_axes:
            self._draw_axis(canvas, area)
        return "share of the values in a bar" + (", by its logarithm" if self._is_log else "")

    def _heights(self) -> tuple[float, float]:
        """What the lower and the upper end of the axis of shares stand for."""
        if not self._is_log:
            return 0.0, max(self._most, 1e-9) * 1.02
        return max(_LOWEST_SHARE, 10.0 ** math.floor(math.log10(self._least))) / 2, 1.0

    def _places(self, shares: NDArray[Any]) -> NDArray[Any]:
        """How high each share stands, from 0 to 1."""
        bottom, top = self._heights()
        if not self._is_log:
            return shares / top
        with numpy.errstate(divide="ignore"):
            return numpy.clip(numpy.log(shares / bottom) / math.log(top / bottom), 0, 1)

    def _draw_grid(self, canvas: Canvas, area: Box) -> None:
        bottom, top = self._heights()
        shares = _decades(bottom, top) if self._is_log else ticks(0.0, top, 5)
        for share, place in zip(shares, self._places(numpy.array(shares)), strict=True):
            y = area.y + round((1 - float(place)) * (area.height - 1))
            canvas.fill(Box(area.x, y, area.width, 1), canvas.theme.line)
            text, middle = f"{readable_number(share * 100)} %", y - canvas.line_height("caption") // 2
            canvas.text(text, "caption", area.x - canvas.px(6), middle, canvas.theme.text_3, "right")

    def _draw_axis(self, canvas: Canvas, area: Box) -> None:
        theme, limits, bottom = canvas.theme, self.limits, area.y + area.height
        canvas.fill(Box(area.x, bottom, area.width, 1), theme.line_2)
        for value in ticks(limits.low, limits.high, max(2, min(6, area.width // canvas.px(90)))):
            x = area.x + round(limits.place(value) * (area.width - 1))
            canvas.fill(Box(x, bottom, 1, canvas.px(4)), theme.line_2)
            number = readable_number(value)
            canvas.text(number, "caption", x, bottom + canvas.px(5), theme.text_3, "middle")


def _spread(values: Values) -> Spread:
    flat = values.reshape(-1)
    with numpy.errstate(all="ignore"):
        finite = flat if math.isfinite(float(flat.sum(dtype=numpy.float64))) else flat[numpy.isfinite(flat)]
        if finite.size <= _FEW:
            return Spread.of_values(finite)
        low, high = float(finite.min()), float(finite.max())
        num_bins = _NUM_BINS * _FINE
        span = high - low
        if not (0 < span < math.inf) or num_bins / span == math.inf:  # they cannot be told apart
            return Spread.of_values(numpy.array([low, high]))
        bins = ((finite - finite.dtype.type(low)) * (num_bins / span)).astype(numpy.intp)
    counts = numpy.bincount(numpy.clip(bins, 0, num_bins - 1), minlength=num_bins)
    return Spread.of_counts(numpy.linspace(low, high, num_bins + 1), counts)


def _decades(bottom: float, top: float) -> list[float]:
    first, last = math.ceil(math.log10(bottom) - 1e-9), math.floor(math.log10(top) + 1e-9)
    return [10.0**power for power in range(first, last + 1)]


def _draw_bars(canvas: Canvas, area: Box, places: NDArray[Any]) -> None:
    gap = 1 if area.width // len(places) >= 4 else 0
    for index, place in enumerate(places.tolist()):
        left, right = (area.width * edge // len(places) for edge in (index, index + 1))
        height = max(round(place * area.height), 1 if place > 0 else 0)  # what is there is seen
        bar = Box(area.x + left, area.y + area.height - height, right - left - gap, height)
        canvas.fill(bar, canvas.theme.bar)


# --- rows as points ------------------------------------------------------------------------------------

_MOST_POINTS: Final = 400  # rows that are looked at: what it takes grows with their square
_RADIUS: Final = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloud:
    """Points in the plane of the first two components."""

    points: NDArray[Any]  # a row for each: across and up
    num_rows: int  # of the tensor
    explained: tuple[float, float]  # shares of the variance


class PointChart:
    """The rows of a tensor in the plane in which they differ most.

    Which way the components point, and how they lie in their plane, is up to nobody: each frame is turned
    so that its plane lies as nearly as may be like that of the frame before it.
    """

    def __init__(self) -> None:
        self.limits = AxisLimits()
        self._before: NDArray[Any] | None = None

    def take(self, values: Values, canvas: Canvas, box: Box) -> Cloud:
        rows = values.reshape(values.shape[0], -1)
        num_rows = len(rows)
        if num_rows > _MOST_POINTS:
            rows = rows[numpy.linspace(0, num_rows - 1, _MOST_POINTS).round().astype(int)]
        usable = rows[numpy.isfinite(rows).all(axis=1)].astype(numpy.float64)
        points, axes, explained = _plane(usable)
        if self._before is not None and self._before.shape == axes.shape:
            # The turn or reflection in the plane that brings the directions nearest to those before.
            left, _, right = numpy.linalg.svd(axes.T @ self._before)
            points, axes = points @ (left @ right), axes @ (left @ right)
        if len(usable) > 1:
            self._before = axes
        if points.size:
            most = float(numpy.abs(points).max())
            self.limits.include(-most, most)
        return Cloud(points=points, num_rows=num_rows, explained=explained)

    def draw(self, canvas: Canvas, box: Box, taken: Cloud) -> str:
        side = min(box.width, box.height)
        area = Box(box.x + (box.width - side) // 2, box.y, side, side)
        bottom = area.y + side - 1
        for value in ticks(self.limits.low, self.limits.high, 5):
            at = round(self.limits.place(value) * (side - 1))
            colour = canvas.theme.line_2 if value == 0 else canvas.theme.line
            canvas.fill(Box(area.x + at, area.y, 1, side), colour)
            canvas.fill(Box(area.x, bottom - at, side, 1), colour)
            number, middle = readable_number(value), bottom - at - canvas.line_height("caption") // 2
            canvas.text(number, "caption", area.x - canvas.px(6), middle, canvas.theme.text_3, "right")
        num = len(taken.points)
        radius = _RADIUS * canvas.scale * (1 if num <= 200 else 0.7)
        # From the first row to the last, so that an eye can follow one; without the palest.
        colours = ramp(canvas.theme.sequential[90::40].tolist(), max(2, num)).tolist()
        places = self.limits.place(taken.points) * (side - 1)
        for (across, up), (red, green, blue) in zip(places.tolist(), colours, strict=False):
            canvas.disc(area.x + across, bottom - up, radius, (red, green, blue))
        first, second = (f"{share * 100:.0f} %" for share in taken.explained)
        shown = "" if num == taken.num_rows else f"{num} of {taken.num_rows} rows · "
        return f"{shown}a point is a row; the first two components have {first} and {second} of the variance"


def _plane(rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], tuple[float, float]]:
    """Points, the two directions they are measured along, and how much of the variance each has."""
    num, width = rows.shape
    axes = numpy.zeros((width, 2))
    if num < 2 or not width:
        return numpy.zeros((num, 2)), axes, (0.0, 0.0)
    centred = rows - rows.mean(axis=0)
    _, lengths, directions = numpy.linalg.svd(centred, full_matrices=False)
    variances, found = lengths**2, directions[:2].T
    axes[:, : found.shape[1]] = found
    # The sign is free: the largest part of each direction points up.
    largest = numpy.abs(axes).argmax(axis=0)
    axes *= numpy.where(axes[largest, [0, 1]] < 0, -1.0, 1.0)
    total = float((centred**2).sum())
    top = [float(value) / total if total > 0 else 0.0 for value in variances[:2]]
    first, second = (*top, 0.0)[:2]
    return centred @ axes, axes, (max(0.0, first), max(0.0, second))


# --- a logged image ------------------------------------------------------------------------------------


class ImageChart:
    """A picture that was logged as one: whole, sharp where it is small."""

    def draw(self, canvas: Canvas, box: Box, taken: Image.Image) -> str:
        scale = min(box.width / taken.width, box.height / taken.height)
        scale = float(int(scale)) if scale >= 1 else scale
        size = max(1, int(taken.width * scale)), max(1, int(taken.height * scale))
        resampling = Image.Resampling.NEAREST if scale >= 1 else Image.Resampling.BOX
        shown = taken.convert("RGBA").resize(size, resampling)
        corner = box.x + (box.width - shown.width) // 2, box.y + (box.height - shown.height) // 2
        canvas.image.paste(shown, corner, shown)
        return "" if scale >= 1 else f"at {scale * 100:.0f} % of its size"
