"""Excerpts of a frame as records of the run: their bytes as they are, and figures that are known already."""

from __future__ import annotations

import math
import struct
from functools import lru_cache
from typing import Any, Final, NamedTuple

import msgspec
import numpy
from numpy.typing import NDArray

from torcheer.inspector.frame_format import COLUMN, DTYPES, HAS_EXCERPTS, IS_CUT, IS_SEEN, NO_EXCERPT, Frame
from torcheer.run import ESTIMATES, EncodedRecord, HistogramHead, TensorHead, group_of

_MEAN, _STD, _MIN, _MAX = (COLUMN[name] for name in ("mean", "std", "min", "max"))
_ZEROS, _NAN, _INF = (COLUMN[name] for name in ("zeros", "nan", "inf"))
_ESTIMATES: Final = COLUMN[ESTIMATES]
_FIGURES: Final = ("mean", "std", "min", "max", "zeros", "nan", "inf")
_NAMES: Final = tuple(name for name, _ in DTYPES)
_ITEM_BYTES: Final = tuple(numpy.dtype(stored).itemsize for _, stored in DTYPES)
# Types that NumPy has not, and the bits of theirs that are 0 for zero of either sign.
_MAGNITUDE: Final = {"bfloat16": 0x7FFF, "float8_e4m3fn": 0x7F, "float8_e5m2": 0x7F}


class Tensors:
    """Makes the records of one plan. Figures are not of the excerpt: of the whole tensor, or estimates."""

    def __init__(self, names: list[str]) -> None:
        self._names = names
        self._is_described = [False] * len(names)

    def records(self, frame: Frame, figures: NDArray[numpy.float32]) -> list[EncodedRecord]:
        """Figures as [row][column]. Everything is copied."""
        if not frame.flags & HAS_EXCERPTS:
            return []
        rows = frame.rows
        # Lists, once for all rows: items of structured arrays are slow to get at.
        flags, codes, num_dims = (rows[name].tolist() for name in ("flags", "dtype", "num_excerpt_dims"))
        shapes, num_elements, num_sampled = (
            rows[name].tolist() for name in ("excerpt_shape", "num_elements", "num_sampled")
        )
        table = figures.tolist()
        found = []
        for row, flag in enumerate(flags):
            if not flag & IS_SEEN or num_dims[row] == NO_EXCERPT:
                continue
            shape = shapes[row][: num_dims[row]]
            size = math.prod(shape)
            if size == 0 and num_elements[row]:
                continue
            at = frame.layout.excerpts_at[row]
            data = bytes(frame.slot[at : at + size * _ITEM_BYTES[codes[row]]])
            is_all_sampled = flag & IS_CUT or num_sampled[row] >= num_elements[row]
            num_zeros = None if is_all_sampled else _zeros_in(data, codes[row])
            head = _head(shape, size, codes[row], table[row], num_zeros)
            estimates = int(table[row][_ESTIMATES]) if num_elements[row] else 0
            head = _marked(head, estimates, num_sampled[row], num_zeros is not None)
            description = ""
            if flag & IS_CUT and not self._is_described[row]:
                self._is_described[row] = True
                description = _described(rows[row])
            found.append(
                EncodedRecord("tensor", self._names[row], frame.step, frame.time, head, data, description)
            )
        return found


def _head(shape: list[int], size: int, code: int, figures: list[float], num_zeros: int | None) -> TensorHead:
    return TensorHead(
        shape=shape,
        dtype=_NAMES[code],
        mean=_finite(figures[_MEAN]),
        std=_finite(figures[_STD]),
        min=_finite(figures[_MIN]),
        max=_finite(figures[_MAX]),
        num_zeros=_count(figures[_ZEROS], size) if num_zeros is None else num_zeros,
        num_nan=_count(figures[_NAN], size),
        num_inf=_count(figures[_INF], size),
    )


def _marked(head: TensorHead, estimates: int, num_sampled: int, has_zeros: bool) -> TensorHead:
    """With the names of the figures that are of a sample."""
    names = [name for name in _FIGURES if estimates & group_of(name) and not (name == "zeros" and has_zeros)]
    return msgspec.structs.replace(head, estimates=tuple(names), num_values=num_sampled) if names else head


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _count(share: float, size: int) -> int:
    """Some, where there are some: a share too small for one of an excerpt is not none."""
    if not share > 0.0:
        return 0
    return max(1, round(share * size)) if size else 0


def _zeros_in(data: bytes, code: int) -> int:
    """Exactly, where the share is known of a sample only."""
    name, stored = DTYPES[code]
    values: NDArray[Any] = numpy.frombuffer(data, stored)
    if name in _MAGNITUDE:
        values = values & values.dtype.type(_MAGNITUDE[name])
    return int(values.size - numpy.count_nonzero(values))


def _described(row: Any) -> str:
    shape = " × ".join(str(size) for size in row["shape"][: row["num_dims"]].tolist())
    steps = ", ".join(str(step) for step in row["excerpt_steps"][: row["num_excerpt_dims"]].tolist())
    return (
        f"A piece of a tensor of {shape}: every so many-th in each dimension ({steps}). "
        "Its figures are those of the whole tensor; those of a sample of it are marked as estimates."
    )


# --- histograms -----------------------------------------------------------------------------------------


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
