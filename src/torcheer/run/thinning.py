"""Which old records make way when a run is above its budget: those that stand densest for their age.

A record's age is how far it lies behind the newest of its series; the gap, how far apart its neighbours are.
So records grow sparser the further back they lie. The first and the last of a series stay. A series of large
records is thinned before one of small ones: each comes to have about the same share of the budget.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from typing import NamedTuple

KEPT_KINDS = ("text", "hparams", "layout", "pass")  # small, and not one of many


class Candidate(NamedTuple):
    """A record that could go."""

    id: int
    step: int
    time: float
    num_bytes: int


class Chosen(NamedTuple):
    """Records that go, and what that frees."""

    ids: list[int]
    num_bytes: int


def choose(series: Iterable[Sequence[Candidate]], num_bytes: int) -> Chosen:
    """Enough records to free so many bytes, or all that may go."""
    chains = [_Chain(candidates) for candidates in series if len(candidates) > 2]
    heap = [
        (chain.score(index), number, index)
        for number, chain in enumerate(chains)
        for index in range(1, len(chain.records) - 1)
    ]
    heapq.heapify(heap)
    ids, num_freed = [], 0
    while heap and num_freed < num_bytes:
        score, number, index = heapq.heappop(heap)
        chain = chains[number]
        if score != chain.score(index):  # a neighbour went since: its gap has grown
            heapq.heappush(heap, (chain.score(index), number, index))
            continue
        chain.remove(index)
        ids.append(chain.records[index].id)
        num_freed += chain.records[index].num_bytes
    return Chosen(ids, num_freed)


class _Chain:
    """A series from which records are taken out one by one."""

    __slots__ = ("_after", "_before", "_mean_bytes", "_places", "records")

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self.records = sorted(
            candidates, key=lambda candidate: (candidate.step, candidate.time, candidate.id)
        )
        self._places = _places(self.records)
        self._before = list(range(-1, len(self.records) - 1))
        self._after = list(range(1, len(self.records) + 1))
        self._mean_bytes = sum(record.num_bytes for record in self.records) / len(self.records) or 1.0

    def score(self, index: int) -> float:
        gap = self._places[self._after[index]] - self._places[self._before[index]]
        age = self._places[-1] - self._places[index]
        # Several at one step: the last of them is not older than the newest.
        return gap / (age * self._mean_bytes) if age > 0 else float("inf") if gap > 0 else 0.0

    def remove(self, index: int) -> None:
        before, after = self._before[index], self._after[index]
        self._after[before], self._before[after] = after, before


def _places(records: Sequence[Candidate]) -> list[float]:
    """Where records stand: by step; by order where they are all of one step."""
    if records[0].step < records[-1].step:
        return [float(record.step) for record in records]
    return [float(index) for index in range(len(records))]
