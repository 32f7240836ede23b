"""How large vectors and matrices are, and how far apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from torcheer.autograd.arguments import places_of
from torcheer.autograd.calls import call
from torcheer.autograd.composed.reductions import root
from torcheer.errors import InputError

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
