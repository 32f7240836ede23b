"""The ops of the table as torch's users call them: `x.sum(1)`, `torch.sum(x, dim=1)`, `2 - x`, `x[:, 0]`.

Each function here sorts out arguments and calls one row of rules.py, so that there an op has one form only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from torcheer.autograd import rules
from torcheer.autograd.modes import as_plain
from torcheer.autograd.rule_math import pair
from torcheer.autograd.torch_calls import call, place_of, plain, plain_key, sizes
from torcheer.errors import InputError

# --- arithmetic ------------------------------------------------------------------------------------------


@call("add", "__add__", "__radd__", replace=True)
def add(a: Any, other: Any, *, alpha: Any = 1) -> Any:
    return rules.add(a, other if alpha == 1 else other * alpha)


@call("sub", "subtract", "__sub__", replace=True)
def sub(a: Any, other: Any, *, alpha: Any = 1) -> Any:
    return rules.sub(a, other if alpha == 1 else other * alpha)


@call("rsub", "__rsub__")
def rsub(a: Any, other: Any, *, alpha: Any = 1) -> Any:
    return sub(other, a, alpha=alpha)


@call("__rdiv__", "__rtruediv__")
def rdiv(a: Any, other: Any) -> Any:
    return rules.div(other, a)


@call("float_power")
def float_power(a: Any, exponent: Any) -> Any:
    """Always in double."""
    base, high = (cast(one, torch.float64) if isinstance(one, Tensor) else one for one in (a, exponent))
    return rules.power(base, high)


@call("__rpow__")
def rpow(a: Any, other: Any) -> Any:
    return rules.power(other, a)


@call("where", replace=True)
def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    if input is None:
        return torch.where(plain(condition))  # the places where it holds
    return rules.where(input, other, mask=plain(condition))


@call("Tensor.where")
def method_where(a: Tensor, condition: Tensor, other: Any) -> Any:
    return rules.where(a, other, mask=plain(condition))


# --- reductions ------------------------------------------------------------------------------------------


@call("sum", replace=True)
def total(a: Tensor, dim: Any = None, keepdim: bool = False, *, axis: Any = None, dtype: Any = None) -> Any:
    a = a if dtype is None else cast(a, dtype)
    return rules.total(a, dim=dim if axis is None else axis, keepdim=keepdim)


@call("mean", replace=True)
def mean(a: Tensor, dim: Any = None, keepdim: bool = False, *, axis: Any = None, dtype: Any = None) -> Any:
    a = a if dtype is None else cast(a, dtype)
    return rules.mean(a, dim=dim if axis is None else axis, keepdim=keepdim)


@call("amax", replace=True)
def amax(a: Tensor, dim: Any = (), keepdim: bool = False) -> Any:
    return rules.amax(a, dim=() if dim is None else dim, keepdim=keepdim)


@call("logsumexp", "special_logsumexp", replace=True)
def logsumexp(a: Tensor, dim: Any, keepdim: bool = False, *, axis: Any = None) -> Any:
    return rules.logsumexp(a, dim=dim if axis is None else axis, keepdim=keepdim)


@call("cumsum", replace=True)
def cumsum(a: Tensor, dim: int, *, dtype: Any = None) -> Any:
    return rules.cumsum(a if dtype is None else cast(a, dtype), dim=dim)


@call("softmax", "special_softmax", "_softmax", replace=True)
def softmax(a: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    return rules.softmax(a if dtype is None else cast(a, dtype), dim=_named(dim, "softmax"))


@call("log_softmax", "special_log_softmax", replace=True)
def log_softmax(a: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    return rules.log_softmax(a if dtype is None else cast(a, dtype), dim=_named(dim, "log_softmax"))


# --- shapes ----------------------------------------------------------------------------------------------


@call("reshape", "view", replace=True)
def reshape(a: Tensor, *shape: Any, **named: Any) -> Any:
    if len(shape) == 1 and isinstance(shape[0], torch.dtype):
        raise InputError(
            "view(dtype) shows the bytes of numbers as others, which has no gradient: use to(dtype)."
        )
    return rules.reshape(a, shape=sizes(shape, named))


@call("permute", replace=True)
def permute(a: Tensor, *dims: Any, **named: Any) -> Any:
    return rules.permute(a, dims=sizes(dims, named))


@call("expand", "broadcast_to", replace=True)
def expand(a: Tensor, *shape: Any, **named: Any) -> Any:
    named.pop("implicit", None)
    return rules.expand(a, shape=sizes(shape, named))


@call("flip", replace=True)
def flip(a: Tensor, *dims: Any, **named: Any) -> Any:
    return rules.flip(a, dims=sizes(dims, named))


@call("clone", replace=True)
def clone(a: Tensor, *, memory_format: Any = None) -> Any:
    return rules.clone(a) if memory_format is None else rules.clone(a, memory_format=memory_format)


@call("cat", "concat", "concatenate", replace=True)
def cat(tensors: Sequence[Tensor], dim: int = 0, *, axis: int | None = None) -> Any:
    # torch passes over empty vectors, whatever the shape of the others.
    parts = [one for one in tensors if tuple(one.shape) != (0,)] or list(tensors)
    return rules.cat(*parts, dim=dim if axis is None else axis)


# --- picking ---------------------------------------------------------------------------------------------


@call("__getitem__")
def index(a: Tensor, key: Any) -> Any:
    return rules.index(a, key=plain_key(key))


@call("gather", replace=True)
def gather(a: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Any:
    return rules.gather(a, dim=place_of(dim, len(a.shape)), index=plain(index))


# --- products --------------------------------------------------------------------------------------------


@call("matmul", "__matmul__", "linalg_matmul", replace=True)
def matmul(a: Tensor, other: Tensor) -> Any:
    """Vectors count as matrices of one row or column; a single matrix on the right is there for all items."""
    rows, columns = tuple(a.shape), tuple(other.shape)
    if not rows or not columns:
        raise InputError("a matrix product needs vectors or matrices, not single numbers: use a * b.")
    left = rules.reshape(a, shape=(1, *rows)) if len(rows) == 1 else a
    right = rules.reshape(other, shape=(*columns, 1)) if len(columns) == 1 else other
    if len(rows) > 2 and len(columns) < 3 and 0 not in rows:
        flat = rules.matmul(rules.reshape(left, shape=(-1, rows[-1])), right)
        result = rules.reshape(flat, shape=(*rows[:-1], right.shape[-1]))
    else:
        result = rules.matmul(left, right)
    if len(rows) > 1 and len(columns) > 1:
        return result
    shape = list(result.shape)
    shape[len(shape) - 2 :] = [*shape[-2:-1][: len(rows) - 1], *shape[-1:][: len(columns) - 1]]
    return rules.reshape(result, shape=tuple(shape))


@call("__rmatmul__")
def rmatmul(a: Tensor, other: Tensor) -> Any:
    return matmul(other, a)


@call("linear", replace=True)
def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Any:
    if len(weight.shape) == 1:  # one unit, whose dimension is left out
        product = matmul(x, weight)
        return product if bias is None else add(product, bias)
    return rules.linear(x, weight, bias)


@call("conv2d", replace=True)
def conv2d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    stride, dilation = pair(stride), pair(dilation)
    if padding == "same":
        whole = [step * (size - 1) for step, size in zip(dilation, weight.shape[-2:], strict=True)]
        left, right = [one // 2 for one in whole], [one - one // 2 for one in whole]
        x = torch.nn.functional.pad(x, (left[1], right[1], left[0], right[0]))
    padding = (0, 0) if isinstance(padding, str) else pair(padding)
    is_single = len(x.shape) == 3
    x = rules.reshape(x, shape=(1, *x.shape)) if is_single else x
    result = rules.conv2d(x, weight, bias, stride=stride, padding=padding, dilation=dilation, groups=groups)
    return rules.reshape(result, shape=tuple(result.shape[1:])) if is_single else result


# --- types -----------------------------------------------------------------------------------------------


def cast(a: Tensor, dtype: torch.dtype) -> Any:
    return a if a.dtype == dtype else rules.cast(a, dtype=dtype)


@call("to", replace=True)
def to(a: Tensor, *args: Any, **kwargs: Any) -> Any:
    with as_plain():
        target = a.to(*args, **kwargs) if not args or not isinstance(args[0], Tensor) else args[0]
        dtype, device = target.dtype, target.device
        if (dtype, device) == (a.dtype, a.device) and not kwargs.get("copy"):
            return a
    return rules.cast(a, dtype=dtype, device=device, copy=True)


# --- what they share -------------------------------------------------------------------------------------


def _named(dim: int | None, name: str) -> int:
    if dim is None:
        raise InputError(f"say over which dimension: {name}(x, dim=-1).")
    return dim
