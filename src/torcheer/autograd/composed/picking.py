"""Some of the numbers: by index, by mask, and along the diagonal."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from torcheer.autograd import rules
from torcheer.autograd.arguments import broadcast, place_of, plain
from torcheer.autograd.calls import call
from torcheer.errors import InputError

# --- by index --------------------------------------------------------------------------------------------


@call("index_select")
def index_select(a: Tensor, dim: int, index: Tensor) -> Any:
    dim = place_of(dim, len(a.shape))
    if len(index.shape) > 1:
        raise InputError(
            f"index_select takes a vector of places, not the shape {tuple(index.shape)}: use gather."
        )
    if not len(a.shape):
        return rules.index(a.reshape(1), key=plain(index)).reshape(())
    return rules.index(a, key=(*[slice(None)] * dim, plain(index).reshape(-1)))


@call("take")
def take(a: Tensor, index: Tensor) -> Any:
    return rules.index(a.reshape(-1), key=plain(index))


@call("take_along_dim")
def take_along_dim(a: Tensor, indices: Tensor, dim: int | None = None) -> Any:
    if dim is None:
        return rules.gather(a.reshape(-1), dim=0, index=plain(indices).reshape(-1))
    dim = place_of(dim, len(a.shape))
    if len(indices.shape) != len(a.shape):
        raise InputError(
            f"take_along_dim takes as many dimensions as the tensor has: {len(indices.shape)} for "
            f"{len(a.shape)}. indices.unsqueeze(…) adds one."
        )
    rest = [broadcast((one,), (other,))[0] for one, other in zip(a.shape, indices.shape, strict=True)]
    index = plain(indices).expand([*rest[:dim], indices.shape[dim], *rest[dim + 1 :]])
    return rules.gather(a.expand([*rest[:dim], a.shape[dim], *rest[dim + 1 :]]), dim=dim, index=index)


# --- by mask ---------------------------------------------------------------------------------------------


@call("masked_select")
def masked_select(a: Tensor, mask: Tensor) -> Any:
    shape = broadcast(a.shape, mask.shape)
    return rules.index(a.expand(shape), key=plain(mask).expand(shape))


@call("masked_fill")
def masked_fill(a: Tensor, mask: Tensor, value: Any) -> Any:
    if mask.dtype != torch.bool:
        raise InputError(f"masked_fill takes a mask of True and False, not of {mask.dtype}: mask.bool().")
    return torch.where(mask, value.to(a.dtype) if isinstance(value, Tensor) else value, a.contiguous())


@call("index_fill")
def index_fill(a: Tensor, dim: int, index: Tensor, value: Any) -> Any:
    dim = place_of(dim, len(a.shape))
    is_meant = torch.zeros(a.shape[dim] if len(a.shape) else 1, dtype=torch.bool, device=a.device)
    is_meant[plain(index).long()] = True
    shape = [-1 if place == dim else 1 for place in range(len(a.shape))]
    return masked_fill(a, is_meant.reshape(shape), value)


@call("tril")
def tril(a: Tensor, diagonal: int = 0) -> Any:
    return torch.where(torch.ones(a.shape[-2:], dtype=torch.bool, device=a.device).tril(diagonal), a, 0.0)


@call("triu")
def triu(a: Tensor, diagonal: int = 0) -> Any:
    return torch.where(torch.ones(a.shape[-2:], dtype=torch.bool, device=a.device).triu(diagonal), a, 0.0)


# --- along the diagonal ----------------------------------------------------------------------------------


@call("diagonal")
def diagonal(a: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    rows, columns = place_of(dim1, len(a.shape)), place_of(dim2, len(a.shape))
    if rows == columns:
        raise InputError(f"a diagonal lies in two dimensions, and both are {dim1}.")
    matrices = torch.movedim(a, (rows, columns), (-2, -1))
    length = max(0, min(a.shape[rows] + min(0, offset), a.shape[columns] - max(0, offset)))
    return rules.index(matrices, key=(..., *_on_diagonal(length, offset, a)))


@call("linalg_diagonal")
def linalg_diagonal(a: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    return diagonal(a, offset, dim1, dim2)


@call("diag_embed")
def diag_embed(a: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    size = a.shape[-1] + abs(offset)
    key = (..., *_on_diagonal(a.shape[-1], offset, a))
    matrices = rules.place(a, shape=(*a.shape[:-1], size, size), key=key)
    return torch.movedim(matrices, (-2, -1), (dim1, dim2))


@call("diag")
def diag(a: Tensor, diagonal: int = 0) -> Any:
    if len(a.shape) == 1:
        return diag_embed(a, diagonal)
    if len(a.shape) == 2:
        return torch.diagonal(a, diagonal)
    raise InputError(f"diag takes a vector or a matrix, not the shape {tuple(a.shape)}: use diagonal.")


@call("trace")
def trace(a: Tensor) -> Any:
    if len(a.shape) != 2:
        raise InputError(f"trace takes a matrix, not the shape {tuple(a.shape)}: diagonal(…).sum(-1).")
    return diagonal(a).sum()


def _on_diagonal(length: int, offset: int, a: Tensor) -> tuple[Tensor, Tensor]:
    steps = torch.arange(length, device=a.device)
    return steps - min(0, offset), steps + max(0, offset)
