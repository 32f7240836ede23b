"""Pools: of each window of a picture the largest number, or the mean; and pictures in other sizes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from torcheer.autograd import rules
from torcheer.autograd.calls import call
from torcheer.autograd.convolving import pair
from torcheer.autograd.modes import as_plain
from torcheer.errors import InputError

# --- the largest: a choice of elements -------------------------------------------------------------------


@call("max_pool1d", "max_pool1d_with_indices")
def max_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    return _largest(F.max_pool1d, 1, return_indices, input, kernel_size, stride, padding, dilation, ceil_mode)


@call("max_pool2d", "max_pool2d_with_indices")
def max_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    return _largest(F.max_pool2d, 2, return_indices, input, kernel_size, stride, padding, dilation, ceil_mode)


@call("adaptive_max_pool1d", "adaptive_max_pool1d_with_indices")
def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    return _largest(F.adaptive_max_pool1d, 1, return_indices, input, output_size)


@call("adaptive_max_pool2d", "adaptive_max_pool2d_with_indices")
def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    return _largest(F.adaptive_max_pool2d, 2, return_indices, input, output_size)


def _largest(pool: Callable[..., Any], num_dims: int, with_places: bool, input: Tensor, *how: Any) -> Any:
    """torch says where the largest of each window is, and these are taken: their gradients go back there."""
    with as_plain():
        _, places = pool(input.as_subclass(Tensor), *how, return_indices=True)
        others = tuple(input.shape[:-num_dims])
        flat_places = places.flatten(len(others))
    flat = rules.reshape(input, shape=(*others, math.prod(input.shape[-num_dims:])))
    taken = rules.gather(flat, dim=len(others), index=flat_places)
    pooled = rules.reshape(taken, shape=tuple(places.shape))
    return (pooled, places) if with_places else pooled


# --- the mean: a convolution with a kernel of ones -------------------------------------------------------


@call("avg_pool2d")
def avg_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    kernel, edge = pair(kernel_size), pair(padding)
    step = kernel if stride is None or stride == [] else pair(stride)
    height, width = input.shape[-2:]
    with as_plain():
        ones = torch.ones(1, 1, height, width, dtype=input.dtype, device=input.device)
        counts = F.avg_pool2d(ones, kernel, step, edge, ceil_mode, divisor_override=1)
        shares = F.avg_pool2d(ones, kernel, step, edge, ceil_mode, count_include_pad, divisor_override)
        shares = shares / counts  # by how much each window is divided, its edges looked after by torch
        # The last windows may reach beyond the picture; there it is filled with zeros.
        missing = [
            max(0, (counts.shape[2 + i] - 1) * step[i] + kernel[i] - 2 * edge[i] - input.shape[-2 + i])
            for i in (0, 1)
        ]
        window = torch.ones(1, 1, *kernel, dtype=input.dtype, device=input.device)
    pictures: Tensor = rules.reshape(input, shape=(-1, 1, height, width))
    if any(missing):
        pictures = F.pad(pictures, (0, missing[1], 0, missing[0]))
    sums = rules.conv2d(pictures, window, None, stride=step, padding=edge, dilation=(1, 1), groups=1)
    if sums.shape[2:] != counts.shape[2:]:
        sums = rules.index(sums, key=(..., slice(counts.shape[2]), slice(counts.shape[3])))
    return rules.reshape(sums * shares, shape=(*input.shape[:-2], *counts.shape[2:]))


@call("avg_pool1d")
def avg_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:
    """A sequence is a picture of one row."""
    kernel, edge = (1, _single(kernel_size)), (0, _single(padding))
    step = kernel if stride is None or stride == [] else (1, _single(stride))
    return avg_pool2d(input.unsqueeze(-2), kernel, step, edge, ceil_mode, count_include_pad).squeeze(-2)


@call("lp_pool2d")
def lp_pool2d(
    input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
) -> Any:
    """The root of the sum of powers in each window."""
    height, width = pair(kernel_size)
    sums = avg_pool2d(input**norm_type, kernel_size, stride, 0, ceil_mode) * (height * width)
    return torch.relu(sums) ** (1 / norm_type)


# --- other sizes: rows and columns, each by a matrix -----------------------------------------------------


@call("adaptive_avg_pool1d")
def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Any:
    with as_plain():
        shares = F.adaptive_avg_pool1d(_units(input, -1), _single(output_size))
    return torch.matmul(input, shares)


@call("adaptive_avg_pool2d")
def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Any:
    """Windows of almost the same size, so many that the picture has this size."""
    sizes = (output_size, output_size) if isinstance(output_size, int) else tuple(output_size)
    height, width = (input.shape[i - 2] if sizes[i] is None else sizes[i] for i in (0, 1))
    if (height, width) == (1, 1):
        return input.mean((-2, -1), keepdim=True)
    with as_plain():
        of_rows = F.adaptive_avg_pool1d(_units(input, -2), height).mT.contiguous()
        of_columns = F.adaptive_avg_pool1d(_units(input, -1), width)
    return torch.matmul(of_rows, torch.matmul(input, of_columns))


@call("interpolate")
def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Any:
    """Larger or smaller pictures and sequences. All modes are linear, in rows first and then in columns.

    So what torch makes of the unit vectors says everything: it is the matrix to multiply with.
    """
    num_dims = len(input.shape) - 2
    if num_dims not in (1, 2):
        raise InputError(f"sequences and pictures can be interpolated, not a tensor of {tuple(input.shape)}.")
    sizes, factors = _each(size, num_dims), _each(scale_factor, num_dims)
    mode = "bilinear" if mode == "linear" else mode
    how: dict[str, Any] = {"mode": mode, "recompute_scale_factor": recompute_scale_factor}
    if mode in ("bilinear", "bicubic"):
        how.update(align_corners=align_corners, antialias=antialias)
    for i in range(num_dims):
        dim = i - num_dims
        with as_plain():
            goal: dict[str, Any] = {
                "size": None if sizes[i] is None else (1, sizes[i]),
                "scale_factor": None if factors[i] is None else (1.0, factors[i]),
            }
            matrix = F.interpolate(_units(input, dim)[None, :, None], **goal, **how)[0, :, 0]
        input = _along(input, matrix, dim, is_choice=mode.startswith("nearest"))
    return input


def _along(input: Tensor, matrix: Tensor, dim: int, *, is_choice: bool) -> Any:
    if is_choice:
        places = matrix.argmax(0)  # each new one is a copy of one that was there
        return rules.index(input, key=(..., places) if dim == -1 else (..., places, slice(None)))
    return torch.matmul(input, matrix) if dim == -1 else torch.matmul(matrix.mT.contiguous(), input)


def _units(like: Tensor, dim: int) -> Tensor:
    return torch.eye(like.shape[dim], dtype=like.dtype, device=like.device)


def _each(value: Any, num_dims: int) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value] * num_dims


def _single(value: Any) -> int:
    return value if isinstance(value, int) else int(value[0])
