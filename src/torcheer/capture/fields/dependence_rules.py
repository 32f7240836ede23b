"""What each torch function depends on, as a function whose derivative shows it.

`relu` has no gradient where it is off, `max_pool2d` only at the winner, `x > 0` none at all; yet their output
can change with each of those elements. A rule takes the arguments of its function and gives something smooth
that depends on the same elements. Data is always floating point here; a constant index or mask keeps its
type, so a floating index is data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from torcheer.capture.pytree import collect_tensors


class About(NamedTuple):
    """What a rule may know of the call besides its arguments."""

    name: str  # without leading and trailing underscores
    call: Callable[..., Any]  # the function itself
    shapes: list[torch.Size]  # of all outputs
    dtypes: frozenset[torch.dtype]  # that the data had in the pass
    data: frozenset[int]  # which tensors of the call are data, by position


Rule = Callable[..., Any]


class UndecidedError(Exception):
    """No rule covers this call."""


def rule_for(name: str) -> Rule:
    if name in _ITSELF or name.startswith(("fft_", "linalg_")):
        return _RULES.get(name, _itself)
    if name in _RULES:
        return _RULES[name]
    raise UndecidedError("there is no rule for it")


def _itself(about: About, *args: Any, **kwargs: Any) -> Any:
    return about.call(*args, **kwargs)


# Their own derivative shows everything, at values that are positive and random.
_ITSELF = frozenset(
    (
        "linear matmul rmatmul mm bmm addmm baddbmm addmv addbmm mv dot vdot inner outer ger kron bilinear "
        "tensordot einsum cross trace conv1d conv2d conv3d conv_transpose1d conv_transpose2d "
        "conv_transpose3d convolution add sub subtract mul multiply div divide true_divide iadd isub imul "
        "itruediv idiv radd rsub rmul rtruediv rdiv addcmul addcdiv lerp pow ipow rpow float_power atan2 "
        "arctan2 hypot xlogy logaddexp complex polar angle view_as_real view_as_complex real imag "
        "reshape permute transpose t T mT H mH adjoint flatten ravel unflatten squeeze unsqueeze expand "
        "expand_as view_as reshape_as cat concat concatenate stack hstack vstack dstack column_stack "
        "row_stack split split_with_sizes chunk tensor_split hsplit vsplit unbind narrow select slice "
        "movedim moveaxis swapaxes swapdims repeat repeat_interleave tile roll flip fliplr flipud rot90 pad "
        "constant_pad_nd unfold fold im2col col2im diagonal diag diag_embed tril triu pixel_shuffle "
        "pixel_unshuffle channel_shuffle copy fill zero broadcast_to broadcast_tensors meshgrid take "
        "index index_put index_add index_copy index_fill masked_select masked_scatter slice_scatter "
        "select_scatter diagonal_scatter scatter_add softmax log_softmax softmin layer_norm group_norm "
        "batch_norm instance_norm rms_norm native_layer_norm normalize glu sum nansum mean nanmean var std "
        "var_mean std_mean logsumexp logcumsumexp cumsum cumprod prod diff dist cdist pairwise_distance "
        "cosine_similarity avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d "
        "adaptive_avg_pool3d upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_linear1d "
        "upsample_bilinear2d upsample_trilinear3d upsample_bicubic2d interpolate mse_loss l1_loss "
        "smooth_l1_loss huber_loss kl_div binary_cross_entropy binary_cross_entropy_with_logits inverse "
        "det logdet pinverse matrix_exp stft istft pack_padded_sequence pad_packed_sequence lstm_cell "
        "gru_cell rnn_tanh_cell rnn_relu_cell"
    ).split()
)


def number(value: Any) -> Any:
    """A tensor of truth values or whole numbers as numbers; anything else as it is."""
    is_whole = isinstance(value, Tensor) and not (value.is_floating_point() or value.is_complex())
    return value.to(torch.float64) if is_whole else value


def is_data(index: Any) -> bool:
    return isinstance(index, Tensor) and index.is_floating_point()


# --- element by element -------------------------------------------------------------------------


def _same(about: About, *args: Any, **kwargs: Any) -> Tensor:
    return collect_tensors((args, kwargs))[0]


def _pointwise(about: About, *args: Any, **kwargs: Any) -> Any:
    # Of one tensor given twice both must count, also in `x != x`.
    tensors = collect_tensors((args, kwargs))
    return sum((1 + 0.37 * i) * number(tensor) for i, tensor in enumerate(tensors))


def _and(about: About, a: Any, b: Any, **_: Any) -> Any:
    return number(a) * number(b)  # a constant False, or 0, decides


def _or(about: About, a: Any, b: Any, **_: Any) -> Any:
    a, b = number(a), number(b)
    return a + b - a * b if about.dtypes <= {torch.bool} else a + b


def _view(about: About, x: Tensor, *shape: Any, **kwargs: Any) -> Tensor:
    if any(isinstance(value, torch.dtype) for value in (*shape, *kwargs.values())):
        return x  # the same bits as another type: of the same width, each in its place
    return x.view(*shape, **kwargs)


def _choose(condition: Tensor, a: Any, b: Any) -> Tensor:
    a, b = (number(value if isinstance(value, Tensor) else torch.tensor(value)) for value in (a, b))
    if not is_data(condition):
        return torch.where(condition.bool(), a, b)
    finite = (torch.where(value.isfinite(), value, -7.31) for value in (a, b))
    mixed = condition * next(finite) + (1 - condition) * next(finite)
    # Where a constant part of the condition decides, the other side is cut off, be it infinite.
    return torch.where(condition == 1, a, torch.where(condition == 0, b, mixed))


def _where(about: About, *args: Any, **kwargs: Any) -> Tensor:
    given = (*args, *(kwargs[name] for name in ("condition", "input", "self", "other") if name in kwargs))
    if len(given) != 3:
        raise UndecidedError("its output has as many rows as the data decides")
    if about.call is torch.Tensor.where:
        return _choose(given[1], given[0], given[2])
    return _choose(*given)


# --- all along a dimension ------------------------------------------------------------------------

# Which argument after the first is the dimension, and what it is where it is not given.
_DIMENSIONS: dict[str, tuple[int, int | None]] = {
    **dict.fromkeys("argmax argmin amax amin aminmax any all max min".split(), (0, None)),
    **dict.fromkeys("count_nonzero median nanmedian".split(), (0, None)),
    **dict.fromkeys("sort argsort mode".split(), (0, -1)),
    **dict.fromkeys("topk kthvalue".split(), (1, -1)),
    **dict.fromkeys("norm linalg_vector_norm".split(), (1, None)),
    "multinomial": (99, -1),
    "msort": (99, 0),
}


def _along(about: About, x: Tensor, *args: Any, **kwargs: Any) -> Any:
    if any(isinstance(value, Tensor) for value in (*args, *kwargs.values())):
        return _pointwise(about, x, *args, **kwargs)  # max(a, b)
    place, default = _DIMENSIONS[about.name]
    dim = kwargs.get("dim", kwargs.get("axis", args[place] if len(args) > place else default))
    dims = tuple(range(x.dim())) if dim is None or dim == () or dim == [] else dim
    total = number(x).sum(dims, keepdim=True) if x.dim() else number(x)
    return [
        (total if total.dim() == len(shape) else total.reshape(shape)).expand(shape) for shape in about.shapes
    ]


def _running(about: About, x: Tensor, dim: int) -> Any:
    return [x.cumsum(dim)] * 2


def _max_pool(
    about: About,
    x: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    *_: Any,
    **__: Any,
) -> Any:
    """The sum over each window."""
    num_dims = int(about.name.partition("pool")[2][0])
    conv = getattr(F, f"conv{num_dims}d")
    kernel, steps, pads, gaps = (
        list(value) * (num_dims // len(value)) if isinstance(value, list | tuple) else [value] * num_dims
        for value in (kernel_size, stride or kernel_size, padding, dilation)
    )
    out, inner = about.shapes[0][-num_dims:], x.shape[-num_dims:]
    # What the windows cover: ceil_mode adds some that reach past the end.
    reach = [(o - 1) * s + (k - 1) * g + 1 for o, s, k, g in zip(out, steps, kernel, gaps, strict=True)]
    margins = [(p, max(0, r - p - size)) for r, p, size in zip(reach, pads, inner, strict=True)]
    padded = F.pad(x.reshape(-1, 1, *inner), [side for both in reversed(margins) for side in both])
    sums = conv(padded, padded.new_ones(1, 1, *kernel), stride=steps, dilation=gaps)
    return [sums.reshape(about.shapes[0])] * len(about.shapes)


def _adaptive_max_pool(about: About, x: Tensor, output_size: Any, *_: Any, **__: Any) -> Any:
    return [getattr(F, about.name.replace("max", "avg"))(x, output_size)] * len(about.shapes)


# --- places that the data may choose --------------------------------------------------------------


def _embedding(about: About, weight: Tensor, indices: Tensor, *_: Any, **__: Any) -> Tensor:
    if not is_data(indices):
        return F.embedding(indices, weight)
    table = weight.sum(0) if 0 in about.data else torch.zeros(weight.shape[1:], dtype=indices.dtype)
    return indices.unsqueeze(-1) + table


def _gather(about: About, x: Tensor, dim: Any, index: Any = None, **kwargs: Any) -> Any:
    if isinstance(dim, Tensor):  # take_along_dim
        dim, index = index, dim
    index, dim = kwargs.get("index", kwargs.get("indices", index)), kwargs.get("dim", dim)
    if not is_data(index):
        return torch.take_along_dim(x, index, dim) if about.name[0] == "t" else x.gather(dim, index)
    if dim is None:
        return x.sum() + index
    for other in (d for d in range(x.dim()) if d != dim % x.dim() and index.shape[d] != 1):
        x = x.narrow(other, 0, min(x.shape[other], index.shape[other]))
    return number(x).sum(dim, keepdim=True) + index


def _getitem(about: About, x: Tensor, key: Any) -> Any:
    if not any(is_data(each) for each in (key if isinstance(key, tuple) else (key,))):
        return x[key]
    if not isinstance(key, Tensor) or torch.bool in about.dtypes:
        raise UndecidedError("its data decides which elements it takes")
    return number(x).sum(0) + key.reshape(*key.shape, *[1] * (x.dim() - 1))


def _setitem(about: About, x: Tensor, key: Any, value: Any) -> Tensor:
    if is_data(key) and torch.bool in about.dtypes:
        if isinstance(value, Tensor) and value.dim():
            raise UndecidedError("its data decides which elements it writes")
        return _choose(key.reshape(*key.shape, *[1] * (x.dim() - key.dim())), value, x)
    x = x.clone()
    x[key] = value
    return x


def _scatter(
    about: About, x: Tensor, dim: int, index: Tensor, src: Any = None, *_: Any, value: Any = 0, **kwargs: Any
) -> Any:
    src = value if src is None else src
    if not isinstance(src, Tensor):
        src = torch.full(index.shape, float(src), dtype=torch.float64)
    src = src[tuple(slice(size) for size in index.shape)]  # of a larger one only this is read
    if not is_data(index):
        if about.name == "scatter" and "reduce" not in kwargs:
            return x.scatter(dim, index, src)
        kwargs.pop("reduce", None)
        return x.scatter_reduce(dim, index, src, "sum", **kwargs)
    if any(x.shape[d] != index.shape[d] for d in range(x.dim()) if d != dim % x.dim()):
        raise UndecidedError("its data decides where it writes")
    return x + (src + index).sum(dim, keepdim=True)


def _class_loss(about: About, scores: Tensor, target: Tensor, *args: Any, **kwargs: Any) -> Any:
    is_class = is_data(target) and (target.dim() < scores.dim() or target.dim() == 0)
    if not is_class or 1 not in about.data:
        return about.call(scores, target, *args, **kwargs)
    each = scores.sum(1 if scores.dim() > 1 else 0) + target
    return each if each.shape == about.shapes[0] else each.sum()


# --- the function itself, without its chance or its fused kernels -----------------------------------


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
    if is_data(attn_mask) and torch.bool in about.dtypes:
        attn_mask = torch.where(attn_mask == 0, -torch.inf, attn_mask)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        return about.call(q, k, v, attn_mask, 0.0, *args, **kw)


def _recurrent(about: About, *args: Any) -> Any:
    return about.call(*(0.0 if type(arg) is float else arg for arg in args))


_RULES: dict[str, Rule] = {
    **dict.fromkeys(
        (
            "relu relu6 leaky_relu elu selu celu silu mish sigmoid logsigmoid log_sigmoid tanh hardtanh "
            "hardswish hardsigmoid hardshrink softshrink tanhshrink softplus softsign gelu threshold prelu "
            "rrelu rrelu_with_noise dropout dropout1d dropout2d dropout3d alpha_dropout feature_dropout "
            "feature_alpha_dropout bernoulli poisson exp exp2 expm1 log log2 log10 log1p sqrt rsqrt square "
            "abs absolute neg negative positive reciprocal sin cos tan asin acos atan arcsin arccos arctan "
            "sinh cosh asinh acosh atanh erf erfc erfinv lgamma digamma sinc logit expit round floor ceil "
            "trunc fix frac sign sgn signbit nan_to_num deg2rad rad2deg isnan isinf isfinite isposinf "
            "isneginf isreal logical_not bitwise_not invert detach contiguous clone alias requires_grad to "
            "type type_as float double half bfloat16 long int short char byte bool cpu cuda cdouble cfloat "
            "chalf fake_quantize_per_tensor_affine quantize_per_tensor dequantize identity lift lift_fresh "
            "resolve_conj resolve_neg conj conj_physical pin_memory to_dense special_expit output"
        ).split(),
        _same,
    ),
    **dict.fromkeys(
        (
            "eq ne lt le gt ge greater greater_equal less less_equal not_equal isclose maximum minimum fmax "
            "fmin clamp clip clamp_min clamp_max fmod remainder floor_divide floordiv rfloordiv ifloordiv "
            "mod imod rmod heaviside copysign nextafter logical_xor bitwise_xor xor ixor rxor "
            "bitwise_left_shift bitwise_right_shift lshift rshift ilshift irshift gcd lcm normal"
        ).split(),
        _pointwise,
    ),
    **dict.fromkeys("logical_and bitwise_and and iand rand".split(), _and),
    **dict.fromkeys("logical_or bitwise_or or ior ror".split(), _or),
    "view": _view,
    "data": lambda about, *args: collect_tensors(args)[-1],  # `x.data = y` is y
    "where": _where,
    "masked_fill": lambda about, x, mask, value: _choose(mask, value, x),
    **dict.fromkeys(_DIMENSIONS, _along),
    **dict.fromkeys("cummax cummin".split(), _running),
    **dict.fromkeys([f"max_pool{n}d{end}" for n in (1, 2, 3) for end in ("", "_with_indices")], _max_pool),
    **dict.fromkeys([f"adaptive_max_pool{n}d" for n in (1, 2, 3)], _adaptive_max_pool),
    "embedding": _embedding,
    "one_hot": lambda about, index, *_, **__: index.unsqueeze(-1).expand(about.shapes[0]),
    "isin": lambda about, x, others, **_: number(x) + number(others).sum(),
    "bucketize": lambda about, x, steps, **_: number(x) + number(steps).sum(),
    **dict.fromkeys("gather take_along_dim".split(), _gather),
    "index_select": lambda about, x, dim, index: _getitem(about, x.movedim(dim, 0), index).movedim(0, dim),
    "getitem": _getitem,
    "setitem": _setitem,
    **dict.fromkeys("scatter scatter_reduce".split(), _scatter),
    **dict.fromkeys("nll_loss nll_loss_nd nll_loss2d cross_entropy_loss".split(), _class_loss),
    "scaled_dot_product_attention": _attention,
    **dict.fromkeys("lstm gru rnn_tanh rnn_relu".split(), _recurrent),
}
