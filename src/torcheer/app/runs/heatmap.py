"""Heat maps: one figure of all watched rows over steps, in as many buckets as a picture has room for.

For a training that goes on, sums of what was read are kept in cells of some steps each, so that only what is
new is read. When there are too many cells, two neighbours become one. Sums cannot take a figure back: where a
training went back to an earlier step, the heat map is made from all figures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy
from numpy.typing import NDArray

from torcheer.app.cache import Cache
from torcheer.run import (
    ESTIMATES,
    BlockFigures,
    ByteRanges,
    PartPlan,
    RankPlan,
    RecordEntry,
    RunReader,
    SqlitePart,
    StatisticsHead,
    WatchedReader,
    at_steps,
    column_of,
    estimated,
    rank_in,
)

Figures = NDArray[numpy.float32]  # [lane][step], later [lane][bucket]; NaN where nothing is known
Steps = NDArray[numpy.int64]
Places = NDArray[numpy.intp]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepBuckets:
    """Which steps stand together: some in a row, none in two buckets. A bucket may be empty."""

    chosen: slice  # the steps that are in buckets at all
    starts: Places  # where each bucket begins, among those; of buckets that hold something
    places: Places  # which buckets these are
    first_steps: list[int]  # of all buckets
    last_steps: list[int]

    @property
    def count(self) -> int:
        return len(self.first_steps)


def bucket_steps(steps: Steps, low: int | None, high: int | None, most: int) -> StepBuckets:
    """Buckets for the steps from low to high, rising: one each, or of equal widths where they are many."""
    chosen = between(steps, low, high)
    steps = steps[chosen]
    if len(steps) <= most:
        alone = numpy.arange(len(steps), dtype=numpy.intp)
        each = steps.tolist()
        return StepBuckets(chosen=chosen, starts=alone, places=alone, first_steps=each, last_steps=each)
    first, last = int(steps[0]), int(steps[-1])
    width = -((first - last - 1) // most)
    edges = list(range(first, last + 1, width))  # whole numbers of Python: these differences may be too large
    starts = numpy.searchsorted(steps, numpy.array(edges, dtype=numpy.int64))
    places = numpy.flatnonzero(numpy.diff(starts, append=len(steps)))
    return StepBuckets(
        chosen=chosen,
        starts=starts[places],
        places=places,
        first_steps=edges,
        last_steps=[min(edge + width - 1, last) for edge in edges],
    )


def between(steps: Steps, low: int | None, high: int | None) -> slice:
    """The steps from low to high, where they rise."""
    begin = 0 if low is None else _num_below(steps, low)
    end = len(steps) if high is None else _num_below(steps, high + 1)
    return slice(begin, max(begin, end))


def _num_below(steps: Steps, step: int) -> int:
    """How many steps come before this one, which may be further away than any step can be."""
    limits = numpy.iinfo(numpy.int64)
    if step > limits.max:
        return len(steps)
    return int(numpy.searchsorted(steps, max(step, limits.min)))


def mean_figures(figures: Figures, buckets: StepBuckets) -> Figures:
    """The mean of the finite values in each bucket."""
    chosen = figures[:, buckets.chosen]
    if not chosen.size:
        return _nothing(len(figures), buckets)
    return _spread(means_of(*sums_of(chosen, buckets.starts)), buckets)


def means_of(sums: NDArray[numpy.float64], counts: NDArray[Any]) -> Figures:
    with numpy.errstate(invalid="ignore"):
        means: Figures = (sums / counts).astype(numpy.float32)  # 0 / 0 is NaN
    return means


def sums_of(figures: Figures, starts: Places) -> tuple[NDArray[numpy.float64], NDArray[numpy.int32]]:
    """Sums of the finite values from each start to the next, and of how many they are."""
    with numpy.errstate(over="ignore", invalid="ignore"):
        sums = numpy.add.reduceat(figures, starts, axis=1).astype(numpy.float64)
    lengths = numpy.diff(starts, append=figures.shape[1]).astype(numpy.int32)
    counts = numpy.tile(lengths, (len(figures), 1))
    # Nearly always all is finite. Where it is not, only that is gone over with more care.
    is_bad = ~numpy.isfinite(sums)
    for lane in numpy.flatnonzero(is_bad.any(axis=1)):
        bad = numpy.flatnonzero(is_bad[lane])
        sums[lane, bad], counts[lane, bad] = _careful_sums(figures[lane], starts[bad], lengths[bad])
    return sums, counts


def _careful_sums(
    values: NDArray[numpy.float32], starts: Places, lengths: NDArray[numpy.int32]
) -> tuple[NDArray[numpy.float64], NDArray[numpy.int32]]:
    """The same for some stretches of one lane."""
    ends = numpy.cumsum(lengths, dtype=numpy.intp)
    new_starts = ends - lengths
    if ends[-1] != len(values):
        values = values[numpy.arange(ends[-1]) + numpy.repeat(starts - new_starts, lengths)]
    is_finite = numpy.isfinite(values)
    if not is_finite.any():
        return numpy.zeros(len(starts)), numpy.zeros(len(starts), dtype=numpy.int32)
    counts = numpy.add.reduceat(is_finite, new_starts, dtype=numpy.int32)
    sums = numpy.add.reduceat(numpy.where(is_finite, values, 0.0), new_starts, dtype=numpy.float64)
    return sums, counts


def highest_figures(figures: Figures, buckets: StepBuckets) -> Figures:
    """The highest value in each bucket."""
    chosen = figures[:, buckets.chosen]
    if not chosen.size:
        return _nothing(len(figures), buckets)
    return _spread(numpy.fmax.reduceat(chosen, buckets.starts, axis=1), buckets)


def _nothing(num_lanes: int, buckets: StepBuckets) -> Figures:
    return numpy.full((num_lanes, buckets.count), numpy.nan, dtype=numpy.float32)


def _spread(figures: Figures, buckets: StepBuckets) -> Figures:
    """With NaN for buckets that hold nothing."""
    if len(buckets.places) == buckets.count:
        return figures
    spread = _nothing(len(figures), buckets)
    spread[:, buckets.places] = figures
    return spread


# --- from all figures at once ---------------------------------------------------------------------


HIGHEST: Final = frozenset(("nan", "inf"))  # one step with such a value is what one looks for
MARKS: Final = {"nan": numpy.uint8(1), "inf": numpy.uint8(2)}
ESTIMATE: Final = numpy.uint8(4)  # some of the values in it are of samples


@dataclass(frozen=True, slots=True, kw_only=True)
class HeatMap:
    """A line for each row of the plan, a column for each bucket."""

    first_steps: Sequence[int]
    last_steps: Sequence[int]
    values: Figures  # NaN where nothing is known
    marks: NDArray[numpy.uint8]


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureRequest:
    """Which figure, of which rank, from which step to which."""

    rank: int
    column: str
    low: int | None
    high: int | None


def whole_heat_map(watched: WatchedReader, wish: FigureRequest, most: int) -> HeatMap:
    """From all figures at once, put together by step: right in any case, and slow where there are many."""
    table = watched.table(wish.rank, wish.column)
    buckets = bucket_steps(table.steps, wish.low, wish.high, most)
    reduce = highest_figures if wish.column in HIGHEST else mean_figures
    values = reduce(table.values, buckets)
    marks = numpy.zeros(values.shape, dtype=numpy.uint8)
    for name in MARKS.keys() & set(watched.plan(wish.rank).columns):
        other = watched.table(wish.rank, name)
        shares = highest_figures(at_steps(other.values, other.steps, table.steps), buckets)
        marks |= (shares > 0.0) * MARKS[name]  # NaN is not
    estimates = highest_figures(table.is_estimate.astype(numpy.float32), buckets)
    marks |= (estimates > 0.0) * ESTIMATE
    return HeatMap(first_steps=buckets.first_steps, last_steps=buckets.last_steps, values=values, marks=marks)


# --- blocks of statistics in cells ----------------------------------------------------------------


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

    def __init__(self, wish: FigureRequest, plan: RankPlan, part: str, blocks: Sequence[RecordEntry]) -> None:
        self._wish = wish
        self._plan = plan
        self._part = part
        self._shapes = {row.name: row.shape for row in plan.whole.rows}
        self._blocks = blocks  # kept, so that no other head comes to have the id of one of these
        self._first_steps: Mapping[int, int] = {id(block.head): block.step for block in blocks}
        self._num_bytes = 0
        self.is_cut = False  # there are more than were wanted this time

    def wanted(self, head: StatisticsHead) -> ByteRanges | None:
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
        return ByteRanges(head.num_rows * len(places), places)

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


def _columns_of(wish: FigureRequest, plan: PartPlan) -> dict[str, int]:
    """The places of the columns that are read of a plan, that of the figure first."""
    names = dict.fromkeys((wish.column, *MARKS, ESTIMATES))
    return {name: plan.columns.index(name) for name in names if name in plan.columns}


# --- a heat map that grows ------------------------------------------------------------------------


MAX_BYTES: Final = 256 << 20  # of all growing heat maps of a run
MAX_CELLS: Final = 8 << 20  # of all rows of one together
_MOST_CELLS: Final = 8192  # of a row: four for each bucket that there can be
_FEWEST_CELLS: Final = 64
_MAX_STRIP_BYTES: Final = 128 << 20
_MOST_SHIFT: Final = 62  # a cell is half of all the steps that there can be
_MAX_GROUPS: Final = 64
_KNOWN: Final = BlockFigures(numpy.empty(0, "<i8"), numpy.empty(0, "<f8"), numpy.empty((0, 0), "<f4"))

_BlockKey = tuple[str, int, int]  # its part, how often that began anew, and its number there


class GrowingHeatMap:
    """One figure of all rows in cells. For one thread at a time."""

    def __init__(self, wish: FigureRequest) -> None:
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


class HeatMaps:
    """Those of a run that were looked at last. They go with the reader of the run."""

    def __init__(self) -> None:
        self._maps: Cache[GrowingHeatMap] = Cache(MAX_BYTES)

    def look(self, reader: RunReader, wish: FigureRequest) -> GrowingHeatMap | None:
        """As of the last refresh; None where no heat map can be made in this way."""
        growing = self._maps.get(wish) or GrowingHeatMap(wish)
        is_plain = growing.read_on(reader, reader.watched.rank_plan(wish.rank))
        self._maps.put(wish, growing, growing.num_bytes)
        return growing if is_plain else None
