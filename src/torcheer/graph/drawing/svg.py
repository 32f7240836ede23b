"""SVG, written piece by piece: numbers, texts and shapes as short strings of XML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.sax.saxutils import escape, quoteattr

from torcheer.graph.drawing.boxes import TEXT_SIZE, Text
from torcheer.graph.drawing.lettering import BOLD, FONT_STACK, is_measured, printable
from torcheer.graph.layout.model import Point, Rect, Route

# A font in which a text becomes wider than this much of its own width would be a rare one.
_WIDER_FONT = 1.12
_ARROW_LENGTH, _ARROW_HALF_WIDTH = 7.0, 3.5


def number(value: float) -> str:
    """To a tenth of a pixel, without a needless end."""
    rounded = round(value, 1)
    whole = int(rounded)
    return str(whole) if whole == rounded else str(rounded)


def attributes(**values: str) -> str:
    """` data-op="3"`; an underscore stands for a hyphen."""
    return "".join(
        f" {name.rstrip('_').replace('_', '-')}={quoteattr(printable(value))}"
        for name, value in values.items()
    )


def title(words: str) -> str:
    """A tooltip; its lines stay lines."""
    return f"<title>{escape(chr(10).join(map(printable, words.split(chr(10)))))}</title>"


def text(line: Text, x: float, y: float, fill: str, room: float) -> str:
    """A line of text at its baseline. Where another font might need more than the room, its length is set."""
    words = line.words
    length = ""
    if line.width * _WIDER_FONT > room or not is_measured(words):
        length = f' textLength="{number(line.width)}" lengthAdjust="spacingAndGlyphs"'
    weight = ' font-weight="600"' if line.weight == BOLD else ""
    size = f' font-size="{number(line.size)}"' if line.size != TEXT_SIZE else ""
    style = f'fill="{fill}"{size}{weight}{length}'
    return f'<text x="{number(x)}" y="{number(y)}" {style}>{escape(words)}</text>'


def rect(place: Rect, fill: str, stroke: str, *, radius: float = 6.0, dashes: str = "") -> str:
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    size = f'width="{number(place.width)}" height="{number(place.height)}" rx="{number(radius)}"'
    style = f'fill="{fill}" stroke="{stroke}"{dashed}'
    return f'<rect x="{number(place.x)}" y="{number(place.y)}" {size} {style}/>'


def line_of(route: Route, dx: float = 0.0, dy: float = 0.0) -> str:
    """The path of a route, moved by a little where asked."""
    pieces: list[tuple[str, Sequence[Point]]] = [("M", [route.start])]
    pieces += [("L" if len(piece) == 1 else "C", piece) for piece in route.pieces]
    return path_of(pieces, dx, dy)


def path_of(pieces: Iterable[tuple[str, Sequence[Point]]], dx: float = 0.0, dy: float = 0.0) -> str:
    """Letters of the path language, each with its points."""
    return "".join(
        letter + " ".join(f"{number(x + dx)} {number(y + dy)}" for x, y in points)
        for letter, points in pieces
    )


def arrow_head(tip: tuple[float, float], towards: tuple[float, float]) -> str:
    """A triangle with its tip at a point; `towards` is the direction, along one of the axes."""
    (x, y), (dx, dy) = tip, towards
    back_x, back_y = x - _ARROW_LENGTH * dx, y - _ARROW_LENGTH * dy
    side_x, side_y = _ARROW_HALF_WIDTH * dy, _ARROW_HALF_WIDTH * dx
    return (
        f"M{number(x)} {number(y)}L{number(back_x + side_x)} {number(back_y + side_y)}"
        f"L{number(back_x - side_x)} {number(back_y - side_y)}Z"
    )


def axis_direction(start: tuple[float, float], end: tuple[float, float]) -> tuple[float, float]:
    """From one point to another, as a step of one along the axis that it mostly follows."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    if abs(dx) > abs(dy):
        return (1.0 if dx > 0 else -1.0), 0.0
    return 0.0, (-1.0 if dy < 0 else 1.0)


def page(width: float, height: float, canvas: str, name: str, content: Iterable[str]) -> str:
    """A whole SVG file."""
    size = f'width="{number(width)}" height="{number(height)}" viewBox="0 0 {number(width)} {number(height)}"'
    style = f'font-family={quoteattr(FONT_STACK)} font-size="{number(TEXT_SIZE)}"'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" {style}>\n'
        f"{title(name)}\n"
        f'<rect width="{number(width)}" height="{number(height)}" fill="{canvas}"/>\n'
    )
    return head + "\n".join(content) + "\n</svg>\n"
