"""Which weight lies between which units, of a whole connection: for pages that have no Python. No torch.

All that connects two layers is a product of axes. Along each, the number of the source unit, that of the
target unit and the place in the weight go on by steps of their own; the sums over all axes are what belongs
together. Of a linear layer the axes are rows, outputs and inputs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import numpy

from torcheer.errors import InputError
from torcheer.netview.unit_weights import (
    Ends,
    Shape,
    heads_of,
    matrix_of,
    of_axis,
    pictures_of,
)
from torcheer.run import Connection


class Slide(msgspec.Struct, frozen=True, array_like=True):
    """A kernel along one axis: over a narrow place lie those at `place * stride - before + tap * gap`."""

    num_taps: int
    stride: int
    before: int
    gap: int
    num_wide: int  # places of the wide side
    is_wide_source: bool


class Axis(msgspec.Struct, frozen=True, omit_defaults=True):
    count: int  # of what goes on; of a kernel, places of the narrow side
    source: int  # steps
    target: int
    weight: int
    slide: Slide | None = None
    is_token: bool = False  # the place in the weight goes on by the number of the token at this source unit


class Axes(msgspec.Struct, frozen=True):
    """The axes on which a unit has a place come in the order of its dimensions."""

    first: int  # unit of the source
    axes: Sequence[Axis]


def axes_of_weights(
    connection: Connection,
    weight_shape: Sequence[int],
    source_shape: Sequence[int],
    target_shape: Sequence[int],
) -> Axes | None:
    """Shapes are those of one item. None where the weights do not fit the layers."""
    ends = Ends(
        connection=connection,
        weight=numpy.broadcast_to(numpy.float32(0), tuple(weight_shape)),
        source_shape=tuple(source_shape),
        target_shape=tuple(target_shape),
        source_values=None,
    )
    try:
        found = _FORMS[connection.form](ends) if connection.form in _FORMS else None
    except (InputError, ValueError, ArithmeticError):
        return None
    # What is there once goes nowhere.
    return found and msgspec.structs.replace(
        found, axes=[one for one in found.axes if one.count > 1 or one.slide or one.is_token]
    )


def _linear(ends: Ends) -> Axes:
    num_out, num_in = matrix_of(ends).shape
    by_out, by_in = (1, num_out) if ends.connection.is_transposed else (num_in, 1)
    return Axes(
        0,
        [
            Axis(ends.num_target_units // num_out, num_in, num_out, 0),
            Axis(num_out, 0, 1, by_out),
            Axis(num_in, 1, 0, by_in),
        ],
    )


def _embedding(ends: Ends) -> Axes:
    num_features = int(ends.weight.shape[-1]) if ends.weight.ndim == 2 else 0
    if not num_features or ends.num_target_units != ends.num_source_units * num_features:
        raise ends.misfit()
    places = Axis(ends.num_source_units, 1, num_features, num_features, is_token=True)
    return Axes(0, [places, Axis(num_features, 0, 1, 1)])


def _convolution(ends: Ends) -> Axes:
    wide, narrow = pictures_of(ends)
    shape, groups = ends.weight.shape, ends.connection.groups
    num_wide, num_narrow = shape[1], shape[0] // groups
    by_weight = _steps(shape)
    by_wide, by_narrow = _steps(wide), _steps(narrow)
    is_plain = ends.connection.form == "conv"

    def axis(count: int, wide: int, narrow: int, weight: int, slide: Slide | None = None) -> Axis:
        return Axis(count, *((wide, narrow) if is_plain else (narrow, wide)), weight, slide)

    axes = [
        axis(groups, num_wide * by_wide[0], num_narrow * by_narrow[0], num_narrow * by_weight[0]),
        axis(num_narrow, 0, by_narrow[0], by_weight[0]),
        axis(num_wide, by_wide[0], 0, by_weight[1]),
    ]
    for at, num_taps in enumerate(shape[2:]):
        stride, before, gap = (of_axis(ends, name, at) for name in ("stride", "padding", "dilation"))
        slide = Slide(num_taps, stride, before, gap, wide[1 + at], is_plain)
        axes.append(axis(narrow[1 + at], by_wide[1 + at], by_narrow[1 + at], by_weight[2 + at], slide))
    return Axes(0, axes)


def _attention(ends: Ends) -> Axes:
    outputs, values = heads_of(ends)
    _, num_queries, num_keys = ends.weight.shape
    group, num_features = values.group, values.num_features
    value_head, value_token = values.steps
    output_head, output_token = outputs.steps
    return Axes(
        values.start,
        [
            Axis(values.num_heads, value_head, group * output_head, group * num_queries * num_keys),
            Axis(group, 0, output_head, num_queries * num_keys),
            Axis(num_queries, 0, output_token, num_keys),
            Axis(num_keys, value_token, 0, 1),
            Axis(num_features, 1, 1, 0),
        ],
    )


def _steps(shape: Shape) -> list[int]:
    """From one to the next along each dimension."""
    return [math.prod(shape[at + 1 :]) for at in range(len(shape))]


_FORMS = {
    "linear": _linear,
    "embedding": _embedding,
    "conv": _convolution,
    "transposed_conv": _convolution,
    "attention": _attention,
}
