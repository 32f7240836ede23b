"""Sort out what torch's calls are given: sizes, dimensions, indices, and flags that cannot be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from torcheer.autograd.modes import as_plain
from torcheer.errors import InputError


def sizes(given: tuple[Any, ...], named: dict[str, Any] | None = None) -> tuple[int, ...]:
    """`x.view(2, 3)`, `x.view((2, 3))` and `x.view(size=(2, 3))` alike."""
    given = given or tuple((named or {}).values())
    if len(given) == 1 and isinstance(given[0], Sequence):
        return tuple(int(one) for one in given[0])
    return tuple(int(one) for one in given)


def place_of(dim: int, num_dims: int) -> int:
    """A dimension counted from the front. A single number has one, too, as far as torch is concerned."""
    dims = max(num_dims, 1)
    if not -dims <= dim < dims:
        raise InputError(
            f"there is no dimension {dim} in a tensor of {num_dims}: use one from {-dims} to {dims - 1}."
        )
    return int(dim) % dims


def places_of(dims: Any, num_dims: int) -> tuple[int, ...]:
    """Several of them; none named means all."""
    if dims is None or (isinstance(dims, Sequence) and len(dims) == 0):
        return tuple(range(num_dims))
    named = dims if isinstance(dims, Sequence) else (dims,)
    return tuple(place_of(one, num_dims) for one in named)[: max(num_dims, 0) or None]


def broadcast(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that these have together."""
    return tuple(torch.broadcast_shapes(*[tuple(one) for one in shapes]))  # type: ignore[no-untyped-call]


def plain(value: Any) -> Tensor:
    """An index or a mask without its history: there is no gradient by it."""
    with as_plain():
        return value.as_subclass(Tensor) if isinstance(value, Tensor) else torch.as_tensor(value)


def plain_key(key: Any) -> Any:
    """An index as it stands between brackets."""
    if isinstance(key, tuple):
        return tuple(plain_key(one) for one in key)
    return plain(key) if isinstance(key, Tensor) else key


def not_in_place(inplace: bool, name: str) -> None:
    """`inplace=True` cannot be: the value before is what the gradient is made of."""
    if inplace:
        raise InputError(
            f"{name}(…, inplace=True) writes over its input, which the gradient needs: leave it out."
        )


def needs_dims(a: Tensor, num_dims: int, name: str, instead: str) -> None:
    """Some products are of vectors or matrices only."""
    if len(a.shape) != num_dims:
        raise InputError(
            f"{name} takes tensors of {num_dims} dimensions, and this has the shape {tuple(a.shape)}: "
            f"use {instead}."
        )
