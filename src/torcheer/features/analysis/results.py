"""What a probe found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy

from torcheer.features.analysis.folds import Fold
from torcheer.features.analysis.rows import Indices
from torcheer.features.analysis.targets import Targets
from torcheer.netview.analysis.points import Array, Matrix

Kind = Literal["ridge", "logistic"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Probe:
    """How well a linear model reads the targets from a layer, on samples that it has not learnt from."""

    kind: Kind
    metric: Literal["accuracy", "r2"]
    scores: Matrix  # of each fold; of several targets, the mean of theirs
    target_scores: Matrix | None  # r2: folds by columns of targets; NaN where one does not vary in a fold
    alphas: Matrix  # of each fold, the one that was chosen
    samples: Indices  # that were tested: with a number of folds, all that were chosen
    folds: Indices  # in which fold each of them was tested
    predictions: Array  # one for each of them, by the model that has not seen it
    classes: Array | None
    confusion: Indices | None  # classes by classes: row the true one, column the predicted one
    num_units: int
    num_samples: int
    chance: float  # accuracy of naming the most frequent class; r2 of naming the mean
    is_converged: bool  # False: a logistic fit ended before its weights were exact

    def __repr__(self) -> str:
        return (
            f"<Probe, {self.kind}: {self.metric} {self.mean:.3f} ± {self.std:.3f} over {len(self.scores)} "
            f"folds, chance {self.chance:.3f}; {self.num_samples:,} samples, {self.num_units:,} units>"
        )

    @property
    def mean(self) -> float:
        return float(self.scores.mean())

    @property
    def std(self) -> float:
        """Over folds."""
        return float(self.scores.std())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fitted:
    """What comes out of the folds, before it is judged."""

    answers: Array  # of each chosen sample: the number of a class, or a row of numbers
    alphas: Matrix
    is_converged: bool = True


def no_answers(targets: Targets) -> Array:
    """To be filled."""
    if targets.classes is None:
        return numpy.full(targets.numbers.shape, numpy.nan)
    return numpy.zeros(len(targets.codes), numpy.int64)


def answers_of(outputs: Matrix, targets: Targets) -> Array:
    """Numbers as they are, or the class for which most speaks; of two, one column says it by its sign."""
    if targets.classes is None:
        return outputs
    if outputs.shape[1] == 1:
        return (outputs[:, 0] > 0).astype(numpy.int64)
    return numpy.asarray(outputs.argmax(axis=1), numpy.int64)


def judged(fitted: Fitted, targets: Targets, folds: list[Fold], *, kind: Kind, num_units: int) -> Probe:
    tested = numpy.sort(numpy.concatenate([fold.test for fold in folds]))
    number = numpy.full(len(targets.samples), -1)
    for place, fold in enumerate(folds):
        number[fold.test] = place
    answers = fitted.answers[tested]
    target_scores = confusion = None
    if targets.classes is None:
        target_scores = numpy.array([_r2(fitted.answers, targets.numbers, fold.test) for fold in folds])
        scores = target_scores.mean(axis=1)
        predictions = answers[:, 0] if targets.is_flat else answers
    else:
        predictions = targets.classes[answers]
        is_right = fitted.answers == targets.codes
        scores = numpy.array([is_right[fold.test].mean() for fold in folds])
        confusion = numpy.zeros((targets.num_classes, targets.num_classes), numpy.int64)
        numpy.add.at(confusion, (targets.codes[tested], answers), 1)
    return Probe(
        kind=kind,
        metric="r2" if targets.classes is None else "accuracy",
        scores=scores,
        target_scores=target_scores,
        alphas=fitted.alphas,
        samples=targets.samples[tested],
        folds=number[tested],
        predictions=predictions,
        classes=targets.classes,
        confusion=confusion,
        num_units=num_units,
        num_samples=len(targets.samples),
        chance=_chance(targets),
        is_converged=fitted.is_converged,
    )


def _r2(outputs: Matrix, numbers: Matrix, test: Indices) -> Matrix:
    true = numbers[test]
    wrong = numpy.square(true - outputs[test]).sum(axis=0)
    total = numpy.square(true - true.mean(axis=0)).sum(axis=0)
    varies = true.max(axis=0) > true.min(axis=0)
    return numpy.where(varies, 1.0 - wrong / numpy.where(varies, total, 1.0), numpy.nan)


def _chance(targets: Targets) -> float:
    if targets.classes is None:
        return 0.0
    return float(numpy.bincount(targets.codes).max() / len(targets.codes))
