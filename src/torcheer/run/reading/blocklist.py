"""Which points of a scalar stand in which block, whichever way the blocks were merged."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Block(NamedTuple):
    """A row of `points` but for its numbers."""

    id: int
    first: int
    num_points: int
    num_bad: int
    last: tuple[int, float, float] | None = None  # step, time and value of its last point, where it is known

    @property
    def end(self) -> int:
        return self.first + self.num_points


class Piece(NamedTuple):
    """What is taken of a block: all of it, but for what earlier ones hold already."""

    block: Block
    skip: int
    place: int  # how many points of the series were taken before

    @property
    def num_points(self) -> int:
        return self.block.num_points - self.skip


class BlockList:
    """The blocks of one series, as far as they are needed."""

    __slots__ = ("_covered", "_pieces", "count", "has_gap", "num_bad")

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._pieces: list[Piece] = []
        self._covered = 0  # where the last block ends
        self.count = 0  # of points; with a gap there are fewer than where the last block ends
        self.num_bad = 0
        self.has_gap = False

    @property
    def last_block(self) -> Block:
        return self._pieces[-1].block

    def with_bad(self, start: int) -> Iterator[Block]:
        """Blocks with values that are NaN or infinite, from the `start`-th point on."""
        return (piece.block for piece in self.pieces(start) if piece.block.num_bad)

    def drop_last(self) -> None:
        self._arrange([piece.block for piece in self._pieces[:-1]])

    def add(self, blocks: Iterable[Block]) -> None:
        """Blocks that are new. Those that they were merged from are forgotten."""
        others: list[Block] = []
        for block in blocks:
            if not others and block.first == self._covered:
                self._append(block)
            else:
                others.append(block)
        if others:
            self._arrange([piece.block for piece in self._pieces] + others)

    def _arrange(self, blocks: list[Block]) -> None:
        # Of those that begin at one place, the newest was merged last and reaches furthest.
        blocks.sort(key=lambda block: (block.first, -block.id))
        self._clear()
        for block in blocks:
            if block.first + block.num_points > self._covered:
                self._append(block)

    def _append(self, block: Block) -> None:
        """A block that reaches further than those before."""
        skip = self._covered - block.first
        if skip < 0:
            self.has_gap = True
            skip = 0
        self._pieces.append(Piece(block, skip, self.count))
        self._covered = block.first + block.num_points
        self.count += block.num_points - skip
        self.num_bad += min(block.num_bad, block.num_points - skip)

    def pieces(self, start: int) -> list[Piece]:
        """Those that hold points from the `start`-th on."""
        begin = bisect_right(self._pieces, start, key=lambda piece: piece.place)
        found = self._pieces[max(begin - 1, 0) :]
        if found and found[0].place < start:
            head = found[0]
            found[0] = Piece(head.block, head.skip + min(start - head.place, head.num_points), start)
        return found
