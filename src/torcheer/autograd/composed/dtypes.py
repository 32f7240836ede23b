"""The same numbers in another type, on another device, or without their history."""

from __future__ import annotations

from typing import Any, Final

import torch
from torch import Tensor

from torcheer.autograd import rules
from torcheer.autograd.calls import call, wants_gradient
from torcheer.autograd.modes import as_plain
from torcheer.autograd.signatures import cast, to
from torcheer.errors import AutogradError

_OF_NAME: Final = {
    "float": torch.float32,
    "double": torch.float64,
    "half": torch.float16,
    "bfloat16": torch.bfloat16,
}


def _to_type(dtype: torch.dtype) -> Any:
    def convert(a: Tensor, memory_format: Any = None) -> Any:
        return cast(a, dtype)

    return convert


for _name, _dtype in _OF_NAME.items():
    call(_name)(_to_type(_dtype))


@call("type")
def kind(a: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """Its type as a word, or the tensor in another."""
    with as_plain():
        if dtype is None:
            return a.type()
        target = a.type(dtype)
    return to(a, target)


@call("type_as")
def type_as(a: Tensor, other: Tensor) -> Any:
    return to(a, other)


@call("cpu")
def cpu(a: Tensor, memory_format: Any = None) -> Any:
    return to(a, "cpu")


@call("cuda")
def cuda(a: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Any:
    return to(a, "cuda" if device is None else device)


@call("contiguous")
def contiguous(a: Tensor, memory_format: Any = torch.contiguous_format) -> Any:
    return a if a.is_contiguous(memory_format=memory_format) else rules.clone(a, memory_format=memory_format)


@call("detach")
def detach(a: Tensor) -> Any:
    return a.detach()


@call("positive", "__pos__", "real", "conj", "conj_physical", "resolve_conj", "resolve_neg", "pin_memory")
def itself(a: Tensor, *_: Any) -> Any:
    """Of real numbers these are the numbers themselves."""
    return a


_NO_ARRAY: Final = (
    "an array does not remember where it came from: use x.detach().numpy(). To compute with an array, make "
    "it a tensor first (torch.from_numpy)."
)


def _for_numpy(name: str) -> Any:
    """What numpy calls by itself, where a tensor meets an array."""

    def convert(a: Tensor, *args: Any, **kwargs: Any) -> Any:
        if wants_gradient(a):
            raise AutogradError(_NO_ARRAY)
        with as_plain():
            return getattr(a, name)(*args, **kwargs)

    return convert


for _name in ("__array__", "__array_wrap__"):
    call(_name)(_for_numpy(_name))


@call("numpy")
def numpy(a: Tensor, *, force: bool = False) -> Any:
    if wants_gradient(a) and not force:
        raise AutogradError(_NO_ARRAY)
    with as_plain():
        return a.numpy(force=force)
