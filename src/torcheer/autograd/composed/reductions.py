"""Many numbers into one: sums, products, variances, norms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from torcheer.autograd import rules
from torcheer.autograd.torch_calls import call, place_of, places_of
from torcheer.errors import InputError

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


# --- vectors ---------------------------------------------------------------------------------------------


@call("linalg_vector_norm")
def vector_norm(a: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """Where it is 0 the gradient is 0, too, as torch has it."""
    a = a if dtype is None else a.to(dtype)
    dims = places_of(dim, len(a.shape))
    size = torch.abs(a)
    if ord == math.inf:
        return torch.amax(size, dims, keepdim=keepdim)
    if ord == -math.inf:
        return torch.amin(size, dims, keepdim=keepdim)
    if ord == 0:
        return torch.sum(torch.where(size == 0, size * 0.0, torch.sign(size)), dims, keepdim=keepdim)
    if ord == 1:
        return torch.sum(size, dims, keepdim=keepdim)
    if ord == 2:
        return root(torch.sum(torch.square(a), dims, keepdim=keepdim))
    return _norm_of_order(size, float(ord), dims, keepdim)


def _norm_of_order(size: Tensor, order: float, dims: tuple[int, ...], keepdim: bool) -> Any:
    """(Σ |x|^p)^(1/p), with zeros kept out of the powers, where they would be infinitely steep."""
    is_zero = size == 0
    powers = torch.where(is_zero, 0.0 if order > 0 else math.inf, torch.where(is_zero, 1.0, size) ** order)
    total = torch.sum(powers, dims, keepdim=keepdim)
    is_nothing = (total == 0) | torch.isinf(total)
    return torch.where(
        is_nothing, total.detach() ** (1 / order), torch.where(is_nothing, 1.0, total) ** (1 / order)
    )


@call("norm")
def norm(a: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    if p == "nuc":
        raise InputError(_NO_SINGULAR_VALUES)
    return vector_norm(a, 2 if p in ("fro", None) else p, dim, keepdim, dtype=dtype)


# --- matrices --------------------------------------------------------------------------------------------

_NO_SINGULAR_VALUES = (
    "this norm is one of singular values, for which there is no rule: use the Frobenius norm (ord='fro')."
)


@call("linalg_matrix_norm")
def matrix_norm(
    a: Tensor, ord: Any = "fro", dim: Sequence[int] = (-2, -1), keepdim: bool = False, *, dtype: Any = None
) -> Any:
    a = a if dtype is None else a.to(dtype)
    rows, columns = places_of(dim, len(a.shape))
    if ord == "fro":
        return vector_norm(a, 2, (rows, columns), keepdim)
    if ord == "nuc" or abs(ord) == 2:
        raise InputError(_NO_SINGULAR_VALUES)
    if abs(ord) not in (1, math.inf):
        raise InputError(f"a matrix has no norm of order {ord!r}: 'fro', 1, -1, inf and -inf there are.")
    summed, chosen = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = torch.sum(torch.abs(a), summed, keepdim=True)
    result = torch.amax(sums, chosen, keepdim=True) if ord > 0 else torch.amin(sums, chosen, keepdim=True)
    return result if keepdim else torch.squeeze(result, (rows, columns))


@call("linalg_norm")
def linalg_norm(
    a: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Any:
    """Of a matrix where an order and two dimensions are named, or there are two; of vectors else."""
    num_named = len(dim) if isinstance(dim, Sequence) else len(a.shape) if dim is None else 1
    if ord is not None and num_named == 2:
        return matrix_norm(a, ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    if ord is not None and dim is None and len(a.shape) != 1:
        raise InputError(
            f"an order needs a vector or a matrix, and this is of {tuple(a.shape)}: name the dim."
        )
    if isinstance(ord, str):
        raise InputError(f"a vector has no norm {ord!r}: use a number, such as ord=2.")
    return vector_norm(a, 2 if ord is None else ord, dim, keepdim, dtype=dtype)


# --- distances -------------------------------------------------------------------------------------------


@call("dist")
def dist(a: Tensor, other: Tensor, p: float = 2) -> Any:
    return vector_norm(a - other, p)


@call("pairwise_distance")
def pairwise_distance(a: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Any:
    return vector_norm(a - x2 + eps, p, -1, keepdim)


@call("cdist")
def cdist(a: Tensor, x2: Tensor, p: float = 2.0, compute_mode: Any = None) -> Any:
    """Each of the first from each of the second."""
    return vector_norm(a.unsqueeze(-2) - x2.unsqueeze(-3), p, -1)


@call("cosine_similarity")
def cosine_similarity(a: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Any:
    first, second = (torch.clamp_min(vector_norm(one, 2, dim, True), eps) for one in (a, x2))
    return torch.sum((a / first) * (x2 / second), dim)


@call("normalize")
def normalize(a: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12) -> Any:
    return a / torch.clamp_min(vector_norm(a, p, dim, True), eps)
