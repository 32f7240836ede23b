"""The values of a layer as rows of real numbers, one for each sample."""

from __future__ import annotations

import torch
from torch import Tensor

from torcheer.errors import InputError

# Exact in 24 bits of mantissa; what is wider needs the 53 of a double.
_SINGLE = frozenset(
    {
        torch.float16,
        torch.bfloat16,
        torch.float32,
        torch.bool,
        torch.int8,
        torch.uint8,
        torch.int16,
        torch.uint16,
    }
)


def working_dtype(dtype: torch.dtype, layer: str, what: str) -> torch.dtype:
    """The dtype to compute in: float32, and float64 where float32 would lose digits."""
    if dtype.is_complex:
        raise InputError(
            f"{what} of layer {layer!r}: its values are complex ({_name(dtype)}). Turn them into real ones "
            "first, with a function such as torch.abs."
        )
    return torch.float32 if dtype in _SINGLE else torch.float64


def rows_of(values: Tensor, num_units: int, layer: str, what: str) -> Tensor:
    """One row for each sample. Another number of units than at the beginning is refused."""
    rows = values.reshape(len(values), -1) if values.numel() else values.reshape(len(values), num_units)
    if rows.shape[1] != num_units:
        raise InputError(
            f"{what} of layer {layer!r}: it began with samples of {num_units:,} units, and now one has "
            f"{rows.shape[1]:,}. Where samples differ in size, pool them first."
        )
    return rows


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
