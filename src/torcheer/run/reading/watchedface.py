"""What was watched in a training, as a program or a notebook gets it: `run.watched["conv1.weight"].norm`."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy
from numpy.typing import NDArray

from torcheer.errors import InputError
from torcheer.run.estimates import ESTIMATES, NUM_VALUES, figures_of
from torcheer.run.reading.reader import RunReader
from torcheer.run.reading.scalars import needed_pandas
from torcheer.run.reading.sparkline import sparkline
from torcheer.run.reading.watchedtables import WatchedFigures, WatchedTable, every_text, steps_text
from torcheer.run.records import WatchedRow


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

    def __init__(self, figures: WatchedFigures) -> None:
        self.row = figures.row
        self.columns = figures_of(figures.columns)
        self.steps = figures.steps
        self.times = figures.times
        self._figures = figures

    def __getitem__(self, column: str) -> Figures:
        _check(column, self.columns, "figure")
        return Figures(
            name=self.row.name,
            column=column,
            steps=self.steps,
            times=self.times,
            values=self._figures.column(column),
            is_estimate=self._figures.is_estimate(column),
            num_values=self._figures.num_values(column),
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
        data |= {column: self._figures.column(column) for column in self.columns}
        marks = {column: self._figures.is_estimate(column) for column in self.columns}
        data[ESTIMATES] = [
            " ".join(column for column, mark in marks.items() if mark[step]) for step in range(len(self))
        ]
        num_values = self._figures.column(NUM_VALUES)
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
        figures = self._reader.watched.row(self.rank, name)
        if figures is None:  # taken back since
            raise InputError(f"{name!r} is not watched any more: ask the run for run.watched again.")
        return WatchedSeries(figures)

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
    near = difflib.get_close_matches(str(wanted), there, n=3, cutoff=0.5)
    listed = ", ".join(map(repr, near or there[:8])) or "none at all"
    raise InputError(
        f"there is no {what} {wanted!r} that was watched: {'did you mean' if near else 'there is'} {listed}."
    )
