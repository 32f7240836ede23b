"""Precision and recall over thresholds, counted in the way of torch.utils.tensorboard."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from torcheer.errors import InputError
from torcheer.run.observations import Encoded
from torcheer.run.observing.arrays import Copied, real_numbers
from torcheer.run.records import PrCurveHead
from torcheer.tensorfile import Array

MOST_THRESHOLDS = 10_000
WRITER_THRESHOLDS = 127  # what torch.utils.tensorboard allows
_ROWS = ("true positives", "false positives", "true negatives", "false negatives", "precision", "recall")
_SMALLEST_COUNT = 1e-7  # to divide by, where nothing was found


class Judged(NamedTuple):
    """What is true and what was said of it, for each element."""

    labels: Copied
    predictions: Array
    weights: Array | float


# --- in the training -----------------------------------------------------------------------------------


def judged(labels: Any, predictions: Any, weights: Any) -> Judged:
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
    return Judged(truth, _predictions(said).reshape(-1), weight)


def _predictions(said: Copied) -> Array:
    """In half precision where torch.utils.tensorboard counts in it, so that no element changes its bin."""
    if said.dtype == "bfloat16":
        return said.numbers().astype(numpy.float16)
    numbers = said.array if said.dtype == "float16" else said.numbers()
    return numbers if numbers.dtype.kind == "f" else numbers.astype(numpy.float64)


def num_thresholds_of(number: Any) -> int:
    if not 2 <= int(number) <= MOST_THRESHOLDS:
        raise InputError(f"num_thresholds={number}: give a number from 2 to {MOST_THRESHOLDS:,}.")
    return int(number)


def raw_curve(rows: Sequence[Any]) -> NDArray[numpy.float64]:
    """A curve that was counted elsewhere: six rows, in the order of PrCurveHead."""
    parts = [real_numbers(row, "the counts").numbers().astype(numpy.float64).reshape(-1) for row in rows]
    if len(parts) != len(_ROWS) or len({len(part) for part in parts}) != 1 or not len(parts[0]):
        sizes = ", ".join(str(len(part)) for part in parts)
        raise InputError(f"rows of {sizes} numbers: give one a threshold in each of six, {', '.join(_ROWS)}.")
    return numpy.stack(parts)


# --- in the encoder's thread ---------------------------------------------------------------------------


def encode_judged(given: Judged, num_thresholds: int) -> Encoded:
    return encode_curve(_curve(given, num_thresholds))


def encode_curve(rows: NDArray[numpy.float64]) -> Encoded:
    return Encoded(PrCurveHead(num_thresholds=rows.shape[1]), rows.astype("<f8").tobytes())


def _curve(given: Judged, num_thresholds: int) -> NDArray[numpy.float64]:
    labels = given.labels.numbers().astype(numpy.float64).reshape(-1)
    with numpy.errstate(all="ignore"):
        # What is NaN, or beyond 0 and 1, falls out of all bins.
        places = numpy.int32(numpy.floor(given.predictions * (num_thresholds - 1)))
        ends = (0, num_thresholds - 1)
        hits, _ = numpy.histogram(places, num_thresholds, ends, weights=labels * given.weights)
        misses, _ = numpy.histogram(places, num_thresholds, ends, weights=(1.0 - labels) * given.weights)
    # At a threshold, all that is at or above it is said to be true.
    true_positives, false_positives = numpy.cumsum(hits[::-1])[::-1], numpy.cumsum(misses[::-1])[::-1]
    true_negatives = false_positives[0] - false_positives
    false_negatives = true_positives[0] - true_positives
    precision = true_positives / numpy.maximum(_SMALLEST_COUNT, true_positives + false_positives)
    recall = true_positives / numpy.maximum(_SMALLEST_COUNT, true_positives + false_negatives)
    return numpy.stack((true_positives, false_positives, true_negatives, false_negatives, precision, recall))
