"""The two other faces of a convolution: run backwards, and seen from its kernel."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

Pair = tuple[int, int]


def conv_transpose_to(
    x: Tensor,
    w: Tensor,
    b: Tensor | None,
    *,
    size: Pair,
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    groups: int,
) -> Tensor:
    """Spread each place over the patch that a convolution would have seen, to a picture of this size.

    A stride above 1 leaves open how large the picture was: rows at its end that no patch reached get zeros.
    """
    reached = [
        (x.shape[2 + i] - 1) * stride[i] - 2 * padding[i] + dilation[i] * (w.shape[2 + i] - 1) + 1
        for i in (0, 1)
    ]
    rest = (size[0] - reached[0], size[1] - reached[1])
    return F.conv_transpose2d(x, w, b, stride, padding, rest, groups, dilation)


def conv_weight_of(
    x: Tensor, w: Tensor, *, size: Pair, stride: Pair, padding: Pair, dilation: Pair, groups: int
) -> Tensor:
    """How much each weight of a kernel of this size met of x, weighed by w at the places where it met it.

    That is a convolution, too: with items and channels changed over, w is the kernel, which goes over x in
    steps of the dilation and is itself as wide apart as the stride.
    """
    num_items, num_channels = x.shape[:2]
    each = num_channels // groups
    if not num_items:  # of no channels torch makes no kernel
        return torch.zeros(w.shape[1], each, *size, dtype=x.dtype, device=x.device)
    pictures = x.reshape(num_items, groups, each, *x.shape[2:]).permute(2, 1, 0, 3, 4)
    pictures = pictures.reshape(each, groups * num_items, *x.shape[2:])
    met = F.conv2d(pictures, w.transpose(0, 1), None, dilation, padding, stride, groups)
    return met[:, :, : size[0], : size[1]].transpose(0, 1)


def pair(value: Any) -> Pair:
    """3 as (3, 3)."""
    if isinstance(value, int):
        return value, value
    both = tuple(value)
    return (both[0], both[0]) if len(both) == 1 else (both[0], both[1])
