"""A row for each class: how often it was right to say it, and how much of it was found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy
from numpy.typing import NDArray

from torcheer.graph import Column, RowTable

Counts = NDArray[numpy.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassRow:
    """One class. A share of nothing is 0, as scikit-learn has it."""

    label: str
    precision: float  # of those that were said to be of it, the share that is
    recall: float  # of those that are of it, the share that was said to be
    f1: float  # the harmonic mean of the two
    support: int  # how many there are
    average_precision: float | None = None
    auc: float | None = None  # of the ROC curve


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """An item of which the wrong class was said."""

    index: int  # of the item, in the order in which the loader gave them
    said: str  # "NaN" where the scores are no numbers
    target: str
    sure: float  # the chance that the model gave to what it said


class ClassTable(RowTable[ClassRow]):
    """One row a class. `table['cat']` is the row of a class, `table.sort('f1')` has the worst first."""


class MistakeTable(RowTable[Mistake]):
    """One row for each item that was wrong. `table.sort('sure', descending=True)`: the most certain first."""


class Averages(NamedTuple):
    """Of all classes together."""

    precision: float
    recall: float
    f1: float


def share_text(value: float) -> str:
    return f"{value:.4f}"


_CLASS_COLUMNS = (
    Column(name="label", to_right=False),
    *(Column(name=name, show=share_text) for name in ("precision", "recall", "f1")),
    Column(name="support"),
    *(Column(name=name, show=share_text) for name in ("average_precision", "auc")),
)
_MISTAKE_COLUMNS = (
    Column(name="index"),
    *(Column(name=name, to_right=False) for name in ("said", "target")),
    Column(name="sure", show=share_text),
)


def class_rows(confusion: Counts, labels: Sequence[str], unsaid: Counts | None = None) -> list[ClassRow]:
    """`confusion` has a row for each true class, a column for each that was said; `unsaid`, how many of each
    true class are in none of them."""
    right, said, true = numpy.diag(confusion), confusion.sum(0), confusion.sum(1)
    true = true if unsaid is None else true + unsaid
    return [
        ClassRow(
            label=label,
            precision=_share(right[number], said[number]),
            recall=_share(right[number], true[number]),
            f1=_share(2 * right[number], said[number] + true[number]),
            support=int(true[number]),
        )
        for number, label in enumerate(labels)
    ]


def averages(rows: Sequence[ClassRow], weights: Sequence[int] | None = None) -> Averages:
    """The means over classes, each alike; with weights, by how many there are of each."""
    if not rows or (weights is not None and not sum(weights)):
        return Averages(0.0, 0.0, 0.0)
    values = numpy.array([[row.precision, row.recall, row.f1] for row in rows])
    return Averages(*numpy.average(values, axis=0, weights=weights).tolist())


def class_table(rows: Sequence[ClassRow], find: Callable[[str], ClassRow], foot: str = "") -> ClassTable:
    has_curves = any(row.auc is not None for row in rows)
    return ClassTable(rows, _CLASS_COLUMNS if has_curves else _CLASS_COLUMNS[:5], find, foot)


def mistake_table(rows: Sequence[Mistake], find: Callable[[str], Mistake]) -> MistakeTable:
    return MistakeTable(rows, _MISTAKE_COLUMNS, find)


def _share(part: int, whole: int) -> float:
    return float(part / whole) if whole else 0.0
