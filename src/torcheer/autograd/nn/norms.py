"""Layers that bring numbers to mean 0 and variance 1, and learn a scale and a shift."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from torcheer.autograd.nn import functional as F
from torcheer.autograd.nn.module import Module
from torcheer.autograd.nn.parameter import Parameter
from torcheer.autograd.nn.placing import in_any_type
from torcheer.errors import InputError


class _RunningNorm(Module):
    """A norm that keeps statistics of what it saw, to normalise by when it does not train."""

    shapes: ClassVar[tuple[int, ...]]  # the numbers of dimensions that its input may have

    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    @in_any_type
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
    ) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.weight = Parameter(torch.ones(num_features)) if affine else None
        self.bias = Parameter(torch.zeros(num_features)) if affine else None
        tracks = track_running_stats
        self.register_buffer("running_mean", torch.zeros(num_features) if tracks else None)
        self.register_buffer("running_var", torch.ones(num_features) if tracks else None)
        self.register_buffer("num_batches_tracked", torch.tensor(0) if tracks else None)

    def _share_of_this_batch(self) -> float:
        """How far the running statistics move; without a momentum they are the mean of all batches."""
        if not self.training or self.num_batches_tracked is None:
            return self.momentum or 0.0
        self.num_batches_tracked += 1
        return 1.0 / float(self.num_batches_tracked) if self.momentum is None else self.momentum

    def _check(self, x: Tensor) -> None:
        if len(x.shape) not in self.shapes:
            raise InputError(
                f"{self!r} takes {' or '.join(map(str, self.shapes))} dimensions, not {tuple(x.shape)}."
            )

    def __repr__(self) -> str:
        return f"{type(self).__name__} {self.num_features}"


class _BatchNorm(_RunningNorm):
    def forward(self, x: Tensor) -> Any:
        self._check(x)
        share = self._share_of_this_batch()
        by_batch = self.training or self.running_mean is None
        mean, var = self.running_mean, self.running_var
        return F.batch_norm(x, mean, var, self.weight, self.bias, by_batch, share, self.eps)


class BatchNorm1d(_BatchNorm):
    """Each channel, over all items (and steps)."""

    shapes = (2, 3)


class BatchNorm2d(_BatchNorm):
    """Each channel, over all items and pixels."""

    shapes = (4,)


class _InstanceNorm(_RunningNorm):
    @in_any_type
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats)

    def forward(self, x: Tensor) -> Any:
        self._check(x)
        by_input = self.training or self.running_mean is None
        mean, var, share = self.running_mean, self.running_var, self.momentum or 0.0
        is_single = len(x.shape) == self.shapes[0]
        batch = x.unsqueeze(0) if is_single else x
        normal = F.instance_norm(batch, mean, var, self.weight, self.bias, by_input, share, self.eps)
        return normal.squeeze(0) if is_single else normal


class InstanceNorm1d(_InstanceNorm):
    """Each channel of each item, over its steps."""

    shapes = (2, 3)


class InstanceNorm2d(_InstanceNorm):
    """Each channel of each item, over its pixels."""

    shapes = (3, 4)


class LayerNorm(Module):
    """Each item by itself, over its last dimensions."""

    @in_any_type
    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.normalized_shape, self.eps = _shape(normalized_shape), eps
        self.weight = Parameter(torch.ones(self.normalized_shape)) if elementwise_affine else None
        self.bias = Parameter(torch.zeros(self.normalized_shape)) if elementwise_affine and bias else None

    def forward(self, x: Tensor) -> Any:
        return F.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)

    def __repr__(self) -> str:
        return f"LayerNorm {_written(self.normalized_shape)}"


class RMSNorm(Module):
    """Each item by itself, to a mean square of 1; the mean stays."""

    @in_any_type
    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
    ) -> None:
        super().__init__()
        self.normalized_shape, self.eps = _shape(normalized_shape), eps
        self.weight = Parameter(torch.ones(self.normalized_shape)) if elementwise_affine else None

    def forward(self, x: Tensor) -> Any:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def __repr__(self) -> str:
        return f"RMSNorm {_written(self.normalized_shape)}"


class GroupNorm(Module):
    """Each group of channels, of each item by itself."""

    @in_any_type
    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise InputError(f"{num_channels} channels do not make {num_groups} groups of the same size.")
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        self.weight = Parameter(torch.ones(num_channels)) if affine else None
        self.bias = Parameter(torch.zeros(num_channels)) if affine else None

    def forward(self, x: Tensor) -> Any:
        return F.group_norm(x, self.num_groups, self.weight, self.bias, self.eps)

    def __repr__(self) -> str:
        return f"GroupNorm {self.num_channels} in {self.num_groups} groups"


def _shape(given: int | Sequence[int]) -> tuple[int, ...]:
    return (given,) if isinstance(given, int) else tuple(given)


def _written(shape: tuple[int, ...]) -> str:
    return str(shape[0]) if len(shape) == 1 else str(shape)
