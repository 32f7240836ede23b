"""Record the network of a training as it is at a trial, or at a test, for NetView."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any, Final

import torch
from torch import Tensor

from torcheer.capture import Batch
from torcheer.netview import NetView
from torcheer.run import Run, reason_of
from torcheer.training.looping.layervalues import arguments_of
from torcheer.training.looping.setup import Setup
from torcheer.training.losses import loss_in
from torcheer.training.stepping import Stepper
from torcheer.training.telling import warn

_MOST_WEIGHT_BYTES: Final = 8 << 20  # of a model, so that its weights are kept without being asked for


class _View(NetView):
    """One whose first moment has counters, as all others do."""

    def __init__(self, model: torch.nn.Module, x: Any, counters: Mapping[str, Any], **options: Any) -> None:
        self._first = dict(counters)
        super().__init__(model, x, **options)

    def update(self, x: Any = None, *, name: str = "", **counters: Any) -> int:
        given, self._first = {"name": name, **counters, **self._first}, {}
        return super().update(x, **given)

    def go_on_in(self, run: Run) -> None:
        """The same run, opened again."""
        assert self._recording is not None
        self._recording.run = run


def _default_options(setup: Setup) -> dict[str, Any]:
    """Weights, and what the optimizer keeps of each, where that is little enough for every trial."""
    num_bytes = sum(one.numel() * one.element_size() for one in setup.model.parameters())
    if num_bytes > _MOST_WEIGHT_BYTES:
        return {"weights": None}
    return {"optimizer": setup.optimizer}


class NetMoments:
    """The network of one run. Where it cannot be shown, that is told once, and the training goes on."""

    def __init__(self, setup: Setup, run: Run, stepper: Stepper) -> None:
        self._setup = setup
        self._run = run
        self._autocast = stepper.autocast or nullcontext()
        self._view: _View | None = None
        self._is_on = True

    def record(self, batch: Batch, counters: Mapping[str, Any], *, is_try: bool = False) -> None:
        """Run the model on a batch, as it is, and keep what all its units do. It is left as it was.

        The random numbers are those that come next: a trial with the same batch right after this draws the
        same ones, so that dropout and gradients are those of the trial. `is_try`: with a batch that the
        training may never see; where it fails, the next one may not.
        """
        if not self._is_on:
            return
        is_first = self._view is None
        try:
            with self._autocast:
                self._update(batch, counters)
        except Exception as error:
            if is_try:
                return
            self._is_on = False
            reason = reason_of(error).rstrip(".")
            warn(f"the network cannot be shown in NetView: {reason}. The training goes on.")
            return
        if is_first and self._view is not None:
            for layer, shape in self._setup.shapes.items():
                self._view.reshape(layer, shape)

    def _update(self, batch: Batch, counters: Mapping[str, Any]) -> None:
        x = arguments_of(batch)

        def loss(outputs: Any) -> Tensor:
            if self._setup.loss is None:
                found: Tensor = loss_in(outputs)
                return found
            return self._setup.loss(outputs, batch.targets)

        if self._view is not None:
            self._view.loss = loss
            self._view.update(x, **counters)
            return
        options = {**_default_options(self._setup), **self._setup.netview, "run": self._run, "loss": loss}
        self._view = _View(self._setup.model, x, counters, **options)

    def go_on_in(self, run: Run) -> None:
        self._run = run
        if self._view is not None:
            self._view.go_on_in(run)
