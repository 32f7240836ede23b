"""Text in a frame: letters of the font that comes along, rendered once and then put side by side.

Digits are all as wide as a zero, so that numbers which count up stand still.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final, Literal, NamedTuple
from xml.sax.saxutils import escape

import numpy
from numpy.typing import NDArray

from torcheer.graph.drawing.formats import png_of
from torcheer.graph.drawing.lettering import BOLD, FONT_FAMILY, REGULAR, printable, text_width
from torcheer.inspector.recording.colours import Pixels, ramp
from torcheer.inspector.recording.pngreading import decode_png

Opacity = NDArray[numpy.uint8]
StyleName = Literal["caption", "body", "title"]
THIN_SPACE: Final = "\N{THIN SPACE}"

_FIRST: Final = "".join(map(chr, range(0x21, 0x7F))) + "×·−±…Δµ∞≤≥–—→"
_DIGITS: Final = frozenset("0123456789")
_AIR: Final = 2  # pixels around a letter that may reach out of its own width
_ELLIPSIS: Final = "…"


class Style(NamedTuple):
    """A size and weight of the font."""

    size: float
    line_height: int
    weight: int


class Lettering:
    """The letters of one size of frame."""

    def __init__(self, scale: float = 1.0) -> None:
        self.styles: dict[StyleName, Style] = {
            "caption": Style(11 * scale, round(16 * scale), REGULAR),
            "body": Style(12 * scale, round(16 * scale), REGULAR),
            "title": Style(15 * scale, round(20 * scale), BOLD),
        }
        self._letters: dict[tuple[StyleName, str], Opacity] = {}
        # The same name and the same words stand in frame after frame.
        self.strip = lru_cache(maxsize=1024)(self._strip)
        self.fitted = lru_cache(maxsize=1024)(self._fitted)

    def width(self, text: str, style: StyleName) -> int:
        return math.ceil(sum(self._advance(letter, style) for letter in text))

    def _fitted(self, text: str, width: int, style: StyleName) -> str:
        """With its middle left out where it is too wide: a name tells most at its ends."""
        if self.width(text, style) <= width:
            return text
        for num_kept in range(len(text) - 1, 0, -1):
            tail = num_kept // 2
            short = text[: num_kept - tail] + _ELLIPSIS + text[len(text) - tail :]
            if self.width(short, style) <= width:
                return short
        return ""

    def _strip(self, text: str, style: StyleName) -> Opacity:
        """A line of text as how opaque each pixel is; with a little air on either side."""
        self._render({letter for letter in text if (style, letter) not in self._letters})
        height = self.styles[style].line_height
        strip = numpy.zeros((height, self.width(text, style) + 2 * _AIR), numpy.uint8)
        at = 0.0
        for letter in text:
            advance = self._advance(letter, style)
            drawn = self._letters.get((style, letter))
            if drawn is not None:
                # A digit that is narrower than a zero stands in the middle of its place.
                own = self._own_advance(letter, style)
                start = round(at + (advance - own) / 2)
                part = strip[:, start : start + drawn.shape[1]]
                numpy.maximum(part, drawn[:, : part.shape[1]], out=part)
            at += advance
        return strip

    def _advance(self, letter: str, style: StyleName) -> float:
        return self._own_advance("0" if letter in _DIGITS else letter, style)

    def _own_advance(self, letter: str, style: StyleName) -> float:
        shape = self.styles[style]
        return shape.size / 5 if letter == THIN_SPACE else text_width(letter, shape.size, shape.weight)

    def _render(self, letters: set[str]) -> None:
        """All styles of letters that were not needed before, in one picture: that is what takes time."""
        wanted = letters | (set(_FIRST) if not self._letters else set())
        wanted = {
            letter for letter in wanted if not letter.isspace() and ("body", letter) not in self._letters
        }
        if not wanted:
            return
        names: list[StyleName] = list(self.styles)
        cell = round(max(style.size for style in self.styles.values()) * 1.8) + 2 * _AIR
        row = max(style.line_height for style in self.styles.values())
        num_columns = 16
        places: list[tuple[StyleName, str, int, int]] = []
        texts = []
        for index, (name, letter) in enumerate((name, letter) for letter in sorted(wanted) for name in names):
            x, y = index % num_columns * cell, index // num_columns * row
            style = self.styles[name]
            places.append((name, letter, x, y))
            baseline = y + round(style.line_height / 2 + style.size * 0.36)
            texts.append(
                f'<text x="{x + _AIR}" y="{baseline}" font-size="{style.size}" '
                f'font-weight="{style.weight}">{escape(letter)}</text>'
            )
        width, height = num_columns * cell, (len(places) // num_columns + 1) * row
        svg = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}"><rect width="{width}" height="{height}" fill="#000"/>'
            f'<g fill="#fff" font-family="{FONT_FAMILY}">{"".join(texts)}</g></svg>'
        )
        drawn = decode_png(png_of(svg, width, height, 1.0))[..., 0]
        for name, letter, x, y in places:
            across = math.ceil(self._own_advance(letter, name)) + 2 * _AIR
            self._letters[name, letter] = drawn[y : y + self.styles[name].line_height, x : x + across].copy()


@lru_cache(maxsize=8)
def lettering_of(scale: float) -> Lettering:
    """The letters of frames of one size are the same for all of them."""
    return Lettering(scale)


def draw_text(
    canvas: Pixels,
    lettering: Lettering,
    text: str,
    style: StyleName,
    x: int,
    y: int,
    ink: int,
    paper: int,
    align: Literal["left", "middle", "right"] = "left",
) -> int:
    """Put a line of text with its upper left, middle or right at a place; returns how wide it is.

    What reaches out of the canvas is left out. `paper` is the one colour that lies below.
    """
    text = _one_line(text)
    strip = lettering.strip(text, style)
    width = lettering.width(text, style)
    left = x - {"left": 0, "middle": width // 2, "right": width}[align] - _AIR
    rows, columns = canvas.shape
    top, bottom = max(0, y), min(rows, y + strip.shape[0])
    start, end = max(0, left), min(columns, left + strip.shape[1])
    if top < bottom and start < end:
        seen = strip[top - y : bottom - y, start - left : end - left]
        part = canvas[top:bottom, start:end]
        numpy.copyto(part, _blend(paper, ink)[seen], where=seen > 0)
    return width


@lru_cache(maxsize=64)
def _blend(paper: int, ink: int) -> Pixels:
    return ramp((paper, ink), 256)


@lru_cache(maxsize=1024)
def _one_line(text: str) -> str:
    return "".join(letter if letter == THIN_SPACE else printable(letter) for letter in text)
