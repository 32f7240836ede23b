"""Count what a model does, item by item and batch by batch, and say what it comes to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from torcheer.errors import InputError
from torcheer.training.looping.itemerrors import Judge, Judged
from torcheer.training.looping.setup import Setup, Statistic
from torcheer.training.looping.testitems import item_of
from torcheer.training.losses import is_sum


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One batch: what the model did with it, as plain numbers."""

    num_items: int
    loss: float  # as the loss function has it
    judged: Judged
    statistics: Mapping[str, float]  # means over the items

    @property
    def num_wrong(self) -> int | None:
        return None if self.judged.wrong is None else int(self.judged.wrong.sum())

    @property
    def accuracy(self) -> float | None:
        wrong = self.num_wrong
        return None if wrong is None or not self.num_items else (self.num_items - wrong) / self.num_items


def seen(setup: Setup, judge: Judge, outputs: Any, targets: Any, loss: Tensor, num_items: int) -> Seen:
    with torch.no_grad():
        statistics = {
            name: mean_of(name, function(outputs, targets)) for name, function in setup.statistics.items()
        }
        judged = judge.judged(outputs, targets, num_items)
    return Seen(num_items=num_items, loss=loss.item(), judged=judged, statistics=statistics)


def mean_of(name: str, value: Any) -> float:
    found = torch.as_tensor(value)
    if not found.numel():
        return float("nan")
    if found.is_complex() or found.ndim > 1:
        raise InputError(
            f"the statistic {name!r} gives shape {tuple(found.shape)}: return one number for each item, or "
            "their mean."
        )
    return float(found.detach().double().mean())


def each_of(function: Statistic, outputs: Any, targets: Any, num_items: int) -> Tensor | None:
    """The value of each item: of a function that gives means, by calling it for each. None: it cannot."""
    whole = torch.as_tensor(function(outputs, targets)).detach()
    if whole.shape == (num_items,):
        return whole.double().cpu()
    if num_items == 1:
        return whole.double().cpu().reshape(-1)[:1]
    try:
        values = [
            float(function(item_of(outputs, number, num_items), item_of(targets, number, num_items)))
            for number in range(num_items)
        ]
    except Exception:  # it wants more than one item, or something that cannot be taken apart
        return None
    return torch.tensor(values, dtype=torch.float64)


@dataclass(slots=True)
class Tally:
    """The sums of an epoch, or of a test, as it goes."""

    is_summed: bool  # the loss of a batch is the sum over its items, not their mean
    num_items: int = 0
    num_batches: int = 0
    _loss: float = 0.0
    _errors: int | None = 0
    _statistics: dict[str, float] = field(default_factory=dict)
    _grad_norm: float = 0.0
    _num_norms: int = 0

    @classmethod
    def of(cls, setup: Setup) -> Tally:
        return cls(is_sum(setup.loss))

    def add(self, batch: Seen, grad_norm: float | None = None) -> None:
        self.num_items += batch.num_items
        self.num_batches += 1
        self._loss += batch.loss * (1 if self.is_summed else batch.num_items)
        wrong = batch.num_wrong
        self._errors = None if self._errors is None or wrong is None else self._errors + wrong
        for name, value in batch.statistics.items():
            self._statistics[name] = self._statistics.get(name, 0.0) + value * batch.num_items
        if grad_norm is not None:
            self._grad_norm += grad_norm
            self._num_norms += 1

    @property
    def grad_norm(self) -> float | None:
        """The mean over the trials that changed the weights."""
        return self._grad_norm / self._num_norms if self._num_norms else None

    def figures(self) -> dict[str, float]:
        """Loss, errors, accuracy and the statistics: those that there are."""
        if not self.num_items:
            return {}
        found: dict[str, float] = {"loss": self._loss / self.num_items}
        if self._errors is not None:
            found["errors"] = self._errors
            found["accuracy"] = (self.num_items - self._errors) / self.num_items
        return found | {name: value / self.num_items for name, value in self._statistics.items()}
