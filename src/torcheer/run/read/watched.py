"""What was watched in a training, as a program or a notebook gets it: `run.watched["conv1.weight"].norm`."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TextIO, TypeVar

import msgspec
import numpy
from numpy.typing import NDArray

from torcheer.errors import InputError
from torcheer.run.read.part_protocol import Part, RecordEntry, rank_in
from torcheer.run.read.scalars import nearest, needed_pandas, sparkline
from torcheer.run.read.sqlite_part import BlockFigures, ByteRanges, SqlitePart, column_of, row_of
from torcheer.run.records import AlarmHead, GapReason, StatisticsHead, WatchedRow, WatchHead
from torcheer.run.statistics import ESTIMATES, NUM_VALUES, estimated, figures_of

if TYPE_CHECKING:
    from torcheer.run.read.run_reader import RunReader


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Figures:
    """One figure of one row over steps. `numpy.asarray` gives the values."""

    name: str  # of the row
    column: str
    steps: NDArray[numpy.int64]
    times: NDArray[numpy.float64]  # seconds since 1970
    values: NDArray[numpy.float32]  # NaN where it is not known
    is_estimate: NDArray[numpy.bool_]  # where it is a figure of a sample, and not of the whole tensor
    num_values: int | None  # in such a sample; None where there are no estimates, or nobody knows

    def exact(self) -> Figures:
        """The same at the steps at which it is the figure of the whole tensor."""
        chosen = ~self.is_estimate & ~numpy.isnan(self.values)
        return replace(
            self,
            steps=self.steps[chosen],
            times=self.times[chosen],
            values=self.values[chosen],
            is_estimate=self.is_estimate[chosen],
            num_values=None,
        )

    def __len__(self) -> int:
        return len(self.values)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return numpy.array(self.values, dtype) if copy else numpy.asarray(self.values, dtype)

    def __repr__(self) -> str:
        curve = sparkline(self.values.astype(numpy.float64))
        about = _about(int(self.is_estimate.sum()), len(self), self.num_values)
        return f"<Figures {self.column} of {self.name!r}: {steps_text(self.steps)} {curve}{about}>"


def _about(num_estimates: int, num_all: int, num_values: int | None) -> str:
    """`, ≈ of 512 values at 19 of 20 steps`"""
    if not num_estimates:
        return ""
    of = "" if num_values is None else f" of {num_values:,} values"
    return f", ≈{of}" + (f" at {num_estimates:,} of {num_all:,} steps" if num_estimates < num_all else "")


class WatchedSeries:
    """One row over the steps at which it was seen: `.norm` and the like are its figures."""

    def __init__(
        self,
        row: WatchedRow,
        columns: Sequence[str],
        steps: NDArray[numpy.int64],
        times: NDArray[numpy.float64],
        values: NDArray[numpy.float32],  # [column][step]
    ) -> None:
        self.row = row
        self.columns = figures_of(columns)
        self.steps = steps
        self.times = times
        self._values = dict(zip(columns, values, strict=True))

    def column(self, column: str) -> NDArray[numpy.float32]:
        """NaN where nothing is known, and throughout for a column that there is not."""
        found = self._values.get(column)
        return numpy.full(len(self.steps), numpy.nan, numpy.float32) if found is None else found

    def __getitem__(self, column: str) -> Figures:
        _check(column, self.columns, "figure")
        values = self.column(column)
        is_estimate = estimated(column, values, self.column(ESTIMATES), self.row.shape)
        known = self.column(NUM_VALUES)[is_estimate]
        return Figures(
            name=self.row.name,
            column=column,
            steps=self.steps,
            times=self.times,
            values=values,
            is_estimate=is_estimate,
            num_values=int(known[-1]) if len(known) and numpy.isfinite(known[-1]) else None,
        )

    def __getattr__(self, column: str) -> Figures:
        if column.startswith("_"):
            raise AttributeError(column)
        try:
            return self[column]
        except InputError as error:
            raise AttributeError(str(error)) from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.columns]

    def __len__(self) -> int:
        return len(self.steps)

    def to_pandas(self) -> Any:
        """A data frame: a row for each step, a column for each figure, and the time. Needs pandas.

        The column `estimates` names the figures that are those of a sample of `num_values` values, which is
        NaN at steps without estimates.
        """
        pandas = needed_pandas("to_pandas")
        data = {"time": pandas.to_datetime(self.times, unit="s", utc=True)}
        data |= {column: self.column(column) for column in self.columns}
        marks = {column: self[column].is_estimate for column in self.columns}
        data[ESTIMATES] = [
            " ".join(column for column, mark in marks.items() if mark[step]) for step in range(len(self))
        ]
        num_values = self.column(NUM_VALUES)
        data[NUM_VALUES] = numpy.where([bool(names) for names in data[ESTIMATES]], num_values, numpy.nan)
        return pandas.DataFrame(data, index=pandas.Index(self.steps, name="step"))

    def __repr__(self) -> str:
        return f"<WatchedSeries {self.row.name!r}: {steps_text(self.steps)}, {', '.join(self.columns)}>"


class Watched:
    """What was watched by one rank of a run, the lowest unless another is asked for, as of now."""

    def __init__(self, reader: RunReader, rank: int | None = None) -> None:
        self.ranks = reader.watched.ranks()
        self.rank = rank if rank is not None else (self.ranks or [0])[0]
        self._reader = reader
        self._plan = reader.watched.plan(self.rank)

    def of_rank(self, rank: int) -> Watched:
        """The same of another rank."""
        if rank not in self.ranks:
            listed = ", ".join(map(str, self.ranks)) or "none at all"
            raise InputError(f"rank {rank} of this run was not watched: there is {listed}.")
        return Watched(self._reader, rank)

    @property
    def rows(self) -> tuple[WatchedRow, ...]:
        """Tensors that were watched: name, layer, variable, role, module and shape of each."""
        return self._plan.rows

    @property
    def names(self) -> list[str]:
        return [row.name for row in self.rows]

    def watch_of(self, name: str) -> str | None:
        """The name= of the watch that a row is of, empty for one without; None where nobody knows."""
        return self._plan.watches.get(name)

    @property
    def layers(self) -> list[str]:
        return list(dict.fromkeys(row.layer for row in self.rows))

    @property
    def columns(self) -> tuple[str, ...]:
        """The figures that there are: mean, std, norm…"""
        return figures_of(self._plan.columns)

    @property
    def every(self) -> str:
        """How often it was to be watched, as it was asked for."""
        return self._plan.every

    @property
    def got(self) -> str:
        """How often it was really watched of late, in the same form; empty where nobody knows."""
        return self._reader.watched.got(self.rank)

    @property
    def steps(self) -> NDArray[numpy.int64]:
        """The steps that were watched, as far as they are kept."""
        column = self.columns[0] if self.columns else ""
        return self._reader.watched.table(self.rank, column).steps

    def table(self, column: str) -> WatchedTable:
        """One figure of all rows over steps: `run.watched.table("norm")`."""
        _check(column, self.columns, "figure")
        return self._reader.watched.table(self.rank, column)

    def to_pandas(self, column: str) -> Any:
        """One figure as a data frame: a row for each step, a column for each row. Needs pandas.

        `≈ 0.weight` is True at the steps at which the figure of `0.weight` is that of a sample.
        """
        return self.table(column).to_pandas()

    def __getitem__(self, name: str) -> WatchedSeries:
        _check(name, self.names, "row")
        series = self._reader.watched.row(self.rank, name)
        if series is None:  # taken back since
            raise InputError(f"{name!r} is not watched any more: ask the run for run.watched again.")
        return series

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        if not self.rows:
            return "<Watched: nothing was watched>"
        ranks = f", rank {self.rank} of {', '.join(map(str, self.ranks))}" if len(self.ranks) > 1 else ""
        every = f", {every_text(self.every, self.got)}" if self.every else ""
        return (
            f"<Watched: {len(self.rows)} rows of {len(self.layers)} layers, {len(self.columns)} figures, "
            f"{self._plan.num_steps:,} steps{every}{ranks}>"
        )


def _check(wanted: str, there: Sequence[str], what: str) -> None:
    if wanted in there:
        return
    raise InputError(f"there is no {what} {wanted!r} that was watched: {nearest(str(wanted), there)}.")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class WatchedTable:
    """One figure of all rows over steps, as a heat map shows it."""

    column: str
    rows: tuple[WatchedRow, ...]
    steps: NDArray[numpy.int64]
    times: NDArray[numpy.float64]  # seconds since 1970
    values: NDArray[numpy.float32]  # [row][step], NaN where nothing is known
    is_estimate: NDArray[numpy.bool_]  # [row][step], True for a figure of a sample

    @property
    def names(self) -> list[str]:
        return [row.name for row in self.rows]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return numpy.array(self.values, dtype) if copy else numpy.asarray(self.values, dtype)

    def to_pandas(self) -> Any:
        """A data frame: a row for each step, a column for each row that was watched. Needs pandas.

        Behind these stands a column `≈ name` for each that has estimates: True at the steps of which the
        figure is that of a sample.
        """
        pandas = needed_pandas("to_pandas")
        index = pandas.Index(self.steps, name="step")
        values = pandas.DataFrame(self.values.T, index=index, columns=self.names)
        places = numpy.flatnonzero(self.is_estimate.any(axis=1))
        marked = [f"≈ {self.names[place]}" for place in places]
        marks = pandas.DataFrame(self.is_estimate[places].T, index=index, columns=marked)
        return pandas.concat([values, marks], axis=1) if len(places) else values

    def __repr__(self) -> str:
        about = " ≈" if self.is_estimate.any() else ""
        return f"<WatchedTable {self.column}{about}: {len(self.rows)} rows, {steps_text(self.steps)}>"


def every_text(every: str, got: str) -> str:
    """`20/s asked, 1.2/s got`; the first alone where both are the same, or the second is not known."""
    how = every if "/" in every else f"every {every}"
    is_known = got and got != every
    return f"{how} asked, {got if '/' in got else f'every {got}'} got" if is_known else how


def steps_text(steps: NDArray[numpy.int64]) -> str:
    if not len(steps):
        return "no steps"
    return f"{len(steps):,} steps, {steps[0]}–{steps[-1]}" if len(steps) > 1 else f"step {steps[0]}"


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
                if its is None or (len(its.names), len(its.head.columns)) != (
                    head.num_rows,
                    head.num_columns,
                ):
                    part.note_damage("it is not known what some statistics are of")
                    return None
                if row is not None:
                    return row_of(head, its.names.index(row)) if row in its.names else None
                return column_of(head, its.head.columns.index(column)) if column in its.head.columns else None

            for block, figures in part.figures(wanted):
                assert isinstance(block.head, StatisticsHead)
                its = plans[block.head.digest]
                lines = [places.get(name, -1) for name in (its.names if row is None else its.head.columns)]
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
        _extend(columns, dict.fromkeys(plan.head.columns), _MOST_COLUMNS)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """Something of a training that a person should look at."""

    alarm: str  # its kind: nan, exploding_gradient…
    layer: str
    variable: str
    step: int
    time: float  # seconds since 1970
    value: float | None  # None where it was NaN or infinite, or there is none
    threshold: float | None
    message: str
    rank: int
    record: str  # by which the run finds it again: rank-0:17

    @property
    def row(self) -> str:
        """The name of what is wrong: `features.0.weight.Grad`."""
        return ".".join(filter(None, (self.layer, self.variable)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Something that was to be observed, and was not."""

    reason: GapReason
    counts: Mapping[str, int]  # records that are missing, by name
    first_step: int
    last_step: int
    time: float  # seconds since 1970
    message: str
    rank: int
    record: str

    @property
    def num_missing(self) -> int:
        return sum(self.counts.values())


