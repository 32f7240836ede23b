"""The colours of a frame, light and dark: the same values as in the web app's tokens, as pixels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy
from numpy.typing import NDArray

from torcheer.errors import InputError

Pixels = NDArray[numpy.uint32]  # rows and columns; red is the lowest byte of each, the highest is opaque
NUM_LEVELS: Final = 255  # of a ramp; the one in the middle is zero where there are two signs


@dataclass(frozen=True, slots=True, kw_only=True)
class Theme:
    """Every colour that a frame has, as a pixel; ramps as one pixel for each level."""

    surface: int
    sunken: int
    line: int
    line_2: int
    text: int
    text_2: int
    text_3: int
    danger: int
    bar: int
    diverging: Pixels
    sequential: Pixels


def theme_named(name: str) -> Theme:
    theme = THEMES.get(name) if isinstance(name, str) else None
    if theme is None:
        raise InputError(f"there is no theme {name!r}: {' or '.join(map(repr, THEMES))}.")
    return theme


def pixel(colour: str) -> int:
    """`#RRGGBB` as a pixel."""
    red, green, blue = bytes.fromhex(colour.removeprefix("#"))
    return 0xFF000000 | blue << 16 | green << 8 | red


def channels(pixels: Pixels) -> NDArray[numpy.uint8]:
    """The same memory with a last axis of red, green, blue and opacity."""
    return pixels.view(numpy.uint8).reshape(*pixels.shape, 4)


def packed(red_green_blue: NDArray[numpy.uint8]) -> Pixels:
    """Pixels from an array whose last axis is red, green and blue."""
    out = numpy.full((*red_green_blue.shape[:-1], 4), 255, numpy.uint8)
    out[..., :3] = red_green_blue
    return out.view("<u4")[..., 0]


def ramp(stops: Sequence[int], num_levels: int = NUM_LEVELS) -> Pixels:
    """Levels between a few pixels, evenly spread."""
    known = channels(numpy.array(stops, "<u4"))[:, :3].astype(float)
    places = numpy.linspace(0, len(stops) - 1, num_levels)
    between = [numpy.interp(places, range(len(stops)), known[:, channel]) for channel in range(3)]
    return packed(numpy.stack(between, axis=-1).round().astype(numpy.uint8))


def _pixels(words: str) -> list[int]:
    return [pixel(word) for word in words.split()]


LIGHT: Final = Theme(
    surface=pixel("#FFFFFF"),
    sunken=pixel("#F9FAFB"),
    line=pixel("#E3E6E9"),
    line_2=pixel("#CDD2D8"),
    text=pixel("#16191D"),
    text_2=pixel("#4A525B"),
    text_3=pixel("#626B75"),
    danger=pixel("#BF232B"),
    bar=pixel("#06679A"),
    diverging=ramp(
        _pixels("#08307F #195DAE #418BD6 #7EB6E9 #B7D6F1 #EEF0F2 #F0CFB3 #EBA876 #DD783E #B64E1E #852A0F")
    ),
    sequential=ramp(
        _pixels("#ECF6F5 #C1EAE4 #93DBD2 #60C2BB #2EA7A7 #127E8E #0B6B89 #104F7E #193866 #1A224D")
    ),
)

DARK: Final = Theme(
    surface=pixel("#15181B"),
    sunken=pixel("#111416"),
    line=pixel("#262B30"),
    line_2=pixel("#3A4149"),
    text=pixel("#E8EBEE"),
    text_2=pixel("#AAB2BB"),
    text_3=pixel("#8B949E"),
    danger=pixel("#FF7F7A"),
    bar=pixel("#45A0FF"),
    diverging=ramp(
        _pixels("#9FDAFD #66B6F9 #3F8DDC #2E60A1 #284164 #24272A #5B3828 #954C24 #D5702F #F5A15F #FED89D")
    ),
    sequential=ramp(
        _pixels("#1C2229 #202E45 #233B60 #1D5276 #146B88 #1B909B #30A8A5 #53C8B7 #9AE2BE #DDFAC1")
    ),
)

THEMES: Final[Mapping[str, Theme]] = {"light": LIGHT, "dark": DARK}
