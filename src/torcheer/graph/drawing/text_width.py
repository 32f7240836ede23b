"""How wide a text is in the font of the pictures, so that boxes can be made to fit."""

from __future__ import annotations

import unicodedata
from functools import cache, lru_cache
from pathlib import Path

FONT_FAMILY = "Inter"
# Where a viewer does not have Inter: fonts that are hardly wider, as `system-ui` often is.
FONT_STACK = (
    "Inter, -apple-system, Segoe UI, Roboto, Helvetica Neue, Arial, Liberation Sans, system-ui, sans-serif"
)
REGULAR, BOLD = 400, 600

_UNITS = 2048
_FOREIGN = 1400  # of a character that is not listed: about the widest letter, as it is set in another font
_FOREIGN_WIDE = 2600

_LISTED = (
    "".join(map(chr, range(0x20, 0x7F)))
    + "".join(chr(code) for code in range(0xA0, 0x100) if code != 0xAD)
    + "ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩαβγδεζηθικλμνξοπρςστυφχψω"
    + "–—‘’“”•…←↑→↓↔↖↗↘↙↻∂∑−√∞∫≈≠≤≥"
)
_LISTED_SET = frozenset(_LISTED)
FONTS = Path(__file__).parent / "fonts"
FONT_FILES = tuple(str(FONTS / f"Inter-{style}.ttf") for style in ("Regular", "SemiBold"))


@cache
def _advances(weight: int) -> dict[str, float]:
    """The width of each listed character, in 2048ths of the font size."""
    from PIL import ImageFont  # slow to import: only what draws needs it

    file = FONT_FILES[weight == BOLD]
    # At this size a pixel is a unit of the font. Basic layout: one character at a time needs no shaping.
    font = ImageFont.truetype(file, _UNITS, layout_engine=ImageFont.Layout.BASIC)
    return {character: font.getlength(character) for character in _LISTED}


@lru_cache(maxsize=65536)
def text_width(text: str, size: float, weight: int = REGULAR) -> float:
    """In pixels; a little too wide rather than too narrow for characters that Inter does not have."""
    advances = _advances(weight)
    try:
        units = sum([advances[character] for character in text])
    except KeyError:
        units = sum(advances[c] if c in advances else _foreign(c) for c in text)
    return units * size / _UNITS


def is_measured(text: str) -> bool:
    """Whether the font of the pictures has all of it, so that its width is certain."""
    return _LISTED_SET.issuperset(text)


def fitted(text: str, width: float, size: float, weight: int = REGULAR) -> str:
    """A text, with its middle left out where it is too wide: an address tells most at its ends."""
    if text_width(text, size, weight) <= width:
        return text
    low, high = 0, len(text)
    while low < high:  # the most characters that fit
        middle = (low + high + 1) // 2
        if text_width(_without_middle(text, middle), size, weight) <= width:
            low = middle
        else:
            high = middle - 1
    return _without_middle(text, low)


def printable(words: str) -> str:
    """On one line, and without what XML cannot hold."""
    if words.isprintable():
        return words
    return "".join(
        character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in words
    )


def _without_middle(text: str, num_kept: int) -> str:
    tail = num_kept // 2
    return text[: num_kept - tail] + "…" + text[len(text) - tail :]


def _foreign(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return _FOREIGN_WIDE if unicodedata.east_asian_width(character) in "WF" else _FOREIGN


def wrapped(words: str, width: float, size: float) -> list[str]:
    """The words in rows that are no wider than that; one word alone is cut where it is wider."""
    rows: list[str] = []
    for word in words.split(" "):
        longer = f"{rows[-1]} {word}" if rows else word
        if rows and text_width(longer, size) <= width:
            rows[-1] = longer
        else:
            rows.append(fitted(word, width, size))
    return rows
