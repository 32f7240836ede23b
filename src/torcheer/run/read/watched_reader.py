"""The figures of all watched rows over steps, for a server that asks again and again while they grow."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeVar

import msgspec
import numpy
from numpy.typing import NDArray

from torcheer.run.read.part_protocol import Part, RecordEntry, rank_in
from torcheer.run.read.sqlite_part import BlockFigures, ByteRanges, SqlitePart, column_of, row_of
from torcheer.run.read.watched import WatchedFigures, WatchedTable
from torcheer.run.records import StatisticsHead, WatchedRow, WatchHead
from torcheer.run.statistics import ESTIMATES, estimated

_MOST_PLANS: Final = 4096  # that are kept in memory
_MANY_LOOKS, _RECENT_SECONDS = 5, 10.0  # that are enough to know how often a training is watched


class _Wish(NamedTuple):
    """What is asked for: one of the two."""

    rank: int
    column: str | None
    row: str | None


class WatchedReader:
    """For one thread at a time, as the reader that it belongs to. What it gives is as of its last refresh."""

    def __init__(self, parts: Callable[[], Mapping[str, Part]], restarts: Callable[[str], int]) -> None:
        self._parts = parts
        self._restarts = restarts
        self._plans: dict[int, tuple[Hashable, RankPlan]] = {}
        self._read_plans: dict[tuple[str, int, int], PartPlan | None] = {}  # by part, restarts and record

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
        """One figure of all rows, and not the others."""
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
        pieces = [piece for part in self._parts_of(wish.rank) for piece in self._read(part, plan, wish)]
        pieces.sort(key=lambda piece: piece[0])
        return assembled([piece for _, piece in pieces], num_lines)

    def _read(self, part: SqlitePart, plan: RankPlan, wish: _Wish) -> list[tuple[float, Piece]]:
        """What is wanted of each block, and where in time it stands."""

        def wanted(head: StatisticsHead) -> ByteRanges | None:
            its = plan.plan_of(part.name, head)
            if its is None:
                part.note_damage("it is not known what some statistics are of")
                return None
            return _stretches(its, head, wish)

        found = part.figures(wanted, {})
        pieces = []
        for block in found.blocks:
            figures, head = found.figures.get(block.id), block.head
            its = plan.plan_of(part.name, head) if isinstance(head, StatisticsHead) else None
            if figures is not None and its is not None:
                lines = plan.row_lines(its) if wish.row is None else plan.column_lines(its)
                pieces.append((block.time, Piece(figures, lines)))
        return pieces

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


def _stretches(plan: PartPlan, head: StatisticsHead, wish: _Wish) -> ByteRanges | None:
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
    heads = [block.head for block in part.statistics() if isinstance(block.head, StatisticsHead)]
    ends = (heads[-1].last_step, heads[-1].last_time) if heads else ()
    return _num_steps(part), ends, tuple(entry.id for entry in part.watches())


# --- plans ----------------------------------------------------------------------------------------------

T = TypeVar("T")

_ROWS: Final = msgspec.json.Decoder(list[WatchedRow])
_MOST_PLAN_BYTES: Final = 256 << 20
_MOST_ROWS: Final = 20_000  # of a rank; what comes after them is left out
_MOST_COLUMNS: Final = 1_000


class PartPlan(NamedTuple):
    """A plan of one part."""

    time: float
    every: str
    rows: Sequence[WatchedRow]
    columns: Sequence[str]
    watch: str | None = None  # the name of whoever watched; None where nobody knows


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedPlan:
    """Rows and figures of a rank, in the order of the last plan; what only older ones have comes after."""

    rows: tuple[WatchedRow, ...]
    columns: tuple[str, ...]
    every: str  # as it was asked for last
    num_steps: int  # that were watched and are kept; of several children, of the one that has most
    watches: Mapping[str, str | None] = field(default_factory=dict)  # by row: the name of whoever watched it


@dataclass(frozen=True, slots=True, kw_only=True)
class RankPlan:
    """The same, and how the rows and columns of each part's plans stand in it."""

    whole: WatchedPlan
    of_parts: Mapping[str, Mapping[str, PartPlan]]  # by part and digest
    row_places: Mapping[str, int] = field(default_factory=dict)
    column_places: Mapping[str, int] = field(default_factory=dict)

    def plan_of(self, part: str, head: StatisticsHead) -> PartPlan | None:
        """The plan of a block; None where there is none that fits it."""
        plan = self.of_parts[part].get(head.digest)
        is_fit = plan is not None and (len(plan.rows), len(plan.columns)) == (head.num_rows, head.num_columns)
        return plan if is_fit else None

    def row_lines(self, plan: PartPlan) -> NDArray[numpy.intp]:
        """Where each row of the plan stands; -1 where there are too many."""
        return numpy.array([self.row_places.get(row.name, -1) for row in plan.rows], numpy.intp)

    def column_lines(self, plan: PartPlan) -> NDArray[numpy.intp]:
        return numpy.array([self.column_places.get(column, -1) for column in plan.columns], numpy.intp)


