"""Numbers brought to mean 0 and variance 1, and what that does to gradients; on tracers as well."""

from __future__ import annotations

import torch
from torch import Tensor


def standardised(a: Tensor, *, dim: tuple[int, ...], eps: float) -> Tensor:
    return (a - a.mean(dim, keepdim=True)) / deviation(a, dim, eps)


def deviation(a: Tensor, dim: tuple[int, ...], eps: float) -> Tensor:
    """The standard deviation; `eps` keeps it above 0."""
    centred = a - a.mean(dim, keepdim=True)
    return torch.sqrt((centred * centred).mean(dim, keepdim=True) + eps)


def unstandardised(g: Tensor, c: Tensor, a: Tensor, dim: tuple[int, ...], eps: float) -> Tensor:
    """Mean and variance stay whatever comes in, so what would change them is taken out of the gradient."""
    centred = g - g.mean(dim, keepdim=True)
    return (centred - c * (g * c).mean(dim, keepdim=True)) / deviation(a, dim, eps)
