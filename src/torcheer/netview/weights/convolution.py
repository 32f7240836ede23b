"""The kernel of a convolution at its place on the picture that it reads."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy

from torcheer.netview.weights.ends import Ends, Laid, Shape, Values

_MOST_SIZES: Final = 100_000  # of a picture that are tried where its shape must be found out
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


def kernel_of(ends: Ends) -> Kernel:
    weight, connection = ends.weight, ends.connection
    num_axes = weight.ndim - 2
    groups = connection.groups
    if num_axes < 1 or 0 in weight.shape or groups < 1 or weight.shape[0] % groups:
        raise ends.misfit()
    stride = _each_axis(ends, connection.stride, usual=1, least=1)
    padding = _each_axis(ends, connection.padding, usual=0, least=1 - _MOST)
    dilation = _each_axis(ends, connection.dilation, usual=1, least=1)
    is_transposed = connection.form == "transposed_conv"
    wide_shape, narrow_shape = ends.source_shape, ends.target_shape
    if is_transposed:
        wide_shape, narrow_shape = narrow_shape, wide_shape
    wide = _picture(wide_shape, weight.shape[1] * groups, num_axes)
    narrow = _picture(narrow_shape, weight.shape[0], num_axes)
    # A row of units that becomes a picture on its way, as in decoders, or the other way round.
    given = weight.shape[2:], stride, padding, dilation
    if wide is None and narrow is not None:
        candidates = [_wide_sizes(*axis) for axis in zip(narrow[1:], *given, strict=True)]
        wide = _found_picture(wide_shape, weight.shape[1] * groups, candidates)
    elif narrow is None and wide is not None:
        candidates = [_narrow_sizes(*axis) for axis in zip(wide[1:], *given, strict=True)]
        narrow = _found_picture(narrow_shape, weight.shape[0], candidates)
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


def _found_picture(shape: Shape, num_maps: int, candidates: Sequence[range]) -> Shape | None:
    """The only picture of so many units whose sizes are possible; None where there are several, or none."""
    num_places, rest = divmod(math.prod(shape), num_maps)
    if rest or not num_places or math.prod(len(sizes) for sizes in candidates) > _MOST_SIZES:
        return None
    found = [sizes for sizes in itertools.product(*candidates) if math.prod(sizes) == num_places]
    return (num_maps, *found[0]) if len(found) == 1 else None


# Of one axis. At the back there may be one zero more than at the front: padding="same" does that.


def _wide_sizes(narrow: int, kernel: int, stride: int, padding: int, dilation: int) -> range:
    lowest = (narrow - 1) * stride + dilation * (kernel - 1) + 1 - 2 * padding - 1
    return range(max(lowest, 1), max(lowest + stride + 1, 1))


def _narrow_sizes(wide: int, kernel: int, stride: int, padding: int, dilation: int) -> range:
    room = wide + 2 * padding - dilation * (kernel - 1) - 1
    return range(max(room // stride + 1, 1), max((room + 1) // stride + 2, 1))
