"""Many numbers to few: variances, products, and sums that pass over NaN."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from torcheer.autograd import rules
from torcheer.autograd.arguments import place_of, places_of
from torcheer.autograd.calls import call

# --- spread ----------------------------------------------------------------------------------------------


def root(a: Tensor) -> Any:
    """The root of what is never negative. At 0 it is infinitely steep, and torch lets nothing through."""
    is_zero = a == 0
    return torch.where(is_zero, 0.0, torch.sqrt(torch.where(is_zero, 1.0, a)))


@call("var")
def var(a: Tensor, *args: Any, **kwargs: Any) -> Any:
    return _var_and_mean(a, *args, **kwargs)[0]


@call("std")
def std(a: Tensor, *args: Any, **kwargs: Any) -> Any:
    return root(var(a, *args, **kwargs))


@call("var_mean")
def var_mean(a: Tensor, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
    return _var_and_mean(a, *args, **kwargs)


@call("std_mean")
def std_mean(a: Tensor, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
    variance, mean = _var_and_mean(a, *args, **kwargs)
    return root(variance), mean


def _var_and_mean(
    a: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
    axis: Any = None,
) -> tuple[Any, Any]:
    """`x.var(False)`, `x.var(0, False)` and `x.var(0, correction=0)`: torch has all of them."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if correction is None:
        correction = 0 if unbiased is False else 1
    dims = places_of(dim if axis is None else axis, len(a.shape))
    mean = torch.mean(a, dims, keepdim=True)
    squares = torch.square(a - mean)
    num_free = a.numel() / max(1, mean.numel()) - correction
    total = torch.sum(squares, dims, keepdim=keepdim)
    return total / max(0.0, num_free), mean if keepdim else mean.reshape(total.shape)


# --- products --------------------------------------------------------------------------------------------


@call("prod")
def prod(a: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """Halves times halves: a tree of products, whose gradient needs no division and does not mind zeros."""
    a = a if dtype is None else a.to(dtype)
    if dim is None:
        return prod(a.reshape(-1), 0)
    dim = place_of(dim, len(a.shape))
    if not len(a.shape):
        return rules.clone(a)
    if a.shape[dim] == 0:
        return 1 + torch.sum(a, dim, keepdim=keepdim)
    while a.shape[dim] > 1:
        half = a.shape[dim] // 2
        pairs = a.narrow(dim, 0, half) * a.narrow(dim, half, half)
        odd = a.shape[dim] - 2 * half
        a = torch.cat([pairs, a.narrow(dim, 2 * half, 1)], dim) if odd else pairs
    return a if keepdim else a.squeeze(dim)


@call("cumprod")
def cumprod(a: Tensor, dim: int, *, dtype: Any = None) -> Any:
    """Each times the one before it, then times the one two before, then four: again without a division."""
    a = a if dtype is None else a.to(dtype)
    dim = place_of(dim, len(a.shape))
    if not len(a.shape):
        return rules.clone(a)
    step = 1
    while step < a.shape[dim]:
        rest = a.shape[dim] - step
        a = torch.cat([a.narrow(dim, 0, step), a.narrow(dim, step, rest) * a.narrow(dim, 0, rest)], dim)
        step *= 2
    return a


# --- sums ------------------------------------------------------------------------------------------------


@call("nansum")
def nansum(a: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    return torch.sum(torch.where(torch.isnan(a), 0.0, a), dim, keepdim=keepdim, dtype=dtype)


@call("nanmean")
def nanmean(a: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    is_number = ~torch.isnan(a)
    count = is_number.sum(places_of(dim, len(a.shape)), keepdim=keepdim)
    return nansum(a, dim, keepdim, dtype=dtype) / count


@call("diff")
def diff(
    a: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Any:
    a = torch.cat([one for one in (prepend, a, append) if one is not None], dim)
    for _ in range(n):
        if a.shape[dim] == 0:
            break
        rest = a.shape[dim] - 1
        a = a.narrow(dim, 1, rest) - a.narrow(dim, 0, rest)
    return a
