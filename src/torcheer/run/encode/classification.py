"""Precision and recall over thresholds, counted in the way of torch.utils.tensorboard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

from torcheer.errors import InputError
from torcheer.run.encode.arrays import Copied, is_tensor, real_numbers
from torcheer.run.records import ConfusionHead, Encoded, Pending, PrCurveHead, plain_text
from torcheer.tensorfile import Array

MOST_THRESHOLDS = 10_000
WRITER_THRESHOLDS = 127  # what torch.utils.tensorboard allows
_ROWS = ("true positives", "false positives", "true negatives", "false negatives", "precision", "recall")
_SMALLEST_COUNT = 1e-7  # to divide by, where nothing was found


def pr_curve_record(labels: Any, predictions: Any, weights: Any, num_thresholds: Any) -> Pending:
    truth, said = real_numbers(labels, "the labels"), real_numbers(predictions, "the predictions")
    if truth.array.size != said.array.size or not truth.array.size:
        raise InputError(
            f"{truth.array.size} labels and {said.array.size} predictions: give a label, 0 or 1, and a "
            "prediction between 0 and 1 for each element."
        )
    weight: Array | float = 1.0
    if weights is not None:
        weight = real_numbers(weights, "the weights").numbers().astype(numpy.float64).reshape(-1)
        if weight.size not in (1, truth.array.size):
            raise InputError(f"{weight.size} weights for {truth.array.size} elements: give one for each.")
    number = int(num_thresholds)
    if not 2 <= number <= MOST_THRESHOLDS:
        raise InputError(f"num_thresholds={num_thresholds}: give a number from 2 to {MOST_THRESHOLDS:,}.")
    scores = _predictions(said).reshape(-1)
    return Pending(
        len(truth.raw) + scores.nbytes, lambda: _encode_curve(_counted_curve(truth, scores, weight, number))
    )


def _predictions(said: Copied) -> Array:
    """In half precision where torch.utils.tensorboard counts in it, so that no element changes its bin."""
    if said.dtype == "bfloat16":
        return said.numbers().astype(numpy.float16)
    numbers = said.array if said.dtype == "float16" else said.numbers()
    return numbers if numbers.dtype.kind == "f" else numbers.astype(numpy.float64)


def raw_pr_curve_record(rows: Sequence[Any]) -> Pending:
    """A curve that was counted elsewhere: six rows, in the order of PrCurveHead."""
    parts = [real_numbers(row, "the counts").numbers().astype(numpy.float64).reshape(-1) for row in rows]
    if len(parts) != len(_ROWS) or len({len(part) for part in parts}) != 1 or not len(parts[0]):
        sizes = ", ".join(str(len(part)) for part in parts)
        raise InputError(f"rows of {sizes} numbers: give one a threshold in each of six, {', '.join(_ROWS)}.")
    curve = numpy.stack(parts)
    return Pending(curve.nbytes, lambda: _encode_curve(curve))


def _encode_curve(rows: NDArray[numpy.float64]) -> Encoded:
    return Encoded(PrCurveHead(num_thresholds=rows.shape[1]), rows.astype("<f8").tobytes())


def _counted_curve(
    truth: Copied, scores: Array, weights: Array | float, num_thresholds: int
) -> NDArray[numpy.float64]:
    labels = truth.numbers().astype(numpy.float64).reshape(-1)
    with numpy.errstate(all="ignore"):
        # What is NaN, or beyond 0 and 1, falls out of all bins.
        places = numpy.int32(numpy.floor(scores * (num_thresholds - 1)))
        ends = (0, num_thresholds - 1)
        hits, _ = numpy.histogram(places, num_thresholds, ends, weights=labels * weights)
        misses, _ = numpy.histogram(places, num_thresholds, ends, weights=(1.0 - labels) * weights)
    # At a threshold, all that is at or above it is said to be true.
    true_positives, false_positives = numpy.cumsum(hits[::-1])[::-1], numpy.cumsum(misses[::-1])[::-1]
    true_negatives = false_positives[0] - false_positives
    false_negatives = true_positives[0] - true_positives
    precision = true_positives / numpy.maximum(_SMALLEST_COUNT, true_positives + false_positives)
    recall = true_positives / numpy.maximum(_SMALLEST_COUNT, true_positives + false_negatives)
    return numpy.stack((true_positives, false_positives, true_negatives, false_negatives, precision, recall))


_MOST_CLASSES = 2048


def confusion_record(matrix: Any, truth: Any, predictions: Any, labels: Any) -> Pending:
    names: list[str] | None = None
    if labels is not None:
        listed = real_numbers(labels).numbers().tolist() if is_tensor(labels) else labels
        names = [plain_text(label) for label in listed]
    if matrix is None:
        counts, names = _confusion(truth, predictions, names)
    elif truth is None and predictions is None:
        counts = _square(matrix, names)
    else:
        raise InputError("give either a matrix, or truth and predictions.")
    head = ConfusionHead(labels=names or [str(number) for number in range(len(counts))])
    return Pending(counts.nbytes, lambda: Encoded(head, counts.astype("<f8").tobytes()))


def _confusion(truth: Any, predictions: Any, names: list[str] | None) -> tuple[Array, list[str] | None]:
    """Counts, a row for each true class; and the names of the classes where there are some."""
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
    return _counted(actual.reshape(-1), said.reshape(-1), names)


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


def _counted(actual: Array, said: Array, labels: list[str] | None) -> tuple[Array, list[str] | None]:
    if "U" in (actual.dtype.kind, said.dtype.kind):
        labels, actual, said = _by_name(actual, said, labels)
    else:
        actual, said = _whole(actual), _whole(said)
    low, high = min(actual.min(), said.min()), max(actual.max(), said.max())
    number = int(high) + 1 if labels is None else len(labels)
    if low < 0 or high >= number:
        raise InputError(
            f"class {low if low < 0 else high} is none of {number}: count classes from 0, and leave out what "
            "is to be ignored."
        )
    _check_number(number)
    counts = numpy.bincount(actual * number + said, minlength=number * number).reshape(number, number)
    return counts.astype(numpy.float64), labels


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
