"""Histograms of all rows, counted as frames come and given out every few seconds.

A bin is an eighth of an octave: its place is in the first bits of a float, so finding it costs next to
nothing. Between the bins of the smallest values and zero there is one bin for all that is smaller still.
"""

from __future__ import annotations

import math
import struct
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy
from numpy.typing import NDArray

from torcheer.inspector.columns import COLUMN
from torcheer.inspector.frames import IS_SEEN, Frame
from torcheer.run import EncodedRecord, HistogramHead

_SHIFT: Final = 20  # leaves sign, exponent and three bits of a float32
_LOWEST, _HIGHEST = 2.0**-40, 2.0**67  # smaller values are near zero, larger ones beyond
_OCTAVES_SHOWN: Final = 16  # below the largest value of a row; the bins nearer to zero are put together
_PER_OCTAVE: Final = 8
_MOST_FRAMES: Final = 3  # between two histograms; more would say the same and cost more
_MOST_A_SECOND: Final = 40  # of histograms: of many rows they come less often


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
    """The samples that came since the last histograms were given out, a few bits of each."""

    def __init__(self, names: list[str], seconds: float) -> None:
        self._names = names
        self._seconds = max(seconds, len(names) / _MOST_A_SECOND) if seconds else 0.0
        self._given_at: float | None = None
        self._next_frame = 0.0
        self._begin()

    def _begin(self) -> None:
        count = len(self._names)
        self._bits: list[NDArray[numpy.uint16]] = []  # [row][sample] of each frame
        self._num_sampled: list[NDArray[numpy.int64]] = []  # [row]
        self._is_sample = numpy.zeros(count, dtype=bool)  # not all values of these rows were counted
        zeros = [numpy.zeros(count) for _ in range(4)]
        self._known = _Known(numpy.full(count, numpy.inf), numpy.full(count, -numpy.inf), *zeros)
        self._last: tuple[int, float] | None = None  # step and time

    def add(self, frame: Frame, figures: NDArray[numpy.float32], now: float) -> None:
        """Figures as [row][column]. Not every frame is taken."""
        if not self._names or not self._seconds or now < self._next_frame:
            return
        if len(self._bits) >= _MOST_FRAMES:
            return
        self._next_frame = now + self._seconds / _MOST_FRAMES
        if self._given_at is None:
            self._given_at = now
        num_sampled = numpy.where(frame.rows["flags"] & IS_SEEN, frame.rows["num_sampled"], 0)
        if not num_sampled.any():
            return
        samples = frame.samples + numpy.float32(0.0)  # which makes 0 of -0
        self._bits.append((samples.view(numpy.uint32) >> _SHIFT).astype(numpy.uint16))
        self._num_sampled.append(num_sampled.astype(numpy.int64))
        self._is_sample |= num_sampled < frame.rows["num_elements"]
        with numpy.errstate(all="ignore"):
            self._note(figures.astype(numpy.float64), self._num_sampled[-1])
        self._last = frame.step, frame.time

    def _note(self, figures: NDArray[numpy.float64], num_sampled: NDArray[numpy.int64]) -> None:
        known = self._known
        numpy.fmin(known.low, figures[:, COLUMN["min"]], out=known.low)
        numpy.fmax(known.high, figures[:, COLUMN["max"]], out=known.high)
        mean, std = figures[:, COLUMN["mean"]], figures[:, COLUMN["std"]]
        num_nan, num_inf = (
            numpy.where(num_sampled > 0, numpy.round(figures[:, COLUMN[name]] * num_sampled), 0.0)
            for name in ("nan", "inf")
        )
        num_finite = num_sampled - num_nan - num_inf
        known.total[:] += numpy.where(num_finite > 0, mean * num_finite, 0.0)
        known.squares[:] += numpy.where(num_finite > 0, (std * std + mean * mean) * num_finite, 0.0)
        known.num_nan[:] += num_nan
        known.num_inf[:] += num_inf

    def is_due(self, now: float) -> bool:
        return self._given_at is not None and now - self._given_at >= self._seconds

    def take(self, now: float) -> list[EncodedRecord]:
        """A histogram of each row that was seen since."""
        self._given_at = now
        if self._last is None:
            return []
        step, time = self._last
        counts = sum(map(self._counted, self._bits, self._num_sampled))
        assert not isinstance(counts, int)
        num_seen = sum(num_sampled for num_sampled in self._num_sampled)
        records = [
            self._record(int(row), counts[row, :_NO_BIN], step, time) for row in numpy.flatnonzero(num_seen)
        ]
        self._begin()
        return records

    def _counted(self, bits: NDArray[numpy.uint16], num_sampled: NDArray[numpy.int64]) -> NDArray[Any]:
        """How many values of one frame are in each bin, as [row][bin]."""
        bins = _BINS[bits]
        bins[numpy.arange(bins.shape[1]) >= num_sampled[:, None]] = _NO_BIN
        bins += numpy.arange(len(bins), dtype=numpy.int32)[:, None] * (_NUM_BINS + 1)
        counts = numpy.bincount(bins.ravel(), minlength=len(bins) * (_NUM_BINS + 1))
        return counts.reshape(len(bins), _NUM_BINS + 1)

    def _record(self, row: int, all_counts: NDArray[Any], step: int, time: float) -> EncodedRecord:
        edges, counts = _shown(all_counts)
        known = self._known
        num = float(counts.sum())
        low, high = float(known.low[row]), float(known.high[row])
        if num and not math.isfinite(edges[0]):
            edges[0] = min(low, edges[1])
        if num and not math.isfinite(edges[-1]):
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
            is_sample=bool(self._is_sample[row]),
        )
        data = edges.astype("<f8", copy=False).tobytes() + counts.astype("<f8", copy=False).tobytes()
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
    merged = numpy.empty(2 * (below + 1))
    merged[:below], merged[below + 2 :] = counts[:below], counts[above + 1 :]
    merged[below], merged[below + 1] = counts[below:_NUM_SIDE].sum(), counts[_NUM_SIDE : above + 1].sum()
    # Where the ends are: what lies beyond the merged bins has moved by as many as these were.
    first = first if first < below else below + int(merged[below] == 0)
    last = last - 2 * near if last > above else below + int(merged[below + 1] != 0)
    return _edges_without(near)[first : last + 2].copy(), merged[first : last + 1]


@lru_cache(maxsize=64)
def _edges_without(near: int) -> NDArray[numpy.float64]:
    """All edges but for those between bins near zero."""
    return numpy.concatenate([_EDGES[: _NUM_SIDE - near], [0.0], _EDGES[_NUM_SIDE + near + 1 :]])


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
