"""`tl.fit`: train a model, from the first epoch to the last, and write down what happens to it."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from time import perf_counter, time
from typing import TYPE_CHECKING, Any, Self

import torch
from torch import Tensor, nn

from torcheer.capture import seed_everything
from torcheer.errors import InputError
from torcheer.models import rank_of, same_modes_after
from torcheer.run import Run, RunAccess, RunReader, folder_of, whole_number_of
from torcheer.training import distributed
from torcheer.training.checkpoint.periodic import (
    checkpoints_of,
    made_with,
    say_going_on,
    settings_in_use,
)
from torcheer.training.evaluation.evaluate import measure
from torcheer.training.metrics import metrics_of, numbers_of, weighted_mean
from torcheer.training.trainer import fit_arguments
from torcheer.training.trainer.callbacks import (
    INTERRUPTED,
    Callback,
    EarlyStopping,
    Interruption,
    Training,
    callbacks_of,
    returning_when_interrupted,
)
from torcheer.training.trainer.fit_arguments import LossFunction, Scheduling, is_sum, name_of
from torcheer.training.trainer.stepper import Stepped, Stepper
from torcheer.training.trainer.training_history import History
from torcheer.training.training_progress import fit_progress
from torcheer.training.training_warning import warn

if TYPE_CHECKING:
    from torcheer.training.checkpoint.periodic import Checkpoints

_WORDS = re.compile(r"[\w/ ]+")
_INTERVAL_SECONDS = 0.2  # after which a run has a step, at the latest
_MOST_STEPS = 256  # whose notes are kept, where nobody waits for them
LOSS, LR, NORM, ITEMS = "train/loss", "train/lr", "train/grad_norm", "train/items"


class Recorder:
    """Writes down what happens to a training, until it is closed.

    Of a step, only what must be taken at once is taken at once: the rest is done for many together, a few
    times a second. Whoever reads the history meanwhile finds all of it there.
    """

    def __init__(self, training: Training, settings: Mapping[str, Any]) -> None:
        self._training = training
        self._run = training.run
        self._prefix = next(iter(distributed.names_of_rank({"": None})))
        self._is_read_at_once = training.device.type == "cpu"  # where nobody has to wait for a number
        self._is_broken = False  # the loss was no number once, and that was said
        self._began = perf_counter()
        self._due = 0.0
        # Of steps that are not written down yet: when each was made, and its figures.
        self._notes: list[tuple[float, dict[str, float | Tensor]]] = []
        training.history.steps.before_reading = self.flush
        if self._run is not None and distributed.is_main():
            self._run.log_hparams(settings)
            _lay_out(self._run, training.figures)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.flush()
        history = self._training.history
        history.steps.before_reading = None
        if self._run is not None and distributed.is_main() and len(history):
            came = {name: float(history[name][-1]) for name in history.names}
            self._run.log_hparams({}, came, step=self._training.step)

    def after_step(self, stepped: Stepped) -> None:
        training = self._training
        training.stepped = stepped
        training.batches_done += 1
        training.steps_done += 1
        loss = stepped.own_loss.item() if self._is_read_at_once else stepped.loss
        rate = training.optimizer.param_groups[0].get("lr", math.nan)
        now, note = time(), {LOSS: loss, LR: rate, ITEMS: stepped.num_items}
        self._notes.append((now, note))  # first: a metric may raise, and the step was made
        if stepped.grad_norm is not None:
            note[NORM] = stepped.grad_norm
        for name, metric in training.metrics.items():
            value = metric.update(stepped.outputs, stepped.targets, stepped.num_items)
            if value is not None:
                note[f"train/{name}"] = value
        if now >= self._due if self._run is not None else len(self._notes) >= _MOST_STEPS:
            self.flush()
            self._due = now + _INTERVAL_SECONDS

    def flush(self) -> None:
        """Write down all steps that were made."""
        notes, self._notes = self._notes, []
        if not notes:
            return
        names = dict.fromkeys(name for _, note in notes for name in note)
        columns = {name: numbers_of([note.get(name, math.nan) for _, note in notes]) for name in names}
        columns[ITEMS] = columns.pop(ITEMS)  # last in the history
        self._training.history.steps.extend(columns, len(notes))
        first, losses = self._training.steps_done - len(notes), columns[LOSS]
        if self._run is not None:
            for n, (when, note) in enumerate(notes):
                values = {self._prefix + name: columns[name][n] for name in note if name != ITEMS}
                RunAccess(self._run).put_scalars(first + n, when, values)
        broken = next((n for n, loss in enumerate(losses) if not math.isfinite(loss)), None)
        if broken is not None and not self._is_broken:
            self._is_broken = True
            warn(
                f"the loss is {losses[broken]} at step {first + broken}: from here on the weights are most "
                "likely broken, too. The training goes on; tl.StopOnNonFinite() among the callbacks ends it, "
                "clip_norm=1.0 or a smaller learning rate may prevent it."
            )

    def begin_epoch(self) -> None:
        self._began = perf_counter()

    def train_figures(self) -> dict[str, float]:
        """The means over the epoch that ends, of all ranks together."""
        training = self._training
        first = training.steps_done - training.batches_done
        steps = training.history.steps
        losses, items = steps.tail(LOSS, first), steps.tail(ITEMS, first)
        means = {"loss": weighted_mean(losses / items if is_sum(training.stepper.loss) else losses, items)}
        means |= {name: metric.compute() for name, metric in training.metrics.items()}
        return distributed.mean_over_ranks(
            {f"train/{name}": value for name, value in means.items()}, weight=float(items.sum())
        )

    def end_epoch(self, figures: Mapping[str, float]) -> None:
        """What an epoch came to: `train/…` of its batches, `test/…` after it."""
        training = self._training
        training.history.add_epoch(figures, step=training.step, seconds=perf_counter() - self._began)
        if self._run is not None and distributed.is_main():
            # In a run, what is named train/… has a point for each step.
            named = {
                "epoch/" + name.removeprefix("train/") if name.startswith("train/") else name: value
                for name, value in figures.items()
            }
            self._run.log(training.step, named)


def _lay_out(run: Run, figures: tuple[str, ...]) -> None:
    """Have each figure of the test in one chart with that of the training. A layout that is there stays."""

    def pattern(name: str) -> str:
        # Names of a layout are patterns of how a name begins: top1 is no top10. Others are names as well.
        return f"{name}$" if _WORDS.fullmatch(name) else name

    names = [name.removeprefix("test/") for name in figures if name.startswith("test/")]
    if not names:
        return
    run.flush()
    # A folder that cannot be read is no reason to end a training.
    with suppress(Exception), closing(RunReader(run.path)) as reader:
        if not any(key.kind == "layout" for key in reader.series()):
            pairs = {
                name: ["Multiline", [pattern(f"epoch/{name}"), pattern(f"test/{name}")]] for name in names
            }
            run.log_layout({"epochs": pairs})


# Everybody is told, whatever the others do with it: a callback that raises costs no checkpoint and no figure.
# What the first one raised goes on its way when all were told; what others raised is noted on it.


def tell(listeners: Sequence[Callback], name: str, training: Training) -> None:
    """Call this method of each of them; then raise what the first raised, if one did."""
    first: BaseException | None = None
    for listener in listeners:
        method = getattr(listener, name)
        try:
            method(training)
        except BaseException as error:  # also Ctrl-C: the others are told first
            if first is None:
                first = error
            elif error is not first:
                _note_on(first, error, getattr(method, "__qualname__", repr(method)))
    if first is not None:
        raise first


def _note_on(first: BaseException, other: BaseException, where: str) -> None:
    first.add_note(f"{where} raised as well: {type(other).__name__}: {other}".rstrip(": "))
    for line in getattr(other, "__notes__", ()):
        first.add_note(line)


@contextmanager
def telling_begin_and_end(training: Training, listeners: Sequence[Callback]) -> Iterator[None]:
    """Everybody is told of the end, in whatever way it comes."""
    try:
        tell(listeners, "on_begin", training)
        yield
    except BaseException as error:
        training.error = error
        if isinstance(error, KeyboardInterrupt):
            # It ends a training as it should end, and is not heard of again: what goes wrong then is.
            training.stop(INTERRUPTED)
            _tell_whole_end(listeners, training)
            raise
        try:
            tell(listeners, "on_end", training)
        except BaseException as other:
            _note_on(error, other, "on_end")
        raise
    else:
        _tell_whole_end(listeners, training)


def _tell_whole_end(listeners: Sequence[Callback], training: Training) -> None:
    """Whatever the callbacks do, the last checkpoint is written, and then the best weights are put back."""
    try:
        tell(listeners, "on_end", training)
    finally:
        for callback in training.callbacks:
            if isinstance(callback, EarlyStopping):
                callback.put_best_back(training)


def batches_of(training: Training, interruption: Interruption) -> Iterator[Any]:
    """The batches of the epoch; those that are left of it, after a resume."""
    # Where other processes read the data, nothing of this one changes meanwhile, and Ctrl-C need not wait.
    is_elsewhere = getattr(training.train_loader, "num_workers", 0) > 0
    batches = _batches(training)
    while True:
        training.is_between_steps = interruption.may_break = is_elsewhere
        try:
            batch = next(batches)
        except StopIteration:
            break
        except Exception:
            # Ctrl-C reaches the workers, too, and a loader complains about those that are gone.
            if is_elsewhere and training.stopped_by == INTERRUPTED:
                raise KeyboardInterrupt from None
            raise
        finally:
            interruption.may_break = False
        training.is_between_steps = False
        yield batch
    training.is_between_steps = True
    if not training.batches_done:
        raise InputError(
            f"train_loader gave no batches in epoch {training.epoch + 1}: its data set is empty, or it is an "
            "iterator that is used up after one pass."
        )


def _batches(training: Training) -> Iterator[Any]:
    if training.order is not None:
        yield from training.order.epoch(training.epoch)
        return
    distributed.set_epoch(training.train_loader, training.epoch)
    yield from training.train_loader


@contextmanager
def opened_run(run: Any, training: Training, *, is_resumed: bool) -> Iterator[Run | None]:
    """A run that is open already is left open; one that is opened here is closed, and says how it ended."""
    if run is None or isinstance(run, Run):
        yield run
        return
    if not isinstance(run, str | os.PathLike):
        raise InputError(f"run is a {type(run).__name__}: give a folder, or a tl.Run.")
    folder = Path(distributed.from_main(str(folder_of(run))))
    # What was logged after the checkpoint happens again, and would be there twice.
    purge_step = training.steps_done if is_resumed else None
    with Run(folder, total_steps=training.num_steps, purge_step=purge_step) as opened:
        yield opened
        if training.stopped_by == INTERRUPTED:
            raise KeyboardInterrupt  # the run says so; whoever opened it goes on


def settings_of(training: Training, named: Mapping[str, Any]) -> dict[str, Any]:
    """The hyperparameters: what was given to fit, and the settings of the optimizer that are in use."""
    optimizer = training.optimizer
    own = {
        name: value
        for name, value in settings_in_use(training.made_with, getattr(optimizer, "defaults", {})).items()
        if isinstance(value, int | float | str | tuple) and not isinstance(value, bool)
    }
    settings = {
        "model": type(training.model).__name__,
        "optimizer": type(optimizer).__name__,
        **own,
        "scheduler": None if training.scheduler is None else type(training.scheduler).__name__,
        "batch_size": getattr(training.train_loader, "batch_size", None),
        **named,
    }
    return {name: value for name, value in settings.items() if value is not None}


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
    model = fit_arguments.checked_model(model)
    epochs = whole_number_of("epochs", epochs, least=0)
    fit_arguments.checked_loader(train_loader, "train_loader", num_passes=epochs)
    if test_loader is not None:
        fit_arguments.checked_loader(test_loader, "test_loader", num_passes=epochs)
    stepper = Stepper(
        model,
        loss,
        fit_arguments.optimizer_of(optimizer, model),
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
        num_epochs=epochs,
        num_batches=fit_arguments.num_batches_of(train_loader),
        figures=figures,
        history=History(),
        callbacks=[*callbacks_of(callbacks), *([] if kept is None else [kept])],
        metrics=train_metrics,
        made_with=made_with(stepper.optimizer, loss),
    )
    measured = partial(
        measure,
        model,
        test_loader,
        device=stepper.device,
        loss=loss,
        whole=loss is None,
        metrics=test_metrics,
        autocast=stepper.autocast,
    )
    if seed is not None:
        seed_everything(seed + rank_of())
    went_on_from = None if kept is None else kept.resume(training)
    settings = settings_of(
        training,
        {
            "loss": name_of(loss),
            "epochs": epochs,
            "clip_norm": clip_norm,
            "accumulate": accumulate if accumulate > 1 else None,
            "autocast": None if autocast is None else str(autocast),
            "seed": seed,
        },
    )
    bars = fit_progress(progress)
    listeners = [*([] if bars is None else [bars]), *training.callbacks]
    with (
        returning_when_interrupted(training) as interruption,
        opened_run(run, training, is_resumed=went_on_from is not None) as training.run,
        same_modes_after(model),
        Recorder(training, settings) as recorder,
        telling_begin_and_end(training, listeners),
    ):
        say_going_on(went_on_from, training)
        while training.epochs_done < epochs and training.stopped_by is None:
            training.begin_epoch(training.epochs_done)
            recorder.begin_epoch()
            model.train()
            if not _train_epoch(training, recorder, scheduling, listeners, interruption):
                break
            with training.changing():
                scheduling.after_step(stepper.flush())
            values = recorder.train_figures()
            if test_loader is not None:
                seen = None if bars is None else lambda *_: bars.on_test_batch(training)
                with interruption.breaking():
                    tested, _ = measured(seen)
                values |= {f"test/{name}": value for name, value in tested.items()}
            with training.changing():
                scheduling.after_epoch(values)
                recorder.end_epoch(values)
                training.epochs_done += 1
            tell(listeners, "on_epoch", training)
            if distributed.any_rank(training.stopped_by is not None):  # where one process stops, all do
                training.stop("another process stopped")
    return training.history


def _train_epoch(
    training: Training,
    recorder: Recorder,
    scheduling: Scheduling,
    listeners: Sequence[Callback],
    interruption: Interruption,
) -> bool:
    """The cycle itself. What `stepper.step` does: zero_grad, forward, loss, backward, step.

    False where it was stopped.
    """
    # Of several processes none may stop in the middle of an epoch: the others would wait for it.
    may_stop = not distributed.is_connected()
    for batch in batches_of(training, interruption):
        stepped = training.stepper.step(batch)
        recorder.after_step(stepped)
        scheduling.after_step(stepped.stepped)
        training.is_between_steps = True
        tell(listeners, "on_step", training)
        if training.stopped_by is not None and may_stop:
            return False
    return True
