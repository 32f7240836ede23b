"""The weights of one unit, laid on the units at their other end: what it receives and sends. No torch.

What a unit receives from another is what it changes by, before its nonlinearity, for each one that the other
changes by: an entry of the Jacobian matrix. The gradient of weights, their last change and what an optimizer
keeps for them have the shape of the weights, and are laid out in the same way.

In attention `output[query, feature]` is the sum over keys of `attention[head, query, key]` times
`value[key, feature]`: a unit connects to units of the same feature. Layers lie as [tokens, features], head
after head, or as [heads, tokens, features of a head]. Of values there may be fewer heads, each for several
heads of queries. Where one layer gives queries, keys and values side by side, the values are its last
features.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy
from numpy.typing import ArrayLike, NDArray

from torcheer.errors import InputError
from torcheer.run import Connection

Shape = tuple[int, ...]
Values = NDArray[Any]


class UnitWeights(NamedTuple):
    """One entry for each unit of a layer, in the order of its tensor."""

    values: Values  # 0 where nothing connects
    is_connected: NDArray[numpy.bool_]


class Laid(NamedTuple):
    """Units at the other end, and the weight of each; both may have any shape, if it is the same."""

    units: Values
    weights: Values


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ends:
    """A connection with its weights. Shapes are those of one item."""

    connection: Connection
    weight: Values
    source_shape: Shape
    target_shape: Shape
    source_values: Values | None

    @property
    def num_source_units(self) -> int:
        return math.prod(self.source_shape)

    @property
    def num_target_units(self) -> int:
        return math.prod(self.target_shape)

    def misfit(self) -> InputError:
        source, target = self.connection.source, self.connection.target
        return InputError(
            f"weights of the shape {self.weight.shape} do not lead from {source!r} {self.source_shape} to "
            f"{target!r} {self.target_shape} as {self.connection.form}: they are of another layer, or only a "
            "piece of them was recorded."
        )


def _linear(ends: Ends, unit: int, *, is_received: bool) -> Laid:
    """A layer over the last dimension connects what has the same place in all others, the same token say."""
    matrix = _matrix(ends) if is_received else _matrix(ends).T
    num_here, num_there = matrix.shape
    row, column = divmod(unit, num_here)
    return Laid(row * num_there + numpy.arange(num_there), matrix[column])


def _matrix(ends: Ends) -> Values:
    """[out, in], checked."""
    matrix = ends.weight
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ends.misfit()
    if ends.connection.is_transposed:
        matrix = matrix.T
    num_out, num_in = matrix.shape
    num_rows = ends.num_target_units // num_out
    if not _is_cut_in_rows(ends.source_shape, num_in) or not _is_cut_in_rows(ends.target_shape, num_out):
        raise ends.misfit()
    if (num_rows * num_in, num_rows * num_out) != (ends.num_source_units, ends.num_target_units):
        raise ends.misfit()
    return matrix


def _is_cut_in_rows(shape: Shape, num_units: int) -> bool:
    """Can a view make rows of so many units? Dimensions that have changed places on the way mostly cannot."""
    for size in reversed(shape):
        if num_units % size:
            return size % num_units == 0
        num_units //= size
    return num_units == 1


def _embedding(ends: Ends, unit: int, *, is_received: bool) -> Laid:
    """Each unit receives one weight, of the token at its place."""
    num_features = int(ends.weight.shape[-1]) if ends.weight.ndim == 2 else 0
    tokens, source = ends.source_values, ends.connection.source
    if tokens is None:
        raise InputError(
            f"which weights {ends.connection.target!r} receives depends on the tokens, and those of "
            f"{source!r} are not known: record its variable Act."
        )
    if (
        not num_features
        or ends.num_target_units != ends.num_source_units * num_features
        or tokens.size != ends.num_source_units
    ):
        raise ends.misfit()
    place, feature = divmod(unit, num_features) if is_received else (unit, 0)
    token, num_tokens = float(tokens.ravel()[place]), len(ends.weight)
    if not token.is_integer() or not 0 <= token < num_tokens:
        raise InputError(
            f"unit {place} of {source!r} is {token:g}, and there are weights of the tokens 0 to "
            f"{num_tokens - 1}."
        )
    row: Values = ends.weight[int(token)]
    if is_received:
        return Laid(numpy.array([place]), row[[feature]])
    return Laid(unit * num_features + numpy.arange(num_features), row)


_MOST: Final = 2**31  # for a stride and the like: beyond it, a run is damaged


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Kernel:
    """A convolution from a wide picture to a narrow one. Transposed, it is the same read backwards."""

    weight: Values  # narrow maps, wide maps of a group, sizes of the kernel
    groups: int
    stride: Shape
    padding: Shape  # at the front
    dilation: Shape
    wide: Shape  # maps, then the sizes of the picture
    narrow: Shape

    def read(self, unit: int) -> Laid:
        """Units of the wide picture under the kernel of a narrow unit. Those of the padding are none."""
        channel, *place = _indices(unit, self.narrow)
        num_maps = self.weight.shape[1]
        first = channel // (self.narrow[0] // self.groups) * num_maps
        units, taps = [numpy.arange(first, first + num_maps)], [numpy.arange(num_maps)]
        for axis, index in enumerate(place):
            tap = numpy.arange(self.weight.shape[2 + axis])
            at = index * self.stride[axis] - self.padding[axis] + tap * self.dilation[axis]
            is_inside = (at >= 0) & (at < self.wide[1 + axis])
            units.append(at[is_inside])
            taps.append(tap[is_inside])
        return Laid(_numbers(units, self.wide), self.weight[channel][numpy.ix_(*taps)])

    def reached(self, unit: int) -> Laid:
        """Narrow units whose kernels lie over a unit of the wide picture."""
        channel, *place = _indices(unit, self.wide)
        group, inside = divmod(channel, self.weight.shape[1])
        num_maps = self.narrow[0] // self.groups
        maps = numpy.arange(group * num_maps, (group + 1) * num_maps)
        units, taps = [maps], [maps]
        for axis, index in enumerate(place):
            tap = numpy.arange(self.weight.shape[2 + axis])
            before = index + self.padding[axis] - tap * self.dilation[axis]
            at, rest = numpy.divmod(before, self.stride[axis])
            is_there = (rest == 0) & (at >= 0) & (at < self.narrow[1 + axis])
            units.append(at[is_there])
            taps.append(tap[is_there])
        return Laid(_numbers(units, self.narrow), self.weight[:, inside][numpy.ix_(*taps)])


def _convolution(ends: Ends, unit: int, *, is_received: bool) -> Laid:
    """A transposed convolution is a convolution read backwards."""
    is_narrow = is_received == (ends.connection.form == "conv")
    return _kernel(ends).read(unit) if is_narrow else _kernel(ends).reached(unit)


def _kernel(ends: Ends) -> Kernel:
    weight, connection = ends.weight, ends.connection
    num_axes = weight.ndim - 2
    groups = connection.groups
    if num_axes < 1 or 0 in weight.shape or groups < 1 or weight.shape[0] % groups:
        raise ends.misfit()
    stride = _each_axis(ends, connection.stride, usual=1, least=1)
    padding = _each_axis(ends, connection.padding, usual=0, least=1 - _MOST)
    dilation = _each_axis(ends, connection.dilation, usual=1, least=1)
    is_transposed = connection.form == "transposed_conv"
    shapes = (ends.source_shape, ends.target_shape)
    wide_shape, narrow_shape = reversed(shapes) if is_transposed else shapes
    wide = _picture(wide_shape, weight.shape[1] * groups, num_axes)
    narrow = _picture(narrow_shape, weight.shape[0], num_axes)
    if wide is None or narrow is None:
        raise ends.misfit()
    return Kernel(
        weight=weight,
        groups=groups,
        stride=stride,
        padding=padding,
        dilation=dilation,
        wide=wide,
        narrow=narrow,
    )


def _indices(unit: int, shape: Shape) -> list[int]:
    return [int(index) for index in numpy.unravel_index(unit, shape)]


def _numbers(indices: Sequence[Values], shape: Shape) -> Values:
    """Of the units at all combinations of these indices."""
    return numpy.asarray(numpy.ravel_multi_index(numpy.ix_(*indices), shape))


def _each_axis(ends: Ends, given: Sequence[int], *, usual: int, least: int) -> Shape:
    num_axes = ends.weight.ndim - 2
    sizes = tuple(int(size) for size in given) or (usual,)
    sizes = sizes * num_axes if len(sizes) == 1 else sizes
    if len(sizes) != num_axes or not all(least <= size < _MOST for size in sizes):
        raise ends.misfit()
    return sizes


def _picture(shape: Shape, num_maps: int, num_axes: int) -> Shape | None:
    """Maps and sizes, where the last dimensions are those of the picture."""
    sizes = shape[-num_axes:]
    fits = len(sizes) == num_axes and math.prod(shape) == num_maps * math.prod(sizes)
    return (num_maps, *sizes) if fits else None


def _attention(ends: Ends, unit: int, *, is_received: bool) -> Laid:
    if ends.weight.ndim != 3 or 0 in ends.weight.shape:
        raise ends.misfit()
    num_heads, num_queries, num_keys = ends.weight.shape
    outputs = _heads(ends, ends.target_shape, num_queries, num_heads)
    if outputs.num_heads != num_heads or outputs.start:
        raise ends.misfit()
    values = _heads(ends, ends.source_shape, num_keys, num_heads, outputs.num_features)
    if is_received:
        head, query, feature = outputs.find(unit)
        units = values.units(head // values.group, numpy.arange(num_keys), feature)
        return Laid(units, ends.weight[head, query])
    value_head, key, feature = values.find(unit)
    if not 0 <= value_head < values.num_heads:  # a query, or a key
        return Laid(numpy.zeros(0, numpy.int64), ends.weight[:0, 0, 0])
    heads = numpy.arange(value_head * values.group, (value_head + 1) * values.group)
    units = outputs.units(heads[:, None], numpy.arange(num_queries), feature)
    return Laid(units, ends.weight[heads, :, key])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Heads:
    """Where a head's feature of a token stands in a layer."""

    num_tokens: int
    num_heads: int
    num_features: int  # of a head
    group: int  # heads of queries for each head here
    start: int  # the first feature, where others stand before
    width: int  # features of a token; 0 where heads come before tokens

    def units(self, head: int | Values, token: Values, feature: int) -> Values:
        if not self.width:
            return (head * self.num_tokens + token) * self.num_features + feature
        return token * self.width + self.start + head * self.num_features + feature

    def find(self, unit: int) -> tuple[int, int, int]:
        """Head, token and feature. Before the first head, the head is negative."""
        if not self.width:
            row, feature = divmod(unit, self.num_features)
            return *divmod(row, self.num_tokens), feature
        token, column = divmod(unit, self.width)
        head, feature = divmod(column - self.start, self.num_features)
        return head, token, feature


