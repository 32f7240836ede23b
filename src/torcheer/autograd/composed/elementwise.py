"""Functions of each number: powers, trigonometry, bounds, activations, and casts between types."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, Final

import torch
from torch import Tensor

from torcheer.autograd import rules
from torcheer.autograd.modes import as_plain
from torcheer.autograd.signatures import cast, softmax, to
from torcheer.autograd.torch_calls import call, not_in_place, plain, wants_gradient
from torcheer.errors import AutogradError, InputError

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


_SELU_SLOPE = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946


# --- with a kink -----------------------------------------------------------------------------------------


@call("relu", replace=True)
def relu(a: Tensor, inplace: bool = False) -> Any:
    not_in_place(inplace, "relu")
    return rules.relu(a)


@call("leaky_relu")
def leaky_relu(a: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Any:
    not_in_place(inplace, "leaky_relu")
    return torch.where(a > 0, a, negative_slope * a)


@call("prelu")
def prelu(a: Tensor, weight: Tensor) -> Any:
    """One slope for all, or one for each channel, which is dimension 1."""
    if weight.numel() != 1:
        if len(a.shape) < 2 or a.shape[1] != weight.numel():
            raise InputError(
                f"prelu with {weight.numel()} slopes needs as many channels in dimension 1: "
                f"the input is of {tuple(a.shape)}."
            )
        weight = weight.reshape(-1, *[1] * (len(a.shape) - 2))
    elif len(a.shape) == 0:
        weight = weight.reshape(())
    return torch.where(a > 0, a, weight * a)


@call("threshold", "_threshold")
def threshold(a: Tensor, threshold: float, value: float, inplace: bool = False) -> Any:
    not_in_place(inplace, "threshold")
    return torch.where(a > threshold, a, value)


@call("hardtanh")
def hardtanh(a: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    not_in_place(inplace, "hardtanh")
    return torch.where(a <= min_val, min_val, torch.where(a >= max_val, max_val, a))


@call("relu6")
def relu6(a: Tensor, inplace: bool = False) -> Any:
    return hardtanh(a, 0.0, 6.0, inplace)


@call("hardsigmoid")
@finely
def hardsigmoid(a: Tensor, inplace: bool = False) -> Any:
    return hardtanh(a + 3, 0.0, 6.0, inplace) / 6


@call("hardswish")
@finely
def hardswish(a: Tensor, inplace: bool = False) -> Any:
    not_in_place(inplace, "hardswish")
    # As below: the piece in the middle gets nothing that is infinite.
    bent = torch.where((a <= -3) | (a >= 3), 0.0, a)
    return torch.where(a <= -3, 0.0, torch.where(a >= 3, a, bent * (bent + 3) / 6))


@call("hardshrink")
def hardshrink(a: Tensor, lambd: float = 0.5) -> Any:
    return torch.where((a >= -lambd) & (a <= lambd), 0.0, a)


@call("softshrink")
def softshrink(a: Tensor, lambd: float = 0.5) -> Any:
    return torch.where(a > lambd, a - lambd, torch.where(a < -lambd, a + lambd, 0.0))


# --- exponential on one side -----------------------------------------------------------------------------


def _elu(a: Tensor, slope: float, scale: float, input_scale: float) -> Any:
    # The piece that is not taken must not overflow, for its gradient would be 0 times infinity.
    below = torch.where(a > 0, 0.0, a)
    return torch.where(a > 0, scale * a, scale * slope * torch.expm1(input_scale * below))


@call("elu")
@finely
def elu(a: Tensor, alpha: float = 1.0, inplace: bool = False) -> Any:
    not_in_place(inplace, "elu")
    return _elu(a, alpha, 1.0, 1.0)


@call("selu")
@finely
def selu(a: Tensor, inplace: bool = False) -> Any:
    not_in_place(inplace, "selu")
    return _elu(a, _SELU_SLOPE, _SELU_SCALE, 1.0)


@call("celu")
@finely
def celu(a: Tensor, alpha: float = 1.0, inplace: bool = False) -> Any:
    not_in_place(inplace, "celu")
    return _elu(a, alpha, 1.0, 1 / alpha)


@call("softplus")
@finely
def softplus(a: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Any:
    is_straight = a * beta > threshold
    bent = torch.where(is_straight, 0.0, a * beta)
    return torch.where(is_straight, a, torch.log1p(torch.exp(bent)) / beta)


@call("log_sigmoid", "logsigmoid")
@finely
def logsigmoid(a: Tensor) -> Any:
    is_below = a < 0
    size = torch.where(is_below, a, -a)  # never positive
    return torch.where(is_below, a, 0.0) - torch.log1p(torch.exp(size))


# --- smooth ----------------------------------------------------------------------------------------------


@call("gelu")
@finely
def gelu(a: Tensor, *, approximate: str = "none") -> Any:
    if approximate == "none":
        return 0.5 * a * (1 + torch.erf(a * math.sqrt(0.5)))
    if approximate == "tanh":
        return 0.5 * a * (1 + torch.tanh(math.sqrt(2 / math.pi) * (a + 0.044715 * a**3)))
    raise InputError(f"gelu knows approximate='none' and 'tanh', not {approximate!r}.")


@call("silu")
@finely
def silu(a: Tensor, inplace: bool = False) -> Any:
    not_in_place(inplace, "silu")
    return a * torch.sigmoid(a)


@call("mish")
@finely
def mish(a: Tensor, inplace: bool = False) -> Any:
    not_in_place(inplace, "mish")
    return a * torch.tanh(softplus(a))


@call("softsign")
@finely
def softsign(a: Tensor) -> Any:
    return a / (1 + torch.abs(a))


@call("tanhshrink")
@finely
def tanhshrink(a: Tensor) -> Any:
    return a - torch.tanh(a)


@call("glu")
def glu(a: Tensor, dim: int = -1) -> Any:
    if a.shape[dim] % 2:
        raise InputError(f"glu halves dimension {dim}, which has {a.shape[dim]} elements: an even number.")
    content, gate = torch.chunk(a, 2, dim)
    return content * torch.sigmoid(gate)


@call("gumbel_softmax")
def gumbel_softmax(a: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Any:
    """A choice at random by these logits, soft enough to have a gradient; a hard one has that of the soft."""
    with as_plain():
        noise = -torch.empty_like(plain(a)).exponential_().log()
    soft = softmax((a + noise) / tau, dim)
    if not hard:
        return soft
    with as_plain():
        chosen = torch.zeros_like(plain(soft)).scatter_(dim, plain(soft).argmax(dim, keepdim=True), 1.0)
    return chosen - soft.detach() + soft


@call("softmin")
def softmin(a: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    return softmax(-a, dim, dtype=dtype)
