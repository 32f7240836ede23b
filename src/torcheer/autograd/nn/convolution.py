"""Layers that look at each place of a picture or a sequence through the same small window."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import Tensor

from torcheer.autograd.nn import functional as F
from torcheer.autograd.nn import init
from torcheer.autograd.nn.module import Module
from torcheer.autograd.nn.parameter import Parameter
from torcheer.autograd.nn.placing import in_any_type
from torcheer.errors import InputError


class _Convolution(Module):
    """What all of them share: a weight for each pixel of the window, channel in and channel out."""

    num_dims: ClassVar[int]
    is_transposed: ClassVar[bool] = False

    @in_any_type
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
    ) -> None:
        super().__init__()
        if in_channels % groups or out_channels % groups:
            raise InputError(f"{in_channels} -> {out_channels} channels do not make {groups} equal groups.")
        known = ("zeros",) if self.is_transposed else ("zeros", "reflect", "replicate", "circular")
        if padding_mode not in known:
            raise InputError(f"padding_mode is one of {', '.join(known)} here, not {padding_mode!r}.")
        self.padding_mode = padding_mode
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride = self._sizes(kernel_size), self._sizes(stride)
        self.dilation = self._sizes(dilation)
        self.padding = padding if isinstance(padding, str) else self._sizes(padding)
        first, second = (in_channels, out_channels) if self.is_transposed else (out_channels, in_channels)
        self.weight = Parameter(torch.empty(first, second // groups, *self.kernel_size))
        self.bias = Parameter(torch.empty(out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(init.fans_of(self.weight)[0])
            init.uniform_(self.bias, -bound, bound)

    def _sizes(self, value: Any) -> tuple[int, ...]:
        return (value,) * self.num_dims if isinstance(value, int) else tuple(value)

    def _convolved(self, convolve: Callable[..., Any], x: Tensor) -> Any:
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            x, padding = F.pad(x, self._edge(), self.padding_mode), 0
        return convolve(
            x, self.weight, self.bias, self.stride, padding, dilation=self.dilation, groups=self.groups
        )

    def _edge(self) -> tuple[int, ...]:
        """How much is put before and after each dimension, the last one first."""
        edge: list[int] = []
        for dim in reversed(range(self.num_dims)):
            whole = self.dilation[dim] * (self.kernel_size[dim] - 1) if self.padding == "same" else 0
            both = (
                (whole // 2, whole - whole // 2)
                if isinstance(self.padding, str)
                else (self.padding[dim],) * 2
            )
            edge += both
        return tuple(edge)

    def __repr__(self) -> str:
        return f"{type(self).__name__} {self.in_channels} -> {self.out_channels}"


class Conv1d(_Convolution):
    """Over sequences (items, channels, steps)."""

    num_dims = 1

    def forward(self, x: Tensor) -> Any:
        return self._convolved(F.conv1d, x)


class Conv2d(_Convolution):
    """Over pictures (items, channels, rows, columns)."""

    num_dims = 2

    def forward(self, x: Tensor) -> Any:
        return self._convolved(F.conv2d, x)


class _ConvTranspose(_Convolution):
    """Run backwards: each pixel paints a patch, so pictures become larger."""

    is_transposed = True

    @in_any_type
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode
        )
        self.output_padding = self._sizes(output_padding)

    def _convolved(self, convolve: Callable[..., Any], x: Tensor) -> Any:
        return convolve(
            x,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            self.output_padding,
            self.groups,
            self.dilation,
        )


class ConvTranspose1d(_ConvTranspose):
    """Over sequences (items, channels, steps)."""

    num_dims = 1

    def forward(self, x: Tensor) -> Any:
        return self._convolved(F.conv_transpose1d, x)


class ConvTranspose2d(_ConvTranspose):
    """Over pictures (items, channels, rows, columns)."""

    num_dims = 2

    def forward(self, x: Tensor) -> Any:
        return self._convolved(F.conv_transpose2d, x)
