"""What a kind of alarm looks at, and what it answers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy
from numpy.typing import NDArray

from torcheer.inspector.columns import COLUMN
from torcheer.inspector.frames import HAS_NORM, IS_SEEN, Frame
from torcheer.inspector.messages import Numbers
from torcheer.inspector.rows import Plan, Row

Indices = NDArray[numpy.intp]
Marks = NDArray[numpy.bool_]


class Sight(NamedTuple):
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a kind found: the row, or for a number its name, and what to say."""

    layer: str
    variable: str
    value: float | None
    threshold: float | None
    message: str


class Kind(Protocol):
    """One kind of alarm, with what it remembers."""

    def look(self, sight: Sight) -> list[Finding]: ...

    def look_at_numbers(self, numbers: Numbers) -> list[Finding]: ...

    def renewed(self, plan: Plan) -> Kind:
        """The same for other rows; what it knows of rows that stay, it still knows."""
        ...


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
