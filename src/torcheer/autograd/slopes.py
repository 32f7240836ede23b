"""Slopes and shares that take more than a line in rules.py. Each works on tensors and on tracers alike."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor


def power_slope(base: Any, exponent: Any) -> Any:
    """b a^(b-1), and 0 for b = 0, where the power is 1 whatever the base."""
    if isinstance(exponent, Tensor):
        return torch.where(exponent == 0, 0.0, exponent * base ** (exponent - 1))
    if exponent == 0:
        return 0.0
    return exponent * base if exponent == 2 else exponent * base ** (exponent - 1)


def log_of_base(base: Any, exponent: Tensor) -> Any:
    """ln a, and 0 for a = 0, where the power stays 0 for all positive exponents."""
    if isinstance(base, Tensor):
        return torch.where((base == 0) & (exponent >= 0), 0.0, torch.log(base))
    if base > 0:
        return math.log(base)
    return torch.where(exponent >= 0, 0.0, -math.inf) if base == 0 else math.nan


def is_largest(this: Tensor, other: Tensor) -> Tensor:
    """1 where this one is larger, a half where both are equal. Beside NaN each counts as the larger."""
    return (~(this < other)).to(this.dtype) - 0.5 * (this == other)


def spread(value: Tensor, like: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """What was left after a reduction, for each of the elements that it came from."""
    if not keepdim:
        for one in sorted(reduced_dims(dim, like.dim())):
            value = value.unsqueeze(one)
    return value.expand(like.shape)


def share_of_largest(gradient: Tensor, largest: Tensor, value: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """To the elements that are the largest; where several are equal, in equal shares."""
    is_it = (value == spread(largest, value, dim, keepdim)).to(value.dtype)
    shares = is_it / is_it.sum(sorted(reduced_dims(dim, value.dim())), keepdim=True)
    return spread(gradient, value, dim, keepdim) * shares


def reduced_dims(dim: Any, num_dims: int) -> set[int]:
    """Which dimensions a reduction takes away: none named means all."""
    if dim is None or (isinstance(dim, Sequence) and len(dim) == 0):
        return set(range(num_dims))
    dims = dim if isinstance(dim, Sequence) else (dim,)
    return {one % num_dims for one in dims} if num_dims else set()


def inverse(dims: Sequence[int]) -> tuple[int, ...]:
    """The permutation that undoes this one."""
    places = [one % len(dims) for one in dims]
    return tuple(places.index(place) for place in range(len(places)))


def piece_of(whole: Tensor, which: int, parts: Sequence[Tensor], dim: int) -> Tensor:
    """The piece of a concatenation where one of the parts lies."""
    start = sum(part.shape[dim] for part in parts[:which])
    return whole.narrow(dim, start, parts[which].shape[dim])
