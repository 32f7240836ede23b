"""How long a bench may take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from time import perf_counter
from typing import TypeVar

Part = TypeVar("Part")


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """The seconds for a bench or a part of it, setting up included; they run from when this is made."""

    seconds: float
    is_quick: bool  # fewer models, fewer rounds, rough figures
    started: float = field(default_factory=perf_counter)

    @property
    def min_rounds(self) -> int:
        return 2 if self.is_quick else 3

    @property
    def seconds_left(self) -> float:
        return max(0.0, self.started + self.seconds - perf_counter())

    def divide(self, parts: Iterable[Part]) -> Iterator[tuple[Part, Effort]]:
        """The parts in turn, each with an equal share of the seconds that those before it have left.

        On a busy machine they leave none: then it is half of what it would have been.
        """
        waiting = list(parts)
        least = self.seconds / len(waiting) / 2
        for number, part in enumerate(waiting):
            seconds = max(least, self.seconds_left / (len(waiting) - number))
            yield part, Effort(seconds=seconds, is_quick=self.is_quick)
