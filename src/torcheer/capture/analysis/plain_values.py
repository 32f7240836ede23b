"""The values of a pass as plain numbers that can be looked at, whatever kind of tensors they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor

if TYPE_CHECKING:
    from torcheer.capture.history import ModelHistory

CHUNK = 1 << 18  # elements that are computed with at a time: eight bytes each stay within a processor's cache


def as_plain(value: Any) -> Tensor | None:
    """A dense tensor with the same numbers; None where there are none to see, as on the meta device."""
    if not isinstance(value, Tensor) or value.is_meta or isinstance(value, FakeTensor):
        return None
    with torch.no_grad(), torch._C.DisableTorchFunctionSubclass():
        try:
            return _dense(value.detach())
        except (RuntimeError, NotImplementedError, TypeError):
            return None  # a subclass that holds its numbers elsewhere


def _dense(tensor: Tensor) -> Tensor:
    tensor, _ = laid_out(tensor)
    if tensor.is_floating_point() and tensor.element_size() == 1:
        return tensor.float()  # the eight-bit types have no arithmetic of their own
    if tensor.dtype == torch.complex32:
        return tensor.to(torch.complex64)
    if tensor.dtype in (torch.uint16, torch.uint32):
        return tensor.to(torch.int64)  # neither have these
    return tensor.to(torch.float64) if tensor.dtype == torch.uint64 else tensor


def laid_out(tensor: Tensor) -> tuple[Tensor, str]:
    """A nested, quantized or sparse tensor as a dense one, and what was done to it."""
    note = ""
    if tensor.is_nested:
        parts = [part.reshape(-1) for part in tensor.unbind()]
        tensor = torch.cat(parts) if parts else tensor.values().reshape(-1)
        note = f"nested: its {len(parts)} parts, one after the other"
    if tensor.is_quantized:
        return tensor.dequantize(), "quantized: the numbers that its codes stand for"
    if tensor.layout != torch.strided:
        return tensor.to_dense(), "sparse: shown with its zeros"
    return tensor, note


def is_finite(tensor: Tensor) -> bool:
    """Whether a plain tensor holds neither NaN nor Inf."""
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return True
    return all(bool(torch.isfinite(part).all()) for part in torch.split(condensed(tensor)[0], CHUNK))


def condensed(tensor: Tensor) -> tuple[Tensor, int]:
    """All elements, flat and in any order, and how often each of them stands in the tensor.

    An expanded tensor is read once: it may be far larger than its memory.
    """
    times = 1
    for dim in range(tensor.dim() - 1, -1, -1):
        if tensor.stride(dim) == 0 and tensor.size(dim) > 1:
            times *= tensor.size(dim)
            tensor = tensor.select(dim, 0)
    # In the order of memory a transposed tensor is flat too, and needs no copy.
    return tensor.permute(sorted(range(tensor.dim()), key=tensor.stride, reverse=True)).reshape(-1), times


def kept_value(history: ModelHistory, index: int) -> Any:
    """The output as it was; what a postfunc made of it only where that has the same shape."""
    value = history._value_of(index)
    if value is not None:
        return value
    treated = history._saved_value(index)
    same = isinstance(treated, Tensor) and treated.shape == history._tape.meta(index).shape
    return treated if same else None


def param_value(history: ModelHistory, param: int) -> Tensor | None:
    """A parameter as it was in the pass; None where it has been written since, or was not stored."""
    tape, place = history._tape, -param - 1
    now = tape.params[place][1]
    if now.is_meta:  # as in a history that was loaded from a file
        return None
    if param not in tape.param_values and place < len(tape.param_versions):
        version = tape.param_versions[place]
        if version is not None and not now.is_inference() and now._version != version:
            return None
    return history._value_of(param)
