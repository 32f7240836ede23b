"""Figures over steps in as many buckets as a picture has room for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

Figures = NDArray[numpy.float32]  # [lane][step], later [lane][bucket]; NaN where nothing is known
Steps = NDArray[numpy.int64]
Places = NDArray[numpy.intp]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepBuckets:
    """Which steps stand together: some in a row, none in two buckets. A bucket may be empty."""

    chosen: slice  # the steps that are in buckets at all
    starts: Places  # where each bucket begins, among those; of buckets that hold something
    places: Places  # which buckets these are
    first_steps: list[int]  # of all buckets
    last_steps: list[int]

    @property
    def count(self) -> int:
        return len(self.first_steps)


def bucket_steps(steps: Steps, low: int | None, high: int | None, most: int) -> StepBuckets:
    """Buckets for the steps from low to high, rising: one each, or of equal widths where they are many."""
    chosen = between(steps, low, high)
    steps = steps[chosen]
    if len(steps) <= most:
        alone = numpy.arange(len(steps), dtype=numpy.intp)
        each = steps.tolist()
        return StepBuckets(chosen=chosen, starts=alone, places=alone, first_steps=each, last_steps=each)
    first, last = int(steps[0]), int(steps[-1])
    width = -((first - last - 1) // most)
    edges = list(range(first, last + 1, width))  # whole numbers of Python: these differences may be too large
    starts = numpy.searchsorted(steps, numpy.array(edges, dtype=numpy.int64))
    places = numpy.flatnonzero(numpy.diff(starts, append=len(steps)))
    return StepBuckets(
        chosen=chosen,
        starts=starts[places],
        places=places,
        first_steps=edges,
        last_steps=[min(edge + width - 1, last) for edge in edges],
    )


def between(steps: Steps, low: int | None, high: int | None) -> slice:
    """The steps from low to high, where they rise."""
    begin = 0 if low is None else _num_below(steps, low)
    end = len(steps) if high is None else _num_below(steps, high + 1)
    return slice(begin, max(begin, end))


def _num_below(steps: Steps, step: int) -> int:
    """How many steps come before this one, which may be further away than any step can be."""
    limits = numpy.iinfo(numpy.int64)
    if step > limits.max:
        return len(steps)
    return int(numpy.searchsorted(steps, max(step, limits.min)))


def mean_figures(figures: Figures, buckets: StepBuckets) -> Figures:
    """The mean of the finite values in each bucket."""
    chosen = figures[:, buckets.chosen]
    if not chosen.size:
        return _nothing(len(figures), buckets)
    return _spread(means_of(*sums_of(chosen, buckets.starts)), buckets)


def means_of(sums: NDArray[numpy.float64], counts: NDArray[Any]) -> Figures:
    with numpy.errstate(invalid="ignore"):
        means: Figures = (sums / counts).astype(numpy.float32)  # 0 / 0 is NaN
    return means


def sums_of(figures: Figures, starts: Places) -> tuple[NDArray[numpy.float64], NDArray[numpy.int32]]:
    """Sums of the finite values from each start to the next, and of how many they are."""
    with numpy.errstate(over="ignore", invalid="ignore"):
        sums = numpy.add.reduceat(figures, starts, axis=1).astype(numpy.float64)
    lengths = numpy.diff(starts, append=figures.shape[1]).astype(numpy.int32)
    counts = numpy.tile(lengths, (len(figures), 1))
    # Nearly always all is finite. Where it is not, only that is gone over with more care.
    is_bad = ~numpy.isfinite(sums)
    for lane in numpy.flatnonzero(is_bad.any(axis=1)):
        bad = numpy.flatnonzero(is_bad[lane])
        sums[lane, bad], counts[lane, bad] = _careful_sums(figures[lane], starts[bad], lengths[bad])
    return sums, counts


def _careful_sums(
    values: NDArray[numpy.float32], starts: Places, lengths: NDArray[numpy.int32]
) -> tuple[NDArray[numpy.float64], NDArray[numpy.int32]]:
    """The same for some stretches of one lane."""
    ends = numpy.cumsum(lengths, dtype=numpy.intp)
    new_starts = ends - lengths
    if ends[-1] != len(values):
        values = values[numpy.arange(ends[-1]) + numpy.repeat(starts - new_starts, lengths)]
    is_finite = numpy.isfinite(values)
    if not is_finite.any():
        return numpy.zeros(len(starts)), numpy.zeros(len(starts), dtype=numpy.int32)
    counts = numpy.add.reduceat(is_finite, new_starts, dtype=numpy.int32)
    sums = numpy.add.reduceat(numpy.where(is_finite, values, 0.0), new_starts, dtype=numpy.float64)
    return sums, counts


def highest_figures(figures: Figures, buckets: StepBuckets) -> Figures:
    """The highest value in each bucket."""
    chosen = figures[:, buckets.chosen]
    if not chosen.size:
        return _nothing(len(figures), buckets)
    return _spread(numpy.fmax.reduceat(chosen, buckets.starts, axis=1), buckets)


def _nothing(num_lanes: int, buckets: StepBuckets) -> Figures:
    return numpy.full((num_lanes, buckets.count), numpy.nan, dtype=numpy.float32)


def _spread(figures: Figures, buckets: StepBuckets) -> Figures:
    """With NaN for buckets that hold nothing."""
    if len(buckets.places) == buckets.count:
        return figures
    spread = _nothing(len(figures), buckets)
    spread[:, buckets.places] = figures
    return spread
