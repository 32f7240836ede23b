"""Figures of classes: chances, curves, and a row for each class."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy
import torch
from numpy.typing import NDArray
from torch import Tensor

from torcheer.graph import Column, RowTable
from torcheer.training.loss_functions import LossKind

# --- scores as chances --------------------------------------------------------------------------------------

Floats = NDArray[numpy.float64]
_TOLERANCE = 1e-3  # by which the chances of an item may miss 1, in half precision
_MOST_KEPT = 20_000_000  # scores whose softmax is kept for all classes; of more it is computed for each


class Chances:
    """The chance of each class for each item, computed when somebody asks for a class.

    `scores` are (items, classes), or (items,) for yes or no. They are chances already where the loss says so,
    or, where it says nothing, where they look so: between 0 and 1, and of all classes together 1.
    """

    def __init__(self, scores: NDArray[numpy.floating], kind: LossKind | None) -> None:
        self._scores = scores
        self._kind = kind

    @cached_property
    def are_given(self) -> bool:
        if self._kind in ("logits", "probabilities") or (self._kind is not None and self._scores.ndim == 2):
            return self._kind == "probabilities"
        scores = self._scores
        with numpy.errstate(invalid="ignore"):
            if ((scores < 0) | (scores > 1)).any():  # what is NaN does not say
                return False
            if scores.ndim == 1:
                return True
            return not (abs(scores.sum(1, dtype=numpy.float64) - 1) >= _TOLERANCE).any()

    @property
    def num_classes(self) -> int:
        return 2 if self._scores.ndim == 1 else int(self._scores.shape[1])

    def of(self, number: int) -> Floats:
        """The chance of a class, for each item."""
        if self._scores.ndim == 1:
            scores = self._scores.astype(numpy.float64)
            if self.are_given:
                return scores if number == 1 else 1 - scores
            with numpy.errstate(all="ignore"):
                return numpy.exp(-numpy.logaddexp(0, -scores if number == 1 else scores))
        return self._column(number)

    def ranking(self, number: int) -> Floats:
        """By what items are ranked for a class, and which of them are tied. As one would rank them oneself:

        - by the one score of an item as it is, since the sigmoid rounds all high scores to the same 1;
        - by `torch.softmax(scores.double(), 1)` where there are several, to the last bit. The same chances
          summed up in another order differ in their last digits, and then other items are tied.
        """
        if self._scores.ndim == 2:
            return self._column(number)
        scores = self._scores.astype(numpy.float64)
        return scores if number == 1 else -scores

    def _column(self, number: int) -> Floats:
        if self.are_given:
            return self._scores[:, number].astype(numpy.float64)
        if self._scores.size <= _MOST_KEPT:
            return self._softmax[:, number].copy()
        return self._in_parts(lambda part: part.softmax(1)[:, number])

    @cached_property
    def _softmax(self) -> Floats:
        return self._in_parts(lambda part: part.softmax(1))

    @cached_property
    def _log_totals(self) -> Floats:
        """Of each item the logarithm of what its chances are divided by."""
        return self._in_parts(lambda part: part.logsumexp(1))

    def _in_parts(self, function: Callable[[Tensor], Tensor]) -> Floats:
        """Of all scores in double precision, but not of all of them at once."""
        parts = torch.split(torch.from_numpy(self._scores), max(1, _MOST_KEPT // self.num_classes))
        return torch.cat([function(part.double()) for part in parts]).numpy()

    def log_of_each(self, numbers: NDArray[numpy.int64]) -> Floats:
        """For each item the logarithm of the chance of one class."""
        with numpy.errstate(all="ignore"):
            if self._scores.ndim == 1:
                scores = self._scores.astype(numpy.float64)
                if self.are_given:
                    return numpy.log(numpy.where(numbers == 1, scores, 1 - scores))
                return -numpy.logaddexp(0, numpy.where(numbers == 1, -scores, scores))
            own = self._scores[numpy.arange(len(numbers)), numbers].astype(numpy.float64)
            return numpy.log(own) if self.are_given else own - self._log_totals


# --- curves -------------------------------------------------------------------------------------------------
#
# Exact: every score that occurs is a threshold, and equal scores are one, as in scikit-learn. Whatever has a
# score at the threshold or above it is said to be yes. Thresholds may be called by another name than the
# score: its chance, which rounds to 1 for the highest of them.

Truth = NDArray[numpy.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PrCurve:
    """Precision and recall at each threshold, from the lowest on; the last point, 1 and 0, has none."""

    precision: Floats
    recall: Floats
    thresholds: Floats
    average_precision: float  # NaN where nothing is yes

    def __repr__(self) -> str:
        return (
            f"<PrCurve: {len(self.thresholds):,} thresholds, average precision {self.average_precision:.4g}>"
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RocCurve:
    """The shares of no and of yes that are said to be yes, from the highest threshold on."""

    false_positive_rate: Floats
    true_positive_rate: Floats
    thresholds: Floats
    auc: float  # the area below it: NaN where all is yes, or nothing

    def __repr__(self) -> str:
        return f"<RocCurve: {len(self.thresholds):,} thresholds, area {self.auc:.4g}>"


def pr_curve(truth: Truth, scores: Floats, names: Floats | None = None) -> PrCurve:
    """`names`: of the scores, as thresholds are called; themselves, where it is left out."""
    thresholds, true, false = _counted(truth, scores, names)
    num_yes = true[-1] if len(true) else 0.0
    precision = true / (true + false)
    recall = true / num_yes if num_yes else numpy.full(len(true), numpy.nan)
    steps = numpy.diff(recall, prepend=0.0)
    return PrCurve(
        precision=numpy.append(precision[::-1], 1.0),
        recall=numpy.append(recall[::-1], 0.0),
        thresholds=thresholds[::-1].copy(),
        average_precision=float((steps * precision).sum()) if num_yes else float("nan"),
    )


def roc_curve(truth: Truth, scores: Floats, names: Floats | None = None) -> RocCurve:
    """`names`: of the scores, as thresholds are called; themselves, where it is left out."""
    thresholds, true, false = _counted(truth, scores, names)
    true_rate, false_rate = _shares(numpy.append(0.0, true)), _shares(numpy.append(0.0, false))
    return RocCurve(
        false_positive_rate=false_rate,
        true_positive_rate=true_rate,
        thresholds=numpy.append(numpy.inf, thresholds),
        auc=float(numpy.trapezoid(true_rate, false_rate)),
    )


def _counted(truth: Truth, scores: Floats, names: Floats | None) -> tuple[Floats, Floats, Floats]:
    """Thresholds from the highest on, how many of those at or above each are yes, and how many are not."""
    # What is not a number is less than all that are: nothing speaks for it.
    is_none = numpy.isnan(scores)
    scores = numpy.where(is_none, -numpy.inf, scores)
    names = scores if names is None else numpy.where(is_none, -numpy.inf, names)
    order = numpy.argsort(-scores, kind="stable")
    ranked = scores[order]
    lasts = numpy.flatnonzero(numpy.append(ranked[1:] != ranked[:-1], True)) if len(ranked) else order
    true = numpy.cumsum(truth[order], dtype=numpy.float64)[lasts]
    return names[order][lasts], true, lasts + 1.0 - true


def _shares(counts: Floats) -> Floats:
    return counts / counts[-1] if counts[-1] else numpy.full(len(counts), numpy.nan)


# --- tables -------------------------------------------------------------------------------------------------

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


CLASS_COLUMNS = (
    Column(name="label", to_right=False),
    *(Column(name=name, show="{:.4f}".format) for name in ("precision", "recall", "f1")),
    Column(name="support"),
    *(Column(name=name, show="{:.4f}".format) for name in ("average_precision", "auc")),
)
MISTAKE_COLUMNS = (
    Column(name="index"),
    *(Column(name=name, to_right=False) for name in ("said", "target")),
    Column(name="sure", show="{:.4f}".format),
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


def averages(rows: Sequence[ClassRow], weights: Sequence[int] | None = None) -> list[float]:
    """Precision, recall and f1 over classes, each alike; with weights, by how many there are of each."""
    if not rows or (weights is not None and not sum(weights)):
        return [0.0, 0.0, 0.0]
    values = numpy.array([[row.precision, row.recall, row.f1] for row in rows])
    found: list[float] = numpy.average(values, axis=0, weights=weights).tolist()
    return found


def _share(part: int, whole: int) -> float:
    return float(part / whole) if whole else 0.0
