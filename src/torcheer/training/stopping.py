"""Callbacks that end a training: when it gets no better, and when it has broken."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from typing import Any

from torcheer.errors import InputError
from torcheer.training.callbacks import Callback, Training
from torcheer.training.judging import Mode, mode_of
from torcheer.training.telling import warn


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
        if isinstance(patience, bool) or not isinstance(patience, int) or patience < 1:
            raise InputError(f"patience={patience!r}: give a number of epochs, 1 or more.")
        if not min_delta >= 0:
            raise InputError(f"min_delta={min_delta!r}: give a number, 0 or more.")
        self.metric = metric
        self.patience = patience
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
        if self._is_better(value):
            self.best, self.best_epoch, self.num_waited = value, training.epoch, 0
            if self.restore_best:
                self._weights = copy.deepcopy(dict(training.model.state_dict()))
        else:
            self.num_waited += 1
        self._look(training)

    def _is_better(self, value: float) -> bool:
        if math.isnan(value):
            return False
        if self.best is None:
            return True
        gain = self.best - value if self.mode == "min" else value - self.best
        return gain > self.min_delta

    def _look(self, training: Training) -> None:
        if self.num_waited >= self.patience:
            best = (
                "no number at all" if self.best is None else f"{self.best:.6g} in epoch {self.best_epoch + 1}"
            )
            training.stop(f"{self.metric} no better for {self.num_waited} epochs (best: {best})")

    def put_best_back(self, training: Training) -> None:
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


def put_best_back(training: Training) -> None:
    """After all that happens at the end: a checkpoint that is written there has the weights to go on with."""
    for callback in training.callbacks:
        if isinstance(callback, EarlyStopping):
            callback.put_best_back(training)


class StopOnNonFinite(Callback):
    """Ends a training when its loss is NaN or infinite for `patience` steps in a row.

    On a GPU it waits for each loss.
    """

    def __init__(self, patience: int = 1) -> None:
        if isinstance(patience, bool) or not isinstance(patience, int) or patience < 1:
            raise InputError(f"patience={patience!r}: give a number of steps, 1 or more.")
        self.patience = patience
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
