"""Shapes and places: views, parts joined and split, elements picked, put and repeated.

torch itself is asked what its functions do to shapes and places: nobody else has to read their arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import torch
from torch import Tensor

from torcheer.autograd import rules
from torcheer.autograd.modes import as_plain
from torcheer.autograd.rule_math import pair
from torcheer.autograd.torch_calls import (
    call,
    enter,
    place_of,
    plain,
    plain_key,
    replaced,
    sizes,
    tensors_in,
)
from torcheer.errors import InputError


@call(*"transpose swapaxes swapdims t T numpy_T mT adjoint mH H movedim moveaxis".split(), asks=True)
def permuted(function: Callable[..., Tensor], a: Tensor, *args: Any, **named: Any) -> Any:
    """Where dimensions have the sizes 0, 1, 2, … the shape of the result is the permutation."""
    counted = torch.empty(tuple(range(len(a.shape))))
    return rules.permute(a, dims=tuple(function(counted, *args, **named).shape))


@call("unsqueeze", "squeeze", "flatten", "ravel", "unflatten", "view_as", "reshape_as", asks=True)
def reshaped(function: Callable[..., Tensor], a: Tensor, *args: Any, **named: Any) -> Any:
    with as_plain():
        shape = function(torch.empty(a.shape, device="meta"), *args, **named).shape
    return rules.reshape(a, shape=tuple(shape))


@call("reshape", "view", replace=True)
def reshape(a: Tensor, *shape: Any, **named: Any) -> Any:
    if len(shape) == 1 and isinstance(shape[0], torch.dtype):
        raise InputError(
            "view(dtype) shows the bytes of numbers as others, which has no gradient: use to(dtype)."
        )
    return rules.reshape(a, shape=sizes(shape, named))


enter(
    {
        "permute": lambda a, *dims, **named: rules.permute(a, dims=sizes(dims, named)),
        "flip": lambda a, *dims, **named: rules.flip(a, dims=sizes(dims, named)),
        "expand broadcast_to": lambda a, *shape, implicit=False, **named: rules.expand(
            a, shape=sizes(shape, named)
        ),
        "expand_as": lambda a, other: rules.expand(a, shape=tuple(other.shape)),
    },
    replace=True,
)


@call("clone", replace=True)
def clone(a: Tensor, *, memory_format: Any = None) -> Any:
    return rules.clone(a) if memory_format is None else rules.clone(a, memory_format=memory_format)


@call("cat", "concat", "concatenate", replace=True)
def cat(tensors: Sequence[Tensor], dim: int = 0, *, axis: int | None = None) -> Any:
    # torch passes over empty vectors, whatever the shape of the others.
    parts = [one for one in tensors if tuple(one.shape) != (0,)] or list(tensors)
    return rules.cat(*parts, dim=dim if axis is None else axis)


@call("broadcast_tensors")
def broadcast_tensors(*tensors: Any) -> Any:
    shape = torch.broadcast_shapes(*[tuple(one.shape) for one in tensors])  # type: ignore[no-untyped-call]
    return tuple(one.expand(shape) for one in tensors)


_CARRYING: Final = """
    fliplr flipud __reversed__ rot90 roll repeat tile repeat_interleave meshgrid cartesian_prod combinations
    hstack vstack row_stack dstack column_stack block_diag atleast_1d atleast_2d atleast_3d
    tensor_split hsplit vsplit dsplit pad _pad constant_pad_nd Tensor.unfold
    pixel_shuffle pixel_unshuffle channel_shuffle
    diagonal linalg_diagonal diag diag_embed diagflat tril triu
    index_select take take_along_dim masked_select index_fill index_copy masked_scatter
    select_scatter slice_scatter diagonal_scatter
