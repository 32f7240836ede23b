"""Initial values, by torch's names: each writes into a parameter, outside of the graph, and returns it.

With the same seed they draw the same numbers as torch's, but for trunc_normal_, which has a way of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor

from torcheer.autograd.modes import as_plain
from torcheer.errors import InputError

P = TypeVar("P", bound=Tensor)


def _written(tensor: P, write: Callable[[P], object]) -> P:
    with as_plain(), torch.no_grad():
        write(tensor)
    return tensor


def uniform_(tensor: P, a: float = 0.0, b: float = 1.0) -> P:
    return _written(tensor, lambda t: t.uniform_(a, b))


def normal_(tensor: P, mean: float = 0.0, std: float = 1.0) -> P:
    return _written(tensor, lambda t: t.normal_(mean, std))


def constant_(tensor: P, val: float) -> P:
    return _written(tensor, lambda t: t.fill_(val))


def zeros_(tensor: P) -> P:
    return constant_(tensor, 0.0)


def ones_(tensor: P) -> P:
    return constant_(tensor, 1.0)


def eye_(tensor: P) -> P:
    """The matrix that changes nothing."""
    rows, columns = tensor.shape
    return _written(tensor, lambda t: t.copy_(torch.eye(rows, columns)))


def xavier_uniform_(tensor: P, gain: float = 1.0) -> P:
    """So that numbers neither grow nor shrink on the way through, nor gradients on the way back."""
    fan_in, fan_out = fans_of(tensor)
    bound = math.sqrt(3.0) * gain * math.sqrt(2.0 / (fan_in + fan_out))
    return uniform_(tensor, -bound, bound)


def xavier_normal_(tensor: P, gain: float = 1.0) -> P:
    fan_in, fan_out = fans_of(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / (fan_in + fan_out)))


def kaiming_uniform_(tensor: P, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> P:
    """The same for one direction only, with an activation that takes away a part."""
    bound = math.sqrt(3.0) * calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode))
    return uniform_(tensor, -bound, bound)


def kaiming_normal_(tensor: P, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> P:
    return normal_(tensor, 0.0, calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode)))


def trunc_normal_(tensor: P, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0) -> P:
    """A normal distribution of which only the part from `a` to `b` is drawn."""

    def below(x: float) -> float:
        return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0

    def write(t: P) -> None:
        low, high = below((a - mean) / std), below((b - mean) / std)
        t.uniform_(2 * low - 1, 2 * high - 1).erfinv_().mul_(std * math.sqrt(2.0)).add_(mean).clamp_(a, b)

    return _written(tensor, write)


def orthogonal_(tensor: P, gain: float = 1.0) -> P:
    """Rows, or columns if there are more of them, at right angles: lengths stay."""
    if tensor.dim() < 2:
        raise InputError("a vector has no rows that could be at right angles: orthogonal_ takes a matrix.")

    def write(t: P) -> None:
        rows = t.shape[0]
        drawn = torch.empty(rows, t.numel() // rows, dtype=t.dtype, device=t.device).normal_(0, 1)
        wide = rows < drawn.shape[1]
        q, r = torch.linalg.qr(drawn.mT if wide else drawn)
        q = q * torch.diagonal(r).sign()
        t.copy_((q.mT if wide else q).reshape(t.shape)).mul_(gain)

    return _written(tensor, write)


def calculate_gain(nonlinearity: str, param: Any = None) -> float:
    """By how much an activation makes numbers smaller, turned round."""
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else float(param)
        return math.sqrt(2.0 / (1 + slope**2))
    known = {"relu": math.sqrt(2.0), "tanh": 5.0 / 3, "selu": 3.0 / 4}
    if nonlinearity in known:
        return known[nonlinearity]
    if nonlinearity in ("linear", "sigmoid", "conv1d", "conv2d", "conv_transpose1d", "conv_transpose2d"):
        return 1.0
    raise InputError(f"no gain is known for {nonlinearity!r}: pass one as a number where that is possible.")


def fans_of(tensor: Tensor) -> tuple[int, int]:
    """How many numbers each unit takes in, and to how many it gives out."""
    if tensor.dim() < 2:
        raise InputError(f"a weight of shape {tuple(tensor.shape)} has no units: it takes two dimensions.")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _fan(tensor: Tensor, mode: str) -> int:
    if mode not in ("fan_in", "fan_out"):
        raise InputError(f"mode is 'fan_in' or 'fan_out', not {mode!r}.")
    return fans_of(tensor)[0 if mode == "fan_in" else 1]
