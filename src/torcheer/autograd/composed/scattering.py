"""Numbers put into a copy of a tensor: added to what is there, or in its stead."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from torcheer.autograd import rules
from torcheer.autograd.arguments import broadcast, place_of, plain, plain_key
from torcheer.autograd.calls import call
from torcheer.errors import InputError

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
