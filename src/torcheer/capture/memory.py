"""Which tensors share memory, and how to look behind torch's wrappers."""

from __future__ import annotations

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
    if not is_strided(real):
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
    if not is_strided(real):
        return Geometry((), (), 0)
    return Geometry(tuple(real.shape), tuple(real.stride()), int(real.storage_offset()))


def is_twin(a: Tensor, b: Tensor) -> bool:
    """Whether two tensor objects show the same numbers of one storage in the same shape."""
    key = storage_key(a)
    return (
        key is not None and key == storage_key(b) and a.dtype == b.dtype and geometry_of(a) == geometry_of(b)
    )


def overlap(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors on one storage have a byte in common; also True where that is too hard to say."""
    a, b = unwrapped(a), unwrapped(b)
    if a.numel() == 0 or b.numel() == 0:
        return False
    try:
        # NumPy looks at the geometry alone: neither these addresses nor the tensors are read.
        outlines = numpy.asarray(_Outline(a)), numpy.asarray(_Outline(b))
        return numpy.shares_memory(*outlines, max_work=10**6)  # type: ignore[arg-type]
    except numpy.exceptions.TooHardError:
        return True


class _Outline:
    """A tensor as NumPy sees an array: where its elements lie, counted from the start of its storage."""

    def __init__(self, tensor: Tensor) -> None:
        size = tensor.element_size()
        self.__array_interface__ = {
            "version": 3,
            "typestr": f"|V{size}",
            "shape": tuple(tensor.shape),
            "strides": tuple(step * size for step in tensor.stride()),
            "data": (_SOMEWHERE + tensor.storage_offset() * size, True),
        }


_SOMEWHERE = 4096  # an address that is not null


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
        parts = [tensor] if is_strided(tensor) else _parts(tensor)
        return sum(part.numel() * part.element_size() for part in parts)
    except (RuntimeError, NotImplementedError):
        return 0


def _parts(tensor: Any) -> list[Tensor]:
    """The tensors that a sparse or nested one is made of."""
    if tensor.layout == torch.sparse_coo:
        return [tensor._indices(), tensor._values()]
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return [tensor.crow_indices(), tensor.col_indices(), tensor.values()]
    if tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        return [tensor.ccol_indices(), tensor.row_indices(), tensor.values()]
    return list(tensor.unbind())
