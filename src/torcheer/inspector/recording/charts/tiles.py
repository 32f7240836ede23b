"""The filters of a convolution as tiles: in colour where they look at three channels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy
from numpy.typing import NDArray

from torcheer.inspector.recording.charts.colourscale import coloured, draw_scale
from torcheer.inspector.recording.charts.limits import ColourLimits
from torcheer.inspector.recording.charts.measuring import Values
from torcheer.inspector.recording.charts.pictures import picture_width
from torcheer.inspector.recording.colours import Pixels, packed
from torcheer.inspector.recording.readable import readable_number
from torcheer.inspector.recording.sheet import Box, Sheet

_LEGIBLE: Final = 2  # pixels a weight, where not all tiles have room
_GAPS: Final = ((4, 10), (2, 4), (1, 1))  # pixels between two tiles, and the least pixels a weight for it


@dataclass(frozen=True, slots=True, kw_only=True)
class Wall:
    """Tiles in rows and columns; in colour they have a last axis of three."""

    tiles: NDArray[Any]  # rows, columns, height, width (, channels); NaN where there is no tile any more
    num_missing: int  # places in the last row that stay empty
    scale: int  # pixels a weight
    gap: int  # pixels between two tiles
    said: str

    @property
    def is_rgb(self) -> bool:
        return self.tiles.ndim == 5


class TileChart:
    """The filters of one convolution over time."""

    def __init__(self) -> None:
        self.limits = ColourLimits()

    def take(self, values: Values, sheet: Sheet, box: Box) -> Wall:
        wide = picture_width(sheet, box)
        if values.shape[1] == 3:
            wall = _wrapped(values.transpose(0, 2, 3, 1), box.width, box.height)
        elif values.shape[1] == 1:
            wall = _wrapped(values[:, 0], wide, box.height)
        else:
            wall = _by_channel(values, wide, box.height)
        # Of all weights, not only of those that are seen: the same for every frame.
        finite = values[numpy.isfinite(values)]
        if finite.size:
            self.limits.include(float(finite.min()), float(finite.max()))
        return wall

    def draw(self, sheet: Sheet, box: Box, taken: Wall) -> str:
        tiles, limits = taken.tiles, self.limits
        pixels = (
            self._in_colour(tiles) if taken.is_rgb else coloured(limits.levels(tiles), limits, sheet.theme)
        )
        is_nan = numpy.isnan(tiles).any(axis=-1) if taken.is_rgb else numpy.isnan(tiles)
        if taken.is_rgb:
            pixels[numpy.isinf(tiles).any(axis=-1)] = sheet.theme.danger
        if taken.num_missing:
            pixels[-1, -taken.num_missing :] = sheet.theme.surface
            is_nan[-1, -taken.num_missing :] = False
        picture = _laid_out(pixels, taken, sheet.theme.surface)
        hatched = _laid_out(is_nan, taken, False) if is_nan.any() else None
        wide = box.width if taken.is_rgb else picture_width(sheet, box)
        height, width = picture.shape
        x, y = box.x + max(0, (wide - width) // 2), box.y + max(0, (box.height - height) // 2)
        sheet.put(x, y, picture[: box.height, :wide], hatched, taken.scale)
        if wide < box.width:
            draw_scale(sheet, Box(x + width + sheet.px(12), y, 0, height), limits)
        if not taken.is_rgb:
            return taken.said
        bound = readable_number(self._bound)
        colours = f"red, green and blue are the three channels, from −{bound} (dark) to {bound}"
        return f"{colours} · {taken.said}" if taken.said else colours

    @property
    def _bound(self) -> float:
        return max(abs(self.limits.low), abs(self.limits.high))

    def _in_colour(self, tiles: NDArray[Any]) -> Pixels:
        with numpy.errstate(all="ignore"):
            shares = numpy.clip(0.5 + tiles / (2 * self._bound), 0, 1)
        return packed((numpy.nan_to_num(shares) * 255).round().astype(numpy.uint8))


def _wrapped(tiles: NDArray[Any], width: int, height: int) -> Wall:
    """One tile after the other, in as many columns as make them largest."""
    num, high, wide = tiles.shape[:3]
    columns = numpy.arange(1, num + 1)
    rows = -(-num // columns)
    said = ""
    for gap, least in _GAPS:
        scales = numpy.minimum((width // columns - gap) // wide, (height // rows - gap) // high)
        scale, num_columns = int(scales.max()), int(columns[scales.argmax()])
        if scale >= least:
            break
    else:
        scale, gap = _fallback(high, wide, width, height), 1
        num_columns = max(1, width // (wide * scale + gap))
        num_rows = max(1, height // (high * scale + gap))
        said = _shown(min(num, num_columns * num_rows), num, "filters")
        tiles = tiles[: num_columns * num_rows]
    num_columns = min(num_columns, len(tiles))
    num_missing = -len(tiles) % num_columns
    filled = numpy.concatenate([tiles, numpy.full((num_missing, *tiles.shape[1:]), numpy.nan, tiles.dtype)])
    wall = filled.reshape(-1, num_columns, *tiles.shape[1:])
    return Wall(tiles=wall, num_missing=num_missing, scale=scale, gap=gap, said=said)


def _by_channel(filters: NDArray[Any], width: int, height: int) -> Wall:
    """A row for each filter, a column for each channel that it looks at."""
    num_rows, num_columns, high, wide = filters.shape
    said = "a row is a filter, a column a channel of its input"
    for gap, least in _GAPS:
        scale = min((width // num_columns - gap) // wide, (height // num_rows - gap) // high)
        if scale >= least:
            break
    else:
        scale, gap = _fallback(high, wide, width, height), 1
        shown_rows = min(num_rows, max(1, height // (high * scale + gap)))
        shown_columns = min(num_columns, max(1, width // (wide * scale + gap)))
        filters = filters[:shown_rows, :shown_columns]
        rows, columns = (
            _shown(shown_rows, num_rows, "filters"),
            _shown(shown_columns, num_columns, "channels"),
        )
        said = f"rows: {rows} · columns: {columns}"
    return Wall(tiles=filters.copy(), num_missing=0, scale=scale, gap=gap, said=said)


def _fallback(high: int, wide: int, width: int, height: int) -> int:
    return _LEGIBLE if max(high, wide) * _LEGIBLE < min(width, height) // 4 else 1


def _shown(num_shown: int, num: int, what: str) -> str:
    return f"the first {num_shown} of {num} {what}" if num_shown < num else f"{num} {what}"


def _laid_out(tiles: NDArray[Any], wall: Wall, background: Any) -> NDArray[Any]:
    """Tiles side by side, with a gap after each but the last."""
    rows, columns, high, wide = tiles.shape
    scale, gap = wall.scale, wall.gap
    large = numpy.full((rows, columns, high * scale + gap, wide * scale + gap), background, tiles.dtype)
    large[:, :, :-gap, :-gap] = tiles.repeat(scale, axis=2).repeat(scale, axis=3)
    across = large.transpose(0, 2, 1, 3).reshape(rows * (high * scale + gap), columns * (wide * scale + gap))
    return across[:-gap, :-gap]
