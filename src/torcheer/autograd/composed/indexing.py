"""Some of the numbers: by index, by mask, written to their places, sorted, the largest ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from torcheer.autograd import rules
from torcheer.autograd.torch_calls import broadcast, call, place_of, places_of, plain, plain_key
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


# --- added -----------------------------------------------------------------------------------------------


@call("scatter_add")
def scatter_add(a: Tensor, dim: int, index: Tensor, src: Tensor) -> Any:
    return a + rules.scatter(_as_large(src, index), shape=tuple(a.shape), dim=dim, index=plain(index))


@call("index_add")
def index_add(a: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Any:
    key = (*[slice(None)] * place_of(dim, len(a.shape)), plain(index).reshape(-1))
    added = rules.place(source, shape=tuple(a.shape), key=key)
    return a + (added if alpha == 1 else alpha * added)


# --- in its stead ----------------------------------------------------------------------------------------


@call("scatter", replace=True)
def scatter(
    a: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None
) -> Any:
    src = value if src is None else src
    if reduce == "add":
        src = src if isinstance(src, Tensor) else torch.full(index.shape, float(src), dtype=a.dtype)
        return scatter_add(a, dim, index, src)
    if reduce is not None:
        raise InputError(f"there is no rule for scatter with reduce={reduce!r}: 'add', or none.")
    written = _places(a).gather(dim, plain(index))
    return _overwritten(a, written, _as_large(src, index) if isinstance(src, Tensor) else src)


@call("index_copy")
def index_copy(a: Tensor, dim: int, index: Tensor, source: Tensor) -> Any:
    key: Any = (*[slice(None)] * place_of(dim, len(a.shape)), plain(index).reshape(-1))
    return _overwritten(a, _places(a)[key], source)


@call("index_put")
def index_put(a: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Any:
    key = plain_key(tuple(indices))
    written = _places(a)[key]
    if accumulate:
        return a + rules.place(values.expand(written.shape), shape=tuple(a.shape), key=key)
    return _overwritten(a, written, values.expand(written.shape))


@call("select_scatter")
def select_scatter(a: Tensor, src: Tensor, dim: int, index: int) -> Any:
    return _overwritten(a, _places(a).select(dim, index), src)


@call("slice_scatter")
def slice_scatter(
    a: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Any:
    key = (*[slice(None)] * place_of(dim, len(a.shape)), slice(start, end, step))
    return _overwritten(a, _places(a)[key], src)


@call("masked_scatter")
def masked_scatter(a: Tensor, mask: Tensor, source: Tensor) -> Any:
    """The first of the source to the first place of the mask, and so on."""
    shape = broadcast(a.shape, mask.shape)
    a, mask = a.expand(shape), plain(mask).expand(shape)
    written = _places(a)[mask]
    if source.numel() < written.numel():
        raise InputError(
            f"the mask has {written.numel()} places, and there are {source.numel()} numbers for them."
        )
    return _overwritten(a, written, source.reshape(-1)[: written.numel()])


def _places(a: Tensor) -> Tensor:
    return torch.arange(a.numel(), device=a.device).reshape(a.shape)


def _overwritten(a: Tensor, places: Tensor, values: Any) -> Any:
    """Values at these places of a. Of two at one place one stays, and that gets the gradient."""
    winner = torch.full((a.numel(),), -1, device=a.device)
    winner[places.reshape(-1)] = torch.arange(places.numel(), device=a.device)
    winner = winner.reshape(a.shape)
    if not isinstance(values, Tensor):
        return torch.where(winner >= 0, values, a)
    if not values.numel():
        return rules.clone(a)
    chosen = values.reshape(-1)[winner.clamp(min=0)]
    return torch.where(winner >= 0, chosen.to(a.dtype), a)


def _as_large(src: Tensor, index: Tensor) -> Any:
    """The part of the source that the index speaks of."""
    if tuple(src.shape) == tuple(index.shape):
        return src
    return src[tuple(slice(0, size) for size in index.shape)]


# --- extremes --------------------------------------------------------------------------------------------


@call("max")
def largest(a: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    """Of all, along a dimension, or of two tensors."""
    other = dim if isinstance(dim, Tensor) else other
    if other is not None:
        return rules.maximum(a, other)
    return torch.amax(a) if dim is None else picked(torch.max, a, dim, keepdim)


@call("min")
def smallest(a: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    other = dim if isinstance(dim, Tensor) else other
    if other is not None:
        return rules.minimum(a, other)
    return torch.amin(a) if dim is None else picked(torch.min, a, dim, keepdim)


@call("amin")
def amin(a: Tensor, dim: Any = (), keepdim: bool = False) -> Any:
    return -torch.amax(-a, dim, keepdim=keepdim)


@call("aminmax")
def aminmax(a: Tensor, *, dim: int | None = None, keepdim: bool = False) -> Any:
    dims = () if dim is None else dim
    both = torch.amin(a, dims, keepdim=keepdim), torch.amax(a, dims, keepdim=keepdim)
    return torch.return_types.aminmax(both)


@call("cummax")
def cummax(a: Tensor, dim: int) -> Any:
    return _along(torch.cummax, a, dim)


@call("cummin")
def cummin(a: Tensor, dim: int) -> Any:
    return _along(torch.cummin, a, dim)


def picked(function: Callable[..., Any], a: Tensor, dim: int, keepdim: bool, *args: Any) -> Any:
    """One of each row, and where it was: torch says where, and the gradient goes there."""
    dim = place_of(dim, len(a.shape))
    indices = function(plain(a), *args, dim, True).indices
    values: Tensor = rules.gather(a, dim=dim, index=indices)
    if not keepdim:
        values, indices = values.squeeze(dim), indices.squeeze(dim)
    return _with_places(function.__name__, values, indices)


def _along(function: Callable[..., Any], a: Tensor, dim: int) -> Any:
    indices = function(plain(a), dim).indices
    return _with_places(function.__name__, rules.gather(a, dim=dim, index=indices), indices)


def _with_places(name: str, values: Any, indices: Tensor) -> Any:
    return getattr(torch.return_types, name)((values, indices))


# --- order -----------------------------------------------------------------------------------------------


@call("sort")
def sort(a: Tensor, dim: int = -1, descending: bool = False, *, stable: bool = False) -> Any:
    indices = torch.sort(plain(a), dim=dim, descending=descending, stable=bool(stable)).indices
    return _with_places("sort", rules.gather(a, dim=dim, index=indices), indices)


@call("msort")
def msort(a: Tensor) -> Any:
    return sort(a, 0).values


@call("topk")
def topk(a: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    indices = torch.topk(plain(a), k, dim, largest, sorted).indices
    return _with_places("topk", rules.gather(a, dim=dim, index=indices), indices)


@call("kthvalue")
def kthvalue(a: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    return picked(torch.kthvalue, a, dim, keepdim, k)


@call("mode")
def mode(a: Tensor, dim: int = -1, keepdim: bool = False) -> Any:
    return picked(torch.mode, a, dim, keepdim)


@call("median")
def median(a: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    return _shared(a, torch.median(plain(a))) if dim is None else picked(torch.median, a, dim, keepdim)


@call("nanmedian")
def nanmedian(a: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    return _shared(a, torch.nanmedian(plain(a))) if dim is None else picked(torch.nanmedian, a, dim, keepdim)


def _shared(a: Tensor, value: Tensor) -> Any:
    """This value of all: elements that are equal to it share its gradient, as torch has it."""
    is_it = (a == value) | (torch.isnan(a) & torch.isnan(value))
    return torch.mean(a[is_it])


@call("quantile")
def quantile(
    a: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Any:
    """Between the two numbers in order that it falls between."""
    if interpolation not in _BETWEEN:
        raise InputError(f"interpolation is one of {', '.join(_BETWEEN)}, not {interpolation!r}.")
    num_dims = len(a.shape)
    rows = a.reshape(-1) if dim is None else torch.movedim(a, place_of(dim, num_dims), -1)
    wanted = torch.as_tensor(q, dtype=a.dtype, device=a.device)
    rank = (plain(wanted).reshape(-1) * (rows.shape[-1] - 1)).to(a.dtype)
    ordered = sort(rows).values
    below, above = (ordered[..., one.long()] for one in (rank.floor(), rank.ceil()))
    found = torch.movedim(below + _BETWEEN[interpolation](rank) * (above - below), -1, 0)
    if keepdim:
        kept = [1 if place in places_of(dim, num_dims) else size for place, size in enumerate(a.shape)]
        found = found.reshape(len(rank), *kept)
    return found if len(wanted.shape) else found[0]


_BETWEEN: dict[str, Callable[[Tensor], Tensor]] = {
    "linear": lambda rank: rank - rank.floor(),
    "lower": lambda rank: torch.zeros_like(rank),
    "higher": lambda rank: torch.ones_like(rank),
    "midpoint": lambda rank: torch.full_like(rank, 0.5),
    "nearest": lambda rank: rank.round() - rank.floor(),
}
