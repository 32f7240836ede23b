"""The largest, the smallest, the middle one, and all in order: values are picked where torch finds them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from torcheer.autograd import rules
from torcheer.autograd.arguments import place_of, places_of, plain
from torcheer.autograd.calls import call
from torcheer.errors import InputError

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
