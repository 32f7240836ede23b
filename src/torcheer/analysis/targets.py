"""What a probe is to predict, classes or numbers; and which samples it learns from and is tested on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy
from numpy.typing import ArrayLike, NDArray

from torcheer.analysis.layer_samples import Array, Indices, Matrix, Samples, chosen_samples, needed
from torcheer.errors import InputError

_CLASSES: Final = "biuUS"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Targets:
    """Of the chosen samples. Either classes and their codes, or columns of numbers."""

    samples: Indices
    classes: Array | None = None  # each once, sorted
    # Which class; empty for numbers. And samples by columns; empty for classes.
    codes: Indices = field(default_factory=lambda: numpy.zeros(0, numpy.int64))
    numbers: Matrix = field(default_factory=lambda: numpy.zeros((0, 0)))
    is_flat: bool = True  # numbers were given without columns

    @property
    def num_classes(self) -> int:
        return 0 if self.classes is None else len(self.classes)

    @property
    def num_columns(self) -> int:
        """Of classes: one for each, or one in all for two of them."""
        if self.classes is None:
            return int(self.numbers.shape[1])
        return 1 if len(self.classes) == 2 else len(self.classes)

    def columns(self, at: slice | Array) -> Matrix:
        """What a linear model is fitted to: the numbers, or 1 for a class and -1 for the others."""
        if self.classes is None:
            return self.numbers[at]
        first = len(self.classes) - self.num_columns  # of two, the second
        return numpy.where(self.codes[at][:, None] == numpy.arange(first, len(self.classes)), 1.0, -1.0)


def targets_of(given: ArrayLike | None, num_rows: int, samples: Samples) -> Targets:
    if given is None or not num_rows:
        raise InputError("there are no targets, or there are no samples: give a class or a number for each.")
    try:
        array = numpy.asarray(given)
    except ValueError:
        raise InputError(
            "the targets are of different lengths: give one class for each sample, or as many numbers."
        ) from None
    if array.ndim not in (1, 2) or len(array) != num_rows:
        raise InputError(
            f"targets of shape {array.shape} do not go with {num_rows:,} samples: give one for each "
            "of the layer, also where only some are chosen."
        )
    is_named = array.ndim == 1 and array.dtype.kind in _CLASSES
    chosen = chosen_samples(num_rows, samples, array if is_named else None)
    cleaned = _cleaned(array[chosen], chosen)
    if cleaned.dtype.kind in _CLASSES:
        classes, codes = numpy.unique(cleaned, return_inverse=True)
        if len(classes) < 2:
            raise InputError(f"all targets are {cleaned[0].item()!r}: a probe needs two classes at least.")
        return Targets(samples=chosen, classes=classes, codes=codes.astype(numpy.int64))
    numbers = cleaned.reshape(len(cleaned), -1).astype(numpy.float64)
    if not numbers.shape[1] or (numbers.max(axis=0) == numbers.min(axis=0)).any():
        raise InputError(
            "targets, or a column of them, are the same for all samples: there is nothing to predict."
        )
    return Targets(samples=chosen, numbers=numbers, is_flat=cleaned.ndim == 1)


def _cleaned(array: Array, samples: Indices) -> Array:
    if array.dtype.kind == "O":
        is_missing = numpy.array([None in numpy.ravel(row).tolist() for row in array], numpy.bool_)
        _check_none(is_missing, samples, "is missing (None)")
        array = numpy.array(array.tolist())
    if array.dtype.kind == "f":
        is_finite = numpy.isfinite(array.reshape(len(array), -1))
        _check_none(~numpy.all(is_finite, axis=1, keepdims=True), samples, "is NaN or infinite")
    elif array.dtype.kind not in _CLASSES or array.ndim != 1:
        raise InputError(
            f"targets of {array.dtype} and the shape {array.shape} are neither classes nor numbers, or name "
            "several classes for each sample: give strings, ints or bools for classes, floats for numbers."
        )
    return array


def _check_none(is_wrong: Array, samples: Indices, what: str) -> None:
    if is_wrong.any():
        first = samples[int(numpy.flatnonzero(is_wrong)[0])]
        raise InputError(
            f"the target of sample {first} {what}, as of {int(is_wrong.sum()):,} in all: leave them out "
            "(samples=…)."
        )


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
        made = [Fold(train=number != k, test=numpy.flatnonzero(number == k)) for k in range(int(folds))]
    for place, fold in enumerate(made):
        _check(fold, place, targets)
    return made


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
        sizes = numpy.bincount(codes)
        few = int(sizes.argmin())
        if sizes[few] < count:
            name = few if classes is None else classes[few].item()
            raise InputError(
                f"the class {name!r} has {sizes[few]} samples, too few for {count} folds: take fewer folds, "
                "or leave the class out (samples=…)."
            )
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
    for place, (train, test) in enumerate(folds):
        mask = numpy.zeros(len(samples), bool)
        mask[_positions(train, samples, place)] = True
        own = _positions(test, samples, place)
        if (mask | tested)[own].any():
            again = samples[own[(mask | tested)[own]][0]]
            raise InputError(
                f"fold {place} tests sample {again}, which it trains with, or which two folds test: test "
                "each once."
            )
        tested[own] = True
        made.append(Fold(train=mask, test=own))
    if not made:
        raise InputError("there are no folds: give pairs of indices (training, testing), or a number.")
    return made


def _positions(given: ArrayLike, samples: Indices, place: int) -> Indices:
    """Among the chosen samples."""
    wanted = numpy.unique(numpy.asarray(given))
    strange = wanted if wanted.dtype.kind not in "iu" else numpy.setdiff1d(wanted, samples)
    if len(strange) or not len(wanted):
        raise InputError(
            f"fold {place} names sample {[*strange, None][0]}, which is not among those that are chosen: "
            "give indices of samples."
        )
    return numpy.searchsorted(samples, wanted)


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
