"""The batches of an epoch, fetched so that it is known at any time what Ctrl-C would leave behind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torcheer.errors import InputError
from torcheer.training import distributed
from torcheer.training.callbacks import Training
from torcheer.training.interrupting import INTERRUPTED, Interruption


def fetched(training: Training, interruption: Interruption) -> Iterator[Any]:
    """The batches of the epoch; those that are left of it, after a resume."""
    # Where other processes read the data, nothing of this one changes meanwhile, and Ctrl-C need not wait.
    is_elsewhere = getattr(training.train_loader, "num_workers", 0) > 0
    batches = _batches(training)
    if is_elsewhere:
        batches = _from_workers(batches, training, interruption)
    training.is_between_steps = is_elsewhere
    for batch in batches:
        training.is_between_steps = False
        yield batch
        training.is_between_steps = is_elsewhere
    training.is_between_steps = True
    if not training.batches_done:
        raise InputError(
            f"train_loader gave no batches in epoch {training.epoch + 1}: its data set is empty, or it is an "
            "iterator that is used up after one pass."
        )


def _from_workers(batches: Iterator[Any], training: Training, interruption: Interruption) -> Iterator[Any]:
    try:
        interruption.may_break = True
        for batch in batches:
            interruption.may_break = False
            yield batch
            interruption.may_break = True
    except Exception:
        # Ctrl-C reaches the workers, too, and a loader complains about those that are gone.
        if training.stopped_by == INTERRUPTED:
            raise KeyboardInterrupt from None
        raise
    finally:
        interruption.may_break = False


def _batches(training: Training) -> Iterator[Any]:
    if training.order is not None:
        return iter(training.order.epoch(training.epoch))
    distributed.set_epoch(training.train_loader, training.epoch)
    return iter(training.train_loader)
