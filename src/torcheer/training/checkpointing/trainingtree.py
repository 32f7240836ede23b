"""All of a training that `fit` runs, as the tree of a checkpoint; and a training put back to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torcheer.errors import InputError
from torcheer.training import distributed
from torcheer.training.callbacks import Callback, Training
from torcheer.training.checkpointing.checkpointparts import (
    Parts,
    check_fits,
    checked_parts,
    load_parts,
    tree_of,
)
from torcheer.training.checkpointing.checkpoints import Checkpoint, Tree, all_or_nothing, put_back_random
from torcheer.training.ordering.randomness import random_state

_OF_EACH_RANK = ("random", "data", "training", "callbacks")


# --- taking -------------------------------------------------------------------------------------------------


def own_states(training: Training, but: Callback) -> Tree:
    """What each process has of its own: its numbers, its data, and what came of them."""
    others = (one for one in training.callbacks if one is not but)
    return {
        "random": random_state(training.train_loader, training.model, training.test_loader),
        "data": training.order.state(),
        "training": training.state_dict(),
        "callbacks": [[type(one).__name__, one.state_dict()] for one in others],
    }


def training_tree(training: Training, states: Sequence[Tree], keeping: Mapping[str, Any]) -> Tree:
    """`states`: what `own_states` gave in each process. `keeping`: what is said about the best checkpoint."""
    position = {
        "step": training.steps_done,
        "epoch": training.epochs_done,
        "batch": training.batches_done,
    }
    return {
        **tree_of(_parts_of(training)),
        "position": position,
        "metrics": figures_of(training),
        "extra": None,
        "keeping": dict(keeping),
        **{name: dict(enumerate(state[name] for state in states)) for name in _OF_EACH_RANK},
    }


def is_at_end_of_epoch(training: Training) -> bool:
    """Whether the figures of the last epoch are those of the weights as they are now."""
    history = training.history
    return len(history) > 0 and int(history["step"][-1]) == training.step


def figures_of(training: Training) -> dict[str, float]:
    """Of the epoch that has just ended, or of the last step."""
    history = training.history
    if is_at_end_of_epoch(training):
        return {name: float(history[name][-1]) for name in history.names}
    last = len(history.steps) - 1
    return {name: float(history.steps.tail(name, last)[0]) for name in history.steps.names if last >= 0}


def _parts_of(training: Training) -> Parts:
    return checked_parts(
        Parts(
            model=training.model,
            optimizer=training.optimizer,
            scheduler=training.scheduler,
            scaler=training.scaler,
        )
    )


# --- putting back -------------------------------------------------------------------------------------------


def load_training(training: Training, checkpoint: Checkpoint, tree: Tree) -> None:
    """Put the training back to where it was. InputError where it is another training."""
    if "training" not in tree:
        raise InputError(
            f"{checkpoint.path} was not written by fit, which cannot go on from it: load it first, with "
            "load_checkpoint(path, model=model)."
        )
    parts = _parts_of(training)
    if "scaler" not in tree:  # begins anew where autocast was turned on since
        parts = Parts(model=parts.model, optimizer=parts.optimizer, scheduler=parts.scheduler)
    with all_or_nothing(checkpoint, training.train_loader, training.model, training.test_loader):
        check_fits(str(checkpoint.path), tree, parts)
        if "scheduler" in tree and parts.scheduler is None:
            raise InputError(
                f"{checkpoint.path} was written with a scheduler, {tree['kinds']['scheduler']}: give fit the "
                "same."
            )
        put_back_random(checkpoint, training.order, training.model, training.test_loader, goes_on=True)
        rank = distributed.rank() if distributed.rank() in tree["training"] else 0
        training.load_state_dict(tree["training"][rank])
        _load_callbacks(training, tree["callbacks"][rank])
        load_parts(tree, parts)  # last: what it does it takes back where something fails


def _load_callbacks(training: Training, stored: list[list[Any]]) -> None:
    """By class, in their order: there may be others now."""
    left = list(stored)
    for callback in training.callbacks:
        found = next((one for one in left if one[0] == type(callback).__name__), None)
        if found is not None:
            left.remove(found)
            if found[1]:
                callback.load_state_dict(found[1])
