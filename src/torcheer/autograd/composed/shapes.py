"""The same numbers in other shapes, composed of reshape, permute, expand and index."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from torcheer.autograd import rules
from torcheer.autograd.arguments import broadcast, place_of, places_of, sizes
from torcheer.autograd.calls import call
from torcheer.errors import InputError

# --- dimensions in another order -------------------------------------------------------------------------


@call("transpose", "swapaxes", "swapdims")
def transpose(a: Tensor, dim0: int, dim1: int) -> Any:
    first, second = place_of(dim0, len(a.shape)), place_of(dim1, len(a.shape))
    dims = list(range(len(a.shape)))
    if dims:
        dims[first], dims[second] = dims[second], dims[first]
    return rules.permute(a, dims=tuple(dims))


@call("t")
def t(a: Tensor) -> Any:
    if len(a.shape) > 2:
        raise InputError(
            f"t() turns a matrix, and this has {len(a.shape)} dimensions: use x.mT or x.transpose(…)."
        )
    return rules.permute(a, dims=tuple(reversed(range(len(a.shape)))))


@call("T", "numpy_T")
def reversed_dims(a: Tensor) -> Any:
    return rules.permute(a, dims=tuple(reversed(range(len(a.shape)))))


@call("mT", "adjoint", "mH", "H")
def matrix_transpose(a: Tensor) -> Any:
    if len(a.shape) < 2:
        raise InputError(f"mT turns matrices, and this has the shape {tuple(a.shape)}: use x.T.")
    return transpose(a, -2, -1)


@call("movedim", "moveaxis")
def movedim(a: Tensor, source: Any, destination: Any) -> Any:
    come, go = (_listed(one, len(a.shape)) for one in (source, destination))
    if len(come) != len(go) or len(set(come)) != len(come) or len(set(go)) != len(go):
        raise InputError(
            f"movedim takes as many dimensions as places for them, none twice: {source}, {destination}."
        )
    rest = iter([one for one in range(len(a.shape)) if one not in come])
    new = dict(zip(go, come, strict=True))
    return rules.permute(
        a, dims=tuple(new[place] if place in new else next(rest) for place in range(len(a.shape)))
    )


def _listed(dims: Any, num_dims: int) -> list[int]:
    return [place_of(one, num_dims) for one in (dims if isinstance(dims, Sequence) else [dims])]


@call("fliplr")
def fliplr(a: Tensor) -> Any:
    return torch.flip(a, (1,))


@call("flipud")
def flipud(a: Tensor) -> Any:
    return torch.flip(a, (0,))


@call("__reversed__")
def backwards(a: Tensor) -> Any:
    return torch.flip(a, (0,)) if len(a.shape) else a


@call("rot90")
def rot90(a: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Any:
    first, second = dims
    if k % 4 == 0:
        return rules.clone(a)
    if k % 4 == 2:
        return torch.flip(a, (first, second))
    return torch.flip(transpose(a, first, second), (first if k % 4 == 1 else second,))


@call("roll")
def roll(a: Tensor, shifts: Any, dims: Any = None) -> Any:
    """The end comes before the beginning."""
    if dims is None or dims == ():
        return roll(a.reshape(-1), shifts, 0).reshape(a.shape)
    steps = shifts if isinstance(shifts, Sequence) else [shifts]
    places = dims if isinstance(dims, Sequence) else [dims]
    if len(steps) != len(places):
        raise InputError(f"roll needs one shift for each dimension: {len(steps)} for {len(places)}.")
    for step, dim in zip(steps, places, strict=True):
        length = a.shape[dim]
        if length:
            kept = length - step % length
            a = torch.cat([a.narrow(dim, kept, length - kept), a.narrow(dim, 0, kept)], dim)
    return a


# --- dimensions more or less -----------------------------------------------------------------------------


@call("unsqueeze")
def unsqueeze(a: Tensor, dim: int) -> Any:
    shape = list(a.shape)
    shape.insert(place_of(dim, len(shape) + 1), 1)
    return rules.reshape(a, shape=tuple(shape))


@call("squeeze")
def squeeze(a: Tensor, dim: Any = None) -> Any:
    if isinstance(dim, Sequence) and not len(dim):
        return rules.reshape(a, shape=tuple(a.shape))
    gone = places_of(dim, len(a.shape))
    kept = [size for place, size in enumerate(a.shape) if size != 1 or place not in gone]
    return rules.reshape(a, shape=tuple(kept))


@call("flatten")
def flatten(a: Tensor, start_dim: int = 0, end_dim: int = -1) -> Any:
    shape = tuple(a.shape) or (1,)
    start, end = place_of(start_dim, len(shape)), place_of(end_dim, len(shape))
    if start > end:
        raise InputError(f"flatten goes from a dimension to a later one, not from {start_dim} to {end_dim}.")
    return rules.reshape(a, shape=(*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :]))


@call("ravel")
def ravel(a: Tensor) -> Any:
    return rules.reshape(a, shape=(a.numel(),))


@call("unflatten")
def unflatten(a: Tensor, dim: int, sizes: Any) -> Any:
    dim = place_of(dim, len(a.shape))
    parts = list(sizes)
    if -1 in parts:
        known = -math.prod(parts)
        parts[parts.index(-1)] = a.shape[dim] // known if known else 0
    if math.prod(parts) != a.shape[dim]:
        raise InputError(
            f"unflatten cannot make {tuple(sizes)} of the {a.shape[dim]} elements in dimension {dim}."
        )
    return rules.reshape(a, shape=(*a.shape[:dim], *parts, *a.shape[dim + 1 :]))


@call("view_as", "reshape_as")
def view_as(a: Tensor, other: Tensor) -> Any:
    return rules.reshape(a, shape=tuple(other.shape))


@call("atleast_1d")
def atleast_1d(*tensors: Any) -> Any:
    return _each(tensors, lambda a: a if len(a.shape) else a.reshape(1))


@call("atleast_2d")
def atleast_2d(*tensors: Any) -> Any:
    return _each(tensors, lambda a: a if len(a.shape) > 1 else a.reshape(1, -1))


@call("atleast_3d")
def atleast_3d(*tensors: Any) -> Any:
    return _each(tensors, lambda a: a if len(a.shape) > 2 else unsqueeze(atleast_2d(a), -1))


def _each(tensors: tuple[Any, ...], change: Any) -> Any:
    if len(tensors) == 1 and isinstance(tensors[0], Tensor):
        return change(tensors[0])
    return tuple(change(one) for one in (tensors[0] if len(tensors) == 1 else tensors))


# --- copies side by side ---------------------------------------------------------------------------------


@call("expand_as")
def expand_as(a: Tensor, other: Tensor) -> Any:
    return rules.expand(a, shape=tuple(other.shape))


@call("broadcast_tensors")
def broadcast_tensors(*tensors: Any) -> Any:
    shape = broadcast(*[one.shape for one in tensors])
    return tuple(one.expand(shape) for one in tensors)


@call("repeat")
def repeat(a: Tensor, *repeats: Any, **named: Any) -> Any:
    """Each dimension gets one beside it to be repeated along, and both become one."""
    times = sizes(repeats, named)
    if len(times) < len(a.shape):
        raise InputError(
            f"repeat needs a number for each of the {len(a.shape)} dimensions, and got {len(times)}."
        )
    shape = (1,) * (len(times) - len(a.shape)) + tuple(a.shape)
    apart = [one for size in shape for one in (1, size)]
    wide = [one for pair in zip(times, shape, strict=True) for one in pair]
    result = [time * size for time, size in zip(times, shape, strict=True)]
    return a.reshape(apart).expand(wide).reshape(result)


@call("tile")
def tile(a: Tensor, *dims: Any, **named: Any) -> Any:
    times = sizes(dims, named)
    return repeat(a, (1,) * (len(a.shape) - len(times)) + times)


@call("meshgrid")
def meshgrid(*tensors: Any, indexing: str | None = None) -> Any:
    vectors = list(tensors[0] if len(tensors) == 1 and not isinstance(tensors[0], Tensor) else tensors)
    if indexing not in (None, "ij", "xy"):
        raise InputError(f"indexing is 'ij' or 'xy', not {indexing!r}.")
    is_turned = indexing == "xy" and len(vectors) > 1
    if is_turned:
        vectors[:2] = vectors[1::-1]
    shape = [one.numel() for one in vectors]
    grids = [
        one.reshape([-1 if other == place else 1 for other in range(len(shape))]).expand(shape)
        for place, one in enumerate(vectors)
    ]
    if is_turned:
        grids[:2] = grids[1::-1]
    return tuple(grids)


@call("cartesian_prod")
def cartesian_prod(*tensors: Tensor) -> Any:
    if len(tensors) == 1:
        return tensors[0]
    return torch.stack([one.reshape(-1) for one in meshgrid(*tensors)], 1)
