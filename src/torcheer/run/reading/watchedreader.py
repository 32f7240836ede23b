"""The figures of all watched rows over steps, for a server that asks again and again while they grow."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Final, NamedTuple

import numpy
from numpy.typing import NDArray

from torcheer.run.estimates import ESTIMATES, estimated
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
_MANY_LOOKS, _RECENT_SECONDS = 5, 10.0  # that are enough to know how often a training is watched


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
            is_estimate=self._estimated(rank, column, plan, figures),
        )

    def _estimated(
        self, rank: int, column: str, plan: RankPlan, figures: BlockFigures
    ) -> NDArray[numpy.bool_]:
        rows = plan.whole.rows
        known = self._figures(_Wish(rank, ESTIMATES, None), plan, len(rows))
        groups = at_steps(known.values, known.steps, figures.steps)
        found = numpy.zeros(figures.values.shape, dtype=bool)
        for place, row in enumerate(rows):
            found[place] = estimated(column, figures.values[place], groups[place], row.shape)
        return found

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

    def got(self, rank: int) -> str:
        """How often this rank was really watched of late, in the form of `every`; empty: nobody knows."""
        found = [_recent(part) for part in self._parts_of(rank)]
        return max(found, key=lambda one: one.last_time, default=_Recent()).text(self.plan(rank).every)

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


def at_steps(
    figures: NDArray[numpy.float32], steps: NDArray[numpy.int64], wanted: NDArray[numpy.int64]
) -> NDArray[numpy.float32]:
    """The same figures, [row][step], at other steps: not every plan has every column."""
    if numpy.array_equal(steps, wanted):
        return figures
    found = numpy.full((len(figures), len(wanted)), numpy.nan, dtype=numpy.float32)
    if len(steps):
        places = numpy.minimum(numpy.searchsorted(steps, wanted), len(steps) - 1)
        is_there = steps[places] == wanted
        found[:, is_there] = figures[:, places[is_there]]
    return found


def _stretches(plan: PartPlan, head: StatisticsHead, wish: _Wish) -> Stretches | None:
    if wish.row is None:
        return column_of(head, plan.columns.index(wish.column)) if wish.column in plan.columns else None
    place = next((place for place, row in enumerate(plan.rows) if row.name == wish.row), None)
    return None if place is None else row_of(head, place)


class _Recent(NamedTuple):
    """The last looks of a part."""

    num_looks: int = 0
    num_steps: int = 0
    seconds: float = 0.0
    last_time: float = -math.inf

    def text(self, every: str) -> str:
        num_between = self.num_looks - 1
        _, slash, unit = every.partition("/")
        if num_between < 1 or (slash and self.seconds <= 0):
            return ""
        if not slash:
            apart = self.num_steps / num_between
            return "step" if apart == 1 else f"{apart:.3g} steps"
        seconds = {"m": 60.0, "h": 3600.0}.get(unit.strip()[:1], 1.0)
        return f"{num_between / self.seconds * seconds:.3g}/{unit.strip()}"


def _recent(part: SqlitePart) -> _Recent:
    """By the heads of its last blocks, as far as these were not thinned."""
    num_looks, found = 0, _Recent()
    last: StatisticsHead | None = None
    for block in reversed(part.statistics()):
        head = block.head
        if not isinstance(head, StatisticsHead) or head.stride != 1:
            break
        last = last or head
        num_looks += head.num_steps
        seconds = last.last_time - block.time
        found = _Recent(num_looks, last.last_step - block.step, seconds, last.last_time)
        if num_looks >= _MANY_LOOKS and seconds >= _RECENT_SECONDS:
            break
    return found


def _outline(part: SqlitePart) -> Sequence[Hashable]:
    """What differs when figures do. Merging of blocks changes nothing in them."""
    blocks = part.statistics()
    last = blocks[-1] if blocks else None
    num_steps = sum(block.head.num_steps for block in blocks if isinstance(block.head, StatisticsHead))
    ends = (
        (last.head.last_step, last.head.last_time) if last and isinstance(last.head, StatisticsHead) else ()
    )
    return num_steps, ends, tuple(entry.id for entry in part.watches())
