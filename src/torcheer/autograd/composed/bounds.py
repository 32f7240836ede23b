"""Numbers held within bounds, the larger and the smaller of two, and what rounding leaves."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from torcheer.autograd import rules
from torcheer.autograd.arguments import plain
from torcheer.autograd.calls import call
from torcheer.autograd.modes import as_plain
from torcheer.errors import InputError

# --- bounds ----------------------------------------------------------------------------------------------


@call("clamp", "clip")
def clamp(a: Tensor, min: Any = None, max: Any = None) -> Any:
    """At a bound itself the gradient is still that of the tensor, as torch has it."""
    if min is None and max is None:
        raise InputError("clamp needs a bound: clamp(x, min=0), clamp(x, max=1), or both.")
    if isinstance(min, Tensor) and isinstance(max, Tensor):
        min = torch.where(min < max, min, min.detach())  # of bounds that meet, the lower gets nothing
    if min is not None:
        a = torch.where(a < min, min, a)
    return a if max is None else torch.where(a > max, max, a)


@call("clamp_min")
def clamp_min(a: Tensor, min: Any) -> Any:
    return clamp(a, min=min)


@call("clamp_max")
def clamp_max(a: Tensor, max: Any) -> Any:
    return clamp(a, max=max)


@call("maximum", replace=True)
def maximum(a: Tensor, other: Tensor) -> Any:
    return rules.maximum(a, other)


@call("minimum", replace=True)
def minimum(a: Tensor, other: Tensor) -> Any:
    return rules.minimum(a, other)


@call("fmax")
def fmax(a: Tensor, other: Tensor) -> Any:
    """The larger one; of a number and NaN the number."""
    return torch.where((a >= other) | torch.isnan(other), a, other)


@call("fmin")
def fmin(a: Tensor, other: Tensor) -> Any:
    return torch.where((a <= other) | torch.isnan(other), a, other)


# --- rounding --------------------------------------------------------------------------------------------


@call("round", "special_round", replace=True)
def rounded(a: Tensor, *, decimals: int = 0) -> Any:
    return rules.rounded(a, decimals=decimals)


@call("fix")
def fix(a: Tensor) -> Any:
    return torch.trunc(a)


@call("sgn")
def sgn(a: Tensor) -> Any:
    return torch.sign(a)


@call("frac")
def frac(a: Tensor) -> Any:
    return a - torch.trunc(a)


@call("div", "divide", "__div__", replace=True)
def div(a: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    if rounding_mode is None:
        return rules.div(a, other)
    if rounding_mode not in ("floor", "trunc"):
        raise InputError(f"rounding_mode is None, 'floor' or 'trunc', not {rounding_mode!r}.")
    return torch.trunc(_whole(a, other, rounding_mode, rules.div(a, other)))


@call("floor_divide", "__floordiv__")
def floor_divide(a: Any, other: Any) -> Any:
    return div(a, other, rounding_mode="floor")


@call("__rfloordiv__")
def rfloor_divide(a: Tensor, other: Any) -> Any:
    return div(_like(other, a), a, rounding_mode="floor")


@call("remainder", "__mod__")
def remainder(a: Any, other: Any) -> Any:
    """With the sign of the divisor: the quotient is rounded down."""
    a = a if isinstance(a, Tensor) else _like(a, other)
    return a - other * _whole(a, other, "floor")


@call("__rmod__")
def rremainder(a: Tensor, other: Any) -> Any:
    return remainder(other, a)


@call("fmod")
def fmod(a: Tensor, other: Any) -> Any:
    """With the sign of the dividend: the quotient is cut."""
    return a - other * _whole(a, other, "trunc")


def _whole(a: Any, other: Any, rounding_mode: str, quotient: Any = None) -> Any:
    """How often one goes into the other; with a quotient, as something that was made of that."""
    with as_plain():
        times = torch.div(
            plain(a), plain(other) if isinstance(other, Tensor) else other, rounding_mode=rounding_mode
        )
    return (
        times if quotient is None else torch.where(torch.ones_like(times, dtype=torch.bool), times, quotient)
    )


def _like(value: Any, a: Tensor) -> Tensor:
    return value if isinstance(value, Tensor) else torch.as_tensor(value, dtype=a.dtype, device=a.device)
