"""Which blocks of statistics make way when they are above their budget: those that are densest for their age.

How dense a block is says its stride, how old it is the number of watched steps behind it. Both are counted
in watched steps, so neither a pause between two sessions nor a training that goes back to an earlier step
makes a difference. Two neighbours of one stride go together, so that blocks do not become small.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

_NEVER: Final = float("inf")


class StatisticsBlock(NamedTuple):
    """A block that is in the table."""

    id: int
    place: float  # blocks stand in this order
    digest: str
    num_columns: int
    num_rows: int
    num_steps: int
    stride: int
    num_bytes: int

    @property
    def rows(self) -> tuple[str, int, int]:
        """Blocks can be joined where this is the same."""
        return self.digest, self.num_columns, self.num_rows

    @property
    def num_watched(self) -> int:
        """Steps that it stands for."""
        return self.num_steps * self.stride

    def is_like(self, other: StatisticsBlock) -> bool:
        return self.rows == other.rows and self.stride == other.stride


class Choice(NamedTuple):
    """Neighbours that are to be one block with half of the steps; `is_removal`: with none."""

    blocks: Sequence[StatisticsBlock]
    is_removal: bool = False


def choose_blocks(blocks: Sequence[StatisticsBlock]) -> Choice | None:
    """Of blocks in their order, of which the first and the last step stay. None: there is nothing to take.

    Steps of the newest block go when there is nothing else. A block of one step goes as a whole before that.
    """
    ages = _ages(blocks)
    best: tuple[tuple[int, float], Choice] | None = None
    at = 0
    while at < len(blocks) - 1:
        has_next = at + 2 < len(blocks) and blocks[at].is_like(blocks[at + 1])
        size = 2 if has_next else 1
        choice = Choice(blocks[at : at + size])
        score = blocks[at].stride / ages[at + size - 1]
        rank = 0
        if size == 1 and blocks[at].num_steps == 1:
            # Its one step is the first of all, or all that is left of its rows for a while.
            choice, rank = Choice(choice.blocks, is_removal=True), 1
            score = _NEVER if at == 0 else score
        if score < _NEVER and (best is None or (rank, score) < best[0]):
            best = (rank, score), choice
        at += 1
    if best is not None:
        return best[1]
    return Choice(blocks[-1:]) if blocks and blocks[-1].num_steps > 2 else None


def _ages(blocks: Sequence[StatisticsBlock]) -> list[int]:
    """For each block, how many steps were watched after it."""
    ages, age = [], 0
    for block in reversed(blocks):
        ages.append(age)
        age += block.num_watched
    return ages[::-1]
