"""What a probe is to predict: classes, or numbers; one for each sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy
from numpy.typing import ArrayLike

from torcheer.analysis.rows import Array, Indices, Matrix, Samples, chosen_samples
from torcheer.errors import InputError

_CLASSES: Final = "biuUS"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Targets:
    """Of the chosen samples. Either classes and their codes, or columns of numbers."""

    samples: Indices
    classes: Array | None  # each once, sorted
    codes: Indices  # which class; empty for numbers
    numbers: Matrix  # samples by columns; empty for classes
    is_flat: bool  # numbers were given without columns

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
    if given is None:
        raise InputError("there are no targets: give a class or a number for each sample.")
    try:
        array = numpy.asarray(given)
    except ValueError:  # rows of different lengths
        array = numpy.empty(len(given), object)  # type: ignore[arg-type]
        array[:] = given
    if array.ndim not in (1, 2) or len(array) != num_rows:
        raise InputError(
            f"targets of shape {array.shape} do not go with {num_rows:,} samples: give one for each "
            "of the layer, also where only some are chosen."
        )
    if not num_rows:
        raise InputError("there are no samples, so there is no class and no number to predict.")
    if samples is not None and numpy.ndim(samples) == 0:
        cleaned = _cleaned(array, numpy.arange(num_rows))
        chosen = chosen_samples(num_rows, samples, cleaned if _is_of_classes(cleaned) else None)
        cleaned = cleaned[chosen]
    else:
        chosen = chosen_samples(num_rows, samples)
        cleaned = _cleaned(array[chosen], chosen)
    return _classes(cleaned, chosen) if _is_of_classes(cleaned) else _numbers(cleaned, chosen)


def _is_of_classes(array: Array) -> bool:
    return array.dtype.kind in _CLASSES


def _cleaned(array: Array, samples: Indices) -> Array:
    if array.dtype.kind == "O":
        is_missing = numpy.array([None in numpy.ravel(row).tolist() for row in array], numpy.bool_)
        _check_none(is_missing, samples, "is missing (None)")
        try:
            array = numpy.array(array.tolist())
        except ValueError:
            raise InputError(
                "the targets are of different lengths: give one class for each sample, or as many numbers."
            ) from None
    if array.dtype.kind == "f":
        is_finite = numpy.isfinite(array.reshape(len(array), -1))
        _check_none(~numpy.all(is_finite, axis=1, keepdims=True), samples, "is NaN or infinite")
    elif not _is_of_classes(array):
        raise InputError(
            f"targets of {array.dtype} are neither classes nor numbers: give strings, ints or bools for "
            "classes, floats for numbers."
        )
    elif array.ndim != 1:
        raise InputError(
            f"targets of the shape {array.shape} and {array.dtype} name several classes for each sample: "
            "give one, or floats to predict numbers."
        )
    return array


def _check_none(is_wrong: Array, samples: Indices, what: str) -> None:
    if is_wrong.any():
        first = samples[int(numpy.flatnonzero(is_wrong)[0])]
        raise InputError(
            f"the target of sample {first} {what}, as of {int(is_wrong.sum()):,} in all: leave them out "
            "(samples=…)."
        )


def _classes(array: Array, samples: Indices) -> Targets:
    classes, codes = numpy.unique(array, return_inverse=True)
    if not len(classes):
        raise InputError("no samples are chosen, so there is no class to predict: choose some (samples=…).")
    if len(classes) < 2:
        raise InputError(f"all targets are {str(classes[0])!r}: a probe needs two classes at least.")
    return Targets(
        samples=samples,
        classes=classes,
        codes=codes.astype(numpy.int64),
        numbers=numpy.zeros((0, 0)),
        is_flat=True,
    )


def _numbers(array: Array, samples: Indices) -> Targets:
    numbers = array.reshape(len(array), -1).astype(numpy.float64)
    if not numbers.shape[1]:
        raise InputError("targets have no column: give a number for each sample.")
    same = numpy.flatnonzero(numbers.max(axis=0) == numbers.min(axis=0))
    if len(same):
        where = "targets are" if array.ndim == 1 else f"column {same[0]} of the targets is"
        raise InputError(f"{where} {numbers[0, same[0]]:g} for all samples: there is nothing to predict.")
    return Targets(
        samples=samples,
        classes=None,
        codes=numpy.zeros(0, numpy.int64),
        numbers=numbers,
        is_flat=array.ndim == 1,
    )
