"""Functions of single numbers, composed of exp, log, sqrt and their like.

They take care where a formula of the textbook would lose digits or give 0/0: near zero, and far away.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from torcheer.autograd import rules
from torcheer.autograd.arguments import plain
from torcheer.autograd.calls import call
from torcheer.autograd.modes import as_plain

_COARSE = (torch.float16, torch.bfloat16)


def finely(function: Callable[..., Any]) -> Callable[..., Any]:
    """In float32 where numbers are coarser: torch rounds once for each op, and so should a composed one."""

    @functools.wraps(function)
    def inside(a: Tensor, *args: Any, **kwargs: Any) -> Any:
        if a.dtype not in _COARSE:
            return function(a, *args, **kwargs)
        kind = a.dtype
        for one in args:
            kind = torch.promote_types(kind, one.dtype) if isinstance(one, Tensor) else kind
        return function(a.to(torch.float32), *args, **kwargs).to(kind)

    return inside


# --- powers and logarithms -------------------------------------------------------------------------------


@call("square")
def square(a: Tensor) -> Any:
    return rules.power(a, 2)


@call("rsqrt")
def rsqrt(a: Tensor) -> Any:
    return rules.power(a, -0.5)


@call("reciprocal")
def reciprocal(a: Tensor) -> Any:
    return rules.div(1.0, a)


@call("exp2", "special_exp2")
def exp2(a: Tensor) -> Any:
    return rules.power(2.0, a)


@call("log2")
@finely
def log2(a: Tensor) -> Any:
    return torch.log(a) / math.log(2)


@call("log10")
@finely
def log10(a: Tensor) -> Any:
    return torch.log(a) / math.log(10)


@call("logaddexp")
@finely
def logaddexp(a: Tensor, other: Tensor) -> Any:
    """The larger one, and what the smaller adds to it: no exponential can overflow."""
    is_first = a >= other
    larger, smaller = torch.where(is_first, a, other), torch.where(is_first, other, a)
    # Of two infinities the difference is no number; the sum does not care what it is.
    below = torch.where(larger == smaller, 0.0, larger)
    below = smaller - torch.where(torch.isinf(larger), below, larger)
    return larger + torch.log1p(torch.exp(below))


@call("logit", "special_logit")
@finely
def logit(a: Tensor, eps: float | None = None) -> Any:
    if eps is not None:
        a = torch.clamp(a, eps, 1 - eps)
    return torch.log(a / (1 - a))


@call("xlogy", "special_xlogy")
def xlogy(a: Any, other: Any) -> Any:
    """a ln b, and 0 where a is 0, also for a b that has no logarithm."""
    a = a if isinstance(a, Tensor) else torch.as_tensor(a, dtype=other.dtype)
    other = other if isinstance(other, Tensor) else torch.as_tensor(other, dtype=a.dtype)
    is_nothing = (a == 0) & (other <= 0)
    return torch.where(is_nothing, 0.0, a * torch.log(torch.where(is_nothing, 1.0, other)))


@call("erfc", "special_erfc")
def erfc(a: Tensor) -> Any:
    """1 - erf, whose digits would be lost far out: there it is torch's own number."""
    with_slope = 1 - torch.erf(a)
    with as_plain():
        rest = torch.erfc(plain(a)) - plain(with_slope)
    return with_slope + rest


# --- angles ----------------------------------------------------------------------------------------------


@call("tan")
@finely
def tan(a: Tensor) -> Any:
    return torch.sin(a) / torch.cos(a)


@call("acos", "arccos")
@finely
def acos(a: Tensor) -> Any:
    return math.pi / 2 - torch.asin(a)


@call("atan2", "arctan2")
@finely
def atan2(a: Tensor, other: Tensor) -> Any:
    """The angle of a point: that of the flatter of its two slopes, and the rest is a constant.

    The origin has none, nor has a point that is infinitely far in both: no gradient goes through there.
    """
    is_steep = torch.abs(a) > torch.abs(other)
    has_none = ((a == 0) & (other == 0)) | (torch.isinf(a) & torch.isinf(other))
    above = torch.where(has_none, 0.0, torch.where(is_steep, other, a))
    below = torch.where(has_none, 1.0, torch.where(is_steep, a, other))
    flat = torch.atan(above / below)
    angle = torch.where(is_steep, -flat, flat)
    rest = torch.atan2(plain(a), plain(other)) - plain(angle)
    return angle + rest


@call("hypot")
@finely
def hypot(a: Tensor, other: Tensor) -> Any:
    """Both in units of the larger one, so that no square can overflow."""
    larger = torch.maximum(torch.abs(a.detach()), torch.abs(other.detach()))
    unit = torch.where((larger == 0) | torch.isinf(larger), 1.0, larger)
    return unit * torch.sqrt(torch.square(a / unit) + torch.square(other / unit))


@call("deg2rad")
def deg2rad(a: Tensor) -> Any:
    return rules.mul(a, math.pi / 180)


@call("rad2deg")
def rad2deg(a: Tensor) -> Any:
    return rules.mul(a, 180 / math.pi)


@call("sinc", "special_sinc")
@finely
def sinc(a: Tensor) -> Any:
    turned = math.pi * torch.where(a == 0, 1.0, a)
    return torch.where(a == 0, 1.0, torch.sin(turned) / turned)


# --- hyperbolas ------------------------------------------------------------------------------------------


@call("sinh")
@finely
def sinh(a: Tensor) -> Any:
    return 0.5 * (torch.expm1(a) - torch.expm1(-a))


@call("cosh")
@finely
def cosh(a: Tensor) -> Any:
    return 0.5 * (torch.exp(a) + torch.exp(-a))


@call("asinh", "arcsinh")
@finely
def asinh(a: Tensor) -> Any:
    """Of the positive side, with the sign put back: on the other one digits would be lost."""
    side = torch.where(a.detach() < 0, -1.0, 1.0)
    size = side * a
    return side * torch.log1p(size + size * (size / (1 + hypot(size, torch.ones_like(size)))))


@call("acosh", "arccosh")
@finely
def acosh(a: Tensor) -> Any:
    above = a - 1
    return torch.log1p(above + torch.sqrt(above) * torch.sqrt(above + 2))


@call("atanh", "arctanh")
@finely
def atanh(a: Tensor) -> Any:
    return 0.5 * (torch.log1p(a) - torch.log1p(-a))


# --- mixtures --------------------------------------------------------------------------------------------


@call("lerp")
def lerp(a: Tensor, end: Tensor, weight: Any) -> Any:
    return a + weight * (end - a)


@call("addcmul")
def addcmul(a: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Any:
    product = tensor1 * tensor2
    return a + (product if value == 1 else value * product)


@call("addcdiv")
def addcdiv(a: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Any:
    quotient = tensor1 / tensor2
    return a + (quotient if value == 1 else value * quotient)


@call("nan_to_num")
def nan_to_num(
    a: Tensor, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Any:
    limits = torch.finfo(a.dtype)
    a = torch.where(torch.isnan(a), 0.0 if nan is None else nan, a)
    a = torch.where(torch.isposinf(a), limits.max if posinf is None else posinf, a)
    return torch.where(torch.isneginf(a), limits.min if neginf is None else neginf, a)
