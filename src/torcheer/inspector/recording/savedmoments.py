"""What is to be seen of a record of a run: of a tensor, a histogram, or a picture."""

from __future__ import annotations

import math

import numpy

from torcheer.inspector.recording.charts.histograms import Counts, FewValues, Spread
from torcheer.inspector.recording.charts.images import Image, decode_image
from torcheer.inspector.recording.charts.measuring import Measured
from torcheer.inspector.recording.moving import Moment, Moving
from torcheer.inspector.recording.sheet import Sheet
from torcheer.run.reading.recordkinds import HistogramRecord, ImageRecord
from torcheer.run.reading.tensorrecord import TensorRecord


def moment_of(record: TensorRecord | HistogramRecord | ImageRecord, moving: Moving, sheet: Sheet) -> Moment:
    """Anything of torcheer's errors where it is gone or cannot be read."""
    if isinstance(record, TensorRecord):
        return moving.of_tensor(record.step, record.array, sheet)
    if isinstance(record, ImageRecord):
        return moving.of_image(record.step, Image(rgba=decode_image(record.raw, record.head.encoding)))
    return moving.of_spread(record.step, _spread(record), _measured(record))


def _spread(record: HistogramRecord) -> Spread:
    head = record.head
    edges, counts = record.edges, record.counts
    filled = numpy.flatnonzero(counts)
    if not filled.size:
        return FewValues(values=numpy.empty(0))
    low = float(edges[filled[0]]) if head.min is None else head.min
    high = float(edges[filled[-1] + 1]) if head.max is None else head.max
    # The outermost bins of some writers reach to the largest numbers there are: no value is out there.
    kept = slice(int(filled[0]), int(filled[-1]) + 1)
    inner = numpy.clip(edges[kept.start : kept.stop + 1], low, high)
    if not high > low:
        return FewValues(values=numpy.array([low]))
    return Counts(edges=inner, counts=counts[kept], low=low, high=high)


def _measured(record: HistogramRecord) -> Measured:
    head = record.head
    mean = std = math.nan
    if head.num and head.sum is not None:
        mean = head.sum / head.num
        if head.sum_squares is not None:
            std = math.sqrt(max(0.0, head.sum_squares / head.num - mean * mean))
    low = math.nan if head.min is None else head.min
    high = math.nan if head.max is None else head.max
    return Measured(
        shape=(round(head.num),),
        mean=mean,
        std=std,
        low=low,
        high=high,
        num_nan=head.num_nan,
        num_inf=head.num_inf,
    )
