"""Layers that put an edge around pictures and sequences, or cut them into patches and back."""

from __future__ import annotations

from typing import Any, ClassVar

from torch import Tensor

from torcheer.autograd.nn import functional as F
from torcheer.autograd.nn.module import Module


class _Pad(Module):
    """So many numbers at each side: one for all, or two for each dimension, the last one first."""

    num_dims: ClassVar[int]
    mode: ClassVar[str] = "constant"

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = (padding,) * (2 * self.num_dims) if isinstance(padding, int) else tuple(padding)
        self.value = 0.0

    def forward(self, x: Tensor) -> Any:
        return F.pad(x, self.padding, self.mode, self.value)

    def extra_repr(self) -> str:
        return str(self.padding)


class ZeroPad1d(_Pad):
    num_dims = 1


class ZeroPad2d(_Pad):
    num_dims = 2


class _ConstantPad(_Pad):
    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value


class ConstantPad1d(_ConstantPad):
    num_dims = 1


class ConstantPad2d(_ConstantPad):
    num_dims = 2


class ReflectionPad1d(_Pad):
    """The edge is a mirror."""

    num_dims, mode = 1, "reflect"


class ReflectionPad2d(_Pad):
    """The edge is a mirror."""

    num_dims, mode = 2, "reflect"


class ReplicationPad1d(_Pad):
    """The last number goes on."""

    num_dims, mode = 1, "replicate"


class ReplicationPad2d(_Pad):
    """The last number goes on."""

    num_dims, mode = 2, "replicate"


class CircularPad1d(_Pad):
    """After the end comes the start."""

    num_dims, mode = 1, "circular"


class CircularPad2d(_Pad):
    """After the end comes the start."""

    num_dims, mode = 2, "circular"


class Unfold(Module):
    """Each patch of a picture as a column."""

    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> None:
        super().__init__()
        self.kernel_size, self.dilation = kernel_size, dilation
        self.padding, self.stride = padding, stride

    def forward(self, x: Tensor) -> Any:
        return F.unfold(x, self.kernel_size, self.dilation, self.padding, self.stride)


class Fold(Module):
    """Columns back to a picture of this size; where patches overlap they are added."""

    def __init__(
        self, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        super().__init__()
        self.output_size, self.kernel_size, self.dilation = output_size, kernel_size, dilation
        self.padding, self.stride = padding, stride

    def forward(self, x: Tensor) -> Any:
        return F.fold(x, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)
