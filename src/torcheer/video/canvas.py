"""The canvas of a frame: its colours, and boxes, pictures and lines of text drawn on it by Pillow."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Final, Literal, NamedTuple
from xml.sax.saxutils import escape

import numpy
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from torcheer.errors import InputError
from torcheer.graph import BOLD, FONT_FAMILY, FONT_FILES, REGULAR, is_measured, png_of, printable, text_width

Colour = tuple[int, int, int]
Pixels = NDArray[numpy.uint8]  # rows, columns, and red, green and blue
StyleName = Literal["caption", "body", "title"]

NUM_LEVELS: Final = 255  # of a ramp; the one in the middle is zero where there are two signs
THIN_SPACE: Final = "\N{THIN SPACE}"

_USUAL_SIZE: Final = (640, 480)  # at which text has its own size
_HATCH: Final = 6  # pixels from one line of a hatch to the next
_DIGITS: Final = frozenset("0123456789")
_AIR: Final = 2  # pixels around a line of text, for letters that reach out of their own width


# --- colours --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Theme:
    """Every colour of a frame; ramps with one colour for each level."""

    surface: Colour
    line: Colour
    line_2: Colour
    text: Colour
    text_2: Colour
    text_3: Colour
    danger: Colour
    bar: Colour
    diverging: Pixels
    sequential: Pixels


def theme_named(name: str) -> Theme:
    theme = THEMES.get(name) if isinstance(name, str) else None
    if theme is None:
        raise InputError(f"there is no theme {name!r}: {' or '.join(map(repr, THEMES))}.")
    return theme


def rgb(colour: str) -> Colour:
    """`#RRGGBB` as red, green and blue."""
    red, green, blue = bytes.fromhex(colour.removeprefix("#"))
    return red, green, blue


def ramp(stops: Sequence[Sequence[int]], num_levels: int = NUM_LEVELS) -> Pixels:
    """Levels between a few colours, evenly spread."""
    known = numpy.array(stops, float)
    places = numpy.linspace(0, len(stops) - 1, num_levels)
    between = [numpy.interp(places, range(len(stops)), known[:, channel]) for channel in range(3)]
    return numpy.stack(between, axis=-1).round().astype(numpy.uint8)


def _ramp(colours: str) -> Pixels:
    return ramp([rgb(colour) for colour in colours.split()])


# The same values as in the web app's tokens.
LIGHT: Final = Theme(
    surface=rgb("#FFFFFF"),
    line=rgb("#E3E6E9"),
    line_2=rgb("#CDD2D8"),
    text=rgb("#16191D"),
    text_2=rgb("#4A525B"),
    text_3=rgb("#626B75"),
    danger=rgb("#BF232B"),
    bar=rgb("#06679A"),
    diverging=_ramp(
        "#08307F #195DAE #418BD6 #7EB6E9 #B7D6F1 #EEF0F2 #F0CFB3 #EBA876 #DD783E #B64E1E #852A0F"
    ),
    sequential=_ramp("#ECF6F5 #C1EAE4 #93DBD2 #60C2BB #2EA7A7 #127E8E #0B6B89 #104F7E #193866 #1A224D"),
)

DARK: Final = Theme(
    surface=rgb("#15181B"),
    line=rgb("#262B30"),
    line_2=rgb("#3A4149"),
    text=rgb("#E8EBEE"),
    text_2=rgb("#AAB2BB"),
    text_3=rgb("#8B949E"),
    danger=rgb("#FF7F7A"),
    bar=rgb("#45A0FF"),
    diverging=_ramp(
        "#9FDAFD #66B6F9 #3F8DDC #2E60A1 #284164 #24272A #5B3828 #954C24 #D5702F #F5A15F #FED89D"
    ),
    sequential=_ramp("#1C2229 #202E45 #233B60 #1D5276 #146B88 #1B909B #30A8A5 #53C8B7 #9AE2BE #DDFAC1"),
)

THEMES: Final[Mapping[str, Theme]] = {"light": LIGHT, "dark": DARK}


# --- the canvas -----------------------------------------------------------------------------------------


class Box(NamedTuple):
    """A rectangle of a canvas, in pixels."""

    x: int
    y: int
    width: int
    height: int


class Canvas:
    """One picture that is drawn anew for each frame."""

    def __init__(self, size: tuple[int, int], theme: Theme) -> None:
        self.width, self.height = size
        self.theme = theme
        # In halves: text is sharp, and larger where there is room for it.
        fitting = min(self.width / _USUAL_SIZE[0], self.height / _USUAL_SIZE[1])
        self.scale = max(1.0, round(fitting * 2) / 2)
        self.image = Image.new("RGB", size, theme.surface)
        self._draw = ImageDraw.Draw(self.image)
        self._styles: dict[StyleName, TextStyle] = {
            "caption": TextStyle(11 * self.scale, self.px(16), REGULAR),
            "body": TextStyle(12 * self.scale, self.px(16), REGULAR),
            "title": TextStyle(15 * self.scale, self.px(20), BOLD),
        }
        # The same names and words stand in frame after frame.
        self._line = lru_cache(maxsize=1024)(self._drawn_line)

    def clear(self) -> None:
        self._draw.rectangle((0, 0, self.width, self.height), self.theme.surface)

    def px(self, length: float) -> int:
        """A length at the usual size, in pixels of this canvas."""
        return round(length * self.scale)

    def fill(self, box: Box, colour: Colour) -> None:
        if box.width > 0 and box.height > 0:
            right, bottom = box.x + box.width - 1, box.y + box.height - 1
            self._draw.rectangle((box.x, box.y, right, bottom), colour)

    def put(self, x: int, y: int, pixels: Pixels, is_nan: NDArray[Any] | None = None, cell: int = 1) -> None:
        """Put a picture with its upper left at a place; where `is_nan`, a hatch.

        A cell with fewer pixels than the hatch needs takes some of its neighbours: else it could fall between
        two lines, and not be seen.
        """
        self.image.paste(Image.fromarray(numpy.ascontiguousarray(pixels)), (x, y))
        if is_nan is not None:
            mask = Image.fromarray(is_nan.astype(numpy.uint8) * 255)
            if cell < self.px(_HATCH):
                mask = mask.filter(ImageFilter.MaxFilter(self.px(_HATCH) // 2 * 2 + 1))
            part = self._hatch.crop((x, y, x + mask.width, y + mask.height))
            self.image.paste(part, (x, y), mask)

    def disc(self, x: float, y: float, radius: float, colour: Colour) -> None:
        mask = _disc(radius)
        corner = round(x - mask.width / 2), round(y - mask.height / 2)
        self.image.paste(colour, (*corner, corner[0] + mask.width, corner[1] + mask.height), mask)

    @cached_property
    def _hatch(self) -> Image.Image:
        across = numpy.arange(self.width) + numpy.arange(self.height)[:, None]
        is_line = across % self.px(_HATCH) < self.px(_HATCH / 3)
        colours = numpy.array([self.theme.surface, self.theme.danger], numpy.uint8)
        return Image.fromarray(colours[is_line.astype(int)])

    # --- text ---

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
        mask = self._line(text, style)
        width = mask.width - 2 * _AIR
        left = x - {"left": 0, "middle": width // 2, "right": width}[align] - _AIR
        self.image.paste(ink, (left, y, left + mask.width, y + mask.height), mask)
        return width

    def text_width(self, text: str, style: StyleName) -> int:
        return self._line(text, style).width - 2 * _AIR

    def line_height(self, style: StyleName) -> int:
        return self._styles[style].line_height

    def fitted(self, text: str, width: int, style: StyleName) -> str:
        """A text with its middle left out where it is too wide: a name tells most at its ends."""
        if self.text_width(text, style) <= width:
            return text
        for num_kept in range(len(text) - 1, 0, -1):
            tail = num_kept // 2
            short = text[: num_kept - tail] + "…" + text[len(text) - tail :]
            if self.text_width(short, style) <= width:
                return short
        return ""

    def _drawn_line(self, text: str, style: StyleName) -> Image.Image:
        """How opaque each pixel of a line of text is."""
        text = "".join(letter if letter == THIN_SPACE else printable(letter) for letter in text)
        shape = self._styles[style]
        if not is_measured(text.replace(THIN_SPACE, "")):
            return _foreign_line(text, shape)
        advances = [shape.advance(letter) for letter in text]
        mask = Image.new("L", (math.ceil(sum(advances)) + 2 * _AIR, shape.line_height))
        draw = ImageDraw.Draw(mask)
        x = float(_AIR)
        for letter, advance in zip(text.replace(THIN_SPACE, " "), advances, strict=True):
            # A digit that is narrower than a zero stands in the middle of its place.
            own = text_width(letter, shape.size, shape.weight)
            draw.text((x + (advance - own) / 2, shape.baseline), letter, 255, shape.font, anchor="ls")
            x += advance
        return mask


class TextStyle:
    """A size and weight of the font that comes along."""

    def __init__(self, size: float, line_height: int, weight: int) -> None:
        self.size, self.line_height, self.weight = size, line_height, weight
        self.baseline = round(line_height / 2 + size * 0.36)
        # The basic layout is the same everywhere; the other one depends on a library of the system.
        file = FONT_FILES[weight == BOLD]
        self.font = ImageFont.truetype(file, size, layout_engine=ImageFont.Layout.BASIC)

    def advance(self, letter: str) -> float:
        """Digits are all as wide as a zero, so that numbers that count up stand still."""
        if letter == THIN_SPACE:
            return self.size / 5
        return text_width("0" if letter in _DIGITS else letter, self.size, self.weight)


def _foreign_line(text: str, shape: TextStyle) -> Image.Image:
    """A line with letters that the font does not have, in fonts of the system."""
    width, height = math.ceil(text_width(text, shape.size, shape.weight)) + 2 * _AIR, shape.line_height
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}"><text x="{_AIR}" y="{shape.baseline}" font-family="{FONT_FAMILY}" '
        f'font-size="{shape.size}" font-weight="{shape.weight}">{escape(text)}</text></svg>'
    )
    return Image.open(io.BytesIO(png_of(svg, width, height, 1.0))).convert("RGBA").getchannel("A")


@lru_cache(maxsize=8)
def _disc(radius: float) -> Image.Image:
    """Drawn large and made small, so that its edge is smooth."""
    side, fine = 2 * math.ceil(radius) + 1, 8
    large = Image.new("L", (side * fine, side * fine))
    middle, reach = side * fine / 2, radius * fine
    ImageDraw.Draw(large).ellipse((middle - reach, middle - reach, middle + reach, middle + reach), 255)
    return large.resize((side, side), Image.Resampling.BOX)
