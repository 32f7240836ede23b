"""The gradients that an optimizer is about to use: how long they are together, and made longer or shorter."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.optim import Optimizer


def gradients_of(optimizer: Optimizer) -> list[Tensor]:
    return [
        gradient
        for group in optimizer.param_groups
        for parameter in group["params"]
        if (gradient := parameter.grad) is not None
    ]


def norm_of(gradients: list[Tensor]) -> Tensor | None:
    """The 2-norm of all of them together, as clip_grad_norm_ says it; None where there are none."""
    if not gradients:
        return None
    try:
        norm: Tensor = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))
        return norm
    except (RuntimeError, TypeError, NotImplementedError):
        # On several devices, sparse, or of a kind that has no fast way.
        return _norm_one_by_one(gradients)


def _norm_one_by_one(gradients: list[Tensor]) -> Tensor:
    norms = [
        torch.linalg.vector_norm(gradient.coalesce().values() if gradient.is_sparse else gradient)
        for gradient in gradients
    ]
    together = torch.stack([norm.to(norms[0].device, torch.float32) for norm in norms])
    norm: Tensor = torch.linalg.vector_norm(together)
    return norm


def scale(gradients: list[Tensor], factor: float) -> None:
    for gradient in gradients:
        gradient.mul_(factor)