"""


@call(*_CARRYING.split(), asks=True)
def carried(function: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """Each number of the result is one of those that were given, or a constant: torch is asked which.

    Its function is run on numbers that say where they lie, from 1 up and from -1 down: what does not change
    its sign is a constant. Of two values for one place the one that stays gets the gradient.
    """
    given = [one for one in tensors_in((args, named)) if one.is_floating_point()]
    up, down = _results(function, args, named, 1), _results(function, args, named, -1)
    nothing = torch.zeros(1, dtype=given[0].dtype, device=given[0].device)
    flat = rules.cat(nothing, *[one.reshape(-1) for one in given], dim=0)
    results = []
    for first, second in zip(up, down, strict=True):
        is_place = first == -second
        taken = rules.index(flat, key=torch.where(is_place, first, 0.0).long())
        constants = torch.where(is_place, 0.0, first)
        results.append(taken + constants.to(taken.dtype) if bool(constants.any()) else taken)
    return results[0] if isinstance(up, _One) else tuple(results)


class _One(list[Tensor]):
    """A result that is no list of several."""


def _results(function: Callable[..., Any], args: Any, named: Any, sign: int) -> list[Tensor]:
    """What a function makes of the places of all numbers, counted over all tensors."""
    end = 0

    def numbered(one: Tensor) -> Tensor:
        nonlocal end
        if not one.is_floating_point():
            return one
        start, end = end + 1, end + one.numel()
        count = torch.arange(start, end + 1, dtype=torch.float64, device=one.device)
        return (sign * count).reshape(one.shape)

    with as_plain():
        found = function(*replaced(args, numbered), **replaced(named, numbered))
    return _One([found]) if isinstance(found, Tensor) else list(found)


call("__getitem__")(lambda a, key: rules.index(a, key=plain_key(key)))


@call("gather", replace=True)
def gather(a: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Any:
    return rules.gather(a, dim=place_of(dim, len(a.shape)), index=plain(index))


@call("masked_fill")
def masked_fill(a: Tensor, mask: Tensor, value: Any) -> Any:
    return torch.where(mask, value.to(a.dtype) if isinstance(value, Tensor) else value, a.contiguous())


@call("scatter", replace=True, asks=True)
def scatter(function: Callable[..., Any], a: Tensor, *args: Any, **named: Any) -> Any:
    if "reduce" in named:
        raise InputError("scatter has no rule with reduce=: use scatter_add to add up.")
    return carried(function, a, *args, **named)


@call("index_put", asks=True)
def index_put(
    function: Callable[..., Any], a: Tensor, indices: Any, values: Tensor, accumulate: bool = False
) -> Any:
    if not accumulate:
        return carried(function, a, indices, values)
    key = plain_key(tuple(indices))
    return a + rules.place(values.expand(plain(a)[key].shape), shape=tuple(a.shape), key=key)


@call("scatter_add")
def scatter_add(a: Tensor, dim: int, index: Tensor, src: Tensor) -> Any:
    meant = src[tuple(slice(0, size) for size in index.shape)]  # the part that the index speaks of
    return a + rules.scatter(meant, shape=tuple(a.shape), dim=dim, index=plain(index))


@call("index_add")
def index_add(a: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Any:
    key = _at(a, dim, plain(index).reshape(-1))
    return a + alpha * rules.place(source, shape=tuple(a.shape), key=key)


def _at(a: Tensor, dim: int, part: Any) -> tuple[Any, ...]:
    """The key of a part along one dimension."""
    return (*[slice(None)] * place_of(dim, len(a.shape)), part)


@call("stack")
def stack(tensors: Sequence[Tensor], dim: int = 0, *, axis: int | None = None) -> Any:
    dim = place_of(dim if axis is None else axis, len(tensors[0].shape) + 1)
    return torch.cat([one.unsqueeze(dim) for one in tensors], dim)


@call("narrow", asks=True)
def narrow(function: Callable[..., Any], a: Tensor, dim: int, start: Any, length: int) -> Any:
    function(plain(a), dim, start, length)  # torch says what is not there
    start = int(start) + a.shape[dim] if start < 0 else int(start)
    return rules.index(a, key=_at(a, dim, slice(start, start + length)))


@call("select")
def select(a: Tensor, dim: int, index: int) -> Any:
    return rules.index(a, key=_at(a, dim, int(index)))


call("unbind")(lambda a, dim=0: tuple(select(a, dim, place) for place in range(a.shape[dim])))


@call("split", "split_with_sizes", "chunk", asks=True)
def split(function: Callable[..., Any], a: Tensor, *args: Any, **named: Any) -> Any:
    """torch says how long the pieces are."""
    dim = place_of(named.get("dim", args[1] if len(args) > 1 else 0), len(a.shape))
    ends, pieces = 0, []
    with as_plain():
        lengths = [one.shape[dim] for one in function(plain(a), *args, **named)]
    for length in lengths:
        pieces.append(rules.index(a, key=_at(a, dim, slice(ends, ends + length))))
        ends += length
    return tuple(pieces)


@call("unfold", "im2col")
def unfold(a: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    """Each patch of a picture as a column."""
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
