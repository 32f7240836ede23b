"""Which samples a probe learns from, and on which it is tested."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy
from numpy.typing import ArrayLike, NDArray

from torcheer.analysis.libraries import needed
from torcheer.analysis.rows import Array, Indices
from torcheer.analysis.targets import Targets
from torcheer.errors import InputError

Folds = int | Iterable[tuple[ArrayLike, ArrayLike]]
Mask = NDArray[numpy.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fold:
    """Positions among the chosen samples."""

    train: Mask
    test: Indices  # sorted


def folds_of(
    folds: Folds, targets: Targets, groups: ArrayLike | None, num_rows: int, seed: int
) -> list[Fold]:
    """So many, with about the same of each class in all, and groups kept together; or those given."""
    if isinstance(folds, Iterable):
        made = _given(list(folds), targets.samples)
    else:
        codes = None if targets.classes is None else targets.codes
        chosen = None if groups is None else groups_of(groups, num_rows)[targets.samples]
        number = fold_numbers(
            int(folds), len(targets.samples), codes=codes, groups=chosen, seed=seed, classes=targets.classes
        )
        made = folds_by_number(number, int(folds))
    for place, fold in enumerate(made):
        _check(fold, place, targets)
    return made


def folds_by_number(number: Indices, count: int) -> list[Fold]:
    return [Fold(train=number != k, test=numpy.flatnonzero(number == k)) for k in range(count)]


def fold_numbers(
    count: int,
    num: int,
    *,
    codes: Indices | None,
    groups: Indices | None,
    seed: int,
    classes: Array | None = None,
) -> Indices:
    """In which fold each sample is tested."""
    if not 2 <= count <= num:
        raise InputError(f"folds is {count}, and there are {num:,} samples: take 2 to {num:,}.")
    if codes is not None:
        _check_classes(codes, count, classes)
    selection = needed("sklearn.model_selection", "a probe")
    kinds = numpy.zeros(num, numpy.int64) if codes is None else codes
    if groups is None:
        splits = selection.StratifiedKFold(count, shuffle=True, random_state=seed)
    else:
        num_groups = len(numpy.unique(groups))
        if num_groups < count:
            raise InputError(f"{num_groups} groups are too few for {count} folds: take fewer folds.")
        splits = selection.StratifiedGroupKFold(count, shuffle=True, random_state=seed)
    number = numpy.empty(num, numpy.int64)
    for place, (_, test) in enumerate(splits.split(kinds, kinds, groups)):
        number[test] = place
    return number


def _check_classes(codes: Indices, count: int, classes: Array | None) -> None:
    sizes = numpy.bincount(codes)
    few = int(sizes.argmin())
    if sizes[few] < count:
        name = few if classes is None else classes[few].item()
        raise InputError(
            f"the class {name!r} has {sizes[few]} samples, too few for {count} folds: take fewer folds, or "
            "leave the class out (samples=…)."
        )


def groups_of(groups: ArrayLike, num_rows: int) -> Indices:
    array = numpy.asarray(groups)
    if array.shape != (num_rows,):
        raise InputError(
            f"groups of shape {array.shape} do not go with {num_rows:,} samples: give one for each "
            "of the layer."
        )
    return numpy.asarray(numpy.unique(array, return_inverse=True)[1], numpy.int64)


def _given(folds: Sequence[tuple[ArrayLike, ArrayLike]], samples: Indices) -> list[Fold]:
    made = []
    tested = numpy.zeros(len(samples), bool)
    for place, pair in enumerate(folds):
        if len(pair) != 2:
            raise InputError(f"fold {place} is no pair: give the indices of training and those of testing.")
        train, test = (_positions(part, samples, place) for part in pair)
        mask = numpy.zeros(len(samples), bool)
        mask[train] = True
        if mask[test].any():
            shared = samples[test[mask[test]][0]]
            raise InputError(f"fold {place} trains and tests with sample {shared}: give it to one of both.")
        if tested[test].any():
            again = samples[test[tested[test]][0]]
            raise InputError(f"sample {again} is tested in two folds: test each once.")
        tested[test] = True
        made.append(Fold(train=mask, test=test))
    if not made:
        raise InputError("there are no folds: give pairs of indices (training, testing), or a number.")
    return made


def _positions(given: ArrayLike, samples: Indices, place: int) -> Indices:
    indices = numpy.asarray(given)
    if indices.ndim != 1 or indices.dtype.kind not in "iu" or not len(indices):
        raise InputError(
            f"fold {place} holds {indices.dtype} of the shape {indices.shape}: give indices of samples."
        )
    wanted = numpy.unique(indices).astype(numpy.int64)
    found = numpy.minimum(numpy.searchsorted(samples, wanted), len(samples) - 1)
    if (samples[found] != wanted).any():
        strange = wanted[samples[found] != wanted][0]
        raise InputError(f"fold {place} names sample {strange}, which is not among those that are chosen.")
    return found.astype(numpy.int64)


def _check(fold: Fold, place: int, targets: Targets) -> None:
    if targets.classes is None:
        if len(fold.test) < 2 or fold.train.sum() < 2:
            raise InputError(
                f"fold {place} has less than two samples to learn or to test: r2 is not defined."
            )
        return
    there = numpy.bincount(targets.codes[fold.train], minlength=len(targets.classes))
    if (there == 0).any():
        name = targets.classes[int(there.argmin())].item()
        raise InputError(
            f"fold {place} learns without the class {name!r}: all its samples are tested there. Take other "
            "folds or groups, or leave the class out (samples=…)."
        )
