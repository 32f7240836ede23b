"""Histograms of all rows, counted as frames come and given out every few seconds.

A bin is an eighth of an octave: its place is in the first bits of a float, so finding it costs next to
nothing. Between the bins of the smallest values and zero there is one bin for all that is smaller still.
"""

from __future__ import annotations

import struct
from typing import Any, Final, NamedTuple

import numpy
from numpy.typing import NDArray

from torcheer.inspector.columns import COLUMN
from torcheer.inspector.frames import Frame
from torcheer.run.observations import EncodedRecord
from torcheer.run.records import HistogramHead

_SHIFT: Final = 20  # leaves sign, exponent and three bits of a float32
_LOWEST, _HIGHEST = 2.0**-40, 2.0**67  # smaller values are near zero, larger ones beyond
_OCTAVES_SHOWN: Final = 16  # below the largest value of a row; the bins nearer to zero are put together
_PER_OCTAVE: Final = 8
_MOST_FRAMES: Final = 12  # between two histograms; more would say the same and cost more


def _first_bits(value: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", value))[0]) >> _SHIFT


_FIRST, _LAST = _first_bits(_LOWEST), _first_bits(_HIGHEST)
_NUM_SIDE: Final = _LAST - _FIRST + 2  # bins of one sign: near zero, then rising, then beyond
_NUM_BINS: Final = 2 * _NUM_SIDE
_NO_BIN: Final = _NUM_BINS  # for NaN, infinity, and places without a value


def _bins_by_first_bits() -> NDArray[numpy.int32]:
    bits = numpy.arange(1 << 12)
    magnitude = bits & 0x7FF
    place = numpy.clip(magnitude - _FIRST + 1, 0, _NUM_SIDE - 1)
    bins = numpy.where(bits >= 0x800, _NUM_SIDE - 1 - place, _NUM_SIDE + place)
    return numpy.where(magnitude >= _first_bits(numpy.inf), _NO_BIN, bins).astype(numpy.int32)


def _edges() -> NDArray[numpy.float64]:
    """One more than bins; the outermost are open."""
    rising = (numpy.arange(_FIRST, _LAST + 1, dtype=numpy.uint32) << _SHIFT).view(numpy.float32)
    side = [0.0, *rising.astype(numpy.float64).tolist(), numpy.inf]
    return numpy.array([*(-edge for edge in reversed(side[1:])), *side])


_BINS: Final = _bins_by_first_bits()
_EDGES: Final = _edges()


class _Known(NamedTuple):
    """Of the values that were counted, a number for each row."""

    low: NDArray[numpy.float64]
    high: NDArray[numpy.float64]
    total: NDArray[numpy.float64]
    squares: NDArray[numpy.float64]
    num_nan: NDArray[numpy.float64]
    num_inf: NDArray[numpy.float64]


class Histograms:
    """Counts of the samples that came since the last ones were given out."""

    def __init__(self, names: list[str], seconds: float) -> None:
        self._names, self._seconds = names, seconds
        self._given_at: float | None = None
        self._next_frame = 0.0
        self._begin()

    def _begin(self) -> None:
        count = len(self._names)
        self._counts = numpy.zeros((count, _NUM_BINS + 1), dtype=numpy.int64)
        zeros = [numpy.zeros(count) for _ in range(4)]
        self._known = _Known(numpy.full(count, numpy.inf), numpy.full(count, -numpy.inf), *zeros)
        self._last: tuple[int, float] | None = None  # step and time

    def add(self, frame: Frame, figures: NDArray[numpy.float32], now: float) -> None:
        """Figures as [row][column]. Not every frame is counted."""
        if not self._names or not self._seconds or now < self._next_frame:
            return
        self._next_frame = now + self._seconds / _MOST_FRAMES
        if self._given_at is None:
            self._given_at = now
        num_sampled = numpy.where(frame.rows["flags"] & 1, frame.rows["num_sampled"], 0).astype(numpy.int64)
        if not num_sampled.any():
            return
        bins = _BINS[frame.samples.view(numpy.uint32) >> _SHIFT]
        bins[numpy.arange(bins.shape[1]) >= num_sampled[:, None]] = _NO_BIN
        bins += numpy.arange(len(bins), dtype=numpy.int32)[:, None] * (_NUM_BINS + 1)
        counts = numpy.bincount(bins.ravel(), minlength=self._counts.size).reshape(self._counts.shape)
        self._counts += counts
        self._note(figures.astype(numpy.float64), num_sampled, counts[:, :_NO_BIN].sum(axis=1))
        self._last = frame.step, frame.time

    def _note(self, figures: NDArray[Any], num_sampled: NDArray[Any], num_finite: NDArray[Any]) -> None:
        known = self._known
        numpy.fmin(known.low, figures[:, COLUMN["min"]], out=known.low)
        numpy.fmax(known.high, figures[:, COLUMN["max"]], out=known.high)
        mean, std = figures[:, COLUMN["mean"]], figures[:, COLUMN["std"]]
        is_some = num_finite > 0
        with numpy.errstate(all="ignore"):
            known.total[is_some] += (mean * num_finite)[is_some]
            known.squares[is_some] += ((std * std + mean * mean) * num_finite)[is_some]
        is_seen = num_sampled > 0
        for share, total in ((COLUMN["nan"], known.num_nan), (COLUMN["inf"], known.num_inf)):
            total[is_seen] += numpy.round(figures[is_seen, share] * num_sampled[is_seen])

    def is_due(self, now: float) -> bool:
        return self._given_at is not None and now - self._given_at >= self._seconds

    def take(self, now: float) -> list[EncodedRecord]:
        """A histogram of each row that was seen since."""
        self._given_at = now
        if self._last is None:
            return []
        step, time = self._last
        known, counts = self._known, self._counts
        is_seen = (counts[:, :_NO_BIN].sum(axis=1) + known.num_nan + known.num_inf) > 0
        records = [self._record(int(row), step, time) for row in numpy.flatnonzero(is_seen)]
        self._begin()
        return records

    def _record(self, row: int, step: int, time: float) -> EncodedRecord:
        edges, counts = _shown(self._counts[row, :_NO_BIN])
        known = self._known
        num = float(counts.sum())
        low, high = float(known.low[row]), float(known.high[row])
        if num and not numpy.isfinite(edges[0]):
            edges[0] = min(low, edges[1])
        if num and not numpy.isfinite(edges[-1]):
            edges[-1] = max(high, edges[-2])
        head = HistogramHead(
            num_bins=len(counts),
            num=num,
            min=_finite(low) if num else None,
            max=_finite(high) if num else None,
            sum=_finite(float(known.total[row])) if num else None,
            sum_squares=_finite(float(known.squares[row])) if num else None,
            num_nan=int(known.num_nan[row]),
            num_inf=int(known.num_inf[row]),
        )
        data = edges.astype("<f8").tobytes() + counts.astype("<f8").tobytes()
        return EncodedRecord("histogram", self._names[row], step, time, head, data)


def _shown(counts: NDArray[numpy.int64]) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]:
    """Edges and counts without empty ends, and with few bins near zero."""
    filled = numpy.flatnonzero(counts)
    if not len(filled):
        return numpy.array([0.0, 1.0]), numpy.zeros(1)
    first, last = int(filled[0]), int(filled[-1])
    largest = max(last - _NUM_SIDE, _NUM_SIDE - 1 - first)
    near = max(largest - _PER_OCTAVE * _OCTAVES_SHOWN, 0)  # bins up to this one are put together
    below, above = _NUM_SIDE - 1 - near, _NUM_SIDE + near  # the outermost of these, of either sign
    edges = numpy.concatenate([_EDGES[: below + 1], [0.0], _EDGES[above + 1 :]])
    middle = [counts[below:_NUM_SIDE].sum(), counts[_NUM_SIDE : above + 1].sum()]
    merged = numpy.concatenate([counts[:below], middle, counts[above + 1 :]]).astype(numpy.float64)
    filled = numpy.flatnonzero(merged)
    first, last = int(filled[0]), int(filled[-1])
    return edges[first : last + 2].copy(), merged[first : last + 1]


def _finite(value: float) -> float | None:
    return value if numpy.isfinite(value) else None
