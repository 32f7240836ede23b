"""Go on with a training that was interrupted: what `fit` does with its checkpoints."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torcheer.errors import InputError
from torcheer.graph import say
from torcheer.training import distributed
from torcheer.training.callbacks import Training
from torcheer.training.madewith import differences
from torcheer.training.telling import warn

if TYPE_CHECKING:
    from torcheer.training.checkpointing.keepingcheckpoints import Checkpoints


def checkpoints_of(given: Any) -> Checkpoints | None:
    """Checkpoints as they are; a folder means those of every epoch."""
    if given is None:
        return None
    from torcheer.training.checkpointing.keepingcheckpoints import Checkpoints

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
    from torcheer.training.ordering.dataorder import DataOrder

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
