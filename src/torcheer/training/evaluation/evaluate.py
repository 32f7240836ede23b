"""`tl.evaluate`: run a model over a set of data, and say how well it does."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import torch
from torch import nn

from torcheer.capture import Batch, chosen_device, place, unwrapped
from torcheer.errors import InputError
from torcheer.run import Run
from torcheer.training import distributed
from torcheer.training.evaluation.answers import ScoreKeeper
from torcheer.training.evaluation.class_figures import Chances
from torcheer.training.evaluation.measurer import Measurer
from torcheer.training.evaluation.result import Evaluation
from torcheer.training.losses import LossFunction, LossKind, checked_function, kind_of, name_of
from torcheer.training.metrics import metrics_of
from torcheer.training.trainer.fit_arguments import checked_loader, checked_model


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
    kind = _kind_of(checked_function(loss), scores)
    keeper = ScoreKeeper(kind, wants_loss=loss is None)

    def seen(batch: Batch, outputs: Any) -> None:
        keeper.take(outputs, batch.targets, batch.num_items)

    measurer = Measurer(model, device=where, loss=loss, metrics=metrics_of(metrics, loss, where))
    measured = measurer.measure(loader, seen)
    is_sharded = distributed.is_sharded(loader)
    kept = keeper.gathered(is_sharded=is_sharded)
    chances = None if kept is None else Chances(kept.values, kind)
    found, name = measured.loss, name_of(loss)
    if found is None and kept is not None and chances is not None:
        found, name = chances.mean_surprise(kept.targets), "cross entropy"
    elif found is None:
        found, name = keeper.unscored_loss(is_sharded=is_sharded)
    counts = None if keeper.is_shifted else keeper.counts
    if kept is not None and chances is not None:
        counts = kept.counts(chances.num_classes)
    evaluation = Evaluation(
        model=type(unwrapped(model)).__name__,
        num_items=measured.num_items,
        loss=found,
        loss_name=name,
        metrics=measured.metrics,
        labels=() if counts is None else _labels_of(labels, loader, len(counts)),
        confusion=None if counts is None else counts[:, :-1].copy(),
        unsaid=None if counts is None else counts[:, -1].copy(),
        scores=kept,
        chances=chances,
    )
    if run is not None and distributed.is_main():
        _log(evaluation, run, step)
    return evaluation


def _kind_of(loss: LossFunction | None, scores: str | None) -> LossKind | None:
    if scores is None:
        return kind_of(loss)
    if scores not in ("logits", "probabilities"):
        raise InputError(f"scores={scores!r}: give 'logits' or 'probabilities', or leave it out.")
    return "logits" if scores == "logits" else "probabilities"


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


def _log(evaluation: Evaluation, run: Any, step: int) -> None:
    if isinstance(run, Run):
        evaluation.log(run, step)
    elif isinstance(run, str | os.PathLike):
        with Run(run) as opened:
            evaluation.log(opened, step)
    else:
        raise InputError(f"run is a {type(run).__name__}: give a folder, or a tl.Run.")
