"""Many numbers into one: sums, products, variances, norms, the largest and those in the middle."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import torch
import torch.nn.functional as F
from torch import Tensor

from torcheer.autograd import rules
from torcheer.autograd.composed.elementwise import as_type
from torcheer.autograd.torch_calls import call, enter, place_of, places_of, plain
from torcheer.errors import InputError


def _over(op: Callable[..., Any], no_dim: Any = None) -> Callable[..., Any]:
    """A row that takes some dimensions away; `no_dim` is what says all of them."""

    def called(
        a: Tensor, dim: Any = None, keepdim: bool = False, *, axis: Any = None, dtype: Any = None
    ) -> Any:
        dim = dim if axis is None else axis
        return op(as_type(a, dtype), dim=no_dim if dim is None else dim, keepdim=keepdim)

    return called


def _along(op: Callable[..., Any]) -> Callable[..., Any]:
    """A row that goes along one dimension, which must be named."""

    def called(a: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
        if dim is None:
            raise InputError("say over which dimension: softmax(x, dim=-1), cumsum(x, dim=0).")
        return op(as_type(a, dtype), dim=dim)

    return called


enter(
    {
        "sum": _over(rules.total),
        "mean": _over(rules.mean),
        "amax": _over(rules.amax, no_dim=()),
        "logsumexp special_logsumexp": _over(rules.logsumexp),
        "cumsum": _along(rules.cumsum),
        "softmax special_softmax _softmax": _along(rules.softmax),
        "log_softmax special_log_softmax": _along(rules.log_softmax),
    },
    replace=True,
)


def root(a: Tensor) -> Any:
    """The root of what is never negative. At 0 it is infinitely steep, and torch lets nothing through."""
    is_zero = a == 0
    return torch.where(is_zero, 0.0, torch.sqrt(torch.where(is_zero, 1.0, a)))


@call("var_mean")
def var_mean(
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
    num_free = a.numel() / max(1, mean.numel()) - correction
    total = torch.sum(torch.square(a - mean), dims, keepdim=keepdim)
    return total / max(0.0, num_free), mean if keepdim else mean.reshape(total.shape)


@call("std_mean")
def std_mean(a: Tensor, *args: Any, **named: Any) -> tuple[Any, Any]:
    variance, mean = var_mean(a, *args, **named)
    return root(variance), mean


call("var")(lambda a, *args, **named: var_mean(a, *args, **named)[0])
call("std")(lambda a, *args, **named: std_mean(a, *args, **named)[0])


@call("prod")
def prod(a: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """Halves times halves: a tree of products, whose gradient needs no division and does not mind zeros."""
    a = as_type(a, dtype)
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
    a = as_type(a, dtype)
    if not len(a.shape):
        return rules.clone(a)
    step = 1
    while step < a.shape[dim]:
        rest = a.shape[dim] - step
        a = torch.cat([a.narrow(dim, 0, step), a.narrow(dim, step, rest) * a.narrow(dim, 0, rest)], dim)
        step *= 2
    return a


@call("nansum")
def nansum(a: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    return torch.sum(torch.where(torch.isnan(a), 0.0, a), dim, keepdim=keepdim, dtype=dtype)


@call("nanmean")
def nanmean(a: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    count = (~torch.isnan(a)).sum(places_of(dim, len(a.shape)), keepdim=keepdim)
    return nansum(a, dim, keepdim, dtype=dtype) / count


@call("diff")
def diff(
    a: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Any:
    a = torch.cat([one for one in (prepend, a, append) if one is not None], dim)
    for _ in range(min(n, a.shape[dim])):
        rest = a.shape[dim] - 1
        a = a.narrow(dim, 1, rest) - a.narrow(dim, 0, rest)
    return a


@call("linalg_vector_norm")
def vector_norm(a: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """Where it is 0 the gradient is 0, too, as torch has it."""
    a = as_type(a, dtype)
    dims = places_of(dim, len(a.shape))
    size = torch.abs(a)
    if abs(ord) == math.inf:
        return (torch.amax if ord > 0 else torch.amin)(size, dims, keepdim=keepdim)
    if ord == 2:
        return root(torch.sum(torch.square(a), dims, keepdim=keepdim))
    if ord == 0:
        size = torch.where(size == 0, size * 0.0, torch.sign(size))
    if ord in (0, 1):
        return torch.sum(size, dims, keepdim=keepdim)
    # (Σ |x|^p)^(1/p), with zeros kept out of the powers, where they would be infinitely steep.
    is_zero = size == 0
    powers = torch.where(is_zero, 0.0 if ord > 0 else math.inf, torch.where(is_zero, 1.0, size) ** ord)
    total = torch.sum(powers, dims, keepdim=keepdim)
    is_nothing = (total == 0) | torch.isinf(total)
    return torch.where(
        is_nothing, total.detach() ** (1 / ord), torch.where(is_nothing, 1.0, total) ** (1 / ord)
    )


@call("linalg_norm")
def linalg_norm(
    a: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Any:
    """Of a matrix where an order and two dimensions are named, or there are two; of vectors else."""
    num_named = len(dim) if isinstance(dim, Sequence) else len(a.shape) if dim is None else 1
    if num_named == 2 and ord not in ("fro", None):
        raise InputError(_NO_MATRIX_NORM)
    return vector_norm(a, _of_vectors(ord), dim, keepdim, dtype=dtype)


_NO_MATRIX_NORM: Final = "of matrices, only the Frobenius norm has a rule: leave ord out, or pass ord='fro'."


def _of_vectors(order: Any) -> Any:
    if order == "nuc":
        raise InputError(_NO_MATRIX_NORM)
    return 2 if order in ("fro", None) else order


enter(
    {
        "norm": lambda a, p="fro", dim=None, keepdim=False, dtype=None: vector_norm(
            a, _of_vectors(p), dim, keepdim, dtype=dtype
        ),
        "dist": lambda a, other, p=2: vector_norm(a - other, p),
        "pairwise_distance": lambda a, x2, p=2.0, eps=1e-6, keepdim=False: vector_norm(
            a - x2 + eps, p, -1, keepdim
        ),
        # Each of the first from each of the second.
        "cdist": lambda a, x2, p=2.0, compute_mode=None: vector_norm(
            a.unsqueeze(-2) - x2.unsqueeze(-3), p, -1
        ),
        "cosine_similarity": lambda a, x2, dim=1, eps=1e-8: torch.sum(
            F.normalize(a, 2, dim, eps) * F.normalize(x2, 2, dim, eps), dim
        ),
        "trace": lambda a: torch.diagonal(a).sum(),
    }
)


@call("sort", "topk", "cummax", "cummin", "kthvalue", "mode", asks=True)
def picked(function: Callable[..., Any], a: Tensor, *args: Any, **named: Any) -> Any:
    """torch says where they were, and the gradient goes there."""
    found = function(plain(a), *args, **named)
    places = found.indices
    at = int(function.__name__ in ("kthvalue", "topk"))  # where the dimension stands: after k
    dim = place_of(named.get("dim", args[at] if len(args) > at else -1), len(a.shape))
    is_kept = len(places.shape) == len(a.shape)
    values: Any = rules.gather(a, dim=dim, index=places if is_kept else places.unsqueeze(dim))
    return type(found)((values if is_kept else values.squeeze(dim), places))


@call("max", "min", asks=True)
def extreme(function: Callable[..., Any], a: Tensor, *args: Any, **named: Any) -> Any:
    """Of all, along a dimension, or of two tensors."""
    is_max = function.__name__ == "max"
    other = named.get("other", args[0] if args else None)
    if isinstance(other, Tensor):
        return (rules.maximum if is_max else rules.minimum)(a, other)
    if args or named:
        return picked(function, a, *args, **named)
    return torch.amax(a) if is_max else torch.amin(a)


@call("median", "nanmedian", asks=True)
def median(function: Callable[..., Any], a: Tensor, *args: Any, **named: Any) -> Any:
    """Of all: elements that are equal to it share its gradient, as torch has it."""
    if args or named:
        return picked(function, a, *args, **named)
    value = function(plain(a))
    return torch.mean(a[(a == value) | (torch.isnan(a) & torch.isnan(value))])


call("amin")(lambda a, dim=(), keepdim=False: -torch.amax(-a, dim, keepdim=keepdim))
call("msort")(lambda a: torch.sort(a, 0).values)
