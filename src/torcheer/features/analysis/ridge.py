"""Ridge regression, exact, for all folds: by products of units, or by products of samples.

Of several alphas, each fold takes the one with the least squared error when every sample that it learns from
is left out once, which has a formula: residual / (1 - leverage).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy

from torcheer.features.analysis.folds import Fold
from torcheer.features.analysis.kernels import kernels
from torcheer.features.analysis.moments import Moments, in_groups, moments
from torcheer.features.analysis.progress import Told, part
from torcheer.features.analysis.results import Fitted, answers_of, no_answers
from torcheer.features.analysis.rows import Source
from torcheer.features.analysis.targets import Targets
from torcheer.netview.analysis.points import Array, Matrix

_EPSILON: Final = float(numpy.finfo(numpy.float64).eps)
_ONE: Final = 4  # square matrices at once: the sums, those of one fold, what is solved
_SEVERAL: Final = 7  # and the eigenvectors, and the room that it takes to find them


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RidgeTask:
    targets: Targets
    folds: list[Fold]
    alphas: Matrix  # to choose from
    standardize: bool


def square_bytes(size: int, num_alphas: int) -> int:
    """What a fit by `size` units, or by `size` samples, needs at least."""
    return 8 * size**2 * (_ONE if num_alphas == 1 else _SEVERAL)


@dataclass(slots=True, kw_only=True, eq=False)
class _Line:
    """One fold: units, without their mean and scaled, turned such that they do not depend on one another."""

    fold: Fold
    known: Moments
    scale: Matrix
    squares: Matrix  # of each direction; of one alpha, there are none
    turned: Matrix | None
    errors: Matrix  # of each alpha, summed over what is learnt from
    weights: Matrix
    alpha: float


def by_units(source: Source, task: RidgeTask, memory_bytes: int, told: Told) -> Fitted:
    """Two passes: sums and predictions; with several alphas, one between them. More where memory is short."""
    several = len(task.alphas) > 1
    one = 8 * source.num_units**2
    trains = [fold.train for fold in task.folds]
    spare = memory_bytes - square_bytes(source.num_units, len(task.alphas)) + one * (1 + several)
    groups = in_groups(trains, one, one if several else 0, spare)
    answers, alphas = no_answers(task.targets), numpy.empty(len(task.folds))
    for place, group in enumerate(groups):
        share = part(told, place / len(groups), (place + 1) / len(groups))
        lines = _lines(source, task, [task.folds[number] for number in group], part(share, 0.0, 0.5))
        if several:
            _leave_out(source, task, lines)
            for line in lines:
                _choose(line, task.alphas)
        _predict(source, task.targets, lines, answers, part(share, 0.75 if several else 0.5, 1.0))
        alphas[group] = [line.alpha for line in lines]
    return Fitted(answers=answers, alphas=alphas)


def _lines(source: Source, task: RidgeTask, folds: list[Fold], told: Told) -> list[_Line]:
    lines = []
    found = moments(source, [fold.train for fold in folds], task.targets.columns, has_gram=True, told=told)
    for fold, known in zip(folds, found, strict=True):
        assert known.gram is not None
        scale = known.scale(standardize=task.standardize)
        gram = known.gram
        gram *= scale
        gram *= scale[:, None]
        cross = known.cross * scale[:, None]
        known = replace(known, gram=None, cross=cross)  # what is large is not kept twice
        line = _Line(
            fold=fold,
            known=known,
            scale=scale,
            squares=numpy.zeros(0),
            turned=None,
            errors=numpy.zeros(len(task.alphas)),
            weights=cross,
            alpha=float(task.alphas[0]),
        )
        if len(task.alphas) == 1:
            line.weights = _solved(gram, line.alpha, cross)
        else:
            squares, line.turned = numpy.linalg.eigh(gram)
            line.squares = numpy.maximum(squares, 0.0)
        lines.append(line)
    return lines


def _leave_out(source: Source, task: RidgeTask, lines: list[_Line]) -> None:
    for block in source.blocks(source.rows_at_once(extra_columns=2 * source.num_units)):
        targets = task.targets.columns(block.at)
        for line in lines:
            train = line.fold.train[block.at]
            if line.turned is None or not train.any():
                continue
            turned = ((block.values[train] - line.known.mean) * line.scale) @ line.turned
            along = line.turned.T @ line.known.cross
            left = targets[train] - line.known.target_mean
            for number, alpha in enumerate(task.alphas):
                shrunk = _shrunk(line.squares, alpha)
                leverage = 1.0 / line.known.num + numpy.square(turned) @ shrunk
                line.errors[number] += _left_out(
                    left - turned @ (along * shrunk[:, None]), 1.0 - leverage, line.known.num
                )


def _choose(line: _Line, alphas: Matrix) -> None:
    assert line.turned is not None
    line.alpha = float(alphas[int(line.errors.argmin())])
    along = line.turned.T @ line.known.cross
    line.weights = line.turned @ (along * _shrunk(line.squares, line.alpha)[:, None])


def _predict(source: Source, targets: Targets, lines: list[_Line], answers: Array, told: Told) -> None:
    for block in source.blocks():
        for line in lines:
            start, stop = numpy.searchsorted(line.fold.test, [block.at.start, block.at.stop])
            test = line.fold.test[start:stop]
            if len(test):
                apart = (block.values[test - block.at.start] - line.known.mean) * line.scale
                answers[test] = answers_of(apart @ line.weights + line.known.target_mean, targets)
        told(block.at.stop / source.num_samples)


def by_samples(source: Source, task: RidgeTask, memory_bytes: int, told: Told) -> Fitted:
    """By products of samples, which are computed once; of standardised units, once for each fold."""
    answers, alphas = no_answers(task.targets), numpy.empty(len(task.folds))
    left = memory_bytes - square_bytes(source.num_samples, len(task.alphas))
    for kernel, numbers in kernels(
        source, task.folds, standardize=task.standardize, memory_bytes=max(left, 1), told=part(told, 0.0, 0.9)
    ):
        for number in numbers:
            fold = task.folds[number]
            outputs, alphas[number] = _by_kernel(kernel, task, fold)
            answers[fold.test] = answers_of(outputs, task.targets)
    return Fitted(answers=answers, alphas=alphas)


def _by_kernel(kernel: Matrix, task: RidgeTask, fold: Fold) -> tuple[Matrix, float]:
    train = numpy.flatnonzero(fold.train)
    targets = task.targets.columns(train)
    mean = targets.mean(axis=0)
    targets = targets - mean
    inner = kernel[numpy.ix_(train, train)]
    means = inner.mean(axis=0)
    centre = float(means.mean())
    inner -= means[:, None]
    inner -= means - centre
    outer = kernel[numpy.ix_(fold.test, train)]
    outer -= outer.mean(axis=1, keepdims=True)
    outer -= means - centre
    if len(task.alphas) == 1:
        alpha = float(task.alphas[0])
        weights = _solved(inner, alpha, targets)
    else:
        weights, alpha = _chosen_weights(inner, targets, task.alphas)
    return outer @ weights + mean, alpha


def _chosen_weights(kernel: Matrix, targets: Matrix, alphas: Matrix) -> tuple[Matrix, float]:
    squares, turned = numpy.linalg.eigh(kernel)
    squares = numpy.maximum(squares, 0.0)
    along = turned.T @ targets
    leverages = numpy.square(turned)
    errors = []
    for alpha in alphas:
        kept = alpha / (squares + alpha)
        # 1 - leverage: what is centred has no part in the constant direction, where nothing is left over.
        left = leverages @ kept - 1.0 / len(kernel)
        errors.append(_left_out(turned @ (along * kept[:, None]), left, len(kernel)))
    alpha = float(alphas[int(numpy.argmin(errors))])
    return turned @ (along * _shrunk(squares, alpha)[:, None]), alpha


def _left_out(apart: Matrix, left: Matrix, num: int) -> float:
    """The error of samples that are left out, each in its turn. `apart`: what it is when they are not.

    Where a fit goes through a sample (nothing is left of 1 - leverage), nobody knows: that counts as worst.
    """
    is_known = left > num * _EPSILON
    if not is_known.all():
        return float("inf")
    errors = apart / left[:, None]
    return float(numpy.vdot(errors, errors))


def _solved(square: Matrix, alpha: float, right: Matrix) -> Matrix:
    """Of units that say the same, an alpha too small to count has many solutions: the shortest is taken."""
    if alpha >= _least(square):
        square[numpy.diag_indices_from(square)] += alpha
        return numpy.asarray(numpy.linalg.solve(square, right))
    squares, turned = numpy.linalg.eigh(square)
    return numpy.asarray(turned @ ((turned.T @ right) * _shrunk(squares, alpha)[:, None]))


def _shrunk(squares: Matrix, alpha: float) -> Matrix:
    """1 / (squares + alpha), and 0 for directions that are nothing but rounding."""
    is_there = squares + alpha > len(squares) * _EPSILON * float(squares.max(initial=0.0))
    return numpy.divide(1.0, squares + alpha, out=numpy.zeros_like(squares), where=is_there)


def _least(square: Matrix) -> float:
    """What is less is lost among the digits of such a matrix."""
    return len(square) * _EPSILON * float(numpy.trace(square))
