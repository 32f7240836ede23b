"""What was handed to the run and may not be on disk yet; what never will be is counted, as far as it can."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from torcheer.inspector.child.losing import together
from torcheer.inspector.messages import Lost
from torcheer.inspector.ring import Ring
from torcheer.run import Mark


class Block(NamedTuple):
    """Figures of some frames: of how many there were some, by row."""

    names: list[str]
    counts: NDArray[numpy.int64]
    first_step: int
    last_step: int
    time: float  # of the first frame

    def lost(self) -> Lost:
        counts = zip(self.names, self.counts.tolist(), strict=True)
        return Lost(
            reason="error",
            counts={name: count for name, count in counts if count},
            first_step=self.first_step,
            last_step=self.last_step,
            # What is in the run after all has later times.
            time=float(numpy.nextafter(self.time, -numpy.inf)),
        )


def block_of(names: list[str], steps: list[int], times: list[float], table: NDArray[Any]) -> Block:
    """Figures as [frame][row][column]."""
    counts = (~numpy.isnan(table).all(axis=2)).sum(axis=0)
    return Block(names, counts, min(steps), max(steps), min(times))


class _Noted(NamedTuple):
    """A place in the queue of the run: when it is on disk, so are these frames of the ring."""

    mark: Mark
    ring: Ring | None
    num_given_back: int
    blocks: list[Block]
    gaps: list[Lost]


class Settling:
    """From a mark to the next, in the order in which things were handed over."""

    def __init__(self) -> None:
        self._noted: deque[_Noted] = deque()
        self._blocks: list[Block] = []  # since the last mark
        self._gaps: list[Lost] = []

    def add_block(self, block: Block) -> None:
        self._blocks.append(block)

    def add_gap(self, lost: Lost) -> None:
        self._gaps.append(lost)

    def note(self, mark: Mark, ring: Ring | None) -> None:
        """What came since the last mark is on disk when this one is settled, or never will be."""
        num_given_back = 0 if ring is None else ring.num_given_back
        has_frames = ring is not None and ring.num_kept < num_given_back
        if has_frames or self._blocks or self._gaps:
            self._noted.append(_Noted(mark, ring, num_given_back, self._blocks, self._gaps))
            self._blocks, self._gaps = [], []

    def refused(self) -> list[Lost]:
        """Of what is settled by now, what the disk refused for good. Some of it may be there after all."""
        blocks: list[Block] = []
        gaps: list[Lost] = []
        while self._noted and self._noted[0].mark.is_settled:
            noted = self._noted.popleft()
            if not noted.mark.is_done:
                blocks += noted.blocks
                gaps += noted.gaps
            if noted.ring is not None:  # counted here, if at all: nobody has to do so again
                noted.ring.note_kept(max(noted.ring.num_kept, noted.num_given_back))
        return [*merged(block.lost() for block in blocks), *gaps]


def merged(all_lost: Iterable[Lost]) -> list[Lost]:
    """One of all, or none."""
    whole: Lost | None = None
    for lost in all_lost:
        whole = together(whole, lost)
    return [] if whole is None else [whole]
