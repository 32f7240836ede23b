"""A gradient in the shape and type of what it is the gradient of."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor


def like(gradient: Tensor, value: Tensor) -> Tensor:
    """In the shape and type of the input. What was broadcast on the way there is summed on the way back:
    an element that was used n times gets the gradients of all its n uses."""
    if gradient.shape != value.shape:
        gradient = sum_to(gradient, value.shape)
    if gradient.dtype != value.dtype or gradient.device != value.device:
        gradient = gradient.to(device=value.device, dtype=value.dtype)
    return gradient


def sum_to(gradient: Tensor, shape: Sequence[int]) -> Tensor:
    """Sum over the dimensions by which something of this shape was broadcast."""
    num_new = gradient.dim() - len(shape)
    stretched = [
        num_new + i for i, size in enumerate(shape) if size == 1 and gradient.shape[num_new + i] != 1
    ]
    dims = [*range(num_new), *stretched]
    if dims:
        gradient = gradient.sum(dims, keepdim=True)
    return gradient.reshape(shape)
