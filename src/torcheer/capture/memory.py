"""Which tensors share memory, and how to look behind torch's wrappers."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy
import torch
from torch import Tensor

_functorch = torch._C._functorch
_storage_address: Callable[[Tensor], int] = torch._C._storage_address  # type: ignore[attr-defined]

BatchDims = tuple[tuple[int, int], ...]


def storage_key(tensor: Tensor) -> int | None:
    """Equal for tensors on the same memory; None where a tensor has no single storage (sparse…)."""
    real = unwrapped(tensor)
    if real.is_nested or real.layout != torch.strided:
        return None
    try:
        return _storage_address(real)
    except (RuntimeError, NotImplementedError):
        return None


def unwrapped(tensor: Tensor) -> Tensor:
    """The real tensor under vmap's and grad's wrappers."""
    while _functorch.is_functorch_wrapped_tensor(tensor):
        tensor = _functorch.get_unwrapped(tensor)
    return tensor


def grad_fn_of(tensor: Tensor) -> Any:
    """The node of autograd that made a tensor. None where torch refuses to say it.

    It does for one of several views (`chunk`, `unbind`) whose base was written past autograd.
    """
    try:
        return tensor.grad_fn
    except RuntimeError:
        return None


def batch_dims(tensor: Tensor) -> BatchDims:
    """Over which dimensions vmap has batched a tensor: (level, dimension), outermost vmap first."""
    dims: list[tuple[int, int]] = []
    while _functorch.is_functorch_wrapped_tensor(tensor):
        if _functorch.is_batchedtensor(tensor):
            dims.append((_functorch.maybe_get_level(tensor), _functorch.maybe_get_bdim(tensor)))
        tensor = _functorch.get_unwrapped(tensor)
    return tuple(reversed(dims))


class Geometry(NamedTuple):
    """Where on its storage a tensor's elements lie."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int


def geometry_of(tensor: Tensor) -> Geometry:
    real = unwrapped(tensor)
    if real.is_nested or real.layout != torch.strided:
        return Geometry((), (), 0)
    return Geometry(tuple(real.shape), tuple(real.stride()), int(real.storage_offset()))


def is_twin(a: Tensor, b: Tensor) -> bool:
    """Whether two tensor objects show the same numbers of one storage in the same shape."""
    key = storage_key(a)
    return (
        key is not None and key == storage_key(b) and a.dtype == b.dtype and geometry_of(a) == geometry_of(b)
    )


def overlap(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors on one storage have an element in common."""
    a, b = unwrapped(a), unwrapped(b)
    if a.numel() == 0 or b.numel() == 0:
        return False
    if a.element_size() != b.element_size() or a.is_complex() != b.is_complex():
        return True
    first_a, last_a = element_range(a)
    first_b, last_b = element_range(b)
    if last_a < first_b or last_b < first_a:
        return False
    if a.numel() == last_a - first_a + 1 and b.numel() == last_b - first_b + 1:
        return True  # both without gaps
    as_boxes = boxes_overlap(geometry_of(a), geometry_of(b))
    if as_boxes is not None:
        return as_boxes
    start, end = min(first_a, first_b), max(last_a, last_b) + 1
    if end - start > _MOST_ELEMENTS_LAID_OUT:
        return True
    # In NumPy, since a mode that fakes tensors may be on.
    touched = numpy.zeros(end - start, dtype=bool)
    _laid_out(touched, geometry_of(a), start)[...] = True
    return bool(_laid_out(touched, geometry_of(b), start).any())


_MOST_ELEMENTS_LAID_OUT = 2**28


def _laid_out(line: numpy.ndarray[Any, Any], geometry: Geometry, start: int) -> numpy.ndarray[Any, Any]:
    shape, stride, offset = geometry
    return numpy.lib.stride_tricks.as_strided(line[offset - start :], shape, stride)


def boxes_overlap(a: Geometry, b: Geometry) -> bool | None:
    """The same for parts of one larger tensor, such as chunks and columns; None where they are not that."""
    sizes_a, sizes_b = _size_by_stride(a), _size_by_stride(b)
    if sizes_a is None or sizes_b is None:
        return None
    strides = sorted({*sizes_a, *sizes_b}, reverse=True)
    if any(outer % inner for outer, inner in itertools.pairwise(strides)):
        return None
    rest_a, rest_b, outer = a.offset, b.offset, 0
    meets = True
    for stride in strides:
        (at_a, rest_a), (at_b, rest_b) = divmod(rest_a, stride), divmod(rest_b, stride)
        end_a, end_b = at_a + sizes_a.get(stride, 1), at_b + sizes_b.get(stride, 1)
        if outer and max(end_a, end_b) * stride > outer:
            return None  # it runs over into the next dimension
        meets = meets and at_a < end_b and at_b < end_a
        outer = stride
    return meets and rest_a == rest_b


def _size_by_stride(geometry: Geometry) -> dict[int, int] | None:
    """None where a stride is zero, or two dimensions share one."""
    pairs = [(step, size) for size, step in zip(geometry.shape, geometry.stride, strict=True) if size > 1]
    by_stride = dict(pairs)
    return by_stride if len(by_stride) == len(pairs) and all(step > 0 for step in by_stride) else None


def element_range(tensor: Tensor) -> tuple[int, int]:
    """The first and the last element of its storage that a tensor reaches."""
    shape, stride, offset = geometry_of(tensor)
    return offset, offset + sum((size - 1) * step for size, step in zip(shape, stride, strict=True))


def byte_range(tensor: Tensor) -> tuple[int, int]:
    """The same in bytes, for tensors of any type."""
    real = unwrapped(tensor)
    first, last = element_range(real)
    size = real.element_size()
    return first * size, last * size + size - 1


def private_copy(tensor: Tensor) -> Tensor:
    """The same numbers in memory of their own; gradients still flow where they did."""
    real = unwrapped(tensor)
    if is_freed(real):
        return torch.zeros(real.shape, dtype=real.dtype, device=real.device)
    try:
        return real.clone()
    except RuntimeError:
        # A view whose base was written over has no place in the autograd graph any more.
        return real.detach().clone()


def has_data(tensor: Tensor) -> bool:
    """Whether there are numbers behind a tensor: not so on the meta device, or under FakeTensorMode."""
    return not tensor.is_meta and type(tensor).__name__ != "FakeTensor"


def is_strided(tensor: Tensor) -> bool:
    return tensor.layout == torch.strided and not tensor.is_nested


def is_freed(tensor: Tensor) -> bool:
    """Whether somebody has let its memory go, as FSDP does: it cannot be read."""
    if not is_strided(tensor) or not has_data(tensor) or not tensor.numel():
        return False
    try:
        return tensor.untyped_storage().nbytes() == 0
    except (RuntimeError, NotImplementedError):  # a wrapper has none of its own
        return False


def shape_of(tensor: Tensor) -> torch.Size:
    """Its shape; of a nested tensor without one shape, how many parts it has."""
    try:
        return tensor.shape
    except RuntimeError:
        return torch.Size((tensor.size(0),))


def version_of(tensor: Tensor) -> int:
    """How often its memory was written in place, as torch counts; 0 where torch does not."""
    try:
        return tensor._version
    except RuntimeError:  # made in inference mode
        return 0


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
