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
from typing import Any, Final, Literal, NamedTuple

import numpy
from numpy.typing import ArrayLike, NDArray

from torcheer.errors import InputError
from torcheer.run import Connection

Shape = tuple[int, ...]
Values = NDArray[Any]
Direction = Literal["received", "sent"]


class UnitWeights(NamedTuple):
    """One entry for each unit of a layer, in the order of its tensor."""

    values: Values  # 0 where nothing connects
    is_connected: NDArray[numpy.bool_]


# Units at the other end, and the weight of each; both may have any shape, if it is the same.
Laid = tuple[Values, Values]


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
    matrix = matrix_of(ends) if is_received else matrix_of(ends).T
    num_here, num_there = matrix.shape
    row, column = divmod(unit, num_here)
    return row * num_there + numpy.arange(num_there), matrix[column]


def matrix_of(ends: Ends) -> Values:
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
        return numpy.array([place]), row[[feature]]
    return unit * num_features + numpy.arange(num_features), row


_MOST: Final = 2**31  # for a stride and the like: beyond it, a run is damaged


def _convolution(ends: Ends, unit: int, *, is_received: bool) -> Laid:
    """From a wide picture to a narrow one. Transposed, it is the same read backwards."""
    weight = ends.weight
    wide, narrow = pictures_of(ends)
    # The weight has narrow maps, wide maps of a group, sizes of the kernel.
    num_wide, num_narrow = weight.shape[1], weight.shape[0] // ends.connection.groups
    is_of_narrow = is_received == (ends.connection.form == "conv")
    here, there = (narrow, wide) if is_of_narrow else (wide, narrow)
    channel, *place = (int(index) for index in numpy.unravel_index(unit, here))
    if is_of_narrow:
        kernel, maps = weight[channel], numpy.arange(num_wide)
        units, taps = [maps + channel // num_narrow * num_wide], [maps]
    else:
        group, inside = divmod(channel, num_wide)
        kernel, maps = weight[:, inside], numpy.arange(group * num_narrow, (group + 1) * num_narrow)
        units, taps = [maps], [maps]
    for axis, index in enumerate(place):
        at, tap = _reached(ends, axis, index, there[1 + axis], is_of_narrow=is_of_narrow)
        units.append(at)
        taps.append(tap)
    numbers = numpy.ravel_multi_index(numpy.ix_(*units), there)
    return numpy.asarray(numbers), kernel[numpy.ix_(*taps)]


def pictures_of(ends: Ends) -> tuple[Shape, Shape]:
    """The wide one and the narrow one: maps and sizes."""
    weight, groups = ends.weight, ends.connection.groups
    if weight.ndim < 3 or 0 in weight.shape or groups < 1 or weight.shape[0] % groups:
        raise ends.misfit()
    shapes = (ends.source_shape, ends.target_shape)
    wide, narrow = shapes if ends.connection.form == "conv" else reversed(shapes)
    return _picture(ends, wide, weight.shape[1] * groups), _picture(ends, narrow, weight.shape[0])


def _reached(ends: Ends, axis: int, index: int, size: int, *, is_of_narrow: bool) -> tuple[Values, Values]:
    """Along one axis: places at the other end, and the entries of the kernel that lead there.

    Of a narrow unit, those under its kernel; of a wide one, those whose kernels lie over it. Places of the
    padding are none.
    """
    tap = numpy.arange(ends.weight.shape[2 + axis])
    stride, padding, dilation = (of_axis(ends, name, axis) for name in ("stride", "padding", "dilation"))
    if is_of_narrow:
        at = index * stride - padding + tap * dilation
        is_there = (at >= 0) & (at < size)
    else:
        at, rest = numpy.divmod(index + padding - tap * dilation, stride)
        is_there = (rest == 0) & (at >= 0) & (at < size)
    return at[is_there], tap[is_there]


def of_axis(ends: Ends, name: str, axis: int) -> int:
    num_axes = ends.weight.ndim - 2
    usual, least = (0, 1 - _MOST) if name == "padding" else (1, 1)
    sizes = [int(size) for size in getattr(ends.connection, name)] or [usual]
    sizes = sizes * num_axes if len(sizes) == 1 else sizes
    if len(sizes) != num_axes or not all(least <= size < _MOST for size in sizes):
        raise ends.misfit()
    return sizes[axis]


def _picture(ends: Ends, shape: Shape, num_maps: int) -> Shape:
    """Maps and sizes, where the last dimensions are those of the picture."""
    num_axes = ends.weight.ndim - 2
    sizes = shape[-num_axes:]
    if len(sizes) != num_axes or math.prod(shape) != num_maps * math.prod(sizes):
        raise ends.misfit()
    return num_maps, *sizes


def _attention(ends: Ends, unit: int, *, is_received: bool) -> Laid:
    outputs, values = heads_of(ends)
    _, num_queries, num_keys = ends.weight.shape
    if is_received:
        head, query, feature = outputs.find(unit)
        units = values.units(head // values.group, numpy.arange(num_keys), feature)
        return units, ends.weight[head, query]
    value_head, key, feature = values.find(unit)
    if not 0 <= value_head < values.num_heads:  # a query, or a key
        return numpy.zeros(0, numpy.int64), ends.weight[:0, 0, 0]
    heads = numpy.arange(value_head * values.group, (value_head + 1) * values.group)
    units = outputs.units(heads[:, None], numpy.arange(num_queries), feature)
    return units, ends.weight[heads, :, key]


def heads_of(ends: Ends) -> tuple[_Heads, _Heads]:
    """Of the target and of the source."""
    if ends.weight.ndim != 3 or 0 in ends.weight.shape:
        raise ends.misfit()
    num_heads, num_queries, num_keys = ends.weight.shape
    outputs = _heads(ends, ends.target_shape, num_queries, num_heads)
    if outputs.num_heads != num_heads or outputs.start:
        raise ends.misfit()
    return outputs, _heads(ends, ends.source_shape, num_keys, num_heads, outputs.num_features)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Heads:
    """Where a head's feature of a token stands in a layer."""

    num_tokens: int
    num_heads: int
    num_features: int  # of a head
    group: int  # heads of queries for each head here
    start: int  # the first feature, where others stand before
    width: int  # features of a token; 0 where heads come before tokens

    @property
    def steps(self) -> tuple[int, int]:
        """From head to head, and from token to token."""
        if not self.width:
            return self.num_tokens * self.num_features, self.num_features
        return self.num_features, self.width

    def units(self, head: int | Values, token: Values, feature: int) -> Values:
        by_head, by_token = self.steps
        return self.start + head * by_head + token * by_token + feature

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


_FORMS: Final[Mapping[str, Callable[..., Laid]]] = {
    "linear": _linear,
    "conv": _convolution,
    "transposed_conv": _convolution,
    "embedding": _embedding,
    "attention": _attention,
}


def weights_of_unit(
    connection: Connection,
    weight: ArrayLike,
    source_shape: Sequence[int],
    target_shape: Sequence[int],
    unit: int,
    *,
    direction: Direction,
    source_values: ArrayLike | None = None,
) -> UnitWeights:
    """What a unit of the target received over the units of the source, or one of the source sent.

    - `weight`: the tensor as torch has it; of attention, that of one item: heads, queries, keys.
    - `source_shape`, `target_shape`: of one item. Units are numbered as they stand in such a tensor.
    - `source_values`: those of the item, needed of an embedding only: the numbers of its tokens.

    What does not fit together raises an InputError that says why.
    """
    if connection.form not in _FORMS:
        raise InputError(
            f"what {connection.target!r} receives from {connection.source!r} has no weights of its own."
        )
    numbers = numpy.asarray(weight)
    if numbers.dtype.kind not in "fc" or numbers.dtype.itemsize < 4:
        numbers = numbers.astype(numpy.float32)
    ends = Ends(
        connection=connection,
        weight=numbers,
        source_shape=tuple(int(size) for size in source_shape),
        target_shape=tuple(int(size) for size in target_shape),
        source_values=None if source_values is None else numpy.asarray(source_values),
    )
    is_received = direction == "received"
    there, here, layer = ends.num_source_units, ends.num_target_units, connection.target
    if not is_received:
        there, here, layer = here, there, connection.source
    if not 0 <= unit < here:
        raise InputError(f"the layer {layer!r} has {here:,} units, numbered from 0: there is no {unit}.")
    units, weights = _FORMS[connection.form](ends, unit, is_received=is_received)
    values = numpy.zeros(there, weights.dtype)
    is_connected = numpy.zeros(there, numpy.bool_)
    values[units] = weights
    is_connected[units] = True
    return UnitWeights(values, is_connected)
