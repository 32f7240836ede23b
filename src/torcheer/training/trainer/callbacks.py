"""Callbacks, `Training`, the state that they are given, and Ctrl-C, which ends it."""

from __future__ import annotations

import copy
import math
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from torcheer.errors import InputError
from torcheer.graph import say
from torcheer.run import whole_number_of
from torcheer.training import distributed
from torcheer.training.metrics import Metric
from torcheer.training.trainer.stepper import Stepped, Stepper
from torcheer.training.trainer.training_history import History, Mode, is_better, mode_of
from torcheer.training.training_warning import warn

if TYPE_CHECKING:
    from torch.optim import Optimizer

    from torcheer.run import Run

_COUNTERS = ("epoch", "epochs_done", "batches_done", "steps_done")
_METHODS = ("on_begin", "on_step", "on_epoch", "on_end")


class Callback:
    """Something that happens during a training. Override what you need; each gets the state of the training.

    `state_dict` and `load_state_dict` keep what it remembers in checkpoints: numbers, text, lists, dicts,
    tensors and arrays.
    """

    def on_begin(self, training: Training) -> None:
        """Before the first step; after a checkpoint was loaded, where there is one."""

    def on_step(self, training: Training) -> None:
        """After each batch. `training.stepped` has its loss, inputs and outputs."""

    def on_epoch(self, training: Training) -> None:
        """After each epoch, and its test. `training.history` has the figures."""

    def on_end(self, training: Training) -> None:
        """When it is over, in whatever way: `training.stopped_by`, `training.error`."""

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take up what `state_dict` gave."""


@dataclass(slots=True, kw_only=True, eq=False, repr=False)
class Training:
    """Where a training stands. Callbacks may read all of it, change the optimizer, and stop it.

    Numbers count from 0. `epoch`, `batch` and `step` are those of the last batch that was trained, `step`
    over all epochs; `epochs_done`, `batches_done` (of this epoch) and `steps_done` say how many there were.
    """

    model: nn.Module
    optimizer: Optimizer
    scheduler: Any  # torch's own, or None
    stepper: Stepper
    train_loader: Any
    test_loader: Any
    num_epochs: int
    num_batches: int | None  # of an epoch; None where the loader does not know
    figures: tuple[str, ...]  # that an epoch will have: train/loss, test/loss, …
    history: History
    callbacks: list[Callback]
    metrics: Mapping[str, Metric] = field(default_factory=dict)  # of the epoch under way
    made_with: dict[str, Any] = field(default_factory=dict)  # settings; after a resume the checkpoint's
    run: Run | None = None
    order: Any = None  # how the data go on after a resume; None where nothing is kept
    stepped: Stepped | None = None  # the last step
    epoch: int = 0
    epochs_done: int = 0
    batches_done: int = 0
    steps_done: int = 0
    is_between_steps: bool = True  # False while a batch is fetched or trained: half a step is no state
    error: BaseException | None = None  # what ended it, if something did
    stopped_by: str | None = None  # why it ends before its last epoch

    @property
    def batch(self) -> int:
        return self.batches_done - 1

    @property
    def step(self) -> int:
        return self.steps_done - 1

    @property
    def num_steps(self) -> int | None:
        """Of the whole training; None where the loader does not know."""
        return None if self.num_batches is None else self.num_batches * self.num_epochs

    @property
    def device(self) -> torch.device:
        return self.stepper.device

    @property
    def scaler(self) -> torch.amp.GradScaler | None:
        return self.stepper.scaler

    def begin_epoch(self, epoch: int) -> None:
        """Count its batches from 0, unless it was begun before a resume."""
        if self.epoch != epoch or not self.batches_done:
            self.epoch, self.batches_done = epoch, 0
            for metric in self.metrics.values():
                metric.reset()

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Inside, several things change that belong together: what is between is no state to keep."""
        self.is_between_steps = False
        yield
        self.is_between_steps = True

    def stop(self, reason: str) -> None:
        """End the training after this step. The first reason holds."""
        if self.stopped_by is None:
            self.stopped_by = str(reason)

    def state_dict(self) -> dict[str, Any]:
        """What only the training itself knows, for a checkpoint."""
        return {
            **{name: getattr(self, name) for name in _COUNTERS},
            "history": self.history.state_dict(),
            "stepper": self.stepper.state_dict(),
            "metrics": {name: metric.state_dict() for name, metric in self.metrics.items()},
            "made_with": self.made_with,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        for name in _COUNTERS:
            setattr(self, name, int(state[name]))
        self.history.load_state_dict(state["history"])
        self.stepper.load_state_dict(state["stepper"])
        for name, metric in self.metrics.items():
            metric.load_state_dict(state["metrics"].get(name, {}))

    def __repr__(self) -> str:
        return f"<Training of {type(self.model).__name__}: epoch {self.epoch}, {self.steps_done} steps done>"


class _Foreign(Callback):
    """A function, called after each epoch; or an object of another class that has some of the methods."""


def callbacks_of(given: Any) -> list[Callback]:
    """Callbacks as they are; a function is called after each epoch."""
    listed = [given] if isinstance(given, Callback) or callable(given) else given
    if not isinstance(listed, Iterable):
        raise InputError(f"callbacks is a {type(given).__name__}: give a list of callbacks or functions.")
    return [_callback_of(one) for one in listed]


def _callback_of(one: Any) -> Callback:
    if isinstance(one, Callback):
        return one
    if isinstance(one, type):
        raise InputError(f"the callback {one.__name__} is a class: give an object of it, {one.__name__}().")
    names = [*_METHODS, "state_dict", "load_state_dict"]
    methods = {name: method for name in names if callable(method := getattr(one, name, None))}
    if not any(name in methods for name in _METHODS) and callable(one):
        methods["on_epoch"] = one
    if any(name in methods for name in _METHODS):
        made = _Foreign()
        vars(made).update(methods)
        return made
    raise InputError(
        f"the callback {one!r} is a {type(one).__name__}: give a function of the training, which is called "
        "after each epoch, or an object with some of on_begin, on_step, on_epoch and on_end."
    )


class EarlyStopping(Callback):
    """Ends a training when a figure got no better for `patience` epochs.

    - `metric`: a figure of the epoch, as the history names it: "test/loss", "test/accuracy", "train/loss".
    - `mode`: whether "min" or "max" is better; left out where the name says it.
    - `min_delta`: how much better it must be to count.
    - `restore_best`: put the weights of the best epoch back when `fit` returns, in whatever way it ended.
      They are kept in memory meanwhile, and in checkpoints. Left out, those of the last step stay.
    """

    def __init__(
        self,
        metric: str = "test/loss",
        patience: int = 5,
        mode: Mode | None = None,
        *,
        min_delta: float = 0.0,
        restore_best: bool = False,
    ) -> None:
        if not min_delta >= 0:
            raise InputError(f"min_delta={min_delta!r}: give a number, 0 or more.")
        self.metric = metric
        self.patience = whole_number_of("patience", patience, least=1)
        self.mode = mode_of(metric, mode)
        self.min_delta = min_delta
        self.restore_best = restore_best
        self._weights: dict[str, Any] | None = None  # of the best epoch
        self.best: float | None = None
        self.best_epoch = -1
        self.num_waited = 0  # epochs since the best one

    def on_begin(self, training: Training) -> None:
        if self.metric not in training.figures:
            raise InputError(
                f"EarlyStopping looks at {self.metric!r}, and an epoch has {', '.join(training.figures)}: "
                "name one of these, or give fit a test_loader and the metric."
            )
        if not training.steps_done:  # the same object may be used for another training
            self.best, self.best_epoch, self.num_waited, self._weights = None, -1, 0, None
        # A checkpoint may be of a training that was stopped already.
        self._look(training)

    def on_epoch(self, training: Training) -> None:
        value = float(training.history[self.metric][-1])
        if is_better(value, self.best, self.mode, self.min_delta):
            self.best, self.best_epoch, self.num_waited = value, training.epoch, 0
            if self.restore_best:
                self._weights = copy.deepcopy(dict(training.model.state_dict()))
        else:
            self.num_waited += 1
        self._look(training)

    def _look(self, training: Training) -> None:
        if self.num_waited >= self.patience:
            best = "no number at all"
            if self.best is not None:
                best = f"{self.best:.6g} in epoch {self.best_epoch + 1}"
            training.stop(f"{self.metric} no better for {self.num_waited} epochs (best: {best})")

    def put_best_back(self, training: Training) -> None:
        """After all of `on_end`: a checkpoint that is written there has the weights to go on with."""
        if self._weights is not None:
            training.model.load_state_dict(self._weights)
            self._weights = None
        elif self.restore_best and self.best is not None:
            warn(
                f"the weights of epoch {self.best_epoch + 1}, the best, are not there to be put back: the "
                "checkpoint was written without restore_best."
            )

    def state_dict(self) -> dict[str, Any]:
        state = {"best": self.best, "best_epoch": self.best_epoch, "num_waited": self.num_waited}
        return state if self._weights is None else {**state, "weights": self._weights}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.best, self.best_epoch = state["best"], int(state["best_epoch"])
        self.num_waited = int(state["num_waited"])
        self._weights = state.get("weights") if self.restore_best else None


class StopOnNonFinite(Callback):
    """Ends a training when its loss is NaN or infinite for `patience` steps in a row.

    On a GPU it waits for each loss.
    """

    def __init__(self, patience: int = 1) -> None:
        self.patience = whole_number_of("patience", patience, least=1)
        self.num_bad = 0

    def on_begin(self, training: Training) -> None:
        if not training.steps_done:
            self.num_bad = 0

    def on_step(self, training: Training) -> None:
        assert training.stepped is not None
        loss = float(training.stepped.loss)
        self.num_bad = 0 if math.isfinite(loss) else self.num_bad + 1
        if self.num_bad >= self.patience:
            training.stop(f"the loss is {loss} since step {training.step - self.num_bad + 1}")

    def state_dict(self) -> dict[str, Any]:
        return {"num_bad": self.num_bad}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.num_bad = int(state["num_bad"])


INTERRUPTED = "interrupted"


class Interruption:
    """What Ctrl-C does now: the first time it stops the training, the second time it raises."""

    def __init__(self, stop: Callable[[], None], what: str) -> None:
        self._stop = stop
        self._what = what  # is ended first: a step, a trial
        self.may_break = False  # True where nothing is under way that has to be ended first
        self.num_asked = 0

    def __call__(self, _signal: int, _frame: FrameType | None) -> None:
        self.num_asked += 1
        self._stop()
        if self.num_asked == 1:
            # Whatever was being printed just now may not let anything come between.
            with suppress(Exception):
                after = f" after this {self._what}; Ctrl-C again ends it at once"
                say("stopping" + ("" if self.may_break else after))
        if self.may_break or self.num_asked > 1:
            raise KeyboardInterrupt

    @contextmanager
    def breaking(self) -> Iterator[None]:
        """Inside, Ctrl-C raises at once: nothing of the training changes there."""
        self.may_break = True
        try:
            yield
        finally:
            self.may_break = False


@contextmanager
def deferred(stop: Callable[[], None], what: str) -> Iterator[Interruption]:
    """Note Ctrl-C instead of raising; only where Python's own handling is in place, in the main thread."""
    interruption = Interruption(stop, what)
    # Several processes do not get it at the same step: whoever goes on would wait for the others.
    is_ours = (
        not distributed.is_connected()
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if not is_ours:
        yield interruption
        return
    signal.signal(signal.SIGINT, interruption)
    try:
        yield interruption
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def returning_when_interrupted(training: Training) -> Iterator[Interruption]:
    """What is inside ends with Ctrl-C, and what follows goes on with the history so far.

    The history is on any other exception, too, as `.history`.
    """
    with deferred(lambda: training.stop(INTERRUPTED), "step") as interruption:
        try:
            yield interruption
        except KeyboardInterrupt:
            training.stop(INTERRUPTED)
            if interruption.num_asked > 1:
                raise
        except Exception as error:
            training.stop(f"{type(error).__name__}: {error}".rstrip(": "))
            with suppress(Exception):
                error.history = training.history  # type: ignore[attr-defined]
            raise
        finally:
            training.history.stopped_by = training.stopped_by
