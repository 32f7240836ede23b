"""Curves of how well scores tell yes from no: precision against recall, and the ROC curve.

Exact: every score that occurs is a threshold, and equal scores are one, as in scikit-learn. Whatever has a
score at the threshold or above it is said to be yes. Thresholds may be called by another name than the score:
its chance, which rounds to 1 for the highest of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy
from numpy.typing import NDArray

Floats = NDArray[numpy.float64]
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


class _Counts(NamedTuple):
    thresholds: Floats  # from the highest on
    true: Floats  # how many of those at or above it are yes
    false: Floats  # and how many are not


def pr_curve(truth: Truth, scores: Floats, names: Floats | None = None) -> PrCurve:
    """`names`: of the scores, as thresholds are called; themselves, where it is left out."""
    counts = _counted(truth, scores, names)
    num_yes = counts.true[-1] if len(counts.true) else 0.0
    precision = counts.true / (counts.true + counts.false)
    recall = counts.true / num_yes if num_yes else numpy.full(len(counts.true), numpy.nan)
    steps = numpy.diff(recall, prepend=0.0)
    return PrCurve(
        precision=numpy.append(precision[::-1], 1.0),
        recall=numpy.append(recall[::-1], 0.0),
        thresholds=counts.thresholds[::-1].copy(),
        average_precision=float((steps * precision).sum()) if num_yes else float("nan"),
    )


def roc_curve(truth: Truth, scores: Floats, names: Floats | None = None) -> RocCurve:
    """`names`: of the scores, as thresholds are called; themselves, where it is left out."""
    counts = _counted(truth, scores, names)
    true, false = numpy.append(0.0, counts.true), numpy.append(0.0, counts.false)
    false_rate, true_rate = _shares(false), _shares(true)
    return RocCurve(
        false_positive_rate=false_rate,
        true_positive_rate=true_rate,
        thresholds=numpy.append(numpy.inf, counts.thresholds),
        auc=float(numpy.trapezoid(true_rate, false_rate)),
    )


def _counted(truth: Truth, scores: Floats, names: Floats | None) -> _Counts:
    # What is not a number is less than all that are: nothing speaks for it.
    is_none = numpy.isnan(scores)
    scores = numpy.where(is_none, -numpy.inf, scores)
    names = scores if names is None else numpy.where(is_none, -numpy.inf, names)
    order = numpy.argsort(-scores, kind="stable")
    ranked = scores[order]
    lasts = numpy.flatnonzero(numpy.append(ranked[1:] != ranked[:-1], True)) if len(ranked) else order
    true = numpy.cumsum(truth[order], dtype=numpy.float64)[lasts]
    return _Counts(names[order][lasts], true, lasts + 1.0 - true)


def _shares(counts: Floats) -> Floats:
    return counts / counts[-1] if counts[-1] else numpy.full(len(counts), numpy.nan)
