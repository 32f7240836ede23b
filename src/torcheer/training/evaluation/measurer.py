"""Run a model over a set of data without training it: the loss and the metrics of all items."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from torcheer.capture import Batch, same_modes_after, split
from torcheer.errors import InputError
from torcheer.training import distributed
from torcheer.training.losses import LossFunction, is_sum, loss_in
from torcheer.training.metrics import Gathered, Metric, weighted_mean
from torcheer.training.random_state import keeping_random_state

Seen = Callable[[Batch, Any], None]  # is shown each batch, and what the model made of it
Numbers = NDArray[numpy.float64]
_LOSS = "loss"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What became of all items together."""

    loss: float | None  # the mean over items; None where there is no loss
    metrics: dict[str, float]
    num_items: int

    def named(self, prefix: str) -> dict[str, float]:
        """`test/loss`, `test/accuracy`, …"""
        values = {} if self.loss is None else {"loss": self.loss}
        return {f"{prefix}/{name}": value for name, value in {**values, **self.metrics}.items()}


class Measurer:
    """How a model is run over data, again and again: after each epoch, or once.

    `whole`: the model gets the targets, too, and computes its loss itself.
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        device: torch.device,
        loss: LossFunction | None = None,
        whole: bool = False,
        metrics: Mapping[str, Metric] | None = None,
        autocast: AbstractContextManager[object] | None = None,
    ) -> None:
        # The wrapper of several processes exchanges something at each batch, and they may have different
        # numbers of them.
        self._model: nn.Module = model.module if isinstance(model, DistributedDataParallel) else model
        self._device = device
        self._loss = loss
        self._whole = whole
        self._metrics = metrics or {}
        self._autocast = autocast or nullcontext()

    def measure(self, loader: Any, seen: Seen | None = None) -> Measured:
        """Modes, gradients and random state are as they were, afterwards."""
        losses, items = Gathered(), Gathered()
        for metric in self._metrics.values():
            metric.reset()
        with (
            keeping_random_state(loader),
            same_modes_after(self._model),
            torch.no_grad(),
            distributed.unpadded(loader),
        ):
            self._model.eval()
            for batch in loader:
                taken, outputs = self._run(batch)
                loss = self._loss_of(outputs, taken.targets)
                items.append(float(taken.num_items))
                if loss is not None:
                    losses.append(loss)
                for metric in self._metrics.values():
                    metric.update(outputs, taken.targets, taken.num_items)
                if seen is not None:
                    seen(taken, outputs)
        return self._together(losses.array(), items.array(), loader)

    def _run(self, batch: Any) -> tuple[Batch, Any]:
        # A model that takes its inputs by name may compute its loss from the labels among them.
        is_named = self._loss is None and isinstance(batch, Mapping)
        taken = split(batch, whole=self._whole or is_named).moved_to(self._device)
        with self._autocast:
            return taken, taken.given_to(self._model)

    def _loss_of(self, outputs: Any, targets: Any) -> Tensor | None:
        if self._loss is not None:
            with self._autocast:
                return self._loss(outputs, targets)
        has_own = self._whole or getattr(outputs, "loss", None) is not None
        return loss_in(outputs) if has_own else None

    def _together(self, losses: Numbers, items: Numbers, loader: Any) -> Measured:
        is_sharded = distributed.is_sharded(loader)
        num_items = int(items.sum())
        total_items = int(distributed.summed([num_items])[0]) if is_sharded else num_items
        if not total_items:
            raise InputError("the loader gave no items to test on: its data set, or its sampler, is empty.")
        values = {name: metric.compute() for name, metric in self._metrics.items()}
        if len(losses):
            values[_LOSS] = weighted_mean(losses / items if is_sum(self._loss) else losses, items)
        if is_sharded:
            if not num_items:  # others had all of them: this one counts for nothing
                values = dict.fromkeys([*self._metrics, *([_LOSS] if self._loss or self._whole else [])], 0.0)
            values = distributed.mean_over_ranks(values, weight=num_items)
        else:
            # All have seen all of it, but buffers such as those of batch norm may differ between processes.
            values = distributed.from_main(values)
        return Measured(loss=values.pop(_LOSS, None), metrics=values, num_items=total_items)
