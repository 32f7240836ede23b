"""Convolutions of sequences and those that run backwards, by the one of pictures."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from torcheer.autograd import rules
from torcheer.autograd.calls import call
from torcheer.autograd.convolving import pair
from torcheer.autograd.signatures import conv2d
from torcheer.errors import InputError


@call("conv1d")
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """A sequence is a picture of one row."""
    edge = padding if isinstance(padding, str) else (0, _single(padding))
    picture = conv2d(
        input.unsqueeze(-2),
        weight.unsqueeze(-2),
        bias,
        (1, _single(stride)),
        edge,
        (1, _single(dilation)),
        groups,
    )
    return picture.squeeze(-2)


@call("conv_transpose2d", replace=True)
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    """Each pixel paints a patch; patches that overlap add up."""
    stride, padding, dilation, more = pair(stride), pair(padding), pair(dilation), pair(output_padding)
    if any(one >= max(step, apart) for one, step, apart in zip(more, stride, dilation, strict=True)):
        raise InputError(
            f"output_padding {more} must be below the stride {stride} or the dilation {dilation}."
        )
    is_single = len(input.shape) == 3
    pictures = input.unsqueeze(0) if is_single else input
    size = tuple(
        (pictures.shape[2 + i] - 1) * stride[i]
        - 2 * padding[i]
        + dilation[i] * (weight.shape[2 + i] - 1)
        + 1
        + more[i]
        for i in (0, 1)
    )
    result = rules.conv_transpose2d(
        pictures, weight, bias, size=size, stride=stride, padding=padding, dilation=dilation, groups=groups
    )
    return result.squeeze(0) if is_single else result


@call("conv_transpose1d")
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    """The same for sequences."""
    picture = conv_transpose2d(
        input.unsqueeze(-2),
        weight.unsqueeze(-2),
        bias,
        (1, _single(stride)),
        (0, _single(padding)),
        (0, _single(output_padding)),
        groups,
        (1, _single(dilation)),
    )
    return picture.squeeze(-2)


def _single(value: Any) -> int:
    return value if isinstance(value, int) else int(value[0])
