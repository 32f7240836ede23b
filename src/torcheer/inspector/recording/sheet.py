"""The sheet that a frame is drawn on: pixels, the theme, the letters, and how large all of it is."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

import numpy
from numpy.typing import NDArray

from torcheer.inspector.recording.colours import Pixels, Theme
from torcheer.inspector.recording.lettering import StyleName, draw_text, lettering_of

_USUAL: Final = (640, 480)  # the size at which text has its own size
_HATCH: Final = 6  # pixels from one line of a hatch to the next


class Box(NamedTuple):
    """A rectangle of a sheet, in pixels."""

    x: int
    y: int
    width: int
    height: int


class Sheet:
    """Drawn anew for each frame."""

    def __init__(self, size: tuple[int, int], theme: Theme) -> None:
        self.width, self.height = size
        self.theme = theme
        # In halves: text is sharp, and larger where there is room for it.
        fitting = min(self.width / _USUAL[0], self.height / _USUAL[1])
        self.scale = max(1.0, round(fitting * 2) / 2)
        self.lettering = lettering_of(self.scale)
        self.pixels: Pixels = numpy.empty((self.height, self.width), "<u4")
        self._hatch = self._hatched()

    def clear(self) -> None:
        self.pixels[:] = self.theme.surface

    def px(self, length: float) -> int:
        """A length at the usual size, in pixels of this one."""
        return round(length * self.scale)

    def fill(self, box: Box, colour: int) -> None:
        x, y = max(0, box.x), max(0, box.y)
        self.pixels[y : max(0, box.y + box.height), x : max(0, box.x + box.width)] = colour

    def put(
        self, x: int, y: int, pixels: Pixels, is_nan: NDArray[numpy.bool_] | None = None, cell: int = 1
    ) -> None:
        """A picture with its upper left there; where there are no numbers, a hatch.

        Where a cell has fewer pixels than the hatch needs, it takes some of its neighbours: else it could
        fall between two lines, and not be seen.
        """
        part = self.pixels[y : y + pixels.shape[0], x : x + pixels.shape[1]]
        rows, columns = part.shape
        part[:] = pixels[:rows, :columns]
        if is_nan is not None:
            hatch = self._hatch[y : y + rows, x : x + columns]
            seen = _grown(is_nan, self.px(_HATCH) - cell)
            numpy.copyto(part, hatch, where=seen[:rows, :columns])

    def text(
        self,
        text: str,
        style: StyleName,
        x: int,
        y: int,
        ink: int,
        align: Literal["left", "middle", "right"] = "left",
    ) -> int:
        """A line of text on the plain sheet; returns how wide it is."""
        return draw_text(
            self.pixels, self.lettering, text, style, x, y, ink, paper=self.theme.surface, align=align
        )

    def line_height(self, style: StyleName) -> int:
        return self.lettering.styles[style].line_height

    def _hatched(self) -> Pixels:
        across = numpy.arange(self.width) + numpy.arange(self.height)[:, None]
        is_line = across % self.px(_HATCH) < self.px(_HATCH / 3)
        return numpy.where(is_line, self.theme.danger, self.theme.surface).astype("<u4")


def _grown(mask: NDArray[numpy.bool_], by: int) -> NDArray[numpy.bool_]:
    """So many pixels to the right of and below what is set are set, too."""
    grown = mask.copy()
    for shift in range(1, by + 1):
        grown[:, shift:] |= mask[:, :-shift]
    wide = grown.copy()
    for shift in range(1, by + 1):
        grown[shift:] |= wide[:-shift]
    return grown
