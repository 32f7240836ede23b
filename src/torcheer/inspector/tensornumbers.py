"""The numbers of a tensor, whatever kind of tensor it is: plain, real, in one line, or unit by unit."""

from __future__ import annotations

import torch
from torch import Tensor

# None of these is quantized, or stands for its own conjugate.
_USUAL = frozenset({torch.float32, torch.float16, torch.bfloat16, torch.float64})


def plain(tensor: Tensor) -> Tensor:
    """The numbers of a tensor, whatever kind of tensor it is, without its history."""
    if tensor.requires_grad:
        tensor = tensor.detach()
    if tensor.layout is torch.strided and tensor.dtype in _USUAL and not tensor.is_neg():
        return tensor
    return _made_plain(tensor)


def _made_plain(tensor: Tensor) -> Tensor:
    if tensor.layout is not torch.strided:
        tensor = tensor.coalesce().values() if tensor.layout is torch.sparse_coo else tensor.values()
    if tensor.is_quantized:
        tensor = tensor.dequantize()
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    return tensor


def real_numbers(tensor: Tensor) -> Tensor:
    """Real numbers that torch can compute with on the CPU without losing what matters."""
    dtype = tensor.dtype
    if dtype is torch.float32 or dtype is torch.float64:
        return tensor
    if dtype.is_complex:
        return tensor.abs()
    return tensor.float() if dtype.is_floating_point else tensor.double()


def units_of(tensor: Tensor, unit_dim: int, most: int) -> Tensor:
    """For each unit of a layer whose values are never negative, whether any of them is other than 0."""
    unit_dim %= tensor.dim()
    others = [dim for dim in range(tensor.dim()) if dim != unit_dim]
    highest = tensor.amax(others) if others else tensor
    return (highest[:: -(-highest.numel() // most)] != 0).to(torch.uint8)


def fine_dtype(dtype: torch.dtype) -> torch.dtype:
    """In which small differences can be seen."""
    return dtype if dtype is torch.float64 or dtype.is_complex else torch.float32


def flat_view(tensor: Tensor) -> Tensor:
    """All elements of a tensor without gaps, in the order in which they lie in memory."""
    return tensor.as_strided((tensor.numel(),), (1,), tensor.storage_offset())
