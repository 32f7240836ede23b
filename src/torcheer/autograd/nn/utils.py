"""What is done with all gradients or all parameters at once, by torch's names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from torcheer.autograd.modes import as_plain
from torcheer.errors import InputError


def clip_grad_norm_(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor:
    """Shorten all gradients together, if as one vector they are longer; returns how long they were."""
    gradients = _gradients(parameters)
    with as_plain():
        if not gradients:
            return torch.tensor(0.0)
        each = torch.stack([torch.linalg.vector_norm(one, norm_type) for one in gradients])
        length: Tensor = torch.linalg.vector_norm(each, norm_type)
        if error_if_nonfinite and not bool(torch.isfinite(length)):
            raise InputError(f"the gradients have a length of {float(length)}, which cannot be shortened.")
        factor = torch.clamp(max_norm / (length + 1e-6), max=1.0)
        for one in gradients:
            one.mul_(factor)
        return length


def clip_grad_value_(parameters: Any, clip_value: float) -> None:
    """Cut every number of every gradient off at this, on both sides."""
    with as_plain():
        for one in _gradients(parameters):
            one.clamp_(-clip_value, clip_value)


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All parameters as one vector; gradients go through it."""
    return torch.cat([one.reshape(-1) for one in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Write such a vector back, outside of the graph."""
    start = 0
    with as_plain():
        for one in parameters:
            one.copy_(vec[start : start + one.numel()].reshape(one.shape))
            start += one.numel()


def _gradients(parameters: Any) -> list[Tensor]:
    given = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    return [one.grad for one in given if one.grad is not None]
