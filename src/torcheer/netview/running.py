"""Run a model once more to look at it, and leave no trace of that."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from torcheer.capture import (
    Call,
    ModelHistory,
    bind,
    collect_tensors,
    copy_of_containers,
    copy_of_tensors,
    is_lazy,
    log_forward_pass,
    map_tensors,
    named_root,
    same_model_after,
    same_random_state_after,
)
from torcheer.errors import InputError

Loss = Callable[[Any], Tensor]


class Look(NamedTuple):
    """A pass, and the gradients of parameters by name."""

    history: ModelHistory
    param_grads: dict[str, Tensor]


def looked_at(model: nn.Module, x: Any, loss: Loss | None) -> Look:
    """A pass, and with a loss its gradients. Buffers, generators, gradients and flags stay as they were."""
    if any(is_lazy(param) for param in named_root(model).parameters()):
        raise InputError("the model has lazy parameters: run it once before it is looked at.")
    if any(tensor.is_nested for tensor in collect_tensors(x)):
        raise InputError("a nested tensor has no shape to be shown in: give x.to_padded_tensor(0.0).")
    if loss is not None:
        _check_loss(loss)
    with same_random_state_after(), same_model_after(named_root(model)):
        if loss is None:
            return Look(_passed(model, copy_of_tensors(bind(model, x, None))), {})
        # Somebody may look from inside of no_grad or inference_mode.
        with torch.inference_mode(False), torch.enable_grad():
            return _with_gradients(model, x, loss)


def _check_loss(loss: Loss) -> None:
    """Most losses want targets, too: then a function of the output alone knows them."""
    try:
        signature = inspect.signature(loss.forward if isinstance(loss, nn.Module) else loss)
    except (TypeError, ValueError):  # not every function has one
        return
    try:
        signature.bind(None)
    except TypeError as error:
        name = type(loss).__name__ if isinstance(loss, nn.Module) else getattr(loss, "__name__", "the loss")
        raise InputError(
            f"{name} cannot be called with the output of the model alone ({error}): give a function of the "
            "output, such as loss=lambda output: loss(output, y)."
        ) from None


def _passed(model: nn.Module, call: Call, **options: Any) -> ModelHistory:
    return log_forward_pass(model, list(call.args), call.kwargs, **options)


def _with_gradients(model: nn.Module, x: Any, loss: Loss) -> Look:
    leaves: list[Tensor] = []
    copies: dict[int, Tensor] = {}  # a tensor that is given twice stays one tensor

    def followed(tensor: Tensor) -> Tensor:
        if id(tensor) not in copies:
            copy = tensor.detach().clone()
            if copy.is_floating_point() or copy.is_complex():
                leaves.append(copy.requires_grad_())
                copy = copy.clone()  # forward may write into what it is given, but not into a leaf
            copies[id(tensor)] = copy
        return copies[id(tensor)]

    call = copy_of_containers(bind(model, x, None))
    own = Call(*map_tensors((call.args, call.kwargs), followed, into_objects=True))
    history = _passed(model, own, save_gradients=True)
    value = loss(history.output)
    if not isinstance(value, Tensor) or value.numel() != 1:
        shape = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
        raise InputError(f"the loss gave {shape}: it must make one number of what the model returns.")
    if not value.requires_grad:
        raise InputError(
            "the loss does not hang on the model: it was detached, or made without gradients. Compute it "
            "from what it is given."
        )
    params = {name: p for name, p in named_root(model).named_parameters() if p.requires_grad}
    # Not backward(): nothing is added to any .grad, and no hook of an optimizer runs.
    found = torch.autograd.grad(value.reshape(()), [*params.values(), *leaves], allow_unused=True)
    grads = dict(zip(params, found, strict=False))
    return Look(history, {name: grad for name, grad in grads.items() if grad is not None})
