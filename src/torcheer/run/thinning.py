"""Which old records make way when a run is above its budget: those that stand densest for their age.

A record's age is how far it lies behind the newest of its series; the gap, how far apart its neighbours are.
So records grow sparser the further back they lie. The first and the last of a series stay. A series of large
records is thinned before one of small ones: each comes to have about the same share of the budget.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

# Small, and not one of many; statistics have a budget of their own.
KEPT_KINDS = ("text", "hparams", "layout", "pass", "watch", "statistics", "alarm", "gap", "netview", "moment")


class Candidate(NamedTuple):
    """A record that could go."""

    id: int
    step: int
    time: float
    num_bytes: int
    series: int


class Chosen(NamedTuple):
    """Records that go, and what that frees."""

    ids: list[int]
    num_bytes: int


def choose(candidates: Sequence[Candidate], num_bytes: int) -> Chosen:
    """Enough records to free so many bytes, or all that may go.

    There may be hundreds of thousands of them, of which a tenth goes. So all are put in order at once, by how
    little they are missed, and only those of which a neighbour went are looked at again, one by one.
    """
    if not candidates:
        return Chosen([], 0)
    links = _Links(candidates)
    waiting = iter(links.in_order())
    following = next(waiting, None)
    again: list[tuple[float, int]] = []  # a heap
    ids, num_freed = [], 0
    while num_freed < num_bytes and (following is not None or again):
        if following is not None and (not again or following < again[0]):
            (score, at), following = following, next(waiting, None)
        else:
            score, at = heapq.heappop(again)
        if score != links.score(at):  # a neighbour went since: its gap has grown
            heapq.heappush(again, (links.score(at), at))
            continue
        links.remove(at)
        ids.append(links.ids[at])
        num_freed += links.sizes[at]
    return Chosen(ids, num_freed)


class _Links:
    """Series one after the other, each in its order, from which records are taken out one by one."""

    __slots__ = ("_after", "_before", "_places", "_scales", "ids", "sizes")

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        ids, steps, times, sizes, series = map(numpy.array, zip(*candidates, strict=True))
        order = numpy.lexsort((ids, times, steps, series))
        self.ids: list[int] = ids[order].tolist()
        self.sizes: list[int] = sizes[order].tolist()
        _, starts, lengths = numpy.unique(series[order], return_index=True, return_counts=True)
        ends = starts + lengths - 1
        places = _places(steps[order], starts, lengths)
        # The age of each, times the mean size of its series; of the first and the last, which stay, none.
        means = numpy.add.reduceat(sizes[order].astype(numpy.float64), starts) / lengths
        means[means == 0] = 1.0
        scales = (numpy.repeat(places[ends], lengths) - places) * numpy.repeat(means, lengths)
        scales[starts] = scales[ends] = numpy.nan
        self._places: list[float] = places.tolist()
        self._scales: list[float] = scales.tolist()
        self._before = list(range(-1, len(self.ids) - 1))
        self._after = list(range(1, len(self.ids) + 1))

    def in_order(self) -> Iterable[tuple[float, int]]:
        """All that may go, by their scores at first."""
        places, scales = numpy.array(self._places), numpy.array(self._scales)
        gaps = numpy.zeros(len(places))
        gaps[1:-1] = places[2:] - places[:-2]
        with numpy.errstate(divide="ignore", invalid="ignore"):
            scores = numpy.where((scales > 0) | (gaps > 0), gaps / scales, 0.0)
        order = numpy.argsort(scores, kind="stable")
        order = order[~numpy.isnan(scales[order])]
        return zip(scores[order].tolist(), order.tolist(), strict=True)

    def score(self, at: int) -> float:
        gap = self._places[self._after[at]] - self._places[self._before[at]]
        scale = self._scales[at]
        # Several at one step: the last of them is not older than the newest.
        return gap / scale if scale > 0 else float("inf") if gap > 0 else 0.0

    def remove(self, at: int) -> None:
        before, after = self._before[at], self._after[at]
        self._after[before], self._before[after] = after, before


def _places(
    steps: NDArray[Any], starts: NDArray[numpy.intp], lengths: NDArray[numpy.intp]
) -> NDArray[numpy.float64]:
    """Where records stand: by step; by order where those of a series are all of one step."""
    has_steps = numpy.repeat(steps[starts] < steps[starts + lengths - 1], lengths)
    numbers = numpy.arange(len(steps)) - numpy.repeat(starts, lengths)
    return numpy.where(has_steps, steps, numbers).astype(numpy.float64)
