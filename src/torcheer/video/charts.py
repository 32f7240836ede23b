"""The frames of a video: name, step and figures of a tensor above, its chart, and a note at the foot.

A chart stays with its series over time. `take` keeps what is to be seen of the tensor at one step, small and
nobody else's, and widens the scales; `draw` draws that later and returns the note below the chart.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple
from xml.sax.saxutils import escape

import numpy
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from torcheer.graph import (
    BOLD,
    FONT_FAMILY,
    FONT_FILES,
    REGULAR,
    is_measured,
    number_text,
    png_of,
    printable,
    text_width,
)
from torcheer.run import HistogramRecord, view_of
from torcheer.tensorfile import figures_of

Colour = tuple[int, int, int]
Pixels = NDArray[numpy.uint8]  # rows, columns, and red, green and blue
Values = NDArray[Any]
StyleName = Literal["caption", "body", "title"]

NUM_LEVELS: Final = 255  # of a ramp; the one in the middle is zero where there are two signs

_USUAL_SIZE: Final = (640, 480)  # at which text has its own size
# The sizes of letters and of lines, in pixels at the usual size.
_STYLES: Final[dict[StyleName, tuple[int, int]]] = {"caption": (11, 16), "body": (12, 16), "title": (15, 20)}


def rgb(colour: str) -> Colour:
    """`#RRGGBB` as red, green and blue."""
    red, green, blue = bytes.fromhex(colour.removeprefix("#"))
    return red, green, blue


def _ramp(colours: str) -> Pixels:
    """A colour for each level, between a few that are spread evenly."""
    known = numpy.array([rgb(colour) for colour in colours.split()], float)
    places = numpy.linspace(0, len(known) - 1, NUM_LEVELS)
    between = [numpy.interp(places, range(len(known)), known[:, channel]) for channel in range(3)]
    return numpy.stack(between, axis=-1).round().astype(numpy.uint8)


# The same values as in the web app's light tokens.
SURFACE: Final = rgb("#FFFFFF")
LINE: Final = rgb("#E3E6E9")
TICK: Final = rgb("#CDD2D8")
TEXT: Final = rgb("#16191D")
TEXT_2: Final = rgb("#4A525B")
TEXT_3: Final = rgb("#626B75")
DANGER: Final = rgb("#BF232B")
BAR: Final = rgb("#06679A")
DIVERGING: Final = _ramp(
    "#08307F #195DAE #418BD6 #7EB6E9 #B7D6F1 #EEF0F2 #F0CFB3 #EBA876 #DD783E #B64E1E #852A0F"
)
SEQUENTIAL: Final = _ramp("#ECF6F5 #C1EAE4 #93DBD2 #60C2BB #2EA7A7 #127E8E #0B6B89 #104F7E #193866 #1A224D")


class Box(NamedTuple):
    """A rectangle of a canvas, in pixels."""

    x: int
    y: int
    width: int
    height: int


class Canvas:
    """One picture that is drawn anew for each frame."""

    def __init__(self, size: tuple[int, int]) -> None:
        self.width, self.height = size
        # In halves: text is sharp, and larger where there is room for it.
        fitting = min(self.width / _USUAL_SIZE[0], self.height / _USUAL_SIZE[1])
        self.scale = max(1.0, round(fitting * 2) / 2)
        self.image = Image.new("RGB", size, SURFACE)
        self._draw = ImageDraw.Draw(self.image)
        # The basic layout is the same everywhere; the other one depends on a library of the system.
        self._fonts = {
            style: ImageFont.truetype(
                FONT_FILES[style == "title"], points * self.scale, layout_engine=ImageFont.Layout.BASIC
            )
            for style, (points, _) in _STYLES.items()
        }

    def px(self, length: float) -> int:
        """A length at the usual size, in pixels of this canvas."""
        return round(length * self.scale)

    def fill(self, box: Box, colour: Colour) -> None:
        if box.width > 0 and box.height > 0:
            right, bottom = box.x + box.width - 1, box.y + box.height - 1
            self._draw.rectangle((box.x, box.y, right, bottom), colour)

    def put(self, box: Box, pixels: Pixels) -> None:
        """Fill a box with a picture. Nothing is blurred."""
        picture = Image.fromarray(numpy.ascontiguousarray(pixels))
        self.image.paste(picture.resize((box.width, box.height), Image.Resampling.NEAREST), (box.x, box.y))

    def text(
        self,
        text: str,
        style: StyleName,
        x: int,
        y: int,
        ink: Colour,
        align: Literal["left", "middle", "right"] = "left",
    ) -> int:
        """Draw a line of text with its upper left, middle or right at a place; returns how wide it is."""
        text, width = printable(text), self.text_width(text, style)
        if not is_measured(text):
            left = x - {"left": 0, "middle": width // 2, "right": width}[align]
            self._put_foreign(text, style, left, y, ink)
        elif text:
            anchor = f"{align[0]}m"  # in the middle of the line
            middle = y + self.line_height(style) / 2
            self._draw.text((x, middle), text, ink, self._fonts[style], anchor=anchor)
        return width

    def text_width(self, text: str, style: StyleName) -> int:
        return math.ceil(text_width(printable(text), self._fonts[style].size, _weight(style)))

    def line_height(self, style: StyleName) -> int:
        return self.px(_STYLES[style][1])

    def fitted(self, text: str, width: int, style: StyleName) -> str:
        """A text with its middle left out where it is too wide: a name tells most at its ends."""
        short, num_kept = text, len(text)
        while num_kept and self.text_width(short, style) > width:
            num_kept -= 1
            tail = num_kept // 2
            short = text[: num_kept - tail] + "…" + text[len(text) - tail :]
        return short

    def _put_foreign(self, text: str, style: StyleName, x: int, y: int, ink: Colour) -> None:
        """A line with letters that the font does not have, in fonts of the system."""
        width, height = self.text_width(text, style), self.line_height(style)
        size = self._fonts[style].size
        svg = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">'
            f'<text y="{height / 2 + size * 0.36}" font-family="{FONT_FAMILY}" font-size="{size}" '
            f'font-weight="{_weight(style)}">{escape(text)}</text></svg>'
        )
        mask = Image.open(io.BytesIO(png_of(svg, width, height, 1.0))).convert("RGBA").getchannel("A")
        self.image.paste(ink, (x, y, x + mask.width, y + mask.height), mask)


def _weight(style: StyleName) -> int:
    return BOLD if style == "title" else REGULAR


_LARGEST: Final = 1e300  # beyond it differences are no numbers any more
_SMALLEST: Final = 1e-300
_NARROW: Final = 0.5  # of the largest value: what lies within so little of it is shown without zero


class Limits:
    """The ends of a scale: round numbers that hold all that was seen, and only ever move apart.

    A scale of colours is centred on zero where there are both signs. Else it begins with zero, unless all
    values lie close together far from it.
    """

    def __init__(self, *, is_of_colours: bool = False) -> None:
        self._is_of_colours = is_of_colours
        self.low, self.high = (0.0 if is_of_colours else -1.0), 1.0
        self._seen: tuple[float, float] | None = None
        self._is_set = False

    def include(self, values: Values) -> None:
        """Every finite value must have its place."""
        finite = values[numpy.isfinite(values)]
        if not finite.size:
            return
        low, high = max(float(finite.min()), -_LARGEST), min(float(finite.max()), _LARGEST)
        if self._seen is not None:
            low, high = min(low, self._seen[0]), max(high, self._seen[1])
        self._seen = low, high
        if max(-low, high) < _SMALLEST:  # all zeros say nothing about what will come
            return
        low, high = self._wanted(low, high)
        step = _round_step((high - low) / 10)
        low, high = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
        if self._is_set:
            low, high = min(self.low, low), max(self.high, high)
        if self._is_of_colours and low < 0 < high:
            low, high = min(low, -high), max(high, -low)
        self.low, self.high, self._is_set = low, high, True

    def place(self, values: Any) -> Any:
        """Where values are, from 0 at the lower end to 1 at the upper."""
        return (values - self.low) / (self.high - self.low)

    def ticks(self, most: int) -> list[float]:
        """Round numbers between the ends, about so many at most."""
        step = _round_step((self.high - self.low) / most)
        first, last = math.ceil(self.low / step - 1e-6), math.floor(self.high / step + 1e-6)
        return [number * step for number in range(first, last + 1)]

    def _wanted(self, low: float, high: float) -> tuple[float, float]:
        largest = max(-low, high)
        if self._is_of_colours and low < 0 < high:
            return -largest, largest
        if self._is_of_colours and high - low >= _NARROW * largest:
            return min(low, 0.0), max(high, 0.0)
        if high - low <= 1e-6 * largest:  # one value: it stands in the middle
            return low - largest / 2, high + largest / 2
        return low, high


def _round_step(least: float) -> float:
    """The next of …, 0.1, 0.2, 0.5, 1, 2, 5, 10, …"""
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power * (1 + 1e-9) >= least)


KINDS: Final = ("auto", "picture", "tiles", "histogram")
_LARGEST_KERNEL: Final = 32  # of a side: what is larger is no filter, but what a layer gives
_PARAMETERS: Final = ("weight", "bias", "kernel", "filters")


def kind_of(name: str, shape: Sequence[int], wanted: str = "auto") -> str:
    """What is wanted where the shape allows it, otherwise what suits the shape. Never an error."""
    is_matrix = bool(shape) and math.prod(_matrix_shape(shape)) == math.prod(shape)
    if 0 in shape or wanted == "histogram":
        return "histogram"
    if (wanted == "picture" and is_matrix) or (wanted == "tiles" and len(shape) == 4):
        return wanted
    if len(shape) == 2 or (len(shape) == 3 and shape[0] == 1):
        return "picture"
    # `features.0.Act`, or `features.0.Grad`; but `features.0.weight.Grad` is as the weight is.
    owner, _, variable = name.rpartition(".")
    is_of_parameter = owner.rpartition(".")[2].endswith(_PARAMETERS)
    is_of_activations = variable == "Act" or (variable == "Grad" and not is_of_parameter)
    if len(shape) == 4 and max(shape[2:]) <= _LARGEST_KERNEL and not is_of_activations:
        # A kernel of one weight makes a filter a row of a matrix.
        return "picture" if tuple(shape[2:]) == (1, 1) else "tiles"
    return "histogram"


def _matrix_shape(shape: Sequence[int]) -> tuple[int, int]:
    """How a tensor is laid out as a picture: as it is, or as filters by channels."""
    if len(shape) == 4 and tuple(shape[2:]) == (1, 1):
        return shape[0], shape[1]
    return (1, shape[0]) if len(shape) == 1 else (shape[-2], shape[-1])


_BAR: Final = 12
_SCALE_WIDTH: Final = 80  # with its numbers and the room to the picture


@dataclass(frozen=True, slots=True, kw_only=True)
class Wall:
    """Tiles side by side; in colour they have a last axis of three. A matrix is a single tile."""

    tiles: Values  # number, height, width (, channels)
    columns: int
    note: str = ""


class GridChart:
    """A coloured cell for each value: a matrix as it is, filters of a convolution as tiles.

    Filters that look at three channels are in colour. What is not finite is red.
    """

    def __init__(self, *, is_tiled: bool) -> None:
        self.limits = Limits(is_of_colours=True)
        self._is_tiled = is_tiled

    def take(self, values: Values, canvas: Canvas, box: Box) -> Wall:
        room = _picture_width(canvas, box)
        if self._is_tiled:
            self.limits.include(values)  # of all weights, not only of those that are seen
            return _filters(values, box.width if values.shape[1] == 3 else room, box.height)
        rows, columns = _matrix_shape(values.shape)
        cells = averaged(values.reshape(rows, columns), box.height, room)
        self.limits.include(cells)
        down, across = -(-rows // len(cells)), -(-columns // cells.shape[1])
        note = f"a pixel is the mean of up to {down} × {across} values" if down * across > 1 else ""
        return Wall(tiles=numpy.array(cells)[None], columns=1, note=note)

    def draw(self, canvas: Canvas, box: Box, taken: Wall) -> str:
        is_rgb = taken.tiles.ndim == 4
        room = box.width if is_rgb else _picture_width(canvas, box)
        pixels = self._pixels(taken.tiles, is_rgb)
        num, high, wide, _ = pixels.shape
        rows = -(-num // taken.columns)
        # Tiles side by side, with an empty cell after each but the last.
        picture = numpy.full((rows * taken.columns, high + 1, wide + 1, 3), SURFACE, numpy.uint8)
        picture[:num, :high, :wide] = pixels
        picture = picture.reshape(rows, taken.columns, high + 1, wide + 1, 3).swapaxes(1, 2)
        picture = picture.reshape(rows * (high + 1), -1, 3)[:-1, :-1]
        height, width = box.height, room
        if self._is_tiled:  # with square cells
            scale = max(1, min(room // picture.shape[1], box.height // picture.shape[0]))
            height, width = picture.shape[0] * scale, picture.shape[1] * scale
        x, y = box.x + (room - width) // 2, box.y + (box.height - height) // 2
        canvas.put(Box(x, y, width, height), picture)
        if room < box.width:
            self._draw_scale(canvas, Box(x + width + canvas.px(12), y, canvas.px(_BAR), height))
        if not is_rgb:
            return taken.note
        bound = number_text(self._bound)
        return f"{taken.note} · red, green and blue are the channels, from -{bound} (dark) to {bound}"

    @property
    def _bound(self) -> float:
        return max(abs(self.limits.low), abs(self.limits.high))

    def _pixels(self, tiles: Values, is_rgb: bool) -> Pixels:
        is_finite = numpy.isfinite(tiles)
        places = 0.5 + tiles / (2 * self._bound) if is_rgb else self.limits.place(tiles)
        shares = numpy.nan_to_num(numpy.clip(places, 0, 1))
        levels: Pixels = numpy.rint(shares * (255 if is_rgb else NUM_LEVELS - 1)).astype(numpy.uint8)
        pixels = levels if is_rgb else self._ramp()[levels]
        pixels[~(is_finite.all(axis=-1) if is_rgb else is_finite)] = DANGER
        return pixels

    def _ramp(self) -> Pixels:
        """A colour for each level, from the lower end on; zero is at the quiet end."""
        if self.limits.low < 0 < self.limits.high:
            return DIVERGING
        return SEQUENTIAL[::-1] if self.limits.high <= 0 else SEQUENTIAL

    def _draw_scale(self, canvas: Canvas, box: Box) -> None:
        """The colours as the cells have them, high values above, with the limits in numbers."""
        line, limits = canvas.line_height("caption"), self.limits
        canvas.put(box, self._ramp()[::-1, None])
        for place, value in ((0.0, limits.high), (0.5, (limits.low + limits.high) / 2), (1.0, limits.low)):
            top = box.y + round(place * (box.height - line))
            x = box.x + box.width + canvas.px(5)
            canvas.text(number_text(value), "caption", x, top, TEXT_3)


def _picture_width(canvas: Canvas, box: Box) -> int:
    """What the colour scale leaves for the picture; where there is little, the scale is left out."""
    scale = canvas.px(_SCALE_WIDTH)
    return box.width - scale if box.width >= 3 * scale else box.width


def averaged(values: Values, height: int, width: int) -> Values:
    """No more rows and columns than that: each then stands for the mean of those that share a pixel.

    One value that is not finite makes its whole pixel so: it must not get lost.
    """
    for axis, most in ((1, width), (0, height)):
        if values.shape[axis] > most:
            starts = numpy.arange(most + 1) * values.shape[axis] // most
            counts = numpy.diff(starts).astype(values.dtype)
            sums = numpy.add.reduceat(values, starts[:-1], axis=axis)
            values = sums / (counts if axis == 1 else counts[:, None])
    return values


def _filters(filters: Values, width: int, height: int) -> Wall:
    """Tiles with a cell between two of them, as many as there is room for.

    Of one or three channels, one filter after the other in a block of the shape of the box; of others, a row
    for each filter, and a column for each channel.
    """
    num, channels, high, wide = filters.shape
    most_rows, most_columns = max(1, height // (high + 1)), max(1, width // (wide + 1))
    if channels not in (1, 3):
        shown = filters[:most_rows, :most_columns]
        note = f"rows: {_shown(len(shown), num, 'filters')} · "
        note += f"columns: {_shown(shown.shape[1], channels, 'channels')}"
        return Wall(tiles=shown.reshape(-1, high, wide).copy(), columns=shown.shape[1], note=note)

    columns = min(num, most_columns, max(1, round(math.sqrt(num * most_columns / most_rows))))
    if -(-num // columns) > most_rows:
        columns = min(num, most_columns)
    tiles = filters[: columns * most_rows]
    tiles = tiles.transpose(0, 2, 3, 1) if channels == 3 else tiles[:, 0]
    return Wall(tiles=tiles.copy(), columns=columns, note=_shown(len(tiles), num, "filters"))


def _shown(num_shown: int, num: int, what: str) -> str:
    return f"the first {num_shown} of {num} {what}" if num_shown < num else f"{num} {what}"


_NUM_BARS: Final = 60
_FEW: Final = 1 << 14  # values; of more, counts in fine bins are kept
_NUM_FINE: Final = 2400  # bins that are counted, so that they can be shared out anew when the axis grows


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How many values lie below each of some rising edges. Between two edges they are taken to lie evenly."""

    edges: Values
    below: Values

    @classmethod
    def of_counts(cls, edges: Values, counts: Values) -> Spread:
        return cls(edges=edges, below=numpy.concatenate([[0.0], numpy.cumsum(counts)]))

    @classmethod
    def of_values(cls, values: Values) -> Spread:
        finite = values[numpy.isfinite(values)].astype(numpy.float64)
        if finite.size <= _FEW:  # exactly: the number below rises by one at each value
            below = numpy.arange(1, 2 * finite.size + 1) // 2
            return cls(edges=numpy.sort(finite).repeat(2), below=below)
        low, high = float(finite.min()), float(finite.max())
        if low < 0 < high:  # an edge at zero: there may be many zeros, which belong into one bar
            low, high = -max(-low, high), max(-low, high)
        if not _SMALLEST < high - low < _LARGEST:  # they cannot be told apart
            return cls.of_values(numpy.array([low]))
        counts, edges = numpy.histogram(finite, _NUM_FINE, (low, high))
        return cls.of_counts(edges, counts)

    @property
    def num(self) -> float:
        return float(self.below[-1]) if len(self.below) else 0.0

    def shares(self, low: float, high: float, num_bars: int) -> NDArray[numpy.float64]:
        """The share of all values in each of so many equal bars, of limits that hold all of them."""
        if not self.num:
            return numpy.zeros(num_bars)
        # What lies on a bound belongs to the bar above it.
        bounds = numpy.nextafter(numpy.linspace(low, high, num_bars + 1)[1:-1], -numpy.inf)
        below = numpy.interp(bounds, self.edges, self.below, left=0.0, right=self.num)
        shares: NDArray[numpy.float64] = numpy.diff([0.0, *below, self.num]) / self.num
        return shares


