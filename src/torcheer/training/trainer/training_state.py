"""Turn the state of a `fit` into the tree of a checkpoint, and resume a `fit` from one."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor
from torch.optim import Optimizer

from torcheer.errors import InputError
from torcheer.graph import say
from torcheer.training import distributed
from torcheer.training.checkpoint.save_load import Checkpoint, Tree, all_or_nothing, put_back_random
from torcheer.training.checkpoint.training_parts import Parts, check_fits, load_parts, tree_of
from torcheer.training.loss_functions import LossFunction, name_of
from torcheer.training.random_state import random_state
from torcheer.training.trainer.callbacks import Callback, Training
from torcheer.training.training_warning import warn

if TYPE_CHECKING:
    from torcheer.training.checkpoint.periodic import Checkpoints

# --- settings that a training was made with -----------------------------------------------------------------

_OF_SCHEDULER = "initial_lr"  # beside "lr", which says the same


def made_with(optimizer: Optimizer, loss: LossFunction | None) -> dict[str, Any]:
    """The name of the loss, and the settings of each group of the optimizer, before the first step."""
    return {"loss": name_of(loss), "groups": plain_groups(optimizer)}


def plain_groups(optimizer: Optimizer) -> list[dict[str, Any]]:
    """Numbers and text, without the parameters."""
    found = []
    for group in optimizer.param_groups:
        held = {
            name: one.item() if isinstance(one, Tensor) and one.numel() == 1 else one
            for name, one in group.items()
        }
        found.append({name: value for name, value in held.items() if _is_plain(value)})
    return found


def settings_in_use(made: Mapping[str, Any], names: Mapping[str, Any]) -> dict[str, Any]:
    """Of the optimizer, by name; where its groups have several, `lr/0`, `lr/1` and so on."""
    found: dict[str, Any] = {}
    for name in names:
        values = [_value(group, name) for group in made["groups"] if name in group]
        if values and all(value == values[0] for value in values):
            found[name] = values[0]
        else:
            found |= {f"{name}/{number}": value for number, value in enumerate(values)}
    return found


def differences(was: Mapping[str, Any], given: Mapping[str, Any], optimizer: Optimizer) -> Iterator[str]:
    """Where settings that are given are others than those of the checkpoint, which `optimizer` has by now."""
    groups = list(zip(was["groups"], given["groups"], plain_groups(optimizer), strict=True))
    for number, (before, now, current) in enumerate(groups):
        of_group = f" of group {number}" if len(groups) > 1 else ""
        # Schedulers that cycle change these, so that an optimizer that was trained with already has others.
        moved = {"momentum", "betas"} if "max_momentum" in now else set()
        for name in sorted((before.keys() & now.keys()) - {_OF_SCHEDULER} - moved):
            was_given, is_given = _value(before, name), _value(now, name)
            if is_given not in (was_given, current.get(name)):
                yield f"{name}{of_group} was {was_given!r} and is {is_given!r}"


def _value(group: Mapping[str, Any], name: str) -> Any:
    """As it was given: a scheduler may have changed the learning rate already."""
    return group.get(_OF_SCHEDULER, group[name]) if name == "lr" else group[name]


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(_is_plain(one) for one in value)
    return isinstance(value, bool | int | float | str | None)


# --- taking -------------------------------------------------------------------------------------------------

_OF_EACH_RANK = ("random", "data", "training", "callbacks")


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
    return Parts(
        model=training.model,
        optimizer=training.optimizer,
        scheduler=training.scheduler,
        scaler=training.scaler,
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


# --- going on -----------------------------------------------------------------------------------------------


def checkpoints_of(given: Any) -> Checkpoints | None:
    """Checkpoints as they are; a folder means those of every epoch."""
    if given is None:
        return None
    from torcheer.training.checkpoint.periodic import Checkpoints

    if isinstance(given, Checkpoints):
        return given
    if isinstance(given, str | os.PathLike):
        return Checkpoints(given)
    raise InputError(
        f"checkpoints is a {type(given).__name__}: give a folder, or tl.Checkpoints(folder, ...)."
    )


def resumed(checkpoints: Checkpoints | None, training: Training) -> Path | None:
    """Put back what the newest checkpoint has: which one. None where the training begins anew."""
    if checkpoints is None:
        return None
    from torcheer.training.data_order import DataOrder

    training.order = DataOrder(training.train_loader, renew_workers=True)
    given = training.made_with
    training.made_with = {}
    path = checkpoints.resume(training)
    was, training.made_with = training.made_with, given
    if path is not None and was:
        training.made_with = {**was, "loss": given["loss"]}
        if distributed.is_main():
            _tell_differences(was, given, training, path)
    return path


def _tell_differences(
    was: Mapping[str, Any], given: Mapping[str, Any], training: Training, path: Path
) -> None:
    changed = "; ".join(differences(was, given, training.optimizer))
    if changed:
        warn(
            f"other settings are given than {path} was made with: {changed}. Those of the checkpoint hold. "
            "For others, change optimizer.param_groups in the on_begin of a callback, or begin anew in "
            "another folder."
        )
    if was["loss"] != given["loss"]:
        warn(
            f"{path} was made with the loss {was['loss']}, and {given['loss']} is given: from here on that "
            "one is used."
        )


def say_going_on(path: Path | None, training: Training) -> None:
    """Where it goes on, or that there is nothing to do. Said also where no progress is shown."""
    if path is None or not distributed.is_main():
        return
    done, wanted = training.epochs_done, training.num_epochs
    if done >= wanted:
        epochs = f"{done} of {wanted} epochs" if done == wanted else f"{done} epochs, and {wanted} are wanted"
        say(f"finished already: {epochs}; with more epochs it goes on")
    elif training.stopped_by is not None:
        say(f"stopped already, after {done} of {wanted} epochs: {training.stopped_by}")
    else:
        say(f"going on from step {training.steps_done}, epoch {done + 1} of {wanted}: {path}")
