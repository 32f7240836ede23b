"""The figures of all watched rows over steps, for a server that asks again and again while they grow."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy
from numpy.typing import NDArray

from torcheer.run.parts import Part, RecordEntry
from torcheer.run.reading.assembling import Piece, assembled, piece_of
from torcheer.run.reading.figureblocks import BlockFigures, Stretches, column_of, row_of
from torcheer.run.reading.merging import rank_in
from torcheer.run.reading.sqlitepart import SqlitePart
from torcheer.run.reading.watchedplans import PartPlan, RankPlan, WatchedPlan, rank_plan, read_plan
from torcheer.run.reading.watchedtables import WatchedFigures, WatchedTable
from torcheer.run.records import StatisticsHead

_MOST_PLANS: Final = 4096  # that are kept in memory
_MOST_CACHED_BYTES: Final = 256 << 20  # of what was asked for lately


class _Wish(NamedTuple):
    """What is asked for: one of the two."""

    rank: int
    column: str | None
    row: str | None


_Known = dict[tuple[str, int], dict[int, BlockFigures]]  # by part and its restarts: by block


class WatchedReader:
    """For one thread at a time, as the reader that it belongs to. What it gives is as of its last refresh."""

    def __init__(self, parts: Callable[[], Mapping[str, Part]], restarts: Callable[[str], int]) -> None:
        self._parts = parts
        self._restarts = restarts
        self._plans: dict[int, tuple[Hashable, RankPlan]] = {}
        self._read_plans: dict[tuple[str, int, int], PartPlan | None] = {}  # by part, restarts and record
        self._known: OrderedDict[_Wish, _Known] = OrderedDict()
        self._answers: dict[_Wish, tuple[Hashable, BlockFigures]] = {}

    def ranks(self) -> list[int]:
        """Those that were watched."""
        found = (part for part in self._parts().values() if isinstance(part, SqlitePart))
        return sorted({rank_in(part.name) for part in found if part.watches()})

    def version(self, rank: int) -> Hashable:
        """Differs from an earlier one where rows or figures of this rank do. Costs next to nothing."""
        return tuple((part.name, self._restarts(part.name), *_outline(part)) for part in self._parts_of(rank))

    def plan(self, rank: int) -> WatchedPlan:
        """What this rank watched: rows, figures, how often."""
        return self.rank_plan(rank).whole

    def table(self, rank: int, column: str) -> WatchedTable:
        """One figure of all rows. Reads what is new since it was last asked for, and nothing else."""
        plan = self.rank_plan(rank)
        figures = self._figures(_Wish(rank, column, None), plan, len(plan.whole.rows))
        return WatchedTable(
            column=column,
            rows=plan.whole.rows,
            steps=figures.steps,
            times=figures.times,
            values=figures.values,
        )

    def row(self, rank: int, name: str) -> WatchedFigures | None:
        """All figures of one row, at the steps at which it was seen; None where there is no such row."""
        plan = self.rank_plan(rank)
        place = plan.row_places.get(name)
        if place is None:
            return None
        figures = self._figures(_Wish(rank, None, name), plan, len(plan.whole.columns))
        seen = ~numpy.isnan(figures.values).all(axis=0)
        if not seen.all():
            figures = BlockFigures(figures.steps[seen], figures.times[seen], figures.values[:, seen])
        return WatchedFigures(
            row=plan.whole.rows[place],
            columns=plan.whole.columns,
            steps=figures.steps,
            times=figures.times,
            values=figures.values,
        )

    def rank_plan(self, rank: int) -> RankPlan:
        """The same, and how the plans of each of its parts stand in it."""
        version = self.version(rank)
        known = self._plans.get(rank)
        if known is None or known[0] != version:
            known = self._plans[rank] = version, rank_plan(self._parts_of(rank), self._read_plan)
        return known[1]

    def _read_plan(self, part: SqlitePart, entry: RecordEntry) -> PartPlan | None:
        key = part.name, self._restarts(part.name), entry.id
        if key not in self._read_plans:
            if len(self._read_plans) >= _MOST_PLANS:
                self._read_plans.clear()
            self._read_plans[key] = read_plan(part, entry)
        return self._read_plans[key]

    def _figures(self, wish: _Wish, plan: RankPlan, num_lines: int) -> BlockFigures:
        version = self.version(wish.rank)
        answer = self._answers.get(wish)
        if answer is not None and answer[0] == version:
            self._known.move_to_end(wish)
            return answer[1]
        known = self._known.pop(wish, {})
        fresh: _Known = {}
        pieces: list[tuple[float, Piece]] = []
        for part in self._parts_of(wish.rank):
            key = part.name, self._restarts(part.name)
            fresh[key], found = self._read(part, plan, wish, known.get(key, {}))
            pieces += found
        pieces.sort(key=lambda piece: piece[0])
        figures = assembled([piece for _, piece in pieces], num_lines)
        self._remember(wish, fresh, version, figures)
        return figures

    def _read(
        self, part: SqlitePart, plan: RankPlan, wish: _Wish, known: Mapping[int, BlockFigures]
    ) -> tuple[dict[int, BlockFigures], list[tuple[float, Piece]]]:
        def wanted(head: StatisticsHead) -> Stretches | None:
            its = plan.plan_of(part.name, head)
            if its is None:
                part.note_damage("it is not known what some statistics are of")
                return None
            return _stretches(its, head, wish)

        found = part.figures(wanted, known)
        lines: dict[str, NDArray[numpy.intp]] = {}  # by digest
        pieces = []
        for block in found.blocks:
            figures = found.figures.get(block.id)
            if figures is None or not isinstance(block.head, StatisticsHead):
                continue
            digest = block.head.digest
            its = plan.plan_of(part.name, block.head)
            if its is None:
                continue
            if digest not in lines:
                lines[digest] = plan.row_lines(its) if wish.row is None else plan.column_lines(its)
            pieces.append((block.time, piece_of(figures, lines[digest])))
        return dict(found.figures), pieces

    def _remember(self, wish: _Wish, known: _Known, version: Hashable, figures: BlockFigures) -> None:
        self._known[wish] = known
        self._answers[wish] = version, figures
        while len(self._known) > 1 and sum(map(self._num_bytes, self._known)) > _MOST_CACHED_BYTES:
            old, _ = self._known.popitem(last=False)
            del self._answers[old]

    def _num_bytes(self, wish: _Wish) -> int:
        of_blocks = (figures for blocks in self._known[wish].values() for figures in blocks.values())
        return sum(figures.num_bytes for figures in (*of_blocks, self._answers[wish][1]))

    def _parts_of(self, rank: int) -> list[SqlitePart]:
        parts = (part for part in self._parts().values() if isinstance(part, SqlitePart))
        return [part for part in parts if rank_in(part.name) == rank and part.watches()]


def _stretches(plan: PartPlan, head: StatisticsHead, wish: _Wish) -> Stretches | None:
    if wish.row is None:
        return column_of(head, plan.columns.index(wish.column)) if wish.column in plan.columns else None
    place = next((place for place, row in enumerate(plan.rows) if row.name == wish.row), None)
    return None if place is None else row_of(head, place)


def _outline(part: SqlitePart) -> Sequence[Hashable]:
    """What differs when figures do. Merging of blocks changes nothing in them."""
    blocks = part.statistics()
    last = blocks[-1] if blocks else None
    num_steps = sum(block.head.num_steps for block in blocks if isinstance(block.head, StatisticsHead))
    ends = (
        (last.head.last_step, last.head.last_time) if last and isinstance(last.head, StatisticsHead) else ()
    )
    return num_steps, ends, tuple(entry.id for entry in part.watches())
