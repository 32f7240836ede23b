"""The points of scalars that were asked for last, kept in memory and extended by what is new."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Final, Literal

import numpy
from numpy.typing import NDArray

from torcheer.app.runmessages import Axis
from torcheer.app.runs.bucketing import (
    NOTHING,
    Columns,
    Floats,
    Places,
    Shown,
    is_rising,
    order_along,
    show,
)
from torcheer.run import Cursor, Points, RunReader

MAX_BYTES: Final = 1 << 30
_SPARE: Final = 8  # one part in so many is kept free for points to come


Window = tuple[float | None, float | None]  # from and to, in steps or seconds since 1970


class SeriesArrays:
    """The points of one scalar so far, for one thread at a time."""

    def __init__(self) -> None:
        self._columns = NOTHING  # with room for more
        self._orders = {"steps": _Order(), "times": _Order()}
        self._cursor: Cursor | None = None
        self._resumptions: tuple[float, ...] = ()
        self.count = 0
        self.generation = 0  # rises when what was there became void

    @property
    def num_bytes(self) -> int:
        orders = sum(order.num_bytes for order in self._orders.values())
        return sum(column.nbytes for column in self._columns) + orders

    def read_on(self, reader: RunReader, name: str) -> None:
        """Take what was written since."""
        tail = reader.tail(name, self._cursor)
        self._cursor = tail.cursor
        self._resumptions = reader.resumptions()
        if tail.is_fresh and self.count:
            self.generation += 1
            self.count = 0
            self._columns = NOTHING
            self._orders = {"steps": _Order(), "times": _Order()}
        self.add(tail.points)

    def add(self, points: Points) -> None:
        if not len(points.values):
            return
        new = Columns(points.steps.astype(numpy.float64), points.times, points.values)
        start, end = self.count, self.count + len(new.values)
        self.count = end
        if not start:
            self._columns = new  # not copied: most series grow no more
            return
        if end > len(self._columns.values):
            larger = Columns(*(numpy.empty(end + end // _SPARE) for _ in Columns._fields))
            for column, former in zip(larger, self._columns, strict=True):
                column[:start] = former[:start]
            self._columns = larger
        for column, added in zip(self._columns, new, strict=True):
            column[start:end] = added

    def points(self, start: int = 0) -> Columns:
        """In the order in which they were logged, from the `start`-th on. Not copied."""
        return self._columns.taken(slice(start, self.count))

    def show(self, axis: Axis, window: Window, num_buckets: int) -> Shown:
        """What a chart can show of a window."""
        key: Literal["steps", "times"] = "steps" if axis == "step" else "times"
        points = self.points()
        order = self._orders[key].of(getattr(points, key))
        if order is not None:
            if key == "steps" and self._resumptions:
                order = order[_holding(points, self._resumptions)[order]]
            points = points.taken(order)
        return show(points, getattr(points, key), window[0], window[1], num_buckets)

    def furthest(self, axis: Axis) -> float:
        """The last place on an axis that a point has."""
        points = self.points()
        places = points.steps if axis == "step" else points.times
        return float(numpy.max(places, where=numpy.isfinite(places), initial=-numpy.inf))


def _holding(points: Columns, resumptions: tuple[float, ...]) -> NDArray[numpy.bool_]:
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


class _Order:
    """How the points follow each other along an axis: known for those so far, extended by what is new."""

    def __init__(self) -> None:
        self._num_seen = 0
        self._is_rising = True
        self._order: Places | None = None

    @property
    def num_bytes(self) -> int:
        return 0 if self._order is None else self._order.nbytes

    def of(self, places: Floats) -> Places | None:
        """The order of the points; None where they are in order."""
        if len(places) > self._num_seen:
            if self._is_rising:
                self._is_rising = is_rising(places[max(0, self._num_seen - 1) :])
            self._order = None if self._is_rising else order_along(places)
            self._num_seen = len(places)
        return self._order


class ArrayStore:
    """Arrays by run and name, those used last, up to so many bytes."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[object, str], SeriesArrays] = OrderedDict()
        self._sizes: dict[tuple[object, str], int] = {}
        self._num_bytes = 0

    def get(self, run: object, name: str) -> SeriesArrays:
        with self._lock:
            arrays = self._kept.setdefault((run, name), SeriesArrays())
            self._kept.move_to_end((run, name))
            return arrays

    def has(self, run: object, name: str) -> bool:
        with self._lock:
            return (run, name) in self._kept

    def tidy(self, run: object, name: str) -> None:
        """See how large an array has become, and let go of those that were used longest ago."""
        with self._lock:
            arrays = self._kept.get((run, name))
            if arrays is not None:
                self._resize((run, name), arrays.num_bytes)
            # The last one stays, whatever its size.
            while self._num_bytes > self._max_bytes and len(self._kept) > 1:
                self._resize(self._kept.popitem(last=False)[0], 0)

    def drop(self, run: object) -> None:
        """Forget all of a run."""
        with self._lock:
            for key in [key for key in self._kept if key[0] is run]:
                del self._kept[key]
                self._resize(key, 0)

    def _resize(self, key: tuple[object, str], num_bytes: int) -> None:
        self._num_bytes += num_bytes - self._sizes.pop(key, 0)
        if num_bytes:
            self._sizes[key] = num_bytes
