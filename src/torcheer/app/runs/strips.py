"""Heat maps of a training that goes on: sums of what was read, so that only what is new is read and added up.

Steps are put together in cells, a few for each bucket of a picture; when there are too many cells, two
neighbours become one. That a step holds later figures than it did before cannot be said of sums: where a
training went back, the heat map is made from all figures.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable
from typing import Any, Final

import numpy

from torcheer.app.runs.heatmaps import HIGHEST, HeatMap, Wish
from torcheer.app.runs.stepbuckets import Places, bucket_steps, means_of
from torcheer.app.runs.stripblocks import (
    BlockReading,
    CellBlock,
    Group,
    planes_of,
    starts_of,
)
from torcheer.run import BlockFigures, RankPlan, RunReader, SqlitePart, StatisticsHead, rank_in

MAX_BYTES: Final = 256 << 20  # of all strips of a run
MAX_CELLS: Final = 8 << 20  # of all rows of a strip together
_MOST_CELLS: Final = 8192  # of a row: four for each bucket that there can be
_FEWEST_CELLS: Final = 64
_MAX_STRIP_BYTES: Final = 128 << 20
_MOST_SHIFT: Final = 62  # a cell is half of all the steps that there can be
_MAX_GROUPS: Final = 64
_KNOWN: Final = BlockFigures(numpy.empty(0, "<i8"), numpy.empty(0, "<f8"), numpy.empty((0, 0), "<f4"))

_BlockKey = tuple[str, int, int]  # its part, how often that began anew, and its number there


class Strip:
    """One figure of all rows in cells. For one thread at a time."""

    def __init__(self, wish: Wish) -> None:
        self._wish = wish
        self._kinds = planes_of(wish.column)
        self._shift = 0
        self._blocks: dict[_BlockKey, CellBlock] = {}
        self._num_cells: Counter[Group] = Counter()
        self._lines: dict[Group, Places] = {}  # where the rows of a plan stand among all
        self._num_rows = 0
        self.num_bytes = 0

    def read_on(self, reader: RunReader, plan: RankPlan) -> bool:
        """Take what is new, and forget what is gone. Whether a heat map can be made of it."""
        self._num_rows = len(plan.whole.rows)
        there: set[_BlockKey] = set()
        for name, part in reader.parts().items():
            if isinstance(part, SqlitePart) and rank_in(name) == self._wish.rank and part.watches():
                there |= self._read_part(part, reader.restarts(name), plan)
        self._lines = {
            (part, digest): plan.row_lines(its)
            for part, plans in plan.of_parts.items()
            for digest, its in plans.items()
            if (part, digest) in self._num_cells
        }
        self._forget(
            key for key, block in self._blocks.items() if key not in there or not self._is_known(block)
        )
        return self._is_plain()

    def _is_known(self, block: CellBlock) -> bool:
        """Whether its plan is still the one with which it was read: anybody could have written another."""
        lines = self._lines.get(block.group)
        return lines is not None and all(len(plane) == len(lines) for plane in block.planes)

    def _read_part(self, part: SqlitePart, restarts: int, plan: RankPlan) -> set[_BlockKey]:
        """Which blocks it has."""
        place = (part.name, restarts)
        while True:
            known = [key[2] for key in self._blocks if key[:2] == place]
            reading = BlockReading(self._wish, plan, part.name, part.statistics())
            found = part.figures(reading.wanted, dict.fromkeys(known, _KNOWN))
            if not found.blocks and part.statistics():  # it cannot be read this moment
                return {(*place, number) for number in known}
            there = {(*place, block.id) for block in found.blocks}
            self._forget(key for key in self._blocks if key[:2] == place and key not in there)
            new = [block for block in found.blocks if found.figures.get(block.id, _KNOWN) is not _KNOWN]
            for block in new:
                if isinstance(block.head, StatisticsHead):
                    figures = found.figures[block.id]
                    self._add((*place, block.id), reading.reduced(block.head, figures, self._shift))
            if not new or not reading.is_cut:
                return there

    def _forget(self, keys: Iterable[_BlockKey]) -> None:
        for key in list(keys):
            del self._blocks[key]
        self._count_cells()

    def _add(self, key: _BlockKey, block: CellBlock) -> None:
        self._blocks[key] = block
        self._count(block)
        most = min(_MOST_CELLS, max(_FEWEST_CELLS, MAX_CELLS // max(1, self._num_rows)))
        while self._shift < _MOST_SHIFT and (
            self._num_cells[block.group] > most or self.num_bytes > _MAX_STRIP_BYTES
        ):
            self._shift += 1
            for one in self._blocks.values():
                one.widen(self._kinds)
            self._count_cells()

    def _count_cells(self) -> None:
        self._num_cells, self.num_bytes = Counter(), 0
        for block in self._blocks.values():
            self._count(block)

    def _count(self, block: CellBlock) -> None:
        self._num_cells[block.group] += len(block.cells)
        self.num_bytes += block.num_bytes

    def _is_plain(self) -> bool:
        """Whether no row has two figures for a step."""
        if len(self._num_cells) > _MAX_GROUPS or not all(block.is_rising for block in self._blocks.values()):
            return False
        rows = {group: set(lines.tolist()) for group, lines in self._lines.items()}
        reached: dict[Group, int] = {}
        for block in sorted(self._filled(), key=lambda block: block.first_step):
            for group, last_step in reached.items():
                if block.first_step <= last_step and not rows[group].isdisjoint(rows[block.group]):
                    return False
            reached[block.group] = block.last_step
        return True

    def _filled(self) -> list[CellBlock]:
        """Those with something in the window."""
        return [block for block in self._blocks.values() if len(block.cells)]

    def heat_map(self, most: int) -> HeatMap:
        """In so many buckets at most."""
        blocks = self._filled()
        cells = numpy.unique(numpy.concatenate([_NO_CELLS, *(block.cells for block in blocks)]))
        buckets = bucket_steps(cells, None, None, most)
        edges = numpy.array(buckets.first_steps, dtype=numpy.int64)
        shape = (self._num_rows, buckets.count)
        types = (
            (numpy.float32, numpy.uint8)
            if len(self._kinds) == 2
            else (numpy.float64, numpy.int64, numpy.uint8)
        )
        whole: list[Any] = [
            numpy.full(shape, kind.nothing, dtype) for kind, dtype in zip(self._kinds, types, strict=True)
        ]
        for block in blocks:
            of_cells = numpy.searchsorted(edges, block.cells, "right") - 1
            starts = starts_of(of_cells)
            lines = self._lines[block.group]
            kept = lines >= 0
            where = numpy.ix_(lines[kept], of_cells[starts])
            for kind, plane, target in zip(self._kinds, block.planes, whole, strict=True):
                target[where] = kind.join(target[where], kind.join.reduceat(plane, starts, axis=1)[kept])
        first = min((block.first_step for block in blocks), default=0)
        last = max((block.last_step for block in blocks), default=0)
        return HeatMap(
            first_steps=[max(first, cell << self._shift) for cell in buckets.first_steps],
            last_steps=[min(last, ((cell + 1) << self._shift) - 1) for cell in buckets.last_steps],
            values=whole[0] if self._wish.column in HIGHEST else means_of(whole[0], whole[1]),
            marks=whole[-1],
        )


_NO_CELLS: Final = numpy.empty(0, dtype=numpy.int64)


class Strips:
    """Those of a run that were looked at last. They go with the reader of the run."""

    def __init__(self) -> None:
        self._strips: OrderedDict[Wish, Strip] = OrderedDict()

    @property
    def num_bytes(self) -> int:
        return sum(strip.num_bytes for strip in self._strips.values())

    def look(self, reader: RunReader, wish: Wish) -> Strip | None:
        """As of the last refresh; None where no heat map can be made in this way."""
        strip = self._strips.setdefault(wish, Strip(wish))
        self._strips.move_to_end(wish)
        is_plain = strip.read_on(reader, reader.watched.rank_plan(wish.rank))
        while len(self._strips) > 1 and self.num_bytes > MAX_BYTES:
            self._strips.popitem(last=False)
        return strip if is_plain else None
