"""A loss for whom none was given, where no scores are kept to compute it from afterwards."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from torcheer.training import distributed
from torcheer.training.evaluations.answers import answers_of, form_of, scores_in
from torcheer.training.losses import LossKind


class UnscoredLoss:
    """The cross entropy where an item has many answers, the mean squared error where there are no classes."""

    def __init__(self, kind: LossKind | None) -> None:
        self._kind = kind
        self._entropy = [0.0, 0.0]  # the sum, and of how many
        self._squares = [0.0, 0.0]
        self.is_shifted = False  # the model's own loss is of other answers than those side by side

    def take(self, outputs: Any, targets: Any) -> None:
        scores = scores_in(outputs)
        if not isinstance(scores, Tensor) or not isinstance(targets, Tensor):
            return
        form = form_of(scores, targets, self._kind)
        if form == "classes" and scores.ndim > 2:
            answers = answers_of(scores, targets, form, self._kind)
            total = float(F.cross_entropy(answers.scores.float(), answers.targets.long(), reduction="sum"))
            _add(self._entropy, total, len(answers.targets))
            self._compare(total, len(answers.targets), outputs)
        elif form != "classes" and scores.numel() == targets.numel() and not scores.is_complex():
            # Kept for the form "one score", too: a later batch may show that these are values.
            difference = scores.reshape(targets.shape).to(torch.float64) - targets
            _add(self._squares, float(difference.square().sum()), targets.numel())

    def _compare(self, total: float, num_answers: int, outputs: Any) -> None:
        """A language model says the next word: its own loss shows that these are not its answers."""
        own = getattr(outputs, "loss", None)
        if isinstance(own, Tensor) and num_answers:
            self.is_shifted |= not math.isclose(float(own), total / num_answers, rel_tol=2e-3, abs_tol=1e-4)

    def mean(self, *, is_sharded: bool) -> tuple[float | None, str]:
        """With what it is; None where outputs and targets have nothing in common."""
        sums = [*self._entropy, *self._squares]
        if is_sharded:
            sums = distributed.summed(sums).tolist()
        entropy, num_answers, squares, num_values = sums
        if num_answers:
            return entropy / num_answers, "cross entropy"
        return (squares / num_values, "mean squared error") if num_values else (None, "none")


def _add(sums: list[float], total: float, number: int) -> None:
    sums[0] += total
    sums[1] += number
