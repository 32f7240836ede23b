"""What was watched in a run: the plans of all children of a rank, as one list of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeVar

import msgspec
import numpy
from numpy.typing import NDArray

from torcheer.run.parts import RecordEntry
from torcheer.run.reading.sqlitepart import SqlitePart
from torcheer.run.records import StatisticsHead, WatchedRow, WatchHead

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