def rank_plan(
    parts: Sequence[SqlitePart], read: Callable[[SqlitePart, RecordEntry], PartPlan | None]
) -> RankPlan:
    """`read` is `read_plan`, or remembers what that gave."""
    of_parts: dict[str, dict[str, PartPlan]] = {}
    for part in parts:
        plans = of_parts[part.name] = {}
        for entry in part.watches():
            plan = read(part, entry)
            if plan is not None and isinstance(entry.head, WatchHead):
                plans[entry.head.digest] = plan
    rows: dict[str, WatchedRow] = {}
    columns: dict[str, None] = {}
    watches: dict[str, str | None] = {}
    every, latest = "", float("-inf")
    for plan in (plan for plans in of_parts.values() for plan in reversed(plans.values())):
        # Place and shape are those of the last plan: the first is made before the model has run.
        _extend(rows, {row.name: row for row in plan.rows}, _MOST_ROWS)
        # A plan that was made anew, and of which nothing was seen since, knows less than those before it.
        for row in plan.rows:
            if row.shape is not None and row.name in rows and rows[row.name].shape is None:
                rows[row.name] = msgspec.structs.replace(rows[row.name], shape=row.shape)
        _extend(columns, dict.fromkeys(plan.columns), _MOST_COLUMNS)
        _extend(watches, dict.fromkeys((row.name for row in plan.rows), plan.watch), _MOST_ROWS)
        if plan.time >= latest:
            every, latest = plan.every, plan.time
    return RankPlan(
        whole=WatchedPlan(
            rows=tuple(rows.values()),
            columns=tuple(columns),
            every=every,
            num_steps=max((_num_steps(part) for part in parts), default=0),
            watches=watches,
        ),
        of_parts=of_parts,
        row_places={name: place for place, name in enumerate(rows)},
        column_places={name: place for place, name in enumerate(columns)},
    )


def _extend(found: dict[str, T], more: Mapping[str, T], most: int) -> None:
    for name, one in more.items():
        if len(found) < most:
            found.setdefault(name, one)


def read_plan(part: SqlitePart, entry: RecordEntry) -> PartPlan | None:
    """None where it makes no sense, which the part then notes."""
    head = entry.head
    if not isinstance(head, WatchHead) or entry.num_bytes > _MOST_PLAN_BYTES:
        return None
    data = part.data(entry.id)
    try:
        rows = _ROWS.decode(data) if data is not None else []
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        rows = []
    if len(rows) != head.num_rows:
        part.note_damage("it is not known what some statistics are of")
        return None
    return PartPlan(entry.time, head.every, rows, head.columns, head.watch)


def _num_steps(part: SqlitePart) -> int:
    return sum(block.head.num_steps for block in part.statistics() if isinstance(block.head, StatisticsHead))


# --- many blocks as one table ---------------------------------------------------------------------------

MOST_CELLS: Final = 64 << 20  # of a table; above it, steps are left out
_NO_STEPS: Final = numpy.empty(0, numpy.int64)


class Piece(NamedTuple):
    """What was read of a block, and which lines of the whole it belongs to; those below 0 are left out."""

    figures: BlockFigures
    lines: NDArray[numpy.intp]


def assembled(pieces: Sequence[Piece], num_lines: int) -> BlockFigures:
    """Rising steps. Pieces come in the order of time: of a step that is there twice, the later holds."""
    steps = numpy.unique(numpy.concatenate([_NO_STEPS, *(piece.figures.steps for piece in pieces)]))
    most = max(2, MOST_CELLS // max(num_lines, 1))
    if len(steps) > most:  # some stay, evenly, with the first and the last
        steps = steps[numpy.linspace(0, len(steps) - 1, most).round().astype(numpy.intp)]
    whole = BlockFigures(
        steps, numpy.zeros(len(steps)), numpy.full((num_lines, len(steps)), numpy.nan, numpy.float32)
    )
    for figures, lines in pieces:
        _put(whole, figures, lines)
    for array in whole:
        array.flags.writeable = False  # they may be shared with others that read this run
    return whole


def _put(whole: BlockFigures, figures: BlockFigures, lines: NDArray[numpy.intp]) -> None:
    kept = lines >= 0
    places = numpy.searchsorted(whole.steps, figures.steps)
    places[places == len(whole.steps)] = 0
    is_in = whole.steps[places] == figures.steps
    places = places[is_in]
    whole.times[places] = figures.times[is_in]
    values = figures.values[kept][:, is_in]
    if len(places) and (numpy.diff(places) == 1).all():
        # So it is nearly always, and far quicker than cell by cell.
        whole.values[lines[kept], places[0] : places[-1] + 1] = values
    else:
        whole.values[lines[kept][:, None], places] = values
