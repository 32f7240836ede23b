"""What every frame has: name and step above, figures below them, the drawing, and a note at the foot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from torcheer.inspector.recording.charts.measuring import Measured
from torcheer.inspector.recording.colours import Pixels
from torcheer.inspector.recording.readable import readable_number, readable_whole
from torcheer.inspector.recording.sheet import Box, Sheet

_MARGIN: Final = 16
_FULL: Final = (280, 200)  # the least size with all of it
_NAMED: Final = (90, 64)  # the least size with a name


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """What stands above a drawing."""

    name: str
    step: int
    measured: Measured | None = None
    whole_shape: tuple[int, ...] | None = None  # of what the tensor is a piece of


def body_of(sheet: Sheet) -> Box:
    """Where the drawing is."""
    if not _has_room(sheet, _NAMED):
        return Box(0, 0, sheet.width, sheet.height)
    if not _has_room(sheet, _FULL):
        edge, top = sheet.px(4), sheet.line_height("caption") + sheet.px(4)
        return Box(edge, top, sheet.width - 2 * edge, sheet.height - top - edge)
    margin, top = sheet.px(_MARGIN), sheet.px(62)
    bottom = sheet.height - sheet.line_height("caption") - sheet.px(14)
    return Box(margin, top, sheet.width - 2 * margin, bottom - top)


def paint_frame(sheet: Sheet, heading: Heading, draw: Callable[[Box], str]) -> Pixels:
    sheet.clear()
    said = draw(body_of(sheet))
    if _has_room(sheet, _FULL):
        _paint_heading(sheet, heading)
        foot = sheet.height - sheet.line_height("caption") - sheet.px(8)
        note = sheet.lettering.fitted(said, sheet.width - 2 * sheet.px(_MARGIN), "caption")
        sheet.text(note, "caption", sheet.px(_MARGIN), foot, sheet.theme.text_3)
    elif _has_room(sheet, _NAMED):
        edge = sheet.px(4)
        wide = sheet.text(
            readable_whole(heading.step), "caption", sheet.width - edge, 1, sheet.theme.text_2, "right"
        )
        name = sheet.lettering.fitted(heading.name, sheet.width - wide - 4 * edge, "caption")
        sheet.text(name, "caption", edge, 1, sheet.theme.text)
    return sheet.pixels


def _has_room(sheet: Sheet, least: tuple[int, int]) -> bool:
    return sheet.width >= least[0] and sheet.height >= least[1]


def _paint_heading(sheet: Sheet, heading: Heading) -> None:
    theme, margin = sheet.theme, sheet.px(_MARGIN)
    right = sheet.width - margin
    top = sheet.px(12)
    wide = sheet.text(readable_whole(heading.step), "title", right, top, theme.text, "right")
    down = sheet.line_height("title") - sheet.line_height("body")
    wide += sheet.px(6)
    wide += sheet.text("step", "body", right - wide, top + down, theme.text_3, "right")
    name = sheet.lettering.fitted(heading.name, right - wide - margin - sheet.px(12), "title")
    sheet.text(name, "title", margin, top, theme.text)
    if heading.measured is not None:
        below = top + sheet.line_height("title") + sheet.px(3)
        _paint_figures(sheet, heading.measured, _shape_of(heading), margin, below)


def _shape_of(heading: Heading) -> str:
    if heading.measured is None:
        return ""
    shape = heading.measured.shape
    words = " × ".join(map(str, shape)) or "one number"
    if heading.whole_shape is not None and heading.whole_shape != shape:
        words = f"{words} of {' × '.join(map(str, heading.whole_shape))}"
    return f"{words}, magnitudes" if heading.measured.is_magnitude else words


def _paint_figures(sheet: Sheet, measured: Measured, shape: str, x: int, y: int) -> None:
    """Term and value in turn; what is not finite comes first: it must not be cut off."""
    theme, gap = sheet.theme, sheet.px(12)
    limit = sheet.width - sheet.px(_MARGIN)
    x += sheet.text(shape, "body", x, y, theme.text_2) + gap
    for count, word in ((measured.num_nan, "NaN"), (measured.num_inf, "Inf")):
        if count:
            x += sheet.text(f"{readable_whole(count)} {word}", "body", x, y, theme.danger) + gap
    figures = [("mean", measured.mean), ("std", measured.std), ("min", measured.low), ("max", measured.high)]
    for term, value in figures if measured.has_finite else []:
        number = readable_number(value)
        wide = sheet.lettering.width(f"{term} {number}", "body")
        if x + wide > limit:
            return
        x += sheet.text(f"{term} ", "body", x, y, theme.text_3)
        x += sheet.text(number, "body", x, y, theme.text_2) + gap