class HistogramChart:
    """Bars over an axis that stays where it is from frame to frame."""

    def __init__(self) -> None:
        self.limits, self._heights = Limits(), Limits(is_of_colours=True)

    def take(self, values: Values, canvas: Canvas, box: Box) -> Spread:
        self.limits.include(values)
        return self.take_spread(Spread.of_values(values))

    def take_spread(self, spread: Spread) -> Spread:
        shares = spread.shares(self.limits.low, self.limits.high, _NUM_BARS)
        self._heights.include(numpy.array([0.0, shares.max()]))
        return spread

    def draw(self, canvas: Canvas, box: Box, taken: Spread) -> str:
        foot, side, top = canvas.line_height("caption") + canvas.px(6), canvas.px(46), canvas.px(6)
        area = box
        if box.width > 3 * side and box.height > 4 * foot:
            area = Box(box.x + side, box.y + top, box.width - side - canvas.px(8), box.height - foot - top)
            self._draw_axes(canvas, area)
        shares = taken.shares(self.limits.low, self.limits.high, _NUM_BARS)
        for index, place in enumerate(self._heights.place(shares).tolist()):
            left, right = (area.width * edge // _NUM_BARS for edge in (index, index + 1))
            height = max(round(place * area.height), 1 if place > 0 else 0)  # what is there is seen
            width = right - left - (1 if area.width >= 4 * _NUM_BARS else 0)
            bar = Box(area.x + left, area.y + area.height - height, width, height)
            canvas.fill(bar, BAR)
        return "share of the values in a bar"

    def _draw_axes(self, canvas: Canvas, area: Box) -> None:
        bottom, line = area.y + area.height, canvas.line_height("caption")
        for share in self._heights.ticks(5):
            y = area.y + round((1 - self._heights.place(share)) * (area.height - 1))
            canvas.fill(Box(area.x, y, area.width, 1), LINE)
            text = f"{number_text(share * 100)} %"
            canvas.text(text, "caption", area.x - canvas.px(6), y - line // 2, TEXT_3, "right")
        for value in self.limits.ticks(max(2, min(6, area.width // canvas.px(90)))):
            x = area.x + round(self.limits.place(value) * (area.width - 1))
            canvas.fill(Box(x, bottom, 1, canvas.px(4)), TICK)
            canvas.text(number_text(value), "caption", x, bottom + canvas.px(5), TEXT_3, "middle")


class ImageChart:
    """A picture that was logged as one: whole, sharp where it is small."""

    def draw(self, canvas: Canvas, box: Box, taken: Image.Image) -> str:
        scale = min(box.width / taken.width, box.height / taken.height)
        size = max(1, round(taken.width * scale)), max(1, round(taken.height * scale))
        resampling = Image.Resampling.NEAREST if scale >= 1 else Image.Resampling.BOX
        shown = taken.convert("RGBA").resize(size, resampling)
        corner = box.x + (box.width - shown.width) // 2, box.y + (box.height - shown.height) // 2
        canvas.image.paste(shown, corner, shown)
        return "" if scale >= 1 else f"at {scale * 100:.0f} % of its size"


_MARGIN: Final = 16
_FULL: Final = (280, 200)  # the least size with more than the chart


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What is to be seen at one step. It is small, and nobody else's: the tensor may go."""

    name: str
    step: int
    chart: GridChart | HistogramChart | ImageChart
    taken: Any
    shape: str = ""
    counts: Mapping[str, int]  # of what is not finite
    figures: Mapping[str, float | None]  # of the finite values; None where there are too few


class SeriesView:
    """Keeps the charts of one name, so that their scales are the same from frame to frame."""

    def __init__(self, name: str, kind: str = "auto", whole_shape: tuple[int, ...] | None = None) -> None:
        """`whole_shape` is that of the tensors of which pieces are shown."""
        self.name = name
        self._kind, self._whole_shape = kind, whole_shape
        self._histogram = HistogramChart()
        self._charts: dict[str, GridChart | HistogramChart] = {
            "picture": GridChart(is_tiled=False),
            "tiles": GridChart(is_tiled=True),
            "histogram": self._histogram,
        }

    def of_tensor(self, step: int, tensor: Any, canvas: Canvas) -> Moment:
        """InputError where it cannot be seen."""
        values: Values = view_of(tensor).numbers()
        shape = _shape_text(values.shape)
        if self._whole_shape not in (None, values.shape):
            shape += f" of {_shape_text(self._whole_shape or ())}"
        if values.dtype.kind == "c":
            values, shape = numpy.abs(values), f"{shape}, magnitudes"
        if values.dtype.kind != "f" or values.dtype.itemsize == 2:
            values = values.astype(numpy.float32 if values.dtype.kind == "f" else numpy.float64)
        chart = self._charts[kind_of(self.name, values.shape, self._kind)]
        with numpy.errstate(all="ignore"):
            taken = chart.take(values, canvas, _body_of(canvas))
        found = figures_of(values, str(values.dtype))
        return Moment(
            name=self.name,
            step=step,
            chart=chart,
            taken=taken,
            shape=shape,
            counts={"NaN": found.num_nan, "Inf": found.num_inf},
            figures={name: getattr(found, name) for name in ("mean", "std", "min", "max")},
        )

    def of_histogram(self, record: HistogramRecord) -> Moment:
        head, edges, counts = record.head, record.edges, record.counts
        filled = numpy.flatnonzero(counts)
        spread = Spread.of_values(numpy.empty(0))
        if filled.size:
            # The outermost bins of some writers reach to the largest numbers there are.
            low = float(edges[filled[0]]) if head.min is None else head.min
            high = float(edges[filled[-1] + 1]) if head.max is None else head.max
            kept = slice(int(filled[0]), int(filled[-1]) + 1)
            spread = Spread.of_counts(numpy.clip(edges[kept.start : kept.stop + 1], low, high), counts[kept])
            self._histogram.limits.include(numpy.array([low, high]))
        mean = head.sum / head.num if head.num and head.sum is not None else None
        std = None
        if mean is not None and head.sum_squares is not None and head.num > 1:
            # As torch.std, and as for tensors: divided by one less than the number of values.
            std = math.sqrt(max(0.0, head.sum_squares - head.num * mean * mean) / (head.num - 1))
        return Moment(
            name=self.name,
            step=record.step,
            chart=self._histogram,
            taken=self._histogram.take_spread(spread),
            shape=f"{head.num:,.0f} values",
            counts={"NaN": head.num_nan, "Inf": head.num_inf},
            figures={"mean": mean, "std": std, "min": head.min, "max": head.max},
        )

    def of_image(self, step: int, image: Image.Image) -> Moment:
        return Moment(name=self.name, step=step, chart=ImageChart(), taken=image, counts={}, figures={})


def _shape_text(shape: Sequence[int]) -> str:
    return " × ".join(map(str, shape)) or "one number"


def _has_room(canvas: Canvas) -> bool:
    """For name, step, figures and note."""
    return canvas.width >= _FULL[0] and canvas.height >= _FULL[1]


def _body_of(canvas: Canvas) -> Box:
    """Where the chart is."""
    if not _has_room(canvas):
        return Box(0, 0, canvas.width, canvas.height)
    margin, top = canvas.px(_MARGIN), canvas.px(62)
    bottom = canvas.height - canvas.line_height("caption") - canvas.px(14)
    return Box(margin, top, canvas.width - 2 * margin, bottom - top)


def frame_of(moment: Moment, canvas: Canvas) -> Image.Image:
    """The picture is the canvas's own: it is good until the next frame."""
    canvas.fill(Box(0, 0, canvas.width, canvas.height), SURFACE)
    with numpy.errstate(all="ignore"):
        note = moment.chart.draw(canvas, _body_of(canvas), moment.taken)
    if _has_room(canvas):
        margin, top = canvas.px(_MARGIN), canvas.px(12)
        step = f"step {moment.step:,}"
        wide = canvas.text(step, "title", canvas.width - margin, top, TEXT, "right")
        name = canvas.fitted(moment.name, canvas.width - wide - 2 * margin - canvas.px(12), "title")
        canvas.text(name, "title", margin, top, TEXT)
        # What is not finite comes first: it must not be cut off.
        words = [(moment.shape, TEXT_2)]
        words += [(f"{count:,} {word}", DANGER) for word, count in moment.counts.items() if count]
        words += [
            (f"{name} {number_text(value)}", TEXT_2)
            for name, value in moment.figures.items()
            if value is not None and math.isfinite(value)
        ]
        x, y = margin, top + canvas.line_height("title") + canvas.px(3)
        for text, ink in words:
            if text and x + canvas.text_width(text, "body") <= canvas.width - margin:
                x += canvas.text(text, "body", x, y, ink) + canvas.px(12)
        foot = canvas.height - canvas.line_height("caption") - canvas.px(8)
        note = canvas.fitted(note, canvas.width - 2 * margin, "caption")
        canvas.text(note, "caption", margin, foot, TEXT_3)
    return canvas.image
