"""Blocks of statistics, read for a heat map and reduced to cells of some steps each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy
from numpy.typing import NDArray

from torcheer.app.runs.heatmaps import ESTIMATE, HIGHEST, MARKS, Wish
from torcheer.app.runs.stepbuckets import Places, Steps, between, sums_of
from torcheer.run import (
    ESTIMATES,
    BlockFigures,
    PartPlan,
    RankPlan,
    RecordEntry,
    StatisticsHead,
    Stretches,
    column_of,
    estimated,
)

Group = tuple[str, str]  # a part and the digest of a plan: blocks of the same rows

_READ_BYTES: Final = 64 << 20  # at a time
_MAX_BLOCK_BYTES: Final = 256 << 20


class Plane(NamedTuple):
    """Numbers that are kept of each cell: how those of two cells become one, and what stands for none."""

    join: numpy.ufunc
    nothing: float
    dtype: type[numpy.generic]


_SUM: Final = Plane(numpy.add, 0.0, numpy.float64)
_COUNT: Final = Plane(numpy.add, 0, numpy.int32)
_HIGHEST: Final = Plane(numpy.fmax, numpy.nan, numpy.float32)
_MARK: Final = Plane(numpy.bitwise_or, 0, numpy.uint8)


def planes_of(column: str) -> Sequence[Plane]:
    """What is kept of a figure: the highest, or what makes a mean; and the marks."""
    return (_HIGHEST, _MARK) if column in HIGHEST else (_SUM, _COUNT, _MARK)


@dataclass(slots=True, kw_only=True)
class CellBlock:
    """What is known of a block. A plain record: when cells grow wider, they are put together in place."""

    group: Group
    first_step: int
    last_step: int
    is_rising: bool  # in its steps
    cells: Steps  # rising; a cell is a step without its last `shift` bits
    planes: Sequence[NDArray[Any]]  # [row][cell] each

    @property
    def num_bytes(self) -> int:
        return self.cells.nbytes + sum(plane.nbytes for plane in self.planes)

    def widen(self, kinds: Sequence[Plane]) -> None:
        """Make cells twice as wide."""
        wider = self.cells >> 1
        starts = starts_of(wider)
        self.cells = wider[starts]
        self.planes = [
            kind.join.reduceat(plane, starts, axis=1) for kind, plane in zip(kinds, self.planes, strict=True)
        ]


def starts_of(rising: NDArray[Any]) -> Places:
    """Where each value stands first."""
    return numpy.flatnonzero(numpy.diff(rising, prepend=rising[:1] - 1)) if len(rising) else _NO_PLACES


_NO_PLACES: Final[Places] = numpy.empty(0, dtype=numpy.intp)


class BlockReading:
    """What is wanted of the blocks of a part, as many at a time as there is room for."""

    def __init__(self, wish: Wish, plan: RankPlan, part: str, blocks: Sequence[RecordEntry]) -> None:
        self._wish = wish
        self._plan = plan
        self._part = part
        self._shapes = {row.name: row.shape for row in plan.whole.rows}
        self._blocks = blocks  # kept, so that no other head comes to have the id of one of these
        self._first_steps: Mapping[int, int] = {id(block.head): block.step for block in blocks}
        self._num_bytes = 0
        self.is_cut = False  # there are more than were wanted this time

    def wanted(self, head: StatisticsHead) -> Stretches | None:
        """The column and those of the marks; None for a block without it, or beyond the window."""
        plan = self._plan.plan_of(self._part, head)
        if plan is None or self._wish.column not in plan.columns or self._is_beyond(head):
            return None
        places = [column_of(head, place).places[0] for place in _columns_of(self._wish, plan).values()]
        num_bytes = sum(size for _, size in places)
        if num_bytes > _MAX_BLOCK_BYTES:
            return None
        if self._num_bytes and self._num_bytes + num_bytes > _READ_BYTES:
            self.is_cut = True
            return None
        self._num_bytes += num_bytes
        return Stretches(head.num_rows * len(places), places)

    def _is_beyond(self, head: StatisticsHead) -> bool:
        low, high = self._wish.low, self._wish.high
        first = self._first_steps.get(id(head))
        is_above = high is not None and first is not None and first > high
        return is_above or (low is not None and head.last_step < low)

    def reduced(self, head: StatisticsHead, figures: BlockFigures, shift: int) -> CellBlock:
        """The cells of a block that was wanted and read."""
        plan = self._plan.plan_of(self._part, head)
        columns = {} if plan is None else _columns_of(self._wish, plan)
        is_rising = bool((figures.steps[1:] > figures.steps[:-1]).all())
        chosen = between(figures.steps, self._wish.low, self._wish.high) if is_rising else slice(0, 0)
        steps = figures.steps[chosen]
        cells = steps >> shift
        starts = starts_of(cells)
        of_column = {
            name: figures.values[number * head.num_rows : (number + 1) * head.num_rows, chosen]
            for number, name in enumerate(columns)
        }
        return CellBlock(
            group=(self._part, head.digest),
            first_step=int(steps[0]) if len(steps) else 0,
            last_step=int(steps[-1]) if len(steps) else 0,
            is_rising=is_rising,
            cells=cells[starts],
            planes=self._planes(of_column, plan, starts) if plan is not None and len(starts) else (),
        )

    def _planes(self, of_column: Mapping[str, Any], plan: PartPlan, starts: Places) -> Sequence[NDArray[Any]]:
        column = self._wish.column
        figures = of_column[column]
        marks = numpy.zeros((len(figures), len(starts)), dtype=numpy.uint8)
        for name, mark in MARKS.items():
            if name in of_column:
                shares = numpy.fmax.reduceat(of_column[name], starts, axis=1)
                marks |= (shares > 0.0) * mark  # NaN is not
        for place, row in enumerate(plan.rows):
            groups = of_column[ESTIMATES][place] if ESTIMATES in of_column else _unknown(figures[place])
            found = estimated(column, figures[place], groups, self._shapes.get(row.name))
            marks[place] |= numpy.logical_or.reduceat(found, starts) * ESTIMATE
        if column in HIGHEST:
            return numpy.fmax.reduceat(figures, starts, axis=1), marks
        return *sums_of(figures, starts), marks


def _unknown(figures: NDArray[Any]) -> NDArray[Any]:
    return numpy.full_like(figures, numpy.nan)


def _columns_of(wish: Wish, plan: PartPlan) -> dict[str, int]:
    """The places of the columns that are read of a plan, that of the figure first."""
    names = dict.fromkeys((wish.column, *MARKS, ESTIMATES))
    return {name: plan.columns.index(name) for name in names if name in plan.columns}
