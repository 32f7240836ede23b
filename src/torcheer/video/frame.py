"""A frame of a video: name, step and figures of a tensor above, its chart, and a note at the foot."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy
from PIL import Image

from torcheer.run import view_of
from torcheer.tensorfile import figures_of
from torcheer.video.canvas import Box, Canvas
from torcheer.video.charts import (
    HistogramChart,
    ImageChart,
    Kind,
    PictureChart,
    PointChart,
    Spread,
    TileChart,
    Values,
    WantedKind,
    kind_of,
    readable_number,
    readable_whole,
)

_MARGIN: Final = 16
_FULL: Final = (280, 200)  # the least size with more than the chart


# --- the figures of a tensor ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The figures of one tensor; those of its finite values are NaN where there are none."""

    shape: tuple[int, ...]
    mean: float
    std: float
    low: float
    high: float
    num_nan: int = 0
    num_inf: int = 0
    is_magnitude: bool = False  # of complex numbers


def measure(values: Values, *, is_magnitude: bool = False) -> Figures:
    found = figures_of(values, str(values.dtype))
    mean, std, low, high = (
        math.nan if figure is None else figure for figure in (found.mean, found.std, found.min, found.max)
    )
    return Figures(
        shape=tuple(values.shape),
        mean=mean,
        std=std,
        low=low,
        high=high,
        num_nan=found.num_nan,
        num_inf=found.num_inf,
        is_magnitude=is_magnitude,
    )


def _values_of(tensor: Any) -> tuple[Values, bool]:
    """A tensor or array as floating-point numbers, and whether they are magnitudes of complex ones.

    InputError says why there are none.
    """
    array = view_of(tensor).numbers()
    if array.dtype.kind == "c":
        return numpy.abs(array), True
    if array.dtype.kind != "f":
        return array.astype(numpy.float64), False
    return (array.astype(numpy.float32) if array.dtype.itemsize == 2 else array), False


# --- one series over time -------------------------------------------------------------------------------


class Chart(Protocol):
    """Draws what was taken of a tensor; returns the note below it."""

    def draw(self, canvas: Canvas, box: Box, taken: Any) -> str: ...


class TensorChart(Chart, Protocol):
    """Takes what is to be seen of a tensor."""

    def take(self, values: Values, canvas: Canvas, box: Box) -> Any: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What is to be seen at one step. It is small, and nobody else's: the tensor may go."""

    name: str
    step: int
    chart: Chart
    taken: Any
    figures: Figures | None = None
    whole_shape: tuple[int, ...] | None = None  # of what the tensor is a piece of


class SeriesView:
    """Keeps the scales of one name, so that they are the same from frame to frame."""

    def __init__(
        self, name: str, kind: WantedKind = "auto", whole_shape: tuple[int, ...] | None = None
    ) -> None:
        self.name = name
        self._whole_shape = whole_shape
        self._kind = kind
        self._histogram = HistogramChart()
        self._image = ImageChart()
        self._charts: dict[Kind, TensorChart] = {
            "picture": PictureChart(),
            "tiles": TileChart(),
            "histogram": self._histogram,
            "pca": PointChart(),
        }

    def of_tensor(self, step: int, tensor: Any, canvas: Canvas) -> Moment:
        """InputError where it cannot be seen."""
        values, is_magnitude = _values_of(tensor)
        chart = self._charts[kind_of(self.name, values.shape, self._kind)]
        return Moment(
            name=self.name,
            step=step,
            chart=chart,
            taken=chart.take(values, canvas, body_of(canvas)),
            figures=measure(values, is_magnitude=is_magnitude),
            whole_shape=self._whole_shape,
        )

    def of_spread(self, step: int, spread: Spread, figures: Figures) -> Moment:
        taken = self._histogram.take_spread(spread)
        return Moment(name=self.name, step=step, chart=self._histogram, taken=taken, figures=figures)

    def of_image(self, step: int, image: Image.Image) -> Moment:
        return Moment(name=self.name, step=step, chart=self._image, taken=image)


# --- the drawing ----------------------------------------------------------------------------------------


def body_of(canvas: Canvas) -> Box:
    """Where the chart is."""
    if not _has_room(canvas):
        return Box(0, 0, canvas.width, canvas.height)
    margin, top = canvas.px(_MARGIN), canvas.px(62)
    bottom = canvas.height - canvas.line_height("caption") - canvas.px(14)
    return Box(margin, top, canvas.width - 2 * margin, bottom - top)


def frame_of(moment: Moment, canvas: Canvas) -> Image.Image:
    """The picture is the canvas's own: it is good until the next frame."""
    canvas.clear()
    note = moment.chart.draw(canvas, body_of(canvas), moment.taken)
    if _has_room(canvas):
        margin = canvas.px(_MARGIN)
        _draw_heading(canvas, moment, margin)
        foot = canvas.height - canvas.line_height("caption") - canvas.px(8)
        note = canvas.fitted(note, canvas.width - 2 * margin, "caption")
        canvas.text(note, "caption", margin, foot, canvas.theme.text_3)
    return canvas.image


def _has_room(canvas: Canvas) -> bool:
    """For name, step, figures and note."""
    return canvas.width >= _FULL[0] and canvas.height >= _FULL[1]


def _draw_heading(canvas: Canvas, moment: Moment, margin: int) -> None:
    theme, right, top = canvas.theme, canvas.width - margin, canvas.px(12)
    wide = canvas.text(readable_whole(moment.step), "title", right, top, theme.text, "right")
    down = canvas.line_height("title") - canvas.line_height("body")
    wide += canvas.px(6)
    wide += canvas.text("step", "body", right - wide, top + down, theme.text_3, "right")
    name = canvas.fitted(moment.name, right - wide - margin - canvas.px(12), "title")
    canvas.text(name, "title", margin, top, theme.text)
    if moment.figures is not None:
        shape = _readable_shape(moment.figures, moment.whole_shape)
        below = top + canvas.line_height("title") + canvas.px(3)
        _draw_figures(canvas, moment.figures, shape, margin, below)


def _readable_shape(figures: Figures, whole_shape: tuple[int, ...] | None) -> str:
    words = " × ".join(map(str, figures.shape)) or "one number"
    if whole_shape is not None and whole_shape != figures.shape:
        words = f"{words} of {' × '.join(map(str, whole_shape))}"
    return f"{words}, magnitudes" if figures.is_magnitude else words


def _draw_figures(canvas: Canvas, figures: Figures, shape: str, margin: int, y: int) -> None:
    """Term and value in turn; what is not finite comes first: it must not be cut off."""
    theme, gap, limit = canvas.theme, canvas.px(12), canvas.width - margin
    x = margin + canvas.text(shape, "body", margin, y, theme.text_2) + gap
    for count, word in ((figures.num_nan, "NaN"), (figures.num_inf, "Inf")):
        if count:
            x += canvas.text(f"{readable_whole(count)} {word}", "body", x, y, theme.danger) + gap
    if math.isnan(figures.low):
        return
    terms = {"mean": figures.mean, "std": figures.std, "min": figures.low, "max": figures.high}
    for term, value in terms.items():
        number = readable_number(value)
        if x + canvas.text_width(f"{term} {number}", "body") > limit:
            return
        x += canvas.text(f"{term} ", "body", x, y, theme.text_3)
        x += canvas.text(number, "body", x, y, theme.text_2) + gap