def _heads(ends: Ends, shape: Shape, num_tokens: int, most_heads: int, num_features: int = 0) -> _Heads:
    """`num_features`: of a head, where that is known."""
    if len(shape) == 3:
        num_heads, tokens, features = shape
        width, start = 0, 0
        fits = tokens == num_tokens and features == (num_features or features) > 0
    elif len(shape) == 2:
        tokens, width = shape
        features = num_features or width // most_heads
        num_heads = width // features if features else 0
        if num_heads > most_heads:
            num_heads, rest = divmod(num_heads - most_heads, 2)
            num_heads = 0 if rest else num_heads
        start = width - num_heads * features if width > most_heads * features else 0
        fits = tokens == num_tokens and features > 0 and width % features == 0
    else:
        raise ends.misfit()
    if not fits or num_heads < 1 or most_heads % num_heads:
        raise ends.misfit()
    return _Heads(
        num_tokens=num_tokens,
        num_heads=num_heads,
        num_features=features,
        group=most_heads // num_heads,
        start=start,
        width=width,
    )


def received(
    connection: Connection,
    weight: ArrayLike,
    source_shape: Sequence[int],
    target_shape: Sequence[int],
    unit: int,
    *,
    source_values: ArrayLike | None = None,
) -> UnitWeights:
    """What a unit of the target receives, over the units of the source.

    - `weight`: the tensor as torch has it; of attention, that of one item: heads, queries, keys.
    - `source_shape`, `target_shape`: of one item. Units are numbered as they stand in such a tensor.
    - `source_values`: those of the item, needed of an embedding only: the numbers of its tokens.

    What does not fit together raises an InputError that says why.
    """
    ends = _ends(connection, weight, source_shape, target_shape, source_values)
    return _spread(ends, unit, is_received=True)


