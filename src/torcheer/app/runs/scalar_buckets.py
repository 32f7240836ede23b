"""The points of scalars, kept in memory, and windows of them: points where they are few, else buckets.

On a screen a thousand points fall into one pixel. Equal parts of the axis, each with its mean, lowest and
highest value, show what all of them would have shown.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

import numpy
from numpy.typing import NDArray

from torcheer.app.runs.run_messages import Axis
from torcheer.run import Cursor, Points, RunReader

Floats = NDArray[numpy.float64]
Places = NDArray[numpy.intp]


NOTHING: Final = Points(*(numpy.empty(0) for _ in Points._fields))


class Shown(NamedTuple):
    """Columns of float64: those of points, or the seven of buckets."""

    form: Literal["points", "buckets"]
    columns: tuple[Floats, ...]
    width: float = 0.0  # of a bucket, along the axis

    @property
    def num_items(self) -> int:
        return len(self.columns[0])


def is_rising(places: Floats) -> bool:
    """Whether points follow each other along an axis. One that has no place on it (NaN) follows nobody."""
    if not len(places):
        return True
    return bool(numpy.isfinite(places[[0, -1]]).all() and (places[1:] >= places[:-1]).all())


def order_along(places: Floats) -> Places:
    """The points along an axis, those alike as they were logged. Those without a place on it are left out."""
    finite = numpy.flatnonzero(numpy.isfinite(places))
    return finite[numpy.argsort(places[finite], kind="stable")]


def show(points: Points, places: Floats, low: float | None, high: float | None, num_buckets: int) -> Shown:
    """Points that rise along an axis, between two places of it.

    The nearest point before the window and the nearest after it come too: lines run on to the edge.
    """
    first = 0 if low is None else int(numpy.searchsorted(places, low, "left"))
    end = len(places) if high is None else max(first, int(numpy.searchsorted(places, high, "right")))
    before, after = max(0, first - 1), min(len(places), end + 1)
    if end - first <= num_buckets:
        return Shown("points", points.taken(slice(before, after)))
    low, high = float(places[first]) if low is None else low, float(places[end - 1]) if high is None else high
    # Not low + (high - low) * part: the width of a window that somebody asks for may be no number.
    part = numpy.linspace(0.0, 1.0, num_buckets + 1)[:-1]
    starts = numpy.searchsorted(places[first:end], low * (1.0 - part) + high * part, "left") + first
    starts[0] = first  # whatever was rounded
    starts = starts[starts < end]
    starts = starts[numpy.append(True, starts[1:] > starts[:-1])]  # those of empty buckets are alike
    outside = [before] if before < first else [], [end] if after > end else []
    starts = numpy.concatenate((outside[0], starts, outside[1])).astype(numpy.intp)
    width = (high / num_buckets) - (low / num_buckets)
    return Shown("buckets", _buckets(points.taken(slice(before, after)), starts - before), width)


def show_tail(points: Points, places: Floats, begin: float, width: float) -> tuple[Shown, int]:
    """Points that came after buckets, in buckets as wide; and which of them is the first of the last one."""
    with numpy.errstate(all="ignore"):
        numbers = numpy.floor((places - begin) / width)
    starts = numpy.flatnonzero(numpy.diff(numbers, prepend=numpy.nan))
    return Shown("buckets", _buckets(points, starts), width), int(starts[-1])


def _buckets(points: Points, starts: Places) -> tuple[Floats, ...]:
    """Means, extremes and counts of what stands from each start to the next."""
    values = points.values
    counts = numpy.diff(starts, append=len(values))
    is_bad = ~numpy.isfinite(values)
    num_bad = numpy.add.reduceat(is_bad, starts, dtype=numpy.int64)
    num_good = counts - num_bad
    has_bad = bool(num_bad.any())
    lowest = numpy.minimum.reduceat(numpy.where(is_bad, numpy.inf, values) if has_bad else values, starts)
    highest = numpy.maximum.reduceat(numpy.where(is_bad, -numpy.inf, values) if has_bad else values, starts)
    means = _means(numpy.where(is_bad, 0.0, values) if has_bad else values, starts, counts, num_good)
    # A mean that was rounded stays inside of what it is the mean of.
    means = numpy.clip(means, lowest, highest)
    for column in (lowest, highest, means):
        column[num_good == 0] = numpy.nan
    return (
        _means_from_nearby(points.steps, starts, counts),
        _means_from_nearby(points.times, starts, counts),
        means,
        lowest,
        highest,
        counts.astype(numpy.float64),
        num_bad.astype(numpy.float64),
    )


def _means(
    column: Floats, starts: Places, counts: NDArray[numpy.int64], num_good: NDArray[numpy.int64]
) -> Floats:
    with numpy.errstate(all="ignore"):
        # Divided first: the sum of large values may be no number.
        return numpy.add.reduceat(column / numpy.repeat(num_good, counts), starts)


def _means_from_nearby(column: Floats, starts: Places, counts: NDArray[numpy.int64]) -> Floats:
    """Means of places, which are large and close to each other: their sums would cost them digits."""
    with numpy.errstate(all="ignore"):
        firsts = column[starts]
        return firsts + _means(column - numpy.repeat(firsts, counts), starts, counts, counts)


_SPARE: Final = 8  # one part in so many is kept free for points to come


Window = tuple[float | None, float | None]  # from and to, in steps or seconds since 1970


class SeriesArrays:
    """The points of one scalar so far, for one thread at a time."""

    def __init__(self) -> None:
        self._columns = NOTHING  # with room for more
        self._cursor: Cursor | None = None
        self._resumptions: tuple[float, ...] = ()
        self.count = 0
        self.generation = 0  # rises when what was there became void

    @property
    def num_bytes(self) -> int:
        return sum(column.nbytes for column in self._columns)

    def read_on(self, reader: RunReader, name: str) -> None:
        tail = reader.tail(name, self._cursor)
        self._cursor = tail.cursor
        self._resumptions = reader.resumptions()
        if tail.is_fresh and self.count:
            self.generation += 1
            self.count = 0
            self._columns = NOTHING
        self.add(tail.points)

    def add(self, points: Points) -> None:
        if not len(points.values):
            return
        new = Points(points.steps.astype(numpy.float64), points.times, points.values)
        start, end = self.count, self.count + len(new.values)
        self.count = end
        if not start:
            self._columns = new  # not copied: most series grow no more
            return
        if end > len(self._columns.values):
            larger = Points(*(numpy.empty(end + end // _SPARE) for _ in Points._fields))
            for column, former in zip(larger, self._columns, strict=True):
                column[:start] = former[:start]
            self._columns = larger
        for column, added in zip(self._columns, new, strict=True):
            column[start:end] = added

    def points(self, start: int = 0) -> Points:
        """In the order in which they were logged, from the `start`-th on. Not copied."""
        return self._columns.taken(slice(start, self.count))

    def show(self, axis: Axis, window: Window, num_buckets: int) -> Shown:
        key: Literal["steps", "times"] = "steps" if axis == "step" else "times"
        points = self.points()
        if not is_rising(getattr(points, key)):
            order = order_along(getattr(points, key))
            if key == "steps" and self._resumptions:
                order = order[_holding(points, self._resumptions)[order]]
            points = points.taken(order)
        return show(points, getattr(points, key), window[0], window[1], num_buckets)

    def furthest(self, axis: Axis) -> float:
        """The last place on an axis that a point has."""
        points = self.points()
        places = points.steps if axis == "step" else points.times
        return float(numpy.max(places, where=numpy.isfinite(places), initial=-numpy.inf))


def _holding(points: Points, resumptions: tuple[float, ...]) -> NDArray[numpy.bool_]:
    """Which points still hold by their step.

    A training that goes back to a checkpoint logs some steps anew; those of the session before are then left
    out. Along time all of them are shown.
    """
    holds = numpy.ones(len(points.times), dtype=numpy.bool_)
    for moment in resumptions:
        first = int(numpy.argmax(points.times >= moment))
        if points.times[first] >= moment:
            holds[:first] &= points.steps[:first] < points.steps[first]
    return holds
