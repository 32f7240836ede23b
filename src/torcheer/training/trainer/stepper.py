"""One step of a training, as one writes it by hand: zero_grad, forward, loss, backward, step.

`tl.fit` runs it to the end, and `tl.Loop` takes it one by one. It works alone, too:

    stepper = Stepper(model, F.cross_entropy, optimizer)
    for batch in loader:
        stepped = stepper.step(batch)
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from torcheer.errors import InputError
from torcheer.models import Batch, chosen_device, detached, place, split
from torcheer.training.trainer.fit_arguments import LossFunction, check_loss, checked_function, loss_in


def parameters_of(optimizer: Optimizer) -> list[Tensor]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def gradients_of(optimizer: Optimizer) -> list[Tensor]:
    return [one.grad for one in parameters_of(optimizer) if one.grad is not None]


_DTYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16}


def half_precision(
    autocast: str | torch.dtype | None, device: torch.device
) -> tuple[AbstractContextManager[object], torch.amp.GradScaler | None]:
    """In what the forward pass runs, and the scaler that float16 needs. The weights stay as they are."""
    if autocast is None:
        return nullcontext(), None
    dtype = _DTYPES.get(autocast) if isinstance(autocast, str) else autocast
    if dtype not in _DTYPES.values():
        raise InputError(f"autocast={autocast!r}: give 'bfloat16', 'float16' or None.")
    if not torch.amp.is_autocast_available(device.type):
        raise InputError(f"autocast={autocast!r}: torch has no autocast on {device.type!r}, so leave it out.")
    # Small gradients would vanish in float16: the loss is made larger, and the gradients smaller again.
    scaler = torch.amp.GradScaler(device.type) if dtype == torch.float16 else None
    return torch.autocast(device.type, dtype=dtype), scaler


class Stepped:
    """What one step did. Plain and slotted, because one is made at every step."""

    __slots__ = ("_outputs", "grad_norm", "inputs", "num_items", "own_loss", "stepped", "targets")

    def __init__(
        self, inputs: Any, targets: Any, outputs: Any, loss: Tensor, num_items: int, grad_norm: Tensor | None
    ) -> None:
        self.inputs = inputs
        self.targets = targets
        self.num_items = num_items
        self.grad_norm = grad_norm  # None where nobody asked for it, or the weights were not changed
        self.stepped = True  # False in the middle of an accumulation, and where float16 overflowed
        self._outputs = outputs
        self.own_loss = loss  # as it is, with its history

    @property
    def outputs(self) -> Any:
        """What the model gave, without its history."""
        return detached(self._outputs)

    @property
    def loss(self) -> Tensor:
        """The loss of this batch, one number, on the device of the training."""
        loss = self.own_loss.detach()
        return loss.reshape(()) if loss.ndim else loss


class Stepper:
    """Changes the weights of a model a little, batch by batch.

    - `loss`: a function of the outputs and the targets. None: the model computes it, and its output has it as
      `.loss`, or is it.
    - `clip_norm`: longer gradients are made as short as this. `accumulate`: the weights change after so many
      batches, with the mean of their gradients. `autocast`: "bfloat16" or "float16".
    - `measure_norm`: have the length of the gradients in `Stepped.grad_norm` without clipping them.
    """

    def __init__(
        self,
        model: nn.Module,
        loss: LossFunction | None,
        optimizer: Optimizer,
        *,
        device: str | torch.device | None = None,
        clip_norm: float | None = None,
        accumulate: int = 1,
        autocast: str | torch.dtype | None = None,
        measure_norm: bool = False,
    ) -> None:
        self.model = model
        self.loss = checked_function(loss)
        self.optimizer = optimizer
        self.device = chosen_device(device, model)
        if device is not None:
            place(model, self.device, optimizer)
        if clip_norm is not None and not clip_norm > 0:
            raise InputError(f"clip_norm={clip_norm!r}: give a number above 0, or None not to clip.")
        if not isinstance(accumulate, int) or accumulate < 1:
            raise InputError(f"accumulate={accumulate!r}: give the number of batches to a step, 1 or more.")
        self.clip_norm, self.accumulate = clip_norm, accumulate
        self.measure_norm = measure_norm
        self.num_waiting = 0  # batches whose gradients are not in the weights yet
        # In what the model is run, in training and in tests.
        self.autocast, self.scaler = half_precision(autocast, self.device)
        self._needs_closure = needs_closure(optimizer)
        if self._needs_closure:
            self._check_closure()

    def step(self, batch: Any) -> Stepped:
        """One batch. `flush` after the last of an epoch uses what `accumulate` has gathered by then."""
        taken = split(batch, whole=self.loss is None)
        if self.device.type != "cpu":  # where data are already: to ask each of them takes its time
            taken = taken.moved_to(self.device)
        if self._needs_closure:
            return self._step_with_closure(taken)
        if self.num_waiting == 0:
            self.optimizer.zero_grad()
        outputs, loss = self._forward(taken)
        self._backward(loss)
        self.num_waiting += 1
        stepped = Stepped(taken.inputs, taken.targets, outputs, loss, taken.num_items, None)
        if self.num_waiting < self.accumulate:
            stepped.stepped = False
        else:
            stepped.grad_norm, stepped.stepped = self._update()
        return stepped

    def flush(self) -> bool:
        """Use what is gathered of an accumulation that got no further. False: there was nothing."""
        return self.num_waiting > 0 and self._update()[1]

    def _forward(self, batch: Batch) -> tuple[Any, Tensor]:
        with self.autocast:
            outputs = batch.given_to(self.model)
            return outputs, loss_in(outputs) if self.loss is None else self.loss(outputs, batch.targets)

    def _backward(self, loss: Tensor) -> None:
        try:
            if self.accumulate > 1:
                loss = loss / self.accumulate  # so that the sum of the gradients is their mean
            if self.scaler is not None:
                loss = self.scaler.scale(loss)
            loss.backward()  # type: ignore[no-untyped-call]
        except (RuntimeError, AttributeError, TypeError):
            check_loss(loss)
            raise

    def _update(self) -> tuple[Tensor | None, bool]:
        """Change the weights. Says how long the gradients were, and whether the weights did change."""
        gathered, self.num_waiting = self.num_waiting, 0
        if self.scaler is not None:
            self.scaler.unscale_(self.optimizer)
        if gathered < self.accumulate:
            # Each was divided by more batches than came: what is left over counts as the mean of these.
            for gradient in gradients_of(self.optimizer):
                gradient.mul_(self.accumulate / gathered)
        grad_norm = self._measured_norm()
        if self.scaler is None:
            self.optimizer.step()
            return grad_norm, True
        scale_before = self.scaler.get_scale()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return grad_norm, self.scaler.get_scale() >= scale_before  # less: it overflowed, and was left out

    def _measured_norm(self) -> Tensor | None:
        if self.clip_norm is not None:
            return nn.utils.clip_grad_norm_(parameters_of(self.optimizer), self.clip_norm)
        gradients = gradients_of(self.optimizer) if self.measure_norm else []
        # The 2-norm of all of them together, as clip_grad_norm_ says it.
        dense = [one.coalesce().values() if one.is_sparse else one for one in gradients]
        return nn.utils.get_total_norm(dense) if dense else None

    def _step_with_closure(self, batch: Batch) -> Stepped:
        """For an optimizer that computes the loss several times. The first counts: before the step."""
        first: list[Stepped] = []

        def closure() -> Tensor:
            self.optimizer.zero_grad()
            outputs, loss = self._forward(batch)
            self._backward(loss)
            if not first:
                norm = self._measured_norm()
                first.append(Stepped(batch.inputs, batch.targets, outputs, loss, batch.num_items, norm))
            return loss

        self.optimizer.step(closure)  # type: ignore[arg-type]
        return first[0]

    def _check_closure(self) -> None:
        asked = {"accumulate": self.accumulate > 1, "clip_norm": self.clip_norm, "autocast": self.scaler}
        what = next((name for name, value in asked.items() if value), None)
        if what is not None:
            raise InputError(
                f"{type(self.optimizer).__name__} computes the loss several times a step to find its way, "
                f"and {what} would lead it astray: leave {what} out, or take another optimizer."
            )

    def state_dict(self) -> dict[str, Any]:
        """What is gathered of an accumulation. Empty where none is under way."""
        if not self.num_waiting:
            return {}
        gradients = {number: one.grad for number, one in enumerate(parameters_of(self.optimizer))}
        found = {number: gradient for number, gradient in gradients.items() if gradient is not None}
        return {"num_waiting": self.num_waiting, "gradients": found}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.num_waiting = int(state.get("num_waiting", 0))
        gradients = {int(number): gradient for number, gradient in state.get("gradients", {}).items()}
        for number, one in enumerate(parameters_of(self.optimizer)):
            gradient = gradients.get(number)
            one.grad = None if gradient is None else gradient.to(one.device, copy=True)


def needs_closure(optimizer: Optimizer) -> bool:
    """Whether its step wants a function that computes the loss, as that of LBFGS does."""
    try:
        closure = inspect.signature(type(optimizer).step).parameters.get("closure")
    except (TypeError, ValueError):
        return False
    return closure is not None and closure.default is inspect.Parameter.empty
