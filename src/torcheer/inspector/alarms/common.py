"""What a kind of alarm looks at, and what it answers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, ClassVar, Final, NamedTuple, Self

import numpy
from numpy.typing import NDArray

from torcheer.inspector.frame_format import COLUMN, HAS_NORM, IS_SEEN, Frame, Plan, Row
from torcheer.inspector.protocol import Numbers, Thresholds

Indices = NDArray[numpy.intp]
Marks = NDArray[numpy.bool_]


class FrameFigures(NamedTuple):
    """One frame, and the figures of its rows as [row][column]."""

    frame: Frame
    figures: NDArray[numpy.float32]

    def column(self, name: str, rows: Indices) -> NDArray[numpy.float64]:
        values: NDArray[numpy.float64] = self.figures[rows, COLUMN[name]].astype(numpy.float64)
        return values

    def is_seen(self, rows: Indices) -> Marks:
        seen: Marks = (self.frame.rows["flags"][rows] & IS_SEEN) != 0
        return seen

    def has_exact_norm(self, rows: Indices) -> Marks:
        """Whether norm, NaN and Inf are those of the whole tensor."""
        heads = self.frame.rows[rows]
        exact: Marks = ((heads["flags"] & HAS_NORM) != 0) | (heads["num_sampled"] >= heads["num_elements"])
        return exact

    def is_finite(self, rows: Indices) -> Marks:
        """Nothing in it is NaN or infinite, as far as it was seen."""
        others = self.figures[rows, COLUMN["nan"]] + self.figures[rows, COLUMN["inf"]]
        finite: Marks = ~(others > 0)
        return finite


class Finding(NamedTuple):
    """What a kind found: the row, or for a number its name, and what to say."""

    layer: str
    variable: str
    value: float | None
    threshold: float | None
    message: str


class Places:
    """The rows that a kind looks at, and their names, by which they are found again in another plan."""

    def __init__(self, plan: Plan, chosen: Iterable[int]) -> None:
        indices = list(chosen)
        self.rows: list[Row] = [plan.rows[index] for index in indices]
        self.indices: Indices = numpy.array(indices, dtype=numpy.intp)

    def __len__(self) -> int:
        return len(self.rows)

    def carry(self, old: Places, arrays: Iterable[tuple[NDArray[Any], NDArray[Any]]]) -> None:
        """Copy what is remembered of rows that stay. Pairs of arrays, new and old, a row for each place."""
        before = {row.name: index for index, row in enumerate(old.rows)}
        pairs = [(index, before[row.name]) for index, row in enumerate(self.rows) if row.name in before]
        if not pairs:
            return
        here, there = numpy.array(pairs, dtype=numpy.intp).T
        for new_array, old_array in arrays:
            new_array[here] = old_array[there]


# --- how long something is bad or well ------------------------------------------------------------------


WELL: Final = 0.9  # of a limit: what lies between is neither bad nor well, and raises nothing again and again


class Bouts:
    """For each of some places: since how many steps it is bad or well, and whether that was said."""

    def __init__(self, count: int, steps: int, well_steps: int) -> None:
        self._steps, self._well_steps = steps, well_steps
        self.num_bad = numpy.zeros(count, dtype=numpy.int64)
        self.num_well = numpy.zeros(count, dtype=numpy.int64)
        self.is_raised = numpy.zeros(count, dtype=numpy.bool_)

    def update(self, is_bad: Marks, is_known: Marks) -> Indices:
        """The places of which an alarm is due. What is not known now changes nothing."""
        is_bad, is_well = is_bad & is_known, ~is_bad & is_known
        self.num_bad[is_bad] += 1
        self.num_well[is_bad] = 0
        self.num_well[is_well] += 1
        self.num_bad[is_well] = 0
        self.is_raised[self.num_well >= self._well_steps] = False
        is_due = is_bad & ~self.is_raised & (self.num_bad >= self._steps)
        self.is_raised |= is_due
        return numpy.flatnonzero(is_due)

    def pairs_with(self, old: Bouts) -> Iterable[tuple[NDArray[Any], NDArray[Any]]]:
        """What `Places.carry` copies."""
        return [
            (self.num_bad, old.num_bad),
            (self.num_well, old.num_well),
            (self.is_raised, old.is_raised),
        ]


class Kind:
    """One kind of alarm, with what it remembers. It looks at some rows of a plan, at numbers, or at both."""

    remembered: ClassVar[tuple[str, ...]] = ()  # attributes that hold for any plan
    of_places: ClassVar[tuple[str, ...]] = ()  # those with something for each place: arrays, and bouts

    def __init__(self, plan: Plan, thresholds: Thresholds, chosen: Iterable[int] = ()) -> None:
        self._thresholds = thresholds
        self._places = Places(plan, chosen)

    def look(self, sight: FrameFigures) -> list[Finding]:
        return []

    def look_at_numbers(self, numbers: Numbers) -> list[Finding]:
        return []

    def renewed(self, plan: Plan) -> Self:
        """The same for other rows; what it knows of rows that stay, it still knows."""
        new = type(self)(plan, self._thresholds)
        for name in self.remembered:
            setattr(new, name, getattr(self, name))
        for name in self.of_places:
            here, there = getattr(new, name), getattr(self, name)
            pairs = here.pairs_with(there) if isinstance(here, Bouts) else [(here, there)]
            new._places.carry(self._places, pairs)
        return new


# --- words ----------------------------------------------------------------------------------------------


def number(value: float) -> str:
    """Three digits that count: 0.0123, 4.1e+05."""
    return f"{value:.3g}"


def times(factor: float) -> str:
    """How many times as large: two digits that count."""
    if not math.isfinite(factor) or factor >= 1e6:
        return f"{factor:.1e} times"
    if factor >= 100:
        factor = round(factor, 1 - math.floor(math.log10(factor)))
    return f"{factor:,.0f} times" if factor >= 10 else f"{factor:.1f} times"


def percent(share: float) -> str:
    """A share that is not 0 never reads as 0, and one that is not all never as 100."""
    if share < 0.001:
        return "less than 0.1 %"
    if 0.999 < share < 1:
        return "more than 99.9 %"
    return f"{100 * share:.3g} %"


def counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def parameter(row: Row) -> str:
    """The parameter that a row is about: features.0.weight, also for its gradient."""
    return row.name.removesuffix(".Grad").removesuffix(".Delta")


def layer(row: Row) -> str:
    """A layer as people speak of it: features.1 (ReLU)."""
    name = row.layer or "the model"
    return f"{name} ({row.module})" if row.module else name
