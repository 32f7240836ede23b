"""Train models: `fit` in one call, `Loop` step by step; checkpoints, evaluation, data, adapters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torcheer.lazy_imports import lazy_imports

if TYPE_CHECKING:
    from torcheer.training.checkpoint.periodic import Checkpoints
    from torcheer.training.checkpoint.save_load import Checkpoint, load_checkpoint, save_checkpoint
    from torcheer.training.data_order import DataOrder
    from torcheer.training.datasets import CIFAR10, CIFAR100, Digits, ImageFolder, load_digits
    from torcheer.training.evaluation.evaluate import Evaluation, evaluate
    from torcheer.training.loop.loop import Loop
    from torcheer.training.loop.setup import Parameters, Setup, loss_below, no_errors_for, parameter
    from torcheer.training.recorded_training import TrainingRun, training_run
    from torcheer.training.trainer.callbacks import Callback, EarlyStopping, StopOnNonFinite, Training
    from torcheer.training.trainer.fit import fit
    from torcheer.training.trainer.fit_arguments import by_epoch, by_step
    from torcheer.training.trainer.stepper import Stepper
    from torcheer.training.trainer.training_history import History
    from torcheer.training.training_warning import TrainingWarning
else:
    __getattr__, __dir__ = lazy_imports(__name__)
