"""A training: the cycle in one call or step by step, checkpoints, data, and the trainers of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torcheer.lazy_imports import lazy_imports

if TYPE_CHECKING:
    from torcheer.training.callbacks import Callback, Training
    from torcheer.training.checkpointing.checkpoints import Checkpoint, load_checkpoint, save_checkpoint
    from torcheer.training.checkpointing.keepingcheckpoints import Checkpoints
    from torcheer.training.datasets import CIFAR10, CIFAR100, Digits, ImageFolder, load_digits
    from torcheer.training.evaluations.evaluating import evaluate
    from torcheer.training.evaluations.evaluation import Evaluation
    from torcheer.training.fitting import fit
    from torcheer.training.history import History
    from torcheer.training.loop import Loop
    from torcheer.training.looping.criteria import loss_below, no_errors_for
    from torcheer.training.looping.parameters import Parameters, parameter
    from torcheer.training.looping.setup import Setup
    from torcheer.training.ordering.dataorder import DataOrder
    from torcheer.training.scheduling import by_epoch, by_step
    from torcheer.training.stepping import Stepper
    from torcheer.training.stopping import EarlyStopping, StopOnNonFinite
    from torcheer.training.telling import TrainingWarning
    from torcheer.training.trainingrun import TrainingRun, training_run
else:
    __getattr__, __dir__ = lazy_imports(__name__)
