"""How an op connects its input with its output: a matrix, a convolution, an embedding; and its geometry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from torcheer.netview.flow import Flow
from torcheer.netview.optypes import CONVOLUTIONS, TRANSPOSED_CONVOLUTIONS
from torcheer.run import Form

_TURNED: Final = frozenset(("t", "transpose", "permute", "mt", "numpyt", "swapaxes", "swapdims"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighted:
    """An op with weights of a known form."""

    form: Form
    read: int  # the op that goes in
    weight: str  # the address of the parameter
    bias: str = ""  # that of the other one; empty where the op adds none
    is_transposed: bool = False
    stride: tuple[int, ...] = ()
    padding: tuple[int, ...] = ()
    dilation: tuple[int, ...] = ()
    groups: int = 1


def input_of(flow: Flow, op: int) -> int | None:
    """What an op with weights reads; None where its form is not known."""
    found = weighted(flow, op)
    return None if found is None or found.form == "embedding" else found.read


def weighted(flow: Flow, op: int) -> Weighted | None:
    rule = _RULES.get(flow.type(op))
    try:
        return None if rule is None else rule(flow, op)
    except (TypeError, ValueError, IndexError):
        return None  # called in a way that the rule does not know: no more than that is shown


def _param(flow: Flow, op: int | None) -> str:
    op = None if op is None else flow.origin(op)  # it may be cast
    return "" if op is None or op >= 0 else flow.param(op)


def _linear(flow: Flow, op: int) -> Weighted | None:
    read, weight = flow.argument(op, 0, "input"), flow.argument(op, 1, "weight")
    if read is None or read < 0 or weight is None or len(flow.shape(weight)) != 2:
        return None
    bias = _param(flow, flow.argument(op, 2, "bias"))
    return _product(flow, read, weight, bias, is_transposed=False)


def _matmul(flow: Flow, op: int) -> Weighted | None:
    read, weight = flow.argument(op, 0, "input"), flow.argument(op, 1, "other")
    if weight is None:
        weight = flow.argument(op, 1, "mat2")
    if read is None or read < 0 or weight is None or len(flow.shape(weight)) != 2:
        return None
    return _product(flow, read, weight, "", is_transposed=True)


def _addmm(flow: Flow, op: int) -> Weighted | None:
    read, weight = flow.argument(op, 1, "mat1"), flow.argument(op, 2, "mat2")
    scales = [flow.plain(op, 3, "beta", 1), flow.plain(op, 4, "alpha", 1)]
    if read is None or read < 0 or weight is None or len(flow.shape(weight)) != 2 or scales != [1, 1]:
        return None
    return _product(flow, read, weight, _param(flow, flow.argument(op, 0, "input")), is_transposed=True)


def _product(flow: Flow, read: int, weight: int, bias: str, *, is_transposed: bool) -> Weighted | None:
    weight = flow.origin(weight)  # it may be cast
    if weight >= 0 and flow.type(weight) in _TURNED and len(flow.shape(weight)) == 2:
        weight, is_transposed = flow.origin(flow.records[weight].parents[0]), not is_transposed
    if weight >= 0 or len(flow.shape(weight)) != 2:
        return None
    return Weighted(
        form="linear", read=read, weight=flow.param(weight), bias=bias, is_transposed=is_transposed
    )


def _embedding(flow: Flow, op: int) -> Weighted | None:
    # torch.embedding(weight, ids), and F.embedding(ids, weight).
    first, second = flow.argument(op, 0, "weight"), flow.argument(op, 1, "indices")
    if first is None or second is None:
        return None
    weight, read = (first, second) if first < 0 else (second, first)
    return (
        None if weight >= 0 or read < 0 else Weighted(form="embedding", read=read, weight=flow.param(weight))
    )


def _convolution(flow: Flow, op: int) -> Weighted | None:
    return _spatial(flow, op, CONVOLUTIONS[flow.type(op)], is_transposed=False)


def _transposed_convolution(flow: Flow, op: int) -> Weighted | None:
    return _spatial(flow, op, TRANSPOSED_CONVOLUTIONS[flow.type(op)], is_transposed=True)


def _spatial(flow: Flow, op: int, num_dims: int, *, is_transposed: bool) -> Weighted | None:
    read, weight = flow.argument(op, 0, "input"), flow.argument(op, 1, "weight")
    if read is None or read < 0 or weight is None:
        return None
    shape, weight = flow.shape(weight), flow.origin(weight)  # it may be cast
    if weight >= 0 or flow.shape(weight) != shape:
        return None
    groups_at, dilation_at = (6, 7) if is_transposed else (6, 5)
    dilation = _each(flow.plain(op, dilation_at, "dilation", 1), num_dims)
    padding = flow.plain(op, 4, "padding", 0)
    return Weighted(
        form="transposed_conv" if is_transposed else "conv",
        read=read,
        weight=flow.param(weight),
        bias=_param(flow, flow.argument(op, 2, "bias")),
        stride=_each(flow.plain(op, 3, "stride", 1), num_dims),
        padding=front_padding(padding, flow.shape(weight)[2:], dilation),
        dilation=dilation,
        groups=int(flow.plain(op, groups_at, "groups", 1)),
    )


def front_padding(padding: Any, kernel: Sequence[int], dilation: Sequence[int]) -> tuple[int, ...]:
    """Places before the picture, for each of its dimensions."""
    if padding == "valid":
        return (0,) * len(kernel)
    if padding == "same":  # of an odd number of places, torch puts the larger half behind
        return tuple(step * (size - 1) // 2 for size, step in zip(kernel, dilation, strict=True))
    return _each(padding, len(kernel))


def _each(value: Any, num_dims: int) -> tuple[int, ...]:
    if isinstance(value, int):
        return (value,) * num_dims
    sizes = tuple(int(size) for size in value)
    if len(sizes) not in (1, num_dims):
        raise ValueError(sizes)
    return sizes if len(sizes) == num_dims else sizes * num_dims


_RULES: Final[dict[str, Callable[[Flow, int], Weighted | None]]] = {
    "linear": _linear,
    "matmul": _matmul,
    "mm": _matmul,
    "addmm": _addmm,
    "embedding": _embedding,
    **dict.fromkeys(CONVOLUTIONS, _convolution),
    **dict.fromkeys(TRANSPOSED_CONVOLUTIONS, _transposed_convolution),
}
