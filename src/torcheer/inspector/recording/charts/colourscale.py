"""The colour scale beside a picture: exactly as the cells are coloured, with its limits in numbers."""

from __future__ import annotations

from typing import Final

import numpy
from numpy.typing import NDArray

from torcheer.inspector.recording.charts.limits import ColourLimits
from torcheer.inspector.recording.colours import NUM_LEVELS, Pixels, Theme
from torcheer.inspector.recording.readable import readable_number
from torcheer.inspector.recording.sheet import Box, Sheet

_BAR: Final = 12
_NUMBERS: Final = 52
SCALE_WIDTH: Final = _BAR + _NUMBERS + 16  # with the room to the picture


def ramp_of(limits: ColourLimits, theme: Theme) -> Pixels:
    """A pixel for each level, and a last one for what is infinite."""
    colours = theme.diverging if limits.is_centred else theme.sequential
    return numpy.append(colours, numpy.array([theme.danger], "<u4"))


def coloured(levels: NDArray[numpy.uint8], limits: ColourLimits, theme: Theme) -> Pixels:
    return ramp_of(limits, theme)[levels]


def draw_scale(sheet: Sheet, box: Box, limits: ColourLimits) -> None:
    """At the left of a box, over its whole height; high values above."""
    bar = Box(box.x, box.y, sheet.px(_BAR), box.height)
    places = numpy.linspace(NUM_LEVELS - 1, 0, bar.height).round().astype(numpy.uint8)
    if limits.is_negative:  # zero, the quiet end, is above
        places = places[::-1]
    column = ramp_of(limits, sheet.theme)[places]
    sheet.put(bar.x, bar.y, numpy.repeat(column[:, None], bar.width, axis=1))
    marks = [(0.0, limits.high), (1.0, limits.low)]
    if bar.height >= 5 * sheet.line_height("caption"):
        marks.append((0.5, (limits.low + limits.high) / 2))
    for place, value in marks:
        y = bar.y + round(place * bar.height)
        top = min(max(y - sheet.line_height("caption") // 2, bar.y - 3), bar.y + bar.height + 3)
        top = min(top, bar.y + bar.height - sheet.line_height("caption") + 3)
        sheet.text(
            readable_number(value), "caption", bar.x + bar.width + sheet.px(5), top, sheet.theme.text_3
        )
