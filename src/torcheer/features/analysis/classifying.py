"""Logistic probes: the fits of all folds, and which alpha each of them takes.

Of several alphas, a fold takes the one with the least loss in a cross-validation among what it learns from,
in three parts, with the mean and scale of the whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy

from torcheer.errors import InputError
from torcheer.features.analysis.folds import Fold, Mask, fold_numbers
from torcheer.features.analysis.kernels import coordinates, kernels
from torcheer.features.analysis.logistic import (
    Classified,
    Fit,
    Weights,
    fit_bytes,
    fits_of,
    fitted,
    losses_of,
    outputs_of,
)
from torcheer.features.analysis.moments import Moments, in_groups, moments
from torcheer.features.analysis.progress import Told, part
from torcheer.features.analysis.results import Fitted, answers_of, no_answers
from torcheer.features.analysis.rows import Indices, Source, in_memory
from torcheer.features.analysis.targets import Targets
from torcheer.netview.analysis.points import Array, Matrix

_INNER: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LogisticTask:
    targets: Targets
    folds: list[Fold]
    alphas: Matrix  # to choose from
    standardize: bool
    groups: Indices | None
    seed: int


@dataclass(slots=True, kw_only=True, eq=False)
class _Results:
    answers: Array
    alphas: Matrix
    is_converged: bool = True


def units_bytes(num_units: int, num_columns: int) -> int:
    """What the fit of one fold needs, besides blocks of samples."""
    turned = 4 * 8 * num_units**2 if num_units <= 1024 else 0
    return fit_bytes(num_units, num_columns) + turned + 8 * 12 * num_units


def samples_bytes(num_samples: int, num_columns: int) -> int:
    return 8 * 5 * num_samples**2 + fit_bytes(num_samples, num_columns)


def by_units(source: Source, task: LogisticTask, memory_bytes: int, told: Told) -> Fitted:
    """A pass for each evaluation, some dozens to hundreds, for all folds that fit together."""
    results = _Results(answers=no_answers(task.targets), alphas=numpy.empty(len(task.folds)))
    numbers = list(range(len(task.folds)))
    _fit(source, task, numbers, results, is_scaled=task.standardize, memory_bytes=memory_bytes, told=told)
    return Fitted(answers=results.answers, alphas=results.alphas, is_converged=results.is_converged)


def by_samples(source: Source, task: LogisticTask, memory_bytes: int, told: Told) -> Fitted:
    """In coordinates from products of samples, computed once; of standardised units, once for each fold."""
    results = _Results(answers=no_answers(task.targets), alphas=numpy.empty(len(task.folds)))
    left = max(memory_bytes - samples_bytes(source.num_samples, task.targets.num_columns), 1)
    for kernel, numbers in kernels(
        source, task.folds, standardize=task.standardize, memory_bytes=left, told=part(told, 0.0, 0.5)
    ):
        space = in_memory(coordinates(kernel), block_bytes=source.block_bytes)
        _fit(
            space,
            task,
            numbers,
            results,
            is_scaled=False,
            memory_bytes=memory_bytes // 2,
            told=part(
                told,
                0.5 + 0.5 * numbers[0] / len(task.folds),
                0.5 + 0.5 * (numbers[-1] + 1) / len(task.folds),
            ),
        )
    return Fitted(answers=results.answers, alphas=results.alphas, is_converged=results.is_converged)


def _fit(
    source: Source,
    task: LogisticTask,
    numbers: list[int],
    results: _Results,
    *,
    is_scaled: bool,
    memory_bytes: int,
    told: Told,
) -> None:
    data = Classified(source=source, codes=task.targets.codes, num_classes=task.targets.num_classes)
    together = max(1, memory_bytes // fit_bytes(source.num_units, data.num_columns))
    trains = [task.folds[number].train for number in numbers]
    groups = in_groups(trains, 8 * 6 * source.num_units, 0, memory_bytes // 4)
    for place, group in enumerate(groups):
        share = part(told, place / len(groups), (place + 1) / len(groups))
        known = list(moments(source, [trains[one] for one in group], has_gram=False))
        runner = _Runner(data=data, known=known, is_scaled=is_scaled, together=together)
        own = [numbers[one] for one in group]
        alphas = _alphas(runner, task, own, part(share, 0.0, 0.7))
        fits = [
            runner.fits(at, [task.folds[number].train], [alpha])[0]
            for at, (number, alpha) in enumerate(zip(own, alphas, strict=True))
        ]
        found = runner.run(fits, part(share, 0.7 if len(task.alphas) > 1 else 0.0, 1.0))
        _predict(source, task, own, found, results.answers)
        results.alphas[own] = alphas
        results.is_converged &= all(weights.is_exact for weights in found)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Runner:
    """Fits of some folds in one space."""

    data: Classified
    known: list[Moments]  # of each fold
    is_scaled: bool
    together: int  # so many fits go in one pass

    def fits(self, at: int, trains: Sequence[Mask], alphas: Sequence[float]) -> list[Fit]:
        return fits_of(self.known[at], trains, alphas, standardize=self.is_scaled)

    def run(self, fits: list[Fit], told: Told) -> list[Weights]:
        found: list[Weights] = []
        for start in range(0, len(fits), self.together):
            some = fits[start : start + self.together]
            share = part(told, start / len(fits), (start + len(some)) / len(fits))
            found += fitted(self.data, some, standardize=self.is_scaled, told=share)
        return found


def _alphas(runner: _Runner, task: LogisticTask, numbers: list[int], told: Told) -> list[float]:
    if len(task.alphas) == 1:
        return [float(task.alphas[0])] * len(numbers)
    fits: list[Fit] = []
    tests: list[Mask] = []
    for at, number in enumerate(numbers):
        trains = _inner_trains(task, number)
        fits += runner.fits(at, trains, task.alphas.tolist())
        tests += [task.folds[number].train & ~train for train in trains for _ in task.alphas]
    found = runner.run(fits, told)
    losses = numpy.zeros(len(fits))
    for block in runner.data.source.blocks():
        for place, (weights, test) in enumerate(zip(found, tests, strict=True)):
            here = test[block.at]
            if here.any():
                outputs = outputs_of(block.values[here], weights)
                losses[place] += float(losses_of(outputs, runner.data.codes[block.at][here]).sum())
    totals = losses.reshape(len(numbers), _INNER, len(task.alphas)).sum(axis=1)
    return [float(alpha) for alpha in task.alphas[totals.argmin(axis=1)]]


def _inner_trains(task: LogisticTask, number: int) -> list[Mask]:
    inside = numpy.flatnonzero(task.folds[number].train)
    codes = task.targets.codes[inside]
    groups = None if task.groups is None else task.groups[inside]
    fix = f"to choose among alphas, fold {number} is split again, in {_INNER}: give one alpha, or fewer folds"
    try:
        part_of = fold_numbers(_INNER, len(inside), codes=codes, groups=groups, seed=task.seed)
    except InputError as error:
        raise InputError(f"{fix}. {error}") from None
    trains = []
    for one in range(_INNER):
        train = numpy.zeros(len(task.targets.codes), bool)
        train[inside[part_of != one]] = True
        if len(numpy.unique(task.targets.codes[train])) < task.targets.num_classes:
            raise InputError(f"{fix}: there, a class has all its samples in one part.")
        trains.append(train)
    return trains


def _predict(
    source: Source, task: LogisticTask, numbers: list[int], found: list[Weights], answers: Array
) -> None:
    for block in source.blocks():
        for number, weights in zip(numbers, found, strict=True):
            tests = task.folds[number].test
            start, stop = numpy.searchsorted(tests, [block.at.start, block.at.stop])
            test = tests[start:stop]
            if len(test):
                outputs = outputs_of(block.values[test - block.at.start], weights)
                answers[test] = answers_of(outputs, task.targets)
