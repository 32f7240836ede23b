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
from torcheer.autograd.torch_calls import call, enter, plain, wants_gradient
from torcheer.errors import AutogradError, InputError

_COARSE: Final = (torch.float16, torch.bfloat16)


def finely(function: Callable[..., Any]) -> Callable[..., Any]:
    """In float32 where numbers are coarser: torch rounds once for each op, and so should a composed one."""

    @functools.wraps(function)
    def inside(a: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(a, Tensor) or a.dtype not in _COARSE:
            return function(a, *args, **kwargs)
        kind = a.dtype
        for one in args:
            kind = torch.promote_types(kind, one.dtype) if isinstance(one, Tensor) else kind
        return function(a.to(torch.float32), *args, **kwargs).to(kind)

    return inside


def _times(value: Any, alpha: Any) -> Any:
    return value if alpha == 1 else value * alpha


def _doubled(value: Any) -> Any:
    return as_type(value, torch.float64) if isinstance(value, Tensor) else value


@call("where", replace=True)
def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    if input is None:
        return torch.where(plain(condition))  # the places where it holds
    return rules.where(input, other, mask=plain(condition))


@call("div", "divide", "__div__", replace=True)
def div(a: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    quotient = rules.div(a, other)
    if rounding_mode is None:
        return quotient
    times = _whole(a, other, rounding_mode)
    return torch.trunc(torch.where(torch.ones_like(times, dtype=torch.bool), times, quotient))


def _rest(a: Any, other: Any, rounding_mode: str) -> Any:
    """With the sign of the divisor where the quotient is rounded down; of the dividend where it is cut."""
    return a - other * _whole(a, other, rounding_mode)


def _whole(a: Any, other: Any, rounding_mode: str) -> Tensor:
    """How often one goes into the other: a constant between its jumps."""
    with as_plain():
        return torch.div(
            plain(a), plain(other) if isinstance(other, Tensor) else other, rounding_mode=rounding_mode
        )


def _like(value: Any, a: Any) -> Tensor:
    return value if isinstance(value, Tensor) else torch.as_tensor(value, dtype=a.dtype, device=a.device)


enter(
    {
        "add __add__ __radd__": lambda a, other, *, alpha=1: rules.add(a, _times(other, alpha)),
        "sub subtract __sub__": lambda a, other, *, alpha=1: rules.sub(a, _times(other, alpha)),
        "rsub __rsub__": lambda a, other, *, alpha=1: rules.sub(other, _times(a, alpha)),
        "__rdiv__ __rtruediv__": lambda a, other: rules.div(other, a),
        "__rpow__": lambda a, other: rules.power(other, a),
        "float_power": lambda a, exponent: rules.power(_doubled(a), _doubled(exponent)),
        "Tensor.where": lambda a, condition, other: rules.where(a, other, mask=plain(condition)),
        "round special_round": lambda a, *, decimals=0: rules.rounded(a, decimals=decimals),
        "floor_divide __floordiv__": lambda a, other: div(a, other, rounding_mode="floor"),
        "__rfloordiv__": lambda a, other: div(_like(other, a), a, rounding_mode="floor"),
        "remainder __mod__": lambda a, other: _rest(_like(a, other), other, "floor"),
        "__rmod__": lambda a, other: _rest(_like(other, a), a, "floor"),
        "fmod": lambda a, other: _rest(a, other, "trunc"),
    },
    replace=True,
)


def _elu(a: Tensor, slope: float, scale: float = 1.0, input_scale: float = 1.0) -> Any:
    # The piece that is not taken must not overflow, for its gradient would be 0 times infinity.
    below = torch.where(a > 0, 0.0, a)
    return torch.where(a > 0, scale * a, scale * slope * torch.expm1(input_scale * below))


def _softplus(a: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Any:
    is_straight = a * beta > threshold
    bent = torch.where(is_straight, 0.0, a * beta)
    return torch.where(is_straight, a, torch.log1p(torch.exp(bent)) / beta)


_SELU: Final = (1.6732632423543772848170429916717, 1.0507009873554804934193349852946)

_IN_ONE_LINE: Final[dict[str, Callable[..., Any]]] = {
    "square": lambda a: a**2,
    "rsqrt": lambda a: a**-0.5,
    "reciprocal": lambda a: rules.div(1.0, a),
    "exp2 special_exp2": lambda a: rules.power(2.0, a),
    "log2": lambda a: torch.log(a) / math.log(2),
    "log10": lambda a: torch.log(a) / math.log(10),
    "tan": lambda a: torch.sin(a) / torch.cos(a),
    "acos arccos": lambda a: math.pi / 2 - torch.asin(a),
    "deg2rad": lambda a: a * (math.pi / 180),
    "rad2deg": lambda a: a * (180 / math.pi),
    "sinh": lambda a: 0.5 * (torch.expm1(a) - torch.expm1(-a)),
    "cosh": lambda a: 0.5 * (torch.exp(a) + torch.exp(-a)),
    "acosh arccosh": lambda a: torch.log1p(a - 1 + torch.sqrt(a - 1) * torch.sqrt(a + 1)),
    "atanh arctanh": lambda a: 0.5 * (torch.log1p(a) - torch.log1p(-a)),
    "lerp": lambda a, end, weight: a + weight * (end - a),
    "addcmul": lambda a, tensor1, tensor2, *, value=1: a + value * (tensor1 * tensor2),
    "addcdiv": lambda a, tensor1, tensor2, *, value=1: a + value * (tensor1 / tensor2),
    "clamp_min": lambda a, min: torch.clamp(a, min=min),
    "clamp_max": lambda a, max: torch.clamp(a, max=max),
    # The larger one; of a number and NaN the number.
    "fmax": lambda a, other: torch.where((a >= other) | torch.isnan(other), a, other),
    "fmin": lambda a, other: torch.where((a <= other) | torch.isnan(other), a, other),
    "fix": lambda a: torch.trunc(a),
    "sgn": lambda a: torch.sign(a),
    "frac": lambda a: a - torch.trunc(a),
    "leaky_relu": lambda a, negative_slope=0.01: torch.where(a > 0, a, negative_slope * a),
    "threshold _threshold": lambda a, threshold, value: torch.where(a > threshold, a, value),
    "hardtanh": lambda a, min_val=-1.0, max_val=1.0: _between(a, min_val, max_val),
    "relu6": lambda a: _between(a, 0.0, 6.0),
    "hardsigmoid": lambda a: _between(a + 3, 0.0, 6.0) / 6,
    "hardshrink": lambda a, lambd=0.5: torch.where((a >= -lambd) & (a <= lambd), 0.0, a),
    "softshrink": lambda a, lambd=0.5: torch.where(
        a > lambd, a - lambd, torch.where(a < -lambd, a + lambd, 0.0)
    ),
    "elu": lambda a, alpha=1.0: _elu(a, alpha),
    "selu": lambda a: _elu(a, *_SELU),
    "celu": lambda a, alpha=1.0: _elu(a, alpha, input_scale=1 / alpha),
    "silu": lambda a: a * torch.sigmoid(a),
    "mish": lambda a: a * torch.tanh(_softplus(a)),
    "softplus": _softplus,
}
enter({names: finely(formula) for names, formula in _IN_ONE_LINE.items()})


def _between(a: Tensor, low: float, high: float) -> Any:
    return torch.where(a <= low, low, torch.where(a >= high, high, a))


# Of real numbers these are the numbers themselves.
call("positive", "__pos__", "real", "conj", "conj_physical", "resolve_conj", "resolve_neg", "pin_memory")(
    lambda a, *_: a
)


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


@call("erfc", "special_erfc")
def erfc(a: Tensor) -> Any:
    """1 - erf, whose digits would be lost far out: there it is torch's own number."""
    with_slope = 1 - torch.erf(a)
    return with_slope + (torch.erfc(plain(a)) - plain(with_slope))


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
    return angle + (torch.atan2(plain(a), plain(other)) - plain(angle))


@call("hypot")
@finely
def hypot(a: Tensor, other: Tensor) -> Any:
    """Both in units of the larger one, so that no square can overflow."""
    larger = torch.maximum(torch.abs(a.detach()), torch.abs(other.detach()))
    unit = torch.where((larger == 0) | torch.isinf(larger), 1.0, larger)
    return unit * torch.sqrt(torch.square(a / unit) + torch.square(other / unit))


@call("asinh", "arcsinh")
@finely
def asinh(a: Tensor) -> Any:
    """Of the positive side, with the sign put back: on the other one digits would be lost."""
    side = torch.where(a.detach() < 0, -1.0, 1.0)
    size = side * a
    return side * torch.log1p(size + size * (size / (1 + hypot(size, torch.ones_like(size)))))


@call("nan_to_num")
def nan_to_num(
    a: Tensor, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Any:
    limits = torch.finfo(a.dtype)
    a = torch.where(torch.isnan(a), 0.0 if nan is None else nan, a)
    a = torch.where(torch.isposinf(a), limits.max if posinf is None else posinf, a)
    return torch.where(torch.isneginf(a), limits.min if neginf is None else neginf, a)


@call("clamp", "clip")
def clamp(a: Tensor, min: Any = None, max: Any = None) -> Any:
    """At a bound itself the gradient is still that of the tensor, as torch has it."""
    if isinstance(min, Tensor) and isinstance(max, Tensor):
        min = torch.where(min < max, min, min.detach())  # of bounds that meet, the lower gets nothing
    if min is not None:
        a = torch.where(a < min, min, a)
    return a if max is None else torch.where(a > max, max, a)


def as_type(a: Tensor, dtype: torch.dtype | None) -> Any:
    return a if dtype is None or a.dtype == dtype else rules.cast(a, dtype=dtype)


@call("to", replace=True)
def to(a: Tensor, *args: Any, **kwargs: Any) -> Any:
    with as_plain():
        target = a.to(*args, **kwargs) if not args or not isinstance(args[0], Tensor) else args[0]
        dtype, device = target.dtype, target.device
        if (dtype, device) == (a.dtype, a.device) and not kwargs.get("copy"):
            return a
    return rules.cast(a, dtype=dtype, device=device, copy=True)


enter(
    {
        "float": lambda a, memory_format=None: as_type(a, torch.float32),
        "double": lambda a, memory_format=None: as_type(a, torch.float64),
        "half": lambda a, memory_format=None: as_type(a, torch.float16),
        "bfloat16": lambda a, memory_format=None: as_type(a, torch.bfloat16),
        "type_as": to,
        "cpu": lambda a, memory_format=None: to(a, "cpu"),
        "cuda": lambda a, device=None, *_, **how: to(a, "cuda" if device is None else device),
        "detach": lambda a: a.detach(),
    }
)


@call("type")
def kind(a: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """Its type as a word, or the tensor in another."""
    with as_plain():
        target = a.type() if dtype is None else a.type(dtype)
    return to(a, target) if isinstance(target, Tensor) else target


@call("contiguous")
def contiguous(a: Tensor, memory_format: Any = torch.contiguous_format) -> Any:
    return a if a.is_contiguous(memory_format=memory_format) else rules.clone(a, memory_format=memory_format)


@call("numpy", "__array__", "__array_wrap__", asks=True)
def numpy(function: Callable[..., Any], a: Tensor, *args: Any, force: bool = False, **named: Any) -> Any:
    """What numpy calls by itself as well, where a tensor meets an array."""
    if wants_gradient(a) and not force:
        raise AutogradError(
            "an array does not remember where it came from: use x.detach().numpy(). To compute with one, "
            "make it a tensor first (torch.from_numpy)."
        )
    with as_plain():
        return function(plain(a), *args, **named)


@call("prelu")
def prelu(a: Tensor, weight: Tensor) -> Any:
    """One slope for all, or one for each channel, which is dimension 1."""
    num_others = max(0, len(a.shape) - 2)
    slopes = weight.reshape(-1, *[1] * num_others) if len(a.shape) > 1 else weight.reshape(())
    return torch.where(a > 0, a, slopes * a)


@call("hardswish")
@finely
def hardswish(a: Tensor) -> Any:
    # The piece in the middle gets nothing that is infinite.
    bent = torch.where((a <= -3) | (a >= 3), 0.0, a)
    return torch.where(a <= -3, 0.0, torch.where(a >= 3, a, bent * (bent + 3) / 6))


@call("log_sigmoid", "logsigmoid")
@finely
def logsigmoid(a: Tensor) -> Any:
    is_below = a < 0
    size = torch.where(is_below, a, -a)  # never positive
    return torch.where(is_below, a, 0.0) - torch.log1p(torch.exp(size))


@call("gelu")
@finely
def gelu(a: Tensor, *, approximate: str = "none") -> Any:
    if approximate == "none":
        return 0.5 * a * (1 + torch.erf(a * math.sqrt(0.5)))
    if approximate == "tanh":
        return 0.5 * a * (1 + torch.tanh(math.sqrt(2 / math.pi) * (a + 0.044715 * a**3)))
    raise InputError(f"gelu knows approximate='none' and 'tanh', not {approximate!r}.")


@call("glu")
def glu(a: Tensor, dim: int = -1) -> Any:
    content, gate = torch.split(a, a.shape[dim] // 2, dim)
    return content * torch.sigmoid(gate)
