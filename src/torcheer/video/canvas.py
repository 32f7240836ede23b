"""The canvas of a frame: its colours, and boxes, pictures and lines of text drawn on it by Pillow."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple
from xml.sax.saxutils import escape

import numpy
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from torcheer.errors import InputError
from torcheer.graph import BOLD, FONT_FAMILY, FONT_FILES, REGULAR, is_measured, png_of, printable, text_width

Colour = tuple[int, int, int]
Pixels = NDArray[numpy.uint8]  # rows, columns, and red, green and blue
StyleName = Literal["caption", "body", "title"]

NUM_LEVELS: Final = 255  # of a ramp; the one in the middle is zero where there are two signs

_USUAL_SIZE: Final = (640, 480)  # at which text has its own size
# The sizes of letters and of lines, in pixels at the usual size.
_STYLES: Final[dict[StyleName, tuple[int, int]]] = {"caption": (11, 16), "body": (12, 16), "title": (15, 20)}


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
        # The basic layout is the same everywhere; the other one depends on a library of the system.
        self._fonts = {
            style: ImageFont.truetype(
                FONT_FILES[style == "title"], points * self.scale, layout_engine=ImageFont.Layout.BASIC
            )
            for style, (points, _) in _STYLES.items()
        }

    def clear(self) -> None:
        self._draw.rectangle((0, 0, self.width, self.height), self.theme.surface)

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

    def disc(self, x: float, y: float, radius: float, colour: Colour) -> None:
        self._draw.ellipse((x - radius, y - radius, x + radius, y + radius), colour)

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
