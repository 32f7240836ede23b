"""Which tensors share memory, and how to look behind torch's wrappers."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

_functorch = torch._C._functorch


def storage_key(tensor: Tensor) -> int | None:
    """Equal for tensors on the same memory; None where a tensor has no single storage (sparse…)."""
    try:
        storage = unwrapped(tensor).untyped_storage()
    except (RuntimeError, NotImplementedError):
        return None
    return int(storage._cdata)


def unwrapped(tensor: Tensor) -> Tensor:
    """The real tensor under vmap's and grad's wrappers."""
    while _functorch.is_functorch_wrapped_tensor(tensor):
        tensor = _functorch.get_unwrapped(tensor)
    return tensor


class Geometry(NamedTuple):
    """Where on its storage a tensor's elements lie."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int


def geometry_of(tensor: Tensor) -> Geometry:
    real = unwrapped(tensor)
    try:
        return Geometry(tuple(real.shape), tuple(real.stride()), real.storage_offset())
    except (RuntimeError, NotImplementedError):
        return Geometry(tuple(real.shape), (), 0)


def same_geometry(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors on one storage show the same numbers in the same shape."""
    a, b = unwrapped(a), unwrapped(b)
    return (
        a.dtype == b.dtype
        and geometry_of(a) == geometry_of(b)
        and a.is_conj() == b.is_conj()
        and a.is_neg() == b.is_neg()
    )


def overlap(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors on one storage have an element in common."""
    a, b = unwrapped(a), unwrapped(b)
    if a.numel() == 0 or b.numel() == 0:
        return False
    if a.element_size() != b.element_size() or a.is_complex() != b.is_complex() or a.is_meta:
        return True
    start = min(a.storage_offset(), b.storage_offset())
    end = max(_last_element(a), _last_element(b)) + 1
    touched = torch.zeros(end - start, dtype=torch.bool)
    touched.as_strided(a.shape, a.stride(), a.storage_offset() - start).fill_(True)
    return bool(touched.as_strided(b.shape, b.stride(), b.storage_offset() - start).any())


def _last_element(tensor: Tensor) -> int:
    return tensor.storage_offset() + sum(
        (size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True)
    )


def private_copy(tensor: Tensor) -> Tensor:
    """The same numbers in memory of their own; gradients still flow where they did."""
    return unwrapped(tensor).clone()


def num_bytes(tensor: Tensor) -> int:
    try:
        if tensor.layout != torch.strided or tensor.is_nested:
            return _num_bytes_of_parts(tensor)
        return tensor.numel() * tensor.element_size()
    except (RuntimeError, NotImplementedError):
        return 0


def _num_bytes_of_parts(tensor: Any) -> int:
    if tensor.layout == torch.sparse_coo:
        parts = [tensor._indices(), tensor._values()]
    elif tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        parts = [tensor.crow_indices(), tensor.col_indices(), tensor.values()]
    elif tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        parts = [tensor.ccol_indices(), tensor.row_indices(), tensor.values()]
    else:
        parts = list(tensor.unbind())
    return sum(part.numel() * part.element_size() for part in parts)
