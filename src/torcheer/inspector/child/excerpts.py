"""Excerpts of a frame as records of the run: their bytes as they are, and figures that are known already."""

from __future__ import annotations

import math
from typing import Any, Final

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

_OCTAVES: Final = 16  # below the largest value of a row; what lies nearer to zero is in one bin of each sign
_PER_OCTAVE: Final = 8
_MOST_FRAMES: Final = 3  # between two histograms; more would say the same and cost more
_MOST_A_SECOND: Final = 40  # of histograms: of many rows they come less often


class Histograms:
    """Histograms of all rows: samples of a few frames are collected, and counted every few seconds."""

    def __init__(self, names: list[str], seconds: float) -> None:
        self._names = names
        self._seconds = max(seconds, len(names) / _MOST_A_SECOND) if seconds else 0.0
        self._given_at: float | None = None
        self._next_frame = 0.0
        self._samples: list[list[NDArray[numpy.float32]]] = [[] for _ in names]
        self._is_sample = numpy.zeros(len(names), dtype=bool)  # not all values of these rows are counted
        self._num_frames = 0
        self._last = (0, 0.0)  # step and time

    def add(self, frame: Frame, now: float) -> None:
        """Not every frame is taken."""
        if not self._seconds or now < self._next_frame or self._num_frames >= _MOST_FRAMES:
            return
        self._next_frame = now + self._seconds / _MOST_FRAMES
        if self._given_at is None:
            self._given_at = now
        num_sampled = numpy.where(frame.rows["flags"] & IS_SEEN, frame.rows["num_sampled"], 0)
        self._is_sample |= (num_sampled > 0) & (num_sampled < frame.rows["num_elements"])
        for row, count in enumerate(num_sampled.tolist()):
            if count:
                self._samples[row].append(frame.samples[row, :count].copy())
        self._num_frames += 1
        self._last = frame.step, frame.time

    def is_due(self, now: float) -> bool:
        return self._given_at is not None and now - self._given_at >= self._seconds

    def take(self, now: float) -> list[EncodedRecord]:
        """A histogram of each row that was seen since."""
        self._given_at = now
        step, time = self._last
        records = []
        for row, samples in enumerate(self._samples):
            if samples:
                head, data = _counted(numpy.concatenate(samples), bool(self._is_sample[row]))
                records.append(EncodedRecord("histogram", self._names[row], step, time, head, data))
        self._samples = [[] for _ in self._names]
        self._is_sample[:] = False
        self._num_frames = 0
        return records


def _counted(values: NDArray[numpy.float32], is_sample: bool) -> tuple[HistogramHead, bytes]:
    finite = values[numpy.isfinite(values)].astype(numpy.float64)
    num_nan = int(numpy.isnan(values).sum())
    edges, counts = numpy.array([0.0, 1.0]), numpy.zeros(1)
    low = high = total = squares = None
    if finite.size:
        low, high, total, squares = (
            float(finite.min()), float(finite.max()), float(finite.sum()), float(finite.dot(finite))
        )  # fmt: skip
        edges, counts = _bins(finite, max(-low, high))
    head = HistogramHead(
        num_bins=len(counts),
        num=float(finite.size),
        min=low,
        max=high,
        sum=total,
        sum_squares=squares,
        num_nan=num_nan,
        num_inf=values.size - finite.size - num_nan,
        is_sample=is_sample,
    )
    return head, edges.astype("<f8").tobytes() + counts.astype("<f8").tobytes()


def _bins(finite: NDArray[numpy.float64], largest: float) -> tuple[NDArray[Any], NDArray[Any]]:
    """Edges and counts without empty ends: bins of an eighth of an octave, and one up to zero."""
    if largest == 0:
        return numpy.array([0.0, 1.0]), numpy.array([float(finite.size)])
    top = math.ceil(_PER_OCTAVE * math.log2(largest))
    rising = 2.0 ** (numpy.arange(top - _OCTAVES * _PER_OCTAVE, top + 2) / _PER_OCTAVE)
    edges = numpy.concatenate([-rising[::-1], [0.0], rising])
    counts, _ = numpy.histogram(finite, edges)
    first, last = numpy.flatnonzero(counts)[[0, -1]]
    return edges[first : last + 2], counts[first : last + 1].astype(numpy.float64)
