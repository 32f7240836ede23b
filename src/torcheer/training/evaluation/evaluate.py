"""`tl.evaluate`: run a model over a set of data without training it, and say how well it does."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal

import numpy
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from torcheer.errors import InputError
from torcheer.models import Batch, chosen_device, place, same_modes_after, split, unwrapped
from torcheer.run import Run
from torcheer.training import distributed
from torcheer.training.evaluation.predictions import ScoreKeeper
from torcheer.training.evaluation.result import Chances, Evaluation
from torcheer.training.loss_functions import (
    LossFunction,
    checked_function,
    is_sum,
    kind_of,
    loss_in,
    name_of,
)
from torcheer.training.metrics import Metric, array_of, metrics_of, weighted_mean
from torcheer.training.random_state import keeping_random_state
from torcheer.training.trainer.fit_arguments import checked_loader, checked_model

# --- the loss and the metrics of all items ------------------------------------------------------------------

Seen = Callable[[Batch, Any], None]  # is shown each batch, and what the model made of it
Numbers = NDArray[numpy.float64]


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

    def measure(self, loader: Any, seen: Seen | None = None) -> tuple[dict[str, float], int]:
        """The loss, where there is one, and the metrics of all items, by name; and how many items there are.

        Modes, gradients and random state are as they were, afterwards.
        """
        losses: list[float | Tensor] = []
        items: list[float | Tensor] = []
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
        return self._together(array_of(losses), array_of(items), loader)

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

    def _together(self, losses: Numbers, items: Numbers, loader: Any) -> tuple[dict[str, float], int]:
        is_sharded = distributed.is_sharded(loader)
        num_items = int(items.sum())
        total_items = int(distributed.summed([num_items])[0]) if is_sharded else num_items
        if not total_items:
            raise InputError("the loader gave no items to test on: its data set, or its sampler, is empty.")
        values: dict[str, float] = {}
        if len(losses):
            values["loss"] = weighted_mean(losses / items if is_sum(self._loss) else losses, items)
        values |= {name: metric.compute() for name, metric in self._metrics.items()}
        if is_sharded:
            if not num_items:  # others had all of them: this one counts for nothing
                values = dict.fromkeys(
                    [*(["loss"] if self._loss or self._whole else []), *self._metrics], 0.0
                )
            values = distributed.mean_over_ranks(values, weight=num_items)
        else:
            # All have seen all of it, but buffers such as those of batch norm may differ between processes.
            values = distributed.from_main(values)
        return values, total_items


# --- the evaluation -----------------------------------------------------------------------------------------


def evaluate(
    model: nn.Module,
    loader: Iterable[Any],
    *,
    loss: LossFunction | None = None,
    metrics: Any = None,
    device: str | torch.device | None = None,
    labels: Sequence[Any] | None = None,
    scores: Literal["logits", "probabilities"] | None = None,
    run: str | os.PathLike[str] | Run | None = None,
    step: int = 0,
) -> Evaluation:
    """Run a model over a set of data, and say how well it does.

    - `loss`: as for `fit`. Left out, it is the model's own where its output has one, else the cross entropy
      where there are classes, and the mean squared error where there are none.
    - `metrics`: as for `fit`; the accuracy and all that goes with classes is there anyway.
    - `labels`: names of the classes; those of the data set, where it has `classes`, or numbers.
    - `scores`: whether the outputs are logits or probabilities already. Left out, the loss says it, or else
      the values: between 0 and 1, and 1 in all.
    - `run`, `step`: where to log it.

    The model is in evaluation mode meanwhile, and has its modes back afterwards; nothing random is moved on.
    """
    model = checked_model(model)
    checked_loader(loader, "loader", num_passes=1)
    where = chosen_device(device, model)
    if device is not None:
        place(model, where)
    if scores not in (None, "logits", "probabilities"):
        raise InputError(f"scores={scores!r}: give 'logits' or 'probabilities', or leave it out.")
    kind = scores or kind_of(checked_function(loss))
    keeper = ScoreKeeper(kind, wants_loss=loss is None)
    measurer = Measurer(model, device=where, loss=loss, metrics=metrics_of(metrics, loss, where))
    figures, num_items = measurer.measure(loader, keeper.take)
    is_sharded = distributed.is_sharded(loader)
    kept = keeper.gathered(is_sharded=is_sharded)
    chances = None if kept is None else Chances(kept.values, kind)
    found, name = figures.pop("loss", None), name_of(loss)
    if found is None and kept is not None and chances is not None:
        found, name = -float(chances.log_of_each(kept.targets).mean()), "cross entropy"
    elif found is None:
        found, name = keeper.unscored_loss(is_sharded=is_sharded)
    counts = None if keeper.is_shifted else keeper.counts
    if kept is not None and chances is not None:
        counts = kept.counts(chances.num_classes)
    evaluation = Evaluation(
        model=type(unwrapped(model)).__name__,
        num_items=num_items,
        loss=found,
        loss_name=name,
        metrics=figures,
        labels=() if counts is None else _labels_of(labels, loader, len(counts)),
        confusion=None if counts is None else counts[:, :-1].copy(),
        unsaid=None if counts is None else counts[:, -1].copy(),
        scores=kept,
        chances=chances,
    )
    if not isinstance(run, str | os.PathLike | Run | None):
        raise InputError(f"run is a {type(run).__name__}: give a folder, or a tl.Run.")
    if run is not None and distributed.is_main():
        with nullcontext(run) if isinstance(run, Run) else Run(run) as opened:
            evaluation.log(opened, step)
    return evaluation


def _labels_of(given: Sequence[Any] | None, loader: Any, num_classes: int) -> tuple[str, ...]:
    """As they were given, as the data set has them, or numbers."""
    if given is not None:
        labels = tuple(str(label) for label in given)
        if len(labels) != num_classes:
            raise InputError(f"{len(labels)} labels for {num_classes} classes: give one for each.")
        return labels
    data = getattr(loader, "dataset", None)
    data = getattr(data, "dataset", data)  # of a Subset
    known = getattr(data, "classes", None)
    if isinstance(known, list | tuple) and len(known) == num_classes:
        return tuple(str(label) for label in known)
    return tuple(str(number) for number in range(num_classes))
