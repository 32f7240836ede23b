"""Smooth functions with the same dependence as torch functions whose gradient hides it.

`relu` has no gradient where it is off, `max_pool2d` only at the winner, `x > 0` none at all; yet their
output can change with each of those elements. An entry takes the arguments of the function that it stands
for. Data is always floating point here; a constant index or mask keeps its type, so a floating index is data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from torcheer.capture.nesting import tensors_in


class About(NamedTuple):
    """What a stand-in may know of the call besides its arguments."""

    func: Callable[..., Any]
    shapes: list[torch.Size]  # of all outputs
    dtypes: frozenset[torch.dtype]  # that the data had in the pass
    data: frozenset[int]  # which tensors of the call are data, by position


StandIn = Callable[..., Any]
STAND_INS: dict[str, StandIn] = {}  # by name without leading and trailing underscores
_INSTEAD_OF_INFINITY = -7.31


class UndecidedError(Exception):
    """A stand-in that does not cover this case."""


def stands_for(names: str) -> Callable[[StandIn], StandIn]:
    def add(stand_in: StandIn) -> StandIn:
        STAND_INS.update(dict.fromkeys(names.split(), stand_in))
        return stand_in

    return add


def tensors_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Tensor]:
    return [tensor for _, tensor in tensors_in((args, kwargs))]


def number(value: Any) -> Any:
    """A tensor of truth values as numbers; anything else as it is."""
    is_whole = isinstance(value, Tensor) and not (value.is_floating_point() or value.is_complex())
    return value.to(torch.float64) if is_whole else value


def _argument(args: tuple[Any, ...], kwargs: dict[str, Any], position: int, name: str, default: Any) -> Any:
    return kwargs.get(name, args[position] if len(args) > position else default)


# --- element by element -------------------------------------------------------------------


@stands_for(
    "relu relu6 leaky_relu elu selu celu silu mish sigmoid logsigmoid log_sigmoid tanh hardtanh hardswish "
    "hardsigmoid hardshrink softshrink tanhshrink softplus softsign gelu threshold prelu rrelu "
    "rrelu_with_noise dropout dropout1d dropout2d dropout3d alpha_dropout feature_dropout "
    "feature_alpha_dropout bernoulli poisson exp exp2 expm1 log log2 log10 log1p sqrt rsqrt square abs "
    "absolute neg negative positive reciprocal sin cos tan asin acos atan arcsin arccos arctan sinh cosh "
    "asinh acosh atanh erf erfc erfinv lgamma digamma sinc logit expit round floor ceil trunc fix frac sign "
    "sgn signbit nan_to_num deg2rad rad2deg isnan isinf isfinite isposinf isneginf isreal logical_not "
    "bitwise_not invert detach contiguous clone alias requires_grad to type type_as float double half "
    "bfloat16 long int short char byte bool cpu cuda cdouble cfloat chalf fake_quantize_per_tensor_affine "
    "quantize_per_tensor dequantize identity lift lift_fresh resolve_conj resolve_neg conj conj_physical "
    "pin_memory to_dense"
)
def same(about: About, *args: Any, **kwargs: Any) -> Tensor:
    return tensors_of(args, kwargs)[0]


@stands_for("view")
def _view(about: About, x: Tensor, *shape: Any, **kwargs: Any) -> Tensor:
    if any(isinstance(value, torch.dtype) for value in (*shape, *kwargs.values())):
        return x  # the same bits as another type: of the same width, each in its place
    return x.view(*shape, **kwargs)


@stands_for("data")
def _last(about: About, *args: Any) -> Tensor:
    return tensors_of(args, {})[-1]  # `x.data = y` is y


@stands_for(
    "eq ne lt le gt ge equal_to greater greater_equal less less_equal not_equal isclose maximum minimum fmax "
    "fmin clamp clip clamp_min clamp_max clamp_min_ fmod remainder floor_divide floordiv rfloordiv ifloordiv "
    "mod imod rmod heaviside copysign nextafter logical_xor bitwise_xor xor ixor rxor bitwise_left_shift "
    "bitwise_right_shift lshift rshift ilshift irshift gcd lcm normal"
)
def pointwise(about: About, *args: Any, **kwargs: Any) -> Any:
    tensors = tensors_of(args, kwargs)
    # Of one tensor given twice both must count, also in `x != x`.
    return sum((1 + 0.37 * i) * number(tensor) for i, tensor in enumerate(tensors))


@stands_for("logical_and bitwise_and and iand rand")
def _and(about: About, a: Any, b: Any, **_: Any) -> Any:
    return number(a) * number(b)  # a constant False, or 0, decides


@stands_for("logical_or bitwise_or or ior ror")
def _or(about: About, a: Any, b: Any, **_: Any) -> Any:
    a, b = number(a), number(b)
    return a + b - a * b if about.dtypes <= {torch.bool} else a + b


def choose(condition: Tensor, a: Any, b: Any) -> Tensor:
    a, b = (value if isinstance(value, Tensor) else torch.tensor(value) for value in (a, b))
    a, b = number(a), number(b)
    if not condition.is_floating_point():
        return torch.where(condition.bool(), a, b)
    mixed = condition * _finite(a) + (1 - condition) * _finite(b)
    # Where a constant part of the condition decides, the other side is cut off, be it infinite.
    return torch.where(condition == 1, a, torch.where(condition == 0, b, mixed))


def _finite(value: Tensor) -> Tensor:
    return torch.where(value.isfinite(), value, _INSTEAD_OF_INFINITY)


@stands_for("where")
def _where(about: About, *args: Any, **kwargs: Any) -> Tensor:
    if about.func is torch.Tensor.where:
        a, condition, b = (*args, *kwargs.values())
    elif len(args) + len(kwargs) == 3:
        names = ("condition", "input", "other")
        condition, a, b = (*args, *(kwargs[name] for name in names[len(args) :]))
    else:
        raise UndecidedError("its output has as many rows as the data decides")
    return choose(condition, a, b)


@stands_for("masked_fill")
def _masked_fill(about: About, x: Tensor, mask: Tensor, value: Any) -> Tensor:
    return choose(mask, value, x)


# --- all along a dimension ------------------------------------------------------------------


def _summed(x: Tensor, dim: Any, shape: torch.Size) -> Any:
    """The sum along one or several dimensions (None or (): all), laid out in another shape."""
    dims = tuple(range(x.dim())) if dim is None or dim == () or dim == [] else dim
    total = number(x).sum(dims, keepdim=True) if x.dim() else number(x)
    if total.dim() != len(shape):
        total = total.reshape(shape)
    return total.expand(shape)


@stands_for("argmax argmin amax amin aminmax any all count_nonzero median nanmedian max min")
def _reduction(about: About, x: Tensor, *args: Any, **kwargs: Any) -> Any:
    if any(isinstance(value, Tensor) for value in (*args, *kwargs.values())):
        return pointwise(about, x, *args, **kwargs)  # max(a, b)
    dim = _argument(args, kwargs, 0, "dim", kwargs.get("axis"))
    return [_summed(x, dim, shape) for shape in about.shapes]


@stands_for("sort argsort mode multinomial msort")
def _along(about: About, x: Tensor, *args: Any, **kwargs: Any) -> Any:
    default = 0 if about.func in (torch.msort, torch.Tensor.msort) else -1
    given = [arg for arg in args if isinstance(arg, int) and not isinstance(arg, bool)]
    is_rows = about.func in (torch.multinomial, torch.Tensor.multinomial)
    dim = kwargs.get("dim", given[0] if given and not is_rows else default)
    return [_summed(x, dim, shape) for shape in about.shapes]


@stands_for("topk kthvalue")
def _some_along(about: About, x: Tensor, *args: Any, **kwargs: Any) -> Any:
    dim = _argument(args, kwargs, 1, "dim", -1)
    return [_summed(x, dim, shape) for shape in about.shapes]


@stands_for("linalg_vector_norm")
def _norm(about: About, x: Tensor, *args: Any, **kwargs: Any) -> Any:
    return _summed(x, _argument(args, kwargs, 1, "dim", None), about.shapes[0])


@stands_for("quantile nanquantile")
def _quantile(about: About, *args: Any, **kwargs: Any) -> Any:
    raise UndecidedError("every element of a row may decide its quantile")


@stands_for("cummax cummin")
def _running(about: About, x: Tensor, dim: int) -> Any:
    return [x.cumsum(dim)] * 2


@stands_for(
    "max_pool1d max_pool2d max_pool3d max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices"
)
def _max_pool(
    about: About,
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    *_: Any,
    **__: Any,
) -> Any:
    """The sum over each window, one dimension after the other."""
    shape = about.shapes[0]
    num_dims = int(str(getattr(about.func, "__name__", "")).partition("pool")[2][:1])
    sizes = zip(
        *(
            _each(value, num_dims)
            for value in (kernel_size, kernel_size if stride in (None, [], ()) else stride, padding, dilation)
        ),
        strict=True,
    )
    x = input
    for dim, (kernel, step, pad, gap) in enumerate(sizes, start=x.dim() - num_dims):
        reach = (kernel - 1) * gap + 1
        length = (shape[dim] - 1) * step + reach  # what the windows cover, with what ceil_mode adds
        margins = [0, 0] * (x.dim() - dim - 1) + [pad, max(0, length - pad - x.shape[dim])]
        x = F.pad(x, margins).narrow(dim, 0, length).unfold(dim, reach, step)[..., ::gap].sum(-1)
    return [x] * len(about.shapes)


def _each(value: Any, count: int) -> list[int]:
    values = list(value) if isinstance(value, list | tuple) else [value]
    return values * count if len(values) == 1 else values


@stands_for("adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d")
def _adaptive_max_pool(about: About, x: Tensor, output_size: Any, *_: Any, **__: Any) -> Any:
    num_dims = str(getattr(about.func, "__name__", ""))[-2]
    means = getattr(F, f"adaptive_avg_pool{num_dims}d")
    return [means(x, output_size)] * len(about.shapes)


# --- the function itself, without its chance or its fused kernels ------------------------------


@stands_for("scaled_dot_product_attention")
def _attention(
    about: About,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    *args: Any,
    **kw: Any,
) -> Any:
    if attn_mask is not None and attn_mask.is_floating_point() and torch.bool in about.dtypes:
        attn_mask = torch.where(attn_mask == 0, -torch.inf, attn_mask)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        return about.func(q, k, v, attn_mask, 0.0, *args, **kw)


@stands_for("batch_norm")
def _batch_norm(about: About, x: Tensor, *args: Any, **kwargs: Any) -> Any:
    names = ["running_mean", "running_var", "weight", "bias", "training"]
    if about.func is not F.batch_norm:
        names = ["weight", "bias", "running_mean", "running_var", "training"]
    given = dict(zip(names, args, strict=False)) | kwargs
    if not given.get("training"):
        return about.func(x, *args, **kwargs)
    # In training the running statistics are written, but not read.
    return F.batch_norm(x, None, None, given.get("weight"), given.get("bias"), training=True)


@stands_for("pack_padded_sequence pad_packed_sequence")
def _packing(about: About, x: Tensor, lengths: Tensor, *args: Any) -> Any:
    return about.func(x, lengths, *args)  # its second output, the lengths, hangs on the lengths alone


@stands_for("lstm gru rnn_tanh rnn_relu")
def _recurrent(about: About, *args: Any) -> Any:
    return about.func(*(0.0 if type(arg) is float else arg for arg in args))


def everything(leaves: list[Tensor]) -> Tensor:
    """One number that hangs on every element."""
    return torch.stack([leaf.sum().to(torch.complex128) for leaf in leaves]).sum()
