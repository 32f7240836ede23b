"""Shapes: views, parts joined and split, padding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from torcheer.autograd import rules
from torcheer.autograd.rule_math import pair
from torcheer.autograd.torch_calls import broadcast, call, place_of, places_of, plain, sizes
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


# --- padding ---------------------------------------------------------------------------------------------


@call("pad", "_pad", "constant_pad_nd")
def pad(a: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Any:
    """So many at the start and the end of the last dimension, then of the one before it, and so on."""
    if len(pad) % 2 or len(pad) > 2 * len(a.shape):
        raise InputError(
            f"pad takes two numbers for each dimension, the last one first, and got {tuple(pad)} for a "
            f"tensor of {len(a.shape)}."
        )
    around = {
        len(a.shape) - 1 - place: (pad[2 * place], pad[2 * place + 1]) for place in range(len(pad) // 2)
    }
    if mode == "constant":
        return _with_constant(a, around, value or 0.0)
    if mode not in _SOURCES:
        raise InputError(f"pad knows the modes constant, {', '.join(_SOURCES)}, not {mode!r}.")
    for dim, (before, after) in around.items():
        if before or after:
            a = rules.index(a, key=(*[slice(None)] * dim, _source(a, dim, before, after, mode)))
    return a


def _with_constant(a: Tensor, around: dict[int, tuple[int, int]], value: float) -> Any:
    kept, shape, key = [], [], []
    for dim, size in enumerate(a.shape):
        before, after = around.get(dim, (0, 0))
        if size + before + after < 0:
            raise InputError(f"pad takes more away from dimension {dim} than the {size} elements there are.")
        kept.append(slice(max(0, -before), size - max(0, -after)))
        shape.append(size + before + after)
        key.append(slice(max(0, before), size + before + after - max(0, after)))
    inside = (
        a if all(one >= 0 for both in around.values() for one in both) else rules.index(a, key=tuple(kept))
    )
    placed = rules.place(inside, shape=tuple(shape), key=tuple(key))
    if not value:
        return placed
    frame = torch.full(shape, value, dtype=a.dtype, device=a.device)
    frame[tuple(key)] = 0
    return placed + frame


def _source(a: Tensor, dim: int, before: int, after: int, mode: str) -> Tensor:
    """Which element each place shows."""
    size = a.shape[dim]
    largest = {"reflect": size - 1, "circular": size}.get(mode)
    if size == 0 or (largest is not None and max(before, after) > largest):
        raise InputError(
            f"{mode} padding of dimension {dim} can be {largest or 0} at most, not {before}, {after}."
        )
    places = torch.arange(-before, size + after, device=a.device)
    source: Tensor = _SOURCES[mode](places, size)
    return source


_SOURCES: dict[str, Any] = {
    "reflect": lambda places, size: (size - 1) - ((size - 1) - places.abs()).abs(),
    "replicate": lambda places, size: places.clamp(0, size - 1),
    "circular": lambda places, size: places % size,
}


# --- windows ---------------------------------------------------------------------------------------------


@call("Tensor.unfold")
def windows(a: Tensor, dimension: int, size: int, step: int) -> Any:
    """Pieces of one dimension, each begun a step later; their elements are the last dimension."""
    dim = place_of(dimension, len(a.shape))
    if step < 1 or size > (a.shape[dim] if len(a.shape) else 1):
        raise InputError(f"there is no window of {size}, in steps of {step}, in {tuple(a.shape)}.")
    a = a if len(a.shape) else a.reshape(1)
    starts = torch.arange(0, a.shape[dim] - size + 1, step, device=a.device)
    key = starts.unsqueeze(1) + torch.arange(size, device=a.device)
    return torch.movedim(rules.index(a, key=(*[slice(None)] * dim, key)), dim + 1, -1)


@call("unfold", "im2col")
def unfold(a: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """Each patch of a picture as a column."""
    if len(a.shape) not in (3, 4):
        raise InputError(f"unfold takes pictures (items, channels, rows, columns), not {tuple(a.shape)}.")
    return rules.unfold(
        a, kernel_size=pair(kernel_size), dilation=pair(dilation), padding=pair(padding), stride=pair(stride)
    )


@call("fold", "col2im")
def fold(
    a: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Any:
    """Columns back to a picture; where patches overlap they are added."""
    return rules.fold(
        a, output_size=pair(output_size), kernel_size=pair(kernel_size), dilation=pair(dilation),
        padding=pair(padding), stride=pair(stride),
    )  # fmt: skip