class _Place(NamedTuple):
    """How far a part was read."""

    restarts: int
    last_record: int = 0
    num_records: int = 0  # alarms and gaps that there were


EventsCursor = Mapping[str, _Place]  # how far they were read, by part


class EventsTail(NamedTuple):
    """What came after a cursor, by time; all that there is where `is_fresh`."""

    alarms: list[Alarm]
    gaps: list[Gap]
    cursor: EventsCursor
    is_fresh: bool


def events_after(
    parts: Mapping[str, Part], restarts: Mapping[str, int], cursor: EventsCursor | None
) -> EventsTail:
    """As of the last refresh of the parts. Where some of what was read before is gone, all comes again."""
    places = cursor or {}
    is_fresh = cursor is None or not places.keys() <= parts.keys()
    reached: dict[str, _Place] = {}
    alarms: list[Alarm] = []
    gaps: list[Gap] = []
    for name, part in parts.items():
        place = places.get(name, _Place(restarts[name]))
        count, last_record, num_new = 0, place.last_record, 0
        for key, entry in part.series().items():
            if key.kind not in ("alarm", "gap"):
                continue
            found = part.records(key.kind, key.name, place.last_record)
            for one in found:
                about = msgspec.structs.asdict(one.head)
                about |= {"time": one.time, "rank": rank_in(one.part), "record": f"{one.part}:{one.id}"}
                if isinstance(one.head, AlarmHead):
                    alarms.append(Alarm(alarm=key.name, step=one.step, **about))
                else:
                    gaps.append(Gap(first_step=one.step, **about))
            last_record = max(last_record, *(one.id for one in found[-1:]), 0)
            count, num_new = count + entry.count, num_new + len(found)
        is_fresh |= place.restarts != restarts[name] or count < place.num_records + num_new
        reached[name] = _Place(restarts[name], last_record, count)
    if is_fresh and places:
        return events_after(parts, restarts, None)
    alarms.sort(key=lambda alarm: alarm.time)
    gaps.sort(key=lambda gap: gap.time)
    return EventsTail(alarms, gaps, reached, is_fresh)


_TITLES: Final = (
    *("event", "kind", "rank", "step", "last_step", "time"),
    *("layer", "variable", "value", "threshold", "missing", "message"),
)


def write_events_csv(reader: RunReader, stream: TextIO) -> None:
    """A row for each, by time. What one of them has not is left empty."""
    writer = csv.DictWriter(stream, _TITLES, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    found = reader.events()
    alarms = [
        {**asdict(alarm), "event": "alarm", "kind": alarm.alarm, "last_step": alarm.step}
        for alarm in found.alarms
    ]
    gaps = [
        {
            **asdict(gap),
            "event": "gap",
            "kind": gap.reason,
            "step": gap.first_step,
            "missing": gap.num_missing,
        }
        for gap in found.gaps
    ]
    writer.writerows(sorted([*alarms, *gaps], key=lambda event: event["time"]))
