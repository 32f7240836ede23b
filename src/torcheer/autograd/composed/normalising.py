"""Norms: numbers brought to mean 0 and variance 1 over some dimensions, then scaled and shifted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from torcheer.autograd import rules
from torcheer.autograd.calls import call
from torcheer.autograd.modes import as_plain
from torcheer.errors import InputError


@call("layer_norm")
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Any:
    """Over the last dimensions of each item by itself."""
    normal = rules.standardise(in_order(input), dim=_last_dims(input, normalized_shape), eps=eps)
    return _scaled_and_shifted(normal, weight, bias)


@call("rms_norm")
def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Any:
    """Only to a mean square of 1; the mean stays where it is."""
    eps = torch.finfo(input.dtype).eps if eps is None else eps
    input = in_order(input)
    square = (input * input).mean(_last_dims(input, normalized_shape), keepdim=True)
    return _scaled_and_shifted(input / torch.sqrt(square + eps), weight, None)


@call("batch_norm")
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Any:
    """Over all items, for each channel. When not training, by the running statistics: given numbers."""
    dims = (0, *range(2, len(input.shape)))
    input = in_order(input)
    if training:
        if input.numel() == input.shape[1]:
            raise InputError("one number for each channel has no variance: train with more than one item.")
        _keep_running(input, dims, running_mean, running_var, momentum)
        normal = rules.standardise(input, dim=dims, eps=eps)
        return _scaled_and_shifted(normal, _by_channel(weight, input), _by_channel(bias, input))
    if running_mean is None or running_var is None:
        raise InputError("without running statistics there is nothing to normalise by: pass training=True.")
    scale = 1 / torch.sqrt(running_var + eps)
    scale = scale if weight is None else weight * scale
    shift = -running_mean * scale if bias is None else bias - running_mean * scale
    return input * _by_channel(scale, input) + _by_channel(shift, input)


@call("group_norm")
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Any:
    """Over the channels of a group, for each item."""
    num_items, num_channels = input.shape[:2]
    if num_channels % num_groups:
        raise InputError(f"{num_channels} channels do not make {num_groups} groups of the same size.")
    groups = rules.reshape(input, shape=(num_items, num_groups, -1))
    normal = rules.reshape(rules.standardise(groups, dim=(2,), eps=eps), shape=tuple(input.shape))
    return _scaled_and_shifted(normal, _by_channel(weight, input), _by_channel(bias, input))


@call("instance_norm")
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Any:
    """Over the picture of each channel of each item."""
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    dims = tuple(range(2, len(input.shape)))
    _keep_running(input, dims, running_mean, running_var, momentum)
    normal = rules.standardise(in_order(input), dim=dims, eps=eps)
    return _scaled_and_shifted(normal, _by_channel(weight, input), _by_channel(bias, input))


def in_order(input: Tensor) -> Any:
    """In memory as torch's norms leave it: a dropout after it draws in that order, to draw the same."""
    is_last = len(input.shape) == 4 and input.is_contiguous(memory_format=torch.channels_last)
    return input if is_last else input.contiguous()


def _scaled_and_shifted(normal: Any, weight: Tensor | None, bias: Tensor | None) -> Any:
    if weight is not None:
        normal = normal * weight
    return normal if bias is None else normal + bias


def _last_dims(input: Tensor, shape: Sequence[int]) -> tuple[int, ...]:
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if tuple(input.shape[-len(sizes) :]) != sizes:
        raise InputError(f"the last dimensions are to be {sizes}, and the input has {tuple(input.shape)}.")
    return tuple(range(-len(sizes), 0))


def _by_channel(value: Any, like: Tensor) -> Any:
    """One number for each channel, in the dimension where the channels are."""
    return None if value is None else value.reshape(1, -1, *[1] * (len(like.shape) - 2))


def _keep_running(
    input: Tensor, dims: tuple[int, ...], mean: Tensor | None, variance: Tensor | None, momentum: float
) -> None:
    """Move the running statistics towards those of this batch. No gradient goes through that."""
    if mean is None and variance is None:
        return
    with as_plain():
        now = input.as_subclass(Tensor)
        num_each = math.prod(now.shape[dim] for dim in dims)
        centre = now.mean(dims, keepdim=True)
        if mean is not None:
            _move(mean, centre.reshape(-1, mean.numel()), momentum)
        if variance is not None:
            spread = (now - centre).square_().sum(dims) / (num_each - 1)
            _move(variance, spread.reshape(-1, variance.numel()), momentum)


def _move(running: Tensor, batch: Tensor, momentum: float) -> None:
    # Instances have statistics of each item: their mean counts.
    running.mul_(1 - momentum).add_(batch.mean(0), alpha=momentum)
