"""The same layer of torch's and of ours: what both make of the same input, and of the same gradient."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from torcheer.autograd import nn, tracer

Make = Callable[[Any], Any]  # of torch.nn, or of ours


def twins(make: Make, *, dtype: torch.dtype = torch.float64) -> tuple[Any, Any]:
    """Both made with the same seed."""
    torch.manual_seed(0)
    theirs = make(torch.nn)
    torch.manual_seed(0)
    ours = make(nn)
    return theirs.to(dtype), ours.to(dtype)


def compare(theirs: Any, ours: Any, *inputs: Any, tolerance: float = 1e-9) -> None:
    """Run both, send the same gradient back, and compare everything that comes out and back."""
    their_inputs = [_fresh(one, Tensor) for one in inputs]
    our_inputs = [_fresh(one, tracer) for one in inputs]
    torch.manual_seed(1)
    their_outputs = floats_in(theirs(*their_inputs))
    torch.manual_seed(1)
    our_outputs = floats_in(ours(*our_inputs))

    assert len(our_outputs) == len(their_outputs) > 0
    for mine, other in zip(our_outputs, their_outputs, strict=True):
        close(mine, other, tolerance)

    torch.manual_seed(2)
    arriving = [torch.randn_like(one) for one in their_outputs]
    _scalar(their_outputs, arriving).backward()
    _scalar(our_outputs, arriving).backward()
    for mine, other in zip(our_inputs, their_inputs, strict=True):
        for a, b in zip(floats_in(mine), floats_in(other), strict=True):
            close_gradients(a.grad, b.grad, tolerance)
    if hasattr(ours, "named_parameters"):
        their_gradients = {name: one.grad for name, one in theirs.named_parameters()}
        our_gradients = {name: one.grad for name, one in ours.named_parameters()}
        assert list(our_gradients) == list(their_gradients)
        for name, gradient in our_gradients.items():
            close_gradients(gradient, their_gradients[name], tolerance)
        for name, buffer in theirs.state_dict().items():
            close(ours.state_dict()[name], buffer, tolerance)


def floats_in(value: Any) -> list[Any]:
    if isinstance(value, Tensor):
        return [value] if value.is_floating_point() else []
    if isinstance(value, Sequence):
        return [one for part in value for one in floats_in(part)]
    return []


def close(mine: Tensor, other: Tensor, tolerance: float) -> None:
    assert tuple(mine.shape) == tuple(other.shape)
    torch.testing.assert_close(
        mine.detach().as_subclass(Tensor), other.detach(), rtol=tolerance, atol=tolerance, equal_nan=True
    )


def close_gradients(mine: Tensor | None, other: Tensor | None, tolerance: float) -> None:
    """A gradient of zeros and none at all are the same."""
    if mine is None or other is None:
        rest = mine if other is None else other
        assert rest is None or not rest.any()
        return
    close(mine, other, tolerance)


def _scalar(outputs: Sequence[Any], arriving: Sequence[Tensor]) -> Any:
    both = zip(outputs, arriving, strict=True)
    return sum((one * gradient).sum() for one, gradient in both)


def _fresh(value: Any, kind: type[Tensor]) -> Any:
    """A leaf of its own; floats want a gradient."""
    if isinstance(value, tuple):
        return tuple(_fresh(one, kind) for one in value)
    if not isinstance(value, Tensor):
        return value
    if not value.is_floating_point():
        return value.clone()
    copied = value.detach().clone()
    return copied.requires_grad_() if kind is Tensor else tracer(copied, requires_grad=True)
