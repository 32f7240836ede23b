"""The figures of all watched rows over steps, for a server that asks again and again while they grow."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeVar

import msgspec
import numpy
from numpy.typing import NDArray

from torcheer.run.read.part_protocol import Part, RecordEntry, rank_in
from torcheer.run.read.sqlite_part import BlockFigures, ByteRanges, SqlitePart, column_of, row_of
from torcheer.run.read.watched import WatchedSeries, WatchedTable
from torcheer.run.records import StatisticsHead, WatchedRow, WatchHead
from torcheer.run.statistics import ESTIMATES, estimated

MOST_CELLS: Final = 64 << 20  # of a table; above it, steps are left out
_MOST_PLANS: Final = 4096  # that are kept in memory
_MANY_LOOKS, _RECENT_SECONDS = 5, 10.0  # that are enough to know how often a training is watched


class WatchedReader:
    """For one thread at a time, as the reader that it belongs to. What it gives is as of its last refresh."""

    def __init__(self, parts: Callable[[], Mapping[str, Part]], restarts: Callable[[str], int]) -> None:
        self._parts = parts
        self._restarts = restarts
        self._plans: dict[int, tuple[Hashable, WatchedPlan]] = {}
        self._read_plans: dict[tuple[str, int, int], PartPlan | None] = {}  # by part, restarts and record

    def ranks(self) -> list[int]:
        """Those that were watched."""
        return sorted({rank_in(part.name) for part in self._watched_parts()})

    def version(self, rank: int) -> Hashable:
        """Differs from an earlier one where rows or figures of this rank do. Costs next to nothing."""
        return tuple((part.name, self._restarts(part.name), *_outline(part)) for part in self._parts_of(rank))

    def plan(self, rank: int) -> WatchedPlan:
        """What this rank watched: rows, figures, how often."""
        version = self.version(rank)
        known = self._plans.get(rank)
        if known is None or known[0] != version:
            known = self._plans[rank] = version, _joined_plan(self._parts_of(rank), self._read_plan)
        return known[1]

    def table(self, rank: int, column: str) -> WatchedTable:
        """One figure of all rows, and not the others."""
        rows = self.plan(rank).rows
        figures, known = self._figures(rank, column=column), self._figures(rank, column=ESTIMATES)
        groups = at_steps(known.values, known.steps, figures.steps)
        is_estimate = numpy.zeros(figures.values.shape, dtype=bool)
        for place, row in enumerate(rows):
            is_estimate[place] = estimated(column, figures.values[place], groups[place], row.shape)
        return WatchedTable(
            column=column,
            rows=rows,
            steps=figures.steps,
            times=figures.times,
            values=figures.values,
            is_estimate=is_estimate,
        )

    def row(self, rank: int, name: str) -> WatchedSeries | None:
        """All figures of one row, at the steps at which it was seen; None where there is no such row."""
        plan = self.plan(rank)
        row = next((row for row in plan.rows if row.name == name), None)
        if row is None:
            return None
        steps, times, values = self._figures(rank, row=name)
        seen = ~numpy.isnan(values).all(axis=0)
        if not seen.all():
            steps, times, values = steps[seen], times[seen], values[:, seen]
        return WatchedSeries(row, plan.columns, steps, times, values)

    def got(self, rank: int) -> str:
        """How often this rank was really watched of late, in the form of `every`; empty: nobody knows."""
        found = [_recent(part) for part in self._parts_of(rank)]
        return max(found, key=lambda one: one.last_time, default=_Recent()).text(self.plan(rank).every)

    def _read_plan(self, part: SqlitePart, entry: RecordEntry) -> PartPlan | None:
        key = part.name, self._restarts(part.name), entry.id
        if key not in self._read_plans:
            if len(self._read_plans) >= _MOST_PLANS:
                self._read_plans.clear()
            self._read_plans[key] = read_plan(part, entry)
        return self._read_plans[key]

    def _figures(self, rank: int, *, column: str | None = None, row: str | None = None) -> BlockFigures:
        """A line for each row of the plan with its figure `column`; or one for each figure of `row`."""
        plan = self.plan(rank)
        names = [one.name for one in plan.rows] if row is None else plan.columns
        places = {name: place for place, name in enumerate(names)}
        pieces: list[tuple[float, BlockFigures, NDArray[numpy.intp]]] = []
        for part in self._parts_of(rank):
            plans = plan.of_parts[part.name]

            def wanted(
                head: StatisticsHead, part: SqlitePart = part, plans: Mapping[str, PartPlan] = plans
            ) -> ByteRanges | None:
                its = plans.get(head.digest)
                if its is None or (len(its.names), len(its.columns)) != (head.num_rows, head.num_columns):
                    part.note_damage("it is not known what some statistics are of")
                    return None
                if row is not None:
                    return row_of(head, its.names.index(row)) if row in its.names else None
                return column_of(head, its.columns.index(column)) if column in its.columns else None

            for block, figures in part.figures(wanted):
                assert isinstance(block.head, StatisticsHead)
                its = plans[block.head.digest]
                lines = [places.get(name, -1) for name in (its.names if row is None else its.columns)]
                pieces.append((block.time, figures, numpy.array(lines, numpy.intp)))
        pieces.sort(key=lambda piece: piece[0])
        return _assembled([piece[1:] for piece in pieces], len(names))

    def _watched_parts(self) -> list[SqlitePart]:
        return [part for part in self._parts().values() if isinstance(part, SqlitePart) and part.watches()]

    def _parts_of(self, rank: int) -> list[SqlitePart]:
        return [part for part in self._watched_parts() if rank_in(part.name) == rank]


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
    head: WatchHead
    rows: Sequence[WatchedRow]
    names: list[str]  # of the rows

    @property
    def columns(self) -> list[str]:
        return self.head.columns


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedPlan:
    """Rows and figures of a rank, in the order of the last plan; what only older ones have comes after."""

    rows: tuple[WatchedRow, ...]
    columns: tuple[str, ...]
    every: str  # as it was asked for last
    num_steps: int  # that were watched and are kept; of several children, of the one that has most
    watches: Mapping[str, str | None]  # by row: the name of whoever watched it; None where nobody knows
    of_parts: Mapping[str, Mapping[str, PartPlan]]  # by part and digest


def _joined_plan(
    parts: Sequence[SqlitePart], read: Callable[[SqlitePart, RecordEntry], PartPlan | None]
) -> WatchedPlan:
    """`read` is `read_plan`, or remembers what that gave."""
    of_parts: dict[str, dict[str, PartPlan]] = {}
    for part in parts:
        found = (read(part, entry) for entry in part.watches())
        of_parts[part.name] = {plan.head.digest: plan for plan in found if plan is not None}
    rows: dict[str, WatchedRow] = {}
    columns: dict[str, None] = {}
    watches: dict[str, str | None] = {}
    every, latest = "", -math.inf
    for plan in (plan for plans in of_parts.values() for plan in reversed(plans.values())):
        # Place and shape are those of the last plan: the first is made before the model has run.
        _extend(rows, {row.name: row for row in plan.rows}, _MOST_ROWS)
        # A plan that was made anew, and of which nothing was seen since, knows less than those before it.
        for row in plan.rows:
            if row.shape is not None and row.name in rows and rows[row.name].shape is None:
                rows[row.name] = msgspec.structs.replace(rows[row.name], shape=row.shape)
        _extend(columns, dict.fromkeys(plan.columns), _MOST_COLUMNS)
        _extend(watches, dict.fromkeys(plan.names, plan.head.watch), _MOST_ROWS)
        if plan.time >= latest:
            every, latest = plan.head.every, plan.time
    return WatchedPlan(
        rows=tuple(rows.values()),
        columns=tuple(columns),
        every=every,
        num_steps=max(map(_num_steps, parts), default=0),
        watches=watches,
        of_parts=of_parts,
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
    return PartPlan(entry.time, head, rows, [row.name for row in rows])


def _num_steps(part: SqlitePart) -> int:
    return sum(block.head.num_steps for block in part.statistics() if isinstance(block.head, StatisticsHead))


# --- many blocks as one table ---------------------------------------------------------------------------


def _assembled(pieces: Sequence[tuple[BlockFigures, NDArray[numpy.intp]]], num_lines: int) -> BlockFigures:
    """Rising steps. A piece says to which line each of its own belongs; those below 0 are left out.

    Pieces come in the order of time: of a step that is there twice, the later holds.
    """
    no_steps = numpy.empty(0, numpy.int64)
    steps = numpy.unique(numpy.concatenate([no_steps, *(figures.steps for figures, _ in pieces)]))
    most = max(2, MOST_CELLS // max(num_lines, 1))
    if len(steps) > most:  # some stay, evenly, with the first and the last
        steps = steps[numpy.linspace(0, len(steps) - 1, most).round().astype(numpy.intp)]
    times, values = numpy.zeros(len(steps)), numpy.full((num_lines, len(steps)), numpy.nan, numpy.float32)
    for figures, lines in pieces:
        kept = lines >= 0
        places = numpy.searchsorted(steps, figures.steps)
        places[places == len(steps)] = 0
        is_in = steps[places] == figures.steps
        places = places[is_in]
        times[places] = figures.times[is_in]
        new = figures.values[kept][:, is_in]
        if len(places) and (numpy.diff(places) == 1).all():
            # So it is nearly always, and far quicker than cell by cell.
            values[lines[kept], places[0] : places[-1] + 1] = new
        else:
            values[lines[kept][:, None], places] = new
    for array in (steps, times, values):
        array.flags.writeable = False  # they may be shared with others that read this run
    return BlockFigures(steps, times, values)
