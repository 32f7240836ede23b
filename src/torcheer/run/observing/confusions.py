"""Confusion matrices as records: given, or counted from what is true and what was said."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from torcheer.errors import InputError
from torcheer.run.observations import Encoded
from torcheer.run.observing.arrays import is_tensor, real_numbers
from torcheer.run.observing.plaintext import plain_text
from torcheer.run.records import ConfusionHead
from torcheer.tensorfile import Array

_MOST_CLASSES = 2048


class Matrix(NamedTuple):
    """Counts that were made elsewhere; labels are none, or one for each class."""

    counts: Array
    labels: list[str] | None

    @property
    def num_bytes(self) -> int:
        return self.counts.nbytes


class Guesses(NamedTuple):
    """What is true and what was said of each element: numbers of classes, or their names."""

    truth: Array
    predictions: Array
    labels: list[str] | None

    @property
    def num_bytes(self) -> int:
        return self.truth.nbytes + self.predictions.nbytes


# --- in the training -----------------------------------------------------------------------------------


def confusion_of(matrix: Any, truth: Any, predictions: Any, labels: Any) -> Matrix | Guesses:
    names = None if labels is None else [plain_text(label) for label in _listed(labels)]
    if matrix is not None:
        if truth is not None or predictions is not None:
            raise InputError("give either a matrix, or truth and predictions.")
        return Matrix(_square(matrix, names), names)
    if truth is None or predictions is None:
        raise InputError("give a matrix, or both truth=... and predictions=..., a class for each element.")
    actual, said = _classes(truth), _classes(predictions)
    if said.ndim == actual.ndim + 1:  # a score for each class: the highest is what was said
        said = said.argmax(axis=-1)
    if actual.shape != said.shape or not actual.size:
        raise InputError(
            f"truth of shape {actual.shape} and predictions of shape {said.shape}: give a class for each "
            "element in both, or a score for each class in the last dimension of predictions."
        )
    return Guesses(actual.reshape(-1), said.reshape(-1), names)


def _listed(values: Any) -> list[Any]:
    return real_numbers(values).numbers().tolist() if is_tensor(values) else list(values)


def _square(matrix: Any, names: list[str] | None) -> Array:
    counts = real_numbers(matrix, "the counts").numbers().astype(numpy.float64)
    if counts.ndim != 2 or counts.shape[0] != counts.shape[1] or not counts.size:
        raise InputError(
            f"shape {counts.shape} is no confusion matrix: give a row and a column for each class."
        )
    _check_number(len(counts))
    if names is not None and len(names) != len(counts):
        raise InputError(f"{len(names)} labels for {len(counts)} classes: give one for each.")
    return counts


def _classes(values: Any) -> Array:
    """Numbers of classes, or their names."""
    if not is_tensor(values):
        array = numpy.array(values)
        if array.dtype.kind in "US":
            return array.astype(numpy.str_)
    return real_numbers(values, "the classes").numbers()


def _check_number(number: int) -> None:
    if number > _MOST_CLASSES:
        raise InputError(f"{number:,} classes, and {_MOST_CLASSES:,} can be shown: put some together.")


# --- in the encoder's thread ---------------------------------------------------------------------------


def encode_confusion(given: Matrix | Guesses) -> Encoded:
    counts, labels = given if isinstance(given, Matrix) else _counted(given)
    if labels is None:
        labels = [str(number) for number in range(len(counts))]
    return Encoded(ConfusionHead(labels=labels), counts.astype("<f8").tobytes())


def _counted(given: Guesses) -> Matrix:
    labels = given.labels
    if "U" in (given.truth.dtype.kind, given.predictions.dtype.kind):
        labels, actual, said = _by_name(given.truth, given.predictions, labels)
    else:
        actual, said = _whole(given.truth), _whole(given.predictions)
    low, high = min(actual.min(), said.min()), max(actual.max(), said.max())
    number = high + 1 if labels is None else len(labels)
    if low < 0 or high >= number:
        raise InputError(
            f"class {low if low < 0 else high} is none of {number}: count classes from 0, and leave out what "
            "is to be ignored."
        )
    _check_number(number)
    counts = numpy.bincount(actual * number + said, minlength=number * number)
    return Matrix(counts.reshape(number, number).astype(numpy.float64), labels)


def _by_name(truth: Array, said: Array, labels: list[str] | None) -> tuple[list[str], Array, Array]:
    actual, found = ([plain_text(name) for name in part.tolist()] for part in (truth, said))
    names = sorted({*actual, *found}) if labels is None else labels
    places = {name: place for place, name in enumerate(names)}
    unknown = next((name for name in (*actual, *found) if name not in places), None)
    if unknown is not None:
        raise InputError(f"class {unknown[:80]!r} is not among the labels: add it to them.")
    return names, numpy.array([places[n] for n in actual]), numpy.array([places[n] for n in found])


def _whole(classes: Array) -> NDArray[numpy.int64]:
    with numpy.errstate(invalid="ignore"):
        whole = classes.astype(numpy.int64)
    if not (whole == classes).all():
        raise InputError("classes are whole numbers from 0 on: give the number of a class for each element.")
    return whole