def sent(
    connection: Connection,
    weight: ArrayLike,
    source_shape: Sequence[int],
    target_shape: Sequence[int],
    unit: int,
    *,
    source_values: ArrayLike | None = None,
) -> UnitWeights:
    """What a unit of the source sends, over the units of the target. See `received`."""
    ends = _ends(connection, weight, source_shape, target_shape, source_values)
    return _spread(ends, unit, is_received=False)


_FORMS: Final[Mapping[str, Callable[..., Laid]]] = {
    "linear": _linear,
    "conv": _convolution,
    "transposed_conv": _convolution,
    "embedding": _embedding,
    "attention": _attention,
}


def _ends(
    connection: Connection,
    weight: ArrayLike,
    source_shape: Sequence[int],
    target_shape: Sequence[int],
    source_values: ArrayLike | None,
) -> Ends:
    if connection.form not in _FORMS:
        raise InputError(
            f"what {connection.target!r} receives from {connection.source!r} has no weights of its own."
        )
    numbers = numpy.asarray(weight)
    if numbers.dtype.kind not in "fc" or numbers.dtype.itemsize < 4:
        numbers = numbers.astype(numpy.float32)
    return Ends(
        connection=connection,
        weight=numbers,
        source_shape=tuple(int(size) for size in source_shape),
        target_shape=tuple(int(size) for size in target_shape),
        source_values=None if source_values is None else numpy.asarray(source_values),
    )


def _spread(ends: Ends, unit: int, *, is_received: bool) -> UnitWeights:
    there, here = ends.num_source_units, ends.num_target_units
    layer = ends.connection.target
    if not is_received:
        there, here, layer = here, there, ends.connection.source
    if not 0 <= unit < here:
        raise InputError(f"the layer {layer!r} has {here:,} units, numbered from 0: there is no {unit}.")
    laid = _FORMS[ends.connection.form](ends, unit, is_received=is_received)
    values = numpy.zeros(there, laid.weights.dtype)
    is_connected = numpy.zeros(there, numpy.bool_)
    values[laid.units] = laid.weights
    is_connected[laid.units] = True
    return UnitWeights(values, is_connected)
