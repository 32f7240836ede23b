"""Time contenders against each other on a machine that is never quiet.

The clock is the CPU time of the process, which with one thread is what a quiet machine would show. All run
once a round, so that a slow moment of the machine meets all of them; what counts is the ratio within a round,
and of these the median.
"""

from __future__ import annotations

import gc
import math
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from time import perf_counter, process_time
from typing import Any

from bench.effort import Effort

Clock = Callable[[], float]  # runs a contender once and says how many seconds it took


def seconds_of(run: Callable[[], Any]) -> float:
    """One run, without what it takes to free what it made."""
    gc.collect()
    started = process_time()
    result = run()
    seconds = process_time() - started
    del result
    return seconds


def clocks(runs: Mapping[str, Callable[[], Any]]) -> dict[str, Clock]:
    return {name: partial(seconds_of, run) for name, run in runs.items()}


@dataclass(slots=True)
class Times:
    """Seconds by contender and round; a contender that takes part in some rounds only has fewer."""

    by_name: dict[str, dict[int, float]] = field(default_factory=dict)

    def add(self, name: str, round_number: int, seconds: float) -> None:
        self.by_name.setdefault(name, {})[round_number] = seconds

    def best(self, name: str) -> float:
        return min(self.by_name[name].values())

    def median(self, name: str) -> float:
        return statistics.median(self.by_name[name].values())

    def ratio(self, name: str, to: str) -> Ratio:
        mine, other = self.by_name[name], self.by_name[to]
        ratios = [seconds / other[number] for number, seconds in mine.items() if number in other]
        return Ratio(
            median=statistics.median(ratios), of_best=self.best(name) / self.best(to), num_rounds=len(ratios)
        )

    def median_difference(self, name: str, to: str) -> float:
        mine, other = self.by_name[name], self.by_name[to]
        return statistics.median(seconds - other[number] for number, seconds in mine.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """How many times the one took the time of the other."""

    median: float  # of the ratios within a round
    of_best: float  # the fastest of all rounds against the other's fastest
    num_rounds: int

    def __str__(self) -> str:
        digits = 2 if self.median < 20 else 0
        return f"{self.median:.{digits}f} ({self.of_best:.{digits}f})"


def interleave(
    contenders: Mapping[str, Clock], effort: Effort, *, rarely: Mapping[str, Clock] | None = None
) -> Times:
    """As many rounds as fit into the effort. Those in `rarely` run each k-th round, a third of the time."""
    rarely = rarely or {}
    everyone = {**contenders, **rarely}
    warm_up = {name: clock() for name, clock in everyone.items()}
    gc.collect()
    gc.freeze()  # what is there by now stays: the collections between the runs need not look at it
    often_seconds = sum(warm_up[name] for name in contenders)
    rare_seconds = sum(warm_up[name] for name in rarely)
    every = max(1, math.ceil(2 * rare_seconds / often_seconds))
    times = Times()
    round_seconds: dict[bool, float] = {}  # by whether all took part
    for number in count():
        is_of_all = number % every == 0
        if number >= effort.min_rounds and effort.seconds_left < round_seconds.get(is_of_all, 0):
            break
        started = perf_counter()
        for name in _order(list(everyone if is_of_all else contenders), number):
            times.add(name, number, everyone[name]())
        round_seconds[is_of_all] = perf_counter() - started
    gc.unfreeze()
    return times


def _order(names: list[str], round_number: int) -> list[str]:
    """Rotated from round to round, so that each is first in turn and follows each of the others."""
    zigzag = [(i + 1) // 2 * (1 if i % 2 else -1) for i in range(len(names))]
    order = [names[(round_number + step) % len(names)] for step in zigzag]
    return order if round_number // len(names) % 2 == 0 else order[::-1]
