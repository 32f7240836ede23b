"""Scores as chances: what the softmax or the sigmoid makes of them, class by class."""

from __future__ import annotations

from functools import cached_property

import numpy
import torch
from numpy.typing import NDArray

from torcheer.training.losses import LossKind

Floats = NDArray[numpy.float64]
_TOLERANCE = 1e-3  # by which the chances of an item may miss 1, in half precision
_MOST_KEPT = 20_000_000  # scores whose softmax is kept for all classes; of more it is computed for each


class Chances:
    """The chance of each class for each item, computed when somebody asks for a class.

    `scores` are (items, classes), or (items,) for yes or no. They are chances already where the loss says so,
    or, where it says nothing, where they look so: between 0 and 1, and of all classes together 1.
    """

    def __init__(self, scores: NDArray[numpy.floating], kind: LossKind | None) -> None:
        self._scores = scores
        self._kind = kind

    @cached_property
    def are_given(self) -> bool:
        if self._kind in ("logits", "probabilities") or (self._kind is not None and self._scores.ndim == 2):
            return self._kind == "probabilities"
        scores = self._scores
        with numpy.errstate(invalid="ignore"):
            if ((scores < 0) | (scores > 1)).any():  # what is NaN does not say
                return False
            if scores.ndim == 1:
                return True
            return not (abs(scores.sum(1, dtype=numpy.float64) - 1) >= _TOLERANCE).any()

    @property
    def num_classes(self) -> int:
        return 2 if self._scores.ndim == 1 else int(self._scores.shape[1])

    def of(self, number: int) -> Floats:
        """The chance of a class, for each item."""
        if self._scores.ndim == 1:
            scores = self._scores.astype(numpy.float64)
            if self.are_given:
                return scores if number == 1 else 1 - scores
            return _sigmoid(scores if number == 1 else -scores)
        return self._column(number)

    def ranking(self, number: int) -> Floats:
        """By what items are ranked for a class, and which of them are tied. As one would rank them oneself:

        - by the one score of an item as it is, since the sigmoid rounds all high scores to the same 1;
        - by `torch.softmax(scores.double(), 1)` where there are several, to the last bit. The same chances
          summed up in another order differ in their last digits, and then other items are tied.
        """
        if self._scores.ndim == 2:
            return self._column(number)
        scores = self._scores.astype(numpy.float64)
        return scores if number == 1 else -scores

    def _column(self, number: int) -> Floats:
        if self.are_given:
            return self._scores[:, number].astype(numpy.float64)
        if self._scores.size <= _MOST_KEPT:
            return self._softmax[:, number].copy()
        step = max(1, _MOST_KEPT // self.num_classes)
        parts = (self._scores[first : first + step] for first in range(0, len(self._scores), step))
        return numpy.concatenate([_softmax(part)[:, number] for part in parts])

    @cached_property
    def _softmax(self) -> Floats:
        return _softmax(self._scores)

    def of_each(self, numbers: NDArray[numpy.int64]) -> Floats:
        """For each item the chance of one class."""
        if self._scores.ndim == 1:
            return numpy.where(numbers == 1, self.of(1), self.of(0))
        scores = self._scores[numpy.arange(len(numbers)), numbers].astype(numpy.float64)
        if self.are_given:
            return scores
        with numpy.errstate(all="ignore"):
            return numpy.exp(scores - self._log_totals)

    def mean_surprise(self, targets: NDArray[numpy.int64]) -> float:
        """The cross entropy: minus the logarithm of the chance of what is true, the mean over items."""
        with numpy.errstate(all="ignore"):
            if self.are_given:
                return float(-numpy.log(self.of_each(targets)).mean())
            if self._scores.ndim == 1:
                scores = self._scores.astype(numpy.float64)
                return float(numpy.logaddexp(0, numpy.where(targets == 1, -scores, scores)).mean())
            own = self._scores[numpy.arange(len(targets)), targets].astype(numpy.float64)
            return float((self._log_totals - own).mean())

    @cached_property
    def _log_totals(self) -> Floats:
        """Of each item the logarithm of what its chances are divided by."""
        with numpy.errstate(all="ignore"):
            highest = self._scores.max(1).astype(numpy.float64)
            highest = numpy.where(numpy.isfinite(highest), highest, 0.0)
            total = numpy.zeros(len(highest))
            for number in range(self._scores.shape[1]):  # a class at a time: no second copy of all scores
                total += numpy.exp(self._scores[:, number] - highest)
            return highest + numpy.log(total)


def _softmax(scores: NDArray[numpy.floating]) -> Floats:
    chances: Floats = torch.softmax(torch.from_numpy(scores).double(), 1).numpy()
    return chances


def _sigmoid(scores: Floats) -> Floats:
    with numpy.errstate(all="ignore"):
        return numpy.exp(-numpy.logaddexp(0, -scores))
