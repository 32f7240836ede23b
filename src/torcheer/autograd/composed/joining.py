"""Tensors put together, and taken apart again."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from torcheer.autograd import rules
from torcheer.autograd.arguments import place_of, plain
from torcheer.autograd.calls import call
from torcheer.errors import InputError

# --- together --------------------------------------------------------------------------------------------


@call("stack")
def stack(tensors: Sequence[Tensor], dim: int = 0, *, axis: int | None = None) -> Any:
    if not len(tensors):
        raise InputError("stack needs at least one tensor.")
    shapes = {tuple(one.shape) for one in tensors}
    if len(shapes) > 1:
        raise InputError(
            f"stack takes tensors of one shape, and got {', '.join(map(str, sorted(shapes)))}: use cat."
        )
    dim = dim if axis is None else axis
    return torch.cat([one.unsqueeze(dim) for one in tensors], place_of(dim, len(tensors[0].shape) + 1))


@call("hstack")
def hstack(tensors: Sequence[Tensor]) -> Any:
    parts = torch.atleast_1d(list(tensors))  # type: ignore[no-untyped-call]
    return torch.cat(parts, 0 if len(parts[0].shape) == 1 else 1)


@call("vstack", "row_stack")
def vstack(tensors: Sequence[Tensor]) -> Any:
    return torch.cat(torch.atleast_2d(list(tensors)), 0)  # type: ignore[no-untyped-call]


@call("dstack")
def dstack(tensors: Sequence[Tensor]) -> Any:
    return torch.cat(torch.atleast_3d(list(tensors)), 2)  # type: ignore[no-untyped-call]


@call("column_stack")
def column_stack(tensors: Sequence[Tensor]) -> Any:
    return torch.cat([one if len(one.shape) > 1 else one.reshape(-1, 1) for one in tensors], 1)


# --- apart -----------------------------------------------------------------------------------------------


@call("narrow")
def narrow(a: Tensor, dim: int, start: Any, length: int) -> Any:
    dim = place_of(dim, len(a.shape))
    size, start = a.shape[dim], int(start)
    start = start + size if start < 0 else start
    if not 0 <= start <= start + length <= size:
        raise InputError(f"there are {size} elements in dimension {dim}: not {length} from {start} on.")
    return rules.index(a, key=(*[slice(None)] * dim, slice(start, start + length)))


@call("select")
def select(a: Tensor, dim: int, index: int) -> Any:
    dim = place_of(dim, len(a.shape))
    if not -a.shape[dim] <= index < a.shape[dim]:
        raise InputError(f"there is no element {index} among the {a.shape[dim]} of dimension {dim}.")
    return rules.index(a, key=(*[slice(None)] * dim, int(index)))


@call("unbind")
def unbind(a: Tensor, dim: int = 0) -> Any:
    dim = place_of(dim, len(a.shape))
    if not len(a.shape):
        raise InputError("a single number has no parts: x.reshape(1) makes a vector of it.")
    return tuple(select(a, dim, place) for place in range(a.shape[dim]))


@call("split", "split_with_sizes")
def split(a: Tensor, split_size_or_sections: Any = None, dim: int = 0, **named: Any) -> Any:
    given = split_size_or_sections
    for one in named.values():  # `split_size`, `split_sizes`: torch has several names
        given = one if given is None else given
    length = a.shape[place_of(dim, len(a.shape))]
    if isinstance(given, int):
        if given < 0 or (given == 0 and length):
            raise InputError(f"split takes the size of the pieces, at least 1, not {given}.")
        starts = list(range(0, length, given)) if length else [0]
        return _pieces(a, [*starts, length], dim)
    if sum(given) != length:
        raise InputError(
            f"the sizes {tuple(given)} do not add up to the {length} elements of dimension {dim}."
        )
    ends = [0]
    for one in given:
        ends.append(ends[-1] + one)
    return _pieces(a, ends, dim)


@call("chunk")
def chunk(a: Tensor, chunks: int, dim: int = 0) -> Any:
    if chunks < 1:
        raise InputError(f"chunk makes at least one piece, not {chunks}.")
    length = a.shape[dim]
    if not length:
        return _pieces(a, [0] * (chunks + 1), dim)
    return split(a, -(-length // chunks), dim)


@call("tensor_split")
def tensor_split(
    a: Tensor, indices_or_sections: Any = None, dim: int = 0, *, indices: Any = None, sections: Any = None
) -> Any:
    """In so many pieces that are as even as can be, or at these places."""
    given = next(one for one in (indices_or_sections, indices, sections) if one is not None)
    given = given.tolist() if isinstance(given, Tensor) else given
    length = a.shape[dim]
    if isinstance(given, int):
        size, num_larger = divmod(length, given)
        ends = [0]
        for place in range(given):
            ends.append(ends[-1] + size + (place < num_larger))
        return _pieces(a, ends, dim)
    places = [slice(None, one).indices(length)[1] for one in given]
    return _pieces(a, [0, *places, length], dim)


@call("hsplit")
def hsplit(a: Tensor, indices_or_sections: Any) -> Any:
    return tensor_split(a, indices_or_sections, 0 if len(a.shape) == 1 else 1)


@call("vsplit")
def vsplit(a: Tensor, indices_or_sections: Any) -> Any:
    return tensor_split(a, indices_or_sections, 0)


@call("dsplit")
def dsplit(a: Tensor, indices_or_sections: Any) -> Any:
    return tensor_split(a, indices_or_sections, 2)


def _pieces(a: Tensor, ends: Sequence[int], dim: int) -> tuple[Any, ...]:
    return tuple(narrow(a, dim, start, max(0, end - start)) for start, end in pairwise(ends))


# --- elements several times ------------------------------------------------------------------------------


@call("repeat_interleave")
def repeat_interleave(
    a: Tensor, repeats: Any, dim: int | None = None, *, output_size: int | None = None
) -> Any:
    if dim is None:
        a, dim = a.reshape(-1), 0
    dim = place_of(dim, len(a.shape))
    places = torch.arange(a.shape[dim], device=a.device)
    times = plain(repeats) if isinstance(repeats, Tensor) else repeats
    key = torch.repeat_interleave(places, times, output_size=output_size)
    return rules.index(a, key=(*[slice(None)] * dim, key))
