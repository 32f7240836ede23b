"""One tensor over time: what is to be seen of it at each step, and the frame of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from torcheer.inspector.recording.charts.histograms import HistogramChart, Spread
from torcheer.inspector.recording.charts.images import Image, ImageChart
from torcheer.inspector.recording.charts.kinds import WantedKind, kind_of, matrix_shape
from torcheer.inspector.recording.charts.measuring import Measured, measure, values_of
from torcheer.inspector.recording.charts.pictures import PictureChart
from torcheer.inspector.recording.charts.projections import PointChart
from torcheer.inspector.recording.charts.tiles import TileChart
from torcheer.inspector.recording.colours import Pixels
from torcheer.inspector.recording.painting import Heading, body_of, paint_frame
from torcheer.inspector.recording.sheet import Box, Sheet


class Chart(Protocol):
    """Draws what was taken of a tensor; returns what is to be said below it."""

    def draw(self, sheet: Sheet, box: Box, taken: Any) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """What is to be seen at one step. It is small, and nobody else's: the tensor may go."""

    heading: Heading
    chart: Chart
    taken: Any


class Moving:
    """Keeps the scales of one name, so that they are the same from frame to frame."""

    def __init__(
        self, name: str, kind: WantedKind = "auto", whole_shape: tuple[int, ...] | None = None
    ) -> None:
        self.name = name
        self._whole_shape = whole_shape
        self._kind = kind
        self._picture = PictureChart()
        self._tiles = TileChart()
        self._histogram = HistogramChart()
        self._points = PointChart()
        self._image = ImageChart()

    def of_tensor(self, step: int, tensor: Any, sheet: Sheet) -> Moment:
        """InputError where it cannot be seen."""
        values, is_magnitude = values_of(tensor)
        measured = measure(values, is_magnitude=is_magnitude)
        heading = Heading(name=self.name, step=step, measured=measured, whole_shape=self._whole_shape)
        kind = kind_of(self.name, values.shape, self._kind)
        box = body_of(sheet)
        if kind == "picture":
            picture = self._picture.take(values.reshape(matrix_shape(values.shape)), sheet, box)
            return Moment(heading=heading, chart=self._picture, taken=picture)
        if kind == "tiles":
            return Moment(heading=heading, chart=self._tiles, taken=self._tiles.take(values, sheet, box))
        if kind == "pca":
            return Moment(heading=heading, chart=self._points, taken=self._points.take(values, sheet, box))
        return Moment(heading=heading, chart=self._histogram, taken=self._histogram.take(values, sheet, box))

    def of_spread(self, step: int, spread: Spread, measured: Measured) -> Moment:
        heading = Heading(name=self.name, step=step, measured=measured)
        return Moment(heading=heading, chart=self._histogram, taken=self._histogram.take_spread(spread))

    def of_image(self, step: int, image: Image) -> Moment:
        return Moment(heading=Heading(name=self.name, step=step), chart=self._image, taken=image)


def frame_of(moment: Moment, sheet: Sheet) -> Pixels:
    """The pixels are the sheet's own: they are good until the next frame."""
    return paint_frame(sheet, moment.heading, lambda box: moment.chart.draw(sheet, box, moment.taken))
