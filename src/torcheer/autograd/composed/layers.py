"""What layers of nn do beside products: look up, drop out and rearrange."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from torcheer.autograd import rules
from torcheer.autograd.calls import call
from torcheer.autograd.modes import as_plain
from torcheer.errors import InputError

# --- looking up ------------------------------------------------------------------------------------------


@call("embedding")
def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    """A row of the weight for each number. That at `padding_idx` does not learn."""
    if scale_grad_by_freq or sparse:
        raise InputError("gradients are neither sparse here nor scaled by frequency: leave these two False.")
    with as_plain():
        places = input.as_subclass(Tensor).contiguous()  # rows lie in the order in which torch puts them
        if max_norm is not None:
            torch.embedding_renorm_(weight, places, max_norm, norm_type)
    rows = rules.index(weight, key=places)
    if padding_idx is None:
        return rows
    is_padding = (places == padding_idx % weight.shape[0]).unsqueeze(-1)
    return torch.where(is_padding, rows.detach(), rows)


# --- dropping out ----------------------------------------------------------------------------------------


@call("dropout")
def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Some numbers become 0, by chance, and the others grow, so that their sum is expected to stay."""
    return _dropped(input, None, p) if training and p else input


@call("dropout1d")
def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Whole channels of sequences (items, channels, steps)."""
    return _dropped_channels(input, p, 1) if training and p else input


@call("dropout2d", "feature_dropout")
def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Whole channels of pictures (items, channels, rows, columns)."""
    return _dropped_channels(input, p, 2) if training and p else input


@call("alpha_dropout")
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:
    """What is dropped takes the value that SELU has far below zero; mean and variance stay."""
    if not training or not p:
        return input
    if p == 1:
        return input * 0.0
    lowest = 1.7580993408473766
    kept = _drawn(input, None, p)
    scale = 1 / math.sqrt((lowest * lowest * p + 1) * (1 - p))
    return input * (kept * scale) + ((kept - 1) * (lowest * scale) + lowest * scale * p)


def _dropped(input: Tensor, shape: tuple[int, ...] | None, p: float) -> Any:
    if not 0 <= p <= 1:
        raise InputError(f"p is a chance, from 0 to 1, not {p}.")
    if p == 1:
        return input * 0.0
    return input * (_drawn(input, shape, p) / (1 - p))


def _dropped_channels(input: Tensor, p: float, num_dims: int) -> Any:
    # One item without a dimension for items is a batch of one, as in torch.
    is_single = len(input.shape) == num_dims + 1
    batch = input.unsqueeze(0) if is_single else input
    dropped = _dropped(batch, (*batch.shape[:2], *[1] * (len(batch.shape) - 2)), p)
    return dropped.squeeze(0) if is_single else dropped


def _drawn(like: Tensor, shape: tuple[int, ...] | None, p: float) -> Tensor:
    """1 where a number stays, 0 elsewhere: with the same seed the same as torch's."""
    with as_plain():
        # Numbers are drawn in the order of memory, so without a shape of its own it is laid out as the input.
        empty = torch.empty_like(like) if shape is None else like.new_empty(shape)
        return empty.bernoulli_(1 - p).as_subclass(Tensor)


# --- rearranging -----------------------------------------------------------------------------------------


@call("pixel_shuffle")
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Any:
    """Channels become pixels: (…, c r², h, w) to (…, c, h r, w r)."""
    *others, channels, height, width = input.shape
    r = upscale_factor
    if channels % (r * r):
        raise InputError(f"{channels} channels do not fill squares of {r} by {r} pixels.")
    n = len(others)
    split = input.reshape(*others, channels // (r * r), r, r, height, width)
    turned = split.permute(*range(n), n, n + 3, n + 1, n + 4, n + 2)
    return turned.reshape(*others, channels // (r * r), height * r, width * r)


@call("pixel_unshuffle")
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Any:
    """Pixels become channels: the way back."""
    *others, channels, height, width = input.shape
    r = downscale_factor
    if height % r or width % r:
        raise InputError(f"a picture of {height} by {width} has no whole squares of {r} by {r} pixels.")
    n = len(others)
    split = input.reshape(*others, channels, height // r, r, width // r, r)
    turned = split.permute(*range(n), n, n + 2, n + 4, n + 1, n + 3)
    return turned.reshape(*others, channels * r * r, height // r, width // r)
