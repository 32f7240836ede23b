"""Train a model: the cycle, from the first epoch to the last."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from torcheer.capture import same_modes_after, seed_everything
from torcheer.run import Run
from torcheer.training import distributed
from torcheer.training.callbacks import Training, callbacks_of
from torcheer.training.fetching import fetched
from torcheer.training.history import History
from torcheer.training.interrupting import Interruption, returning_when_interrupted
from torcheer.training.listening import Listeners, listening, tell_all
from torcheer.training.losses import LossFunction, name_of
from torcheer.training.madewith import made_with
from torcheer.training.measuring import Measurer
from torcheer.training.metrics import metrics_of
from torcheer.training.preparing import (
    checked_epochs,
    checked_loader,
    checked_model,
    num_batches_of,
    optimizer_of,
)
from torcheer.training.progress import fit_progress
from torcheer.training.recording import Recorder
from torcheer.training.resuming import checkpoints_of, resumed, say_going_on
from torcheer.training.runsettings import opened_run, settings_of
from torcheer.training.scheduling import Scheduling
from torcheer.training.stepping import Stepper

if TYPE_CHECKING:
    from torcheer.training.checkpointing.keepingcheckpoints import Checkpoints


def fit(
    model: nn.Module,
    train_loader: Iterable[Any],
    *,
    loss: LossFunction | None,
    optimizer: Any,
    epochs: int,
    test_loader: Iterable[Any] | None = None,
    metrics: Any = None,
    scheduler: Any = None,
    run: str | os.PathLike[str] | Run | None = None,
    callbacks: Any = (),
    checkpoints: str | os.PathLike[str] | Checkpoints | None = None,
    clip_norm: float | None = None,
    accumulate: int = 1,
    autocast: str | torch.dtype | None = None,
    device: str | torch.device | None = None,
    seed: int | None = None,
    progress: bool = True,
) -> History:
    """Train a model for some epochs, and return what came of it.

    - `train_loader`: gives batches, `(inputs, targets)` or a dict of inputs by name. `test_loader`: those on
      which the model is measured after each epoch.
    - `loss`: a function of outputs and targets; None for a model that computes its loss itself.
    - `optimizer`: an optimizer, or a function that makes one of parameters: `torch.optim.Adam`.
    - `metrics`: `"accuracy"`, a dict of functions of outputs and targets, or objects that count.
    - `scheduler`: one of torch's, stepped each epoch; `tl.by_step(...)` steps it each step.
    - `run`: a folder or a `tl.Run` that everything is logged to. `checkpoints`: a folder from which a
      training that was interrupted goes on.
    - `callbacks`: objects with `on_step`, `on_epoch` and the like, or functions called after each epoch.
    - `clip_norm`, `accumulate`, `autocast`: shorten gradients, gather them over batches, half precision.
    - `device`: where to train, `"auto"` for the fastest there is; where the model is, if left out.
    - `seed`: of the order of the data, dropout and the like; the model has its weights already.

    Ctrl-C ends it after the step under way, and the history so far is returned.
    """
    model = checked_model(model)
    num_epochs = checked_epochs(epochs)
    checked_loader(train_loader, "train_loader", num_passes=num_epochs)
    if test_loader is not None:
        checked_loader(test_loader, "test_loader", num_passes=num_epochs)
    stepper = Stepper(
        model,
        loss,
        optimizer_of(optimizer, model),
        device=device,
        clip_norm=clip_norm,
        accumulate=accumulate,
        autocast=autocast,
        measure_norm=run is not None,
    )
    kept = checkpoints_of(checkpoints)
    train_metrics, test_metrics = (metrics_of(metrics, loss, stepper.device) for _ in range(2))
    measured_on = ("train",) if test_loader is None else ("train", "test")
    figures = tuple(f"{data}/{name}" for data in measured_on for name in ("loss", *train_metrics))
    scheduling = Scheduling(scheduler, stepper.optimizer, figures)
    training = Training(
        model=model,
        optimizer=stepper.optimizer,
        scheduler=scheduling.scheduler,
        stepper=stepper,
        train_loader=train_loader,
        test_loader=test_loader,
        num_epochs=num_epochs,
        num_batches=num_batches_of(train_loader),
        figures=figures,
        history=History(),
        callbacks=[*callbacks_of(callbacks), *([] if kept is None else [kept])],
        metrics=train_metrics,
        made_with=made_with(stepper.optimizer, loss),
    )
    measurer = Measurer(
        model,
        device=stepper.device,
        loss=loss,
        whole=loss is None,
        metrics=test_metrics,
        autocast=stepper.autocast,
    )
    if seed is not None:
        seed_everything(seed + distributed.rank())
    went_on_from = resumed(kept, training)
    settings = settings_of(
        training,
        {
            "loss": name_of(loss),
            "epochs": num_epochs,
            "clip_norm": clip_norm,
            "accumulate": accumulate if accumulate > 1 else None,
            "autocast": None if autocast is None else str(autocast),
            "seed": seed,
        },
    )
    with (
        returning_when_interrupted(training) as interruption,
        opened_run(run, training, is_resumed=went_on_from is not None) as training.run,
        same_modes_after(model),
        Recorder(training, settings) as recorder,
        listening(training, fit_progress(progress)) as listeners,
    ):
        say_going_on(went_on_from, training)
        _train(training, recorder, scheduling, measurer, listeners, interruption)
    return training.history


def _train(
    training: Training,
    recorder: Recorder,
    scheduling: Scheduling,
    measurer: Measurer,
    listeners: Listeners,
    interruption: Interruption,
) -> None:
    """The cycle itself. What `stepper.step` does: zero_grad, forward, loss, backward, step."""
    for epoch in training.epochs_to_go():
        training.begin_epoch(epoch)
        recorder.begin_epoch()
        training.model.train()

        for batch in fetched(training, interruption):
            stepped = training.stepper.step(batch)
            recorder.after_step(stepped)
            if scheduling.is_by_step:
                scheduling.after_step(stepped.stepped)
            training.is_between_steps = True
            tell_all(listeners.on_step, training)
            if training.stopped_by is not None and listeners.may_stop_alone:
                return

        with training.changing():
            scheduling.after_step(training.stepper.flush())
        figures = recorder.train_figures()
        if training.test_loader is not None:
            with interruption.breaking():
                figures |= measurer.measure(training.test_loader, listeners.on_test_batch).named("test")
        with training.changing():
            scheduling.after_epoch(figures)
            recorder.end_epoch(figures)
            training.epochs_done += 1
        tell_all(listeners.on_epoch, training)
        listeners.agree_on_stop()
