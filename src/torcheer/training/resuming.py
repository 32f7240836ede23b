"""Go on with a training that was interrupted: what `fit` does with its checkpoints."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from torcheer.errors import InputError
from torcheer.training.callbacks import Training

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


def resumed(checkpoints: Checkpoints | None, training: Training) -> bool:
    """Put back what the newest checkpoint has. False where the training begins anew."""
    if checkpoints is None:
        return False
    from torcheer.training.ordering.dataorder import DataOrder

    training.order = DataOrder(training.train_loader, renew_workers=True)
    return checkpoints.resume(training)
