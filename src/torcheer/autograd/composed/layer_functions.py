"""What layers compute: dropout, embedding, normalisation, convolution, pooling."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from functools import partial
from string import ascii_letters
from types import FunctionType
from typing import Any, Final

import torch
import torch.nn.functional as F
from torch import Tensor

from torcheer.autograd import rules
from torcheer.autograd.modes import as_plain
from torcheer.autograd.rule_math import pair, reached_by
from torcheer.autograd.torch_calls import call, enter
from torcheer.errors import InputError


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


@call("linear", replace=True)
def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Any:
    if len(weight.shape) == 1:  # one unit, whose dimension is left out
        product = matmul(x, weight)
        return product if bias is None else product + bias
    return rules.linear(x, weight, bias)


def _factors(named: dict[str, Any], *given: Any) -> list[Any]:
    """torch has other names for each kind: other, mat2, vec; mat and vec, batch1 and batch2."""
    return [*(one for one in given if one is not None), *named.values()]


def _added(a: Tensor, product: Any, beta: Any, alpha: Any) -> Any:
    product = product if alpha == 1 else alpha * product
    if beta == 0:
        return product  # whatever is in a, be it NaN
    return (a if beta == 1 else beta * a) + product


def _inner(a: Tensor, other: Tensor) -> Any:
    """Over the last dimension of both."""
    if not len(a.shape) or not len(other.shape):
        return a * other
    return tensordot(a, other, ([-1], [-1]))


def _outer(a: Tensor, vec2: Tensor) -> Any:
    return a.unsqueeze(1) * vec2.unsqueeze(0)


enter(
    {
        "__rmatmul__": lambda a, other: matmul(other, a),
        "mm mv bmm dot vdot": lambda a, other=None, **named: matmul(a, *_factors(named, other)),
        "addmm addmv baddbmm": lambda a, *factors, beta=1, alpha=1, **named: _added(
            a, matmul(*_factors(named, *factors)), beta, alpha
        ),
        "addbmm": lambda a, batch1, batch2, *, beta=1, alpha=1: _added(
            a, torch.sum(matmul(batch1, batch2), 0), beta, alpha
        ),
        "addr": lambda a, vec1, vec2, *, beta=1, alpha=1: _added(a, _outer(vec1, vec2), beta, alpha),
        "outer ger": _outer,
        "inner": _inner,
        "linalg_vecdot": lambda a, other, *, dim=-1: torch.sum(a * other, dim),
        "linalg_multi_dot": lambda tensors: functools.reduce(matmul, tensors),
        "chain_matmul": lambda *matrices: functools.reduce(matmul, matrices),
    }
)


@call("tensordot")
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Any:
    """Dimensions that are summed over together have the same letter."""
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        dims = (range(len(a.shape) - dims, len(a.shape)), range(dims))
    left, right = ascii_letters[: len(a.shape)], list(ascii_letters[-len(b.shape) :])
    for one, other in zip(*dims, strict=True):
        right[other] = left[one]
    kept = [letter for letter in (*left, *right) if (letter in left) != (letter in right)]
    return torch.einsum(f"{left},{''.join(right)}->{''.join(kept)}", a, b)


@call("bilinear")
def bilinear(a: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Any:
    product = torch.einsum("...i,oij,...j->...o", a, weight, input2)
    return product if bias is None else product + bias


@call("einsum", replace=True)
def einsum(equation: str, *operands: Any) -> Any:
    """In the form that the rule has: a letter for each dimension, none twice, and each of one size."""
    tensors = list(operands[0] if len(operands) == 1 and not isinstance(operands[0], Tensor) else operands)
    terms, output = _letters(equation.replace(" ", ""), tensors)
    for place, term in enumerate(terms):
        tensors[place], terms[place] = _without_repeats(tensors[place], term)
    sizes: dict[str, int] = {}
    for tensor, term in zip(tensors, terms, strict=True):
        for letter, size in zip(term, tensor.shape, strict=True):
            sizes[letter] = size if sizes.get(letter, 1) == 1 else sizes[letter]
    shapes = [[sizes[letter] for letter in term] for term in terms]
    wide = [one.expand(shape) for one, shape in zip(tensors, shapes, strict=True)]
    return rules.einsum(*wide, terms=tuple(terms), output=output)


def _letters(equation: str, tensors: Sequence[Tensor]) -> tuple[list[str], str]:
    """The term of each tensor and that of the result, with letters for what `...` stands for."""
    left, arrow, output = equation.partition("->")
    terms = left.split(",")
    hidden = [len(one.shape) - len(term.replace("...", "")) for one, term in zip(tensors, terms, strict=True)]
    spare = "".join(letter for letter in ascii_letters if letter not in equation)[: max(0, *hidden, 0)]
    if not arrow:
        once = sorted(letter for letter in left if letter.isalpha() and left.count(letter) == 1)
        output = f"...{''.join(once)}"
    each = [term.replace("...", spare[len(spare) - num :]) for term, num in zip(terms, hidden, strict=True)]
    return each, output.replace("...", spare)


def _without_repeats(tensor: Any, term: str) -> tuple[Any, str]:
    """`ii` is the diagonal."""
    for letter in term:
        while term.count(letter) > 1:
            first, second = term.index(letter), term.rindex(letter)
            tensor = torch.diagonal(tensor, 0, first, second)
            term = term[:first] + term[first + 1 : second] + term[second + 1 :] + letter
    return tensor, term


@call("embedding")
def embedding(
    input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Any:  # fmt: skip
    """A row of the weight for each number. That at `padding_idx` does not learn."""
    if scale_grad_by_freq or sparse:
        raise InputError("gradients are neither sparse here nor scaled by frequency: leave these two False.")
    with as_plain():
        places = input.as_subclass(Tensor).contiguous()  # rows lie in the order in which torch puts them
        if max_norm is not None:
            torch.embedding_renorm_(weight, places, max_norm, norm_type)
    rows = rules.index(weight, key=places)
    if padding_idx is None:
        return rows
    is_padding = (places == padding_idx % weight.shape[0]).unsqueeze(-1)
    return torch.where(is_padding, rows.detach(), rows)


@call("dropout")
def dropout(input: Tensor, p: float = 0.5, training: bool = True) -> Any:
    """Some numbers become 0, by chance, and the others grow, so that their sum is expected to stay."""
    return _dropped(input, None, p) if training and p else input


@call("dropout1d", "dropout2d", "dropout3d", "feature_dropout", asks=True)
def channel_dropout(function: Any, input: Tensor, p: float = 0.5, training: bool = True) -> Any:
    """Whole channels of (items, channels, …). One item without a dimension for items is a batch of one."""
    if not training or not p:
        return input
    num_dims = {"dropout1d": 1, "dropout3d": 3}.get(function.__name__, 2)
    is_single = len(input.shape) == num_dims + 1
    batch = input.unsqueeze(0) if is_single else input
    dropped = _dropped(batch, (*batch.shape[:2], *[1] * (len(batch.shape) - 2)), p)
    return dropped.squeeze(0) if is_single else dropped


@call("alpha_dropout")
def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False) -> Any:
    """What is dropped takes the value that SELU has far below zero; mean and variance stay."""
    if not training or not p:
        return input
    if p == 1:
        return input * 0.0
    lowest = 1.7580993408473766
    kept = _drawn(input, None, p)
    scale = 1 / math.sqrt((lowest * lowest * p + 1) * (1 - p))
    return input * (kept * scale) + ((kept - 1) * (lowest * scale) + lowest * scale * p)


def _dropped(input: Tensor, shape: tuple[int, ...] | None, p: float) -> Any:
    if not 0 <= p <= 1:
        raise InputError(f"p is a chance, from 0 to 1, not {p}.")
    if p == 1:
        return input * 0.0
    return input * (_drawn(input, shape, p) / (1 - p))


def _drawn(like: Tensor, shape: tuple[int, ...] | None, p: float) -> Tensor:
    """1 where a number stays, 0 elsewhere: with the same seed the same as torch's."""
    with as_plain():
        # Numbers are drawn in the order of memory, so without a shape of its own it is laid out as the input.
        empty = torch.empty_like(like) if shape is None else like.new_empty(shape)
        return empty.bernoulli_(1 - p).as_subclass(Tensor)


@call("layer_norm")
def layer_norm(
    input: Tensor, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    """Over the last dimensions of each item by itself."""
    normal = rules.standardise(in_order(input), dim=_last_dims(input, normalized_shape), eps=eps)
    return _scaled_and_shifted(normal, weight, bias)


@call("rms_norm")
def rms_norm(input: Tensor, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Any:
    """Only to a mean square of 1; the mean stays where it is."""
    eps = torch.finfo(input.dtype).eps if eps is None else eps
    input = in_order(input)
    square = (input * input).mean(_last_dims(input, normalized_shape), keepdim=True)
    return _scaled_and_shifted(input / torch.sqrt(square + eps), weight, None)


@call("batch_norm")
def batch_norm(
    input: Tensor, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None,
    training: bool = False, momentum: float = 0.1, eps: float = 1e-5,
) -> Any:  # fmt: skip
    """Over all items, for each channel. When not training, by the running statistics: given numbers."""
    input = in_order(input)
    if training:
        if input.numel() == input.shape[1]:
            raise InputError("one number for each channel has no variance: train with more than one item.")
        dims = (0, *range(2, len(input.shape)))
        return _by_statistics(input, dims, running_mean, running_var, weight, bias, momentum, eps)
    scale = 1 / torch.sqrt(running_var + eps)
    scale = scale if weight is None else weight * scale
    shift = -running_mean * scale if bias is None else bias - running_mean * scale
    return input * _by_channel(scale, input) + _by_channel(shift, input)


@call("group_norm")
def group_norm(
    input: Tensor, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    """Over the channels of a group, for each item."""
    groups = rules.reshape(input, shape=(input.shape[0], num_groups, -1))
    normal = rules.reshape(rules.standardise(groups, dim=(2,), eps=eps), shape=tuple(input.shape))
    return _scaled_and_shifted(normal, _by_channel(weight, input), _by_channel(bias, input))


@call("instance_norm")
def instance_norm(
    input: Tensor, running_mean: Any = None, running_var: Any = None, weight: Any = None, bias: Any = None,
    use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5,
) -> Any:  # fmt: skip
    """Over the picture of each channel of each item."""
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    dims = tuple(range(2, len(input.shape)))
    return _by_statistics(in_order(input), dims, running_mean, running_var, weight, bias, momentum, eps)


def _by_statistics(
    input: Tensor, dims: tuple[int, ...], mean: Any, variance: Any, weight: Any, bias: Any, momentum: float,
    eps: float,
) -> Any:  # fmt: skip
    _keep_running(input, dims, mean, variance, momentum)
    normal = rules.standardise(input, dim=dims, eps=eps)
    return _scaled_and_shifted(normal, _by_channel(weight, input), _by_channel(bias, input))


def in_order(input: Tensor) -> Any:
    """In memory as torch's norms leave it: a dropout after it draws in that order, to draw the same."""
    is_last = len(input.shape) == 4 and input.is_contiguous(memory_format=torch.channels_last)
    return input if is_last else input.contiguous()


def _scaled_and_shifted(normal: Any, weight: Tensor | None, bias: Tensor | None) -> Any:
    if weight is not None:
        normal = normal * weight
    return normal if bias is None else normal + bias


def _last_dims(input: Tensor, shape: Sequence[int]) -> tuple[int, ...]:
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if tuple(input.shape[-len(sizes) :]) != sizes:
        raise InputError(f"the last dimensions are to be {sizes}, and the input has {tuple(input.shape)}.")
    return tuple(range(-len(sizes), 0))


def _by_channel(value: Any, like: Tensor) -> Any:
    """One number for each channel, in the dimension where the channels are."""
    return None if value is None else value.reshape(1, -1, *[1] * (len(like.shape) - 2))


def _keep_running(
    input: Tensor, dims: tuple[int, ...], mean: Tensor | None, variance: Tensor | None, momentum: float
) -> None:
    """Move the running statistics towards those of this batch. No gradient goes through that."""
    if mean is None and variance is None:
        return
    with as_plain():
        now = input.as_subclass(Tensor)
        num_each = math.prod(now.shape[dim] for dim in dims)
        centre = now.mean(dims, keepdim=True)
        if mean is not None:
            _move(mean, centre.reshape(-1, mean.numel()), momentum)
        if variance is not None:
            spread = (now - centre).square_().sum(dims) / (num_each - 1)
            _move(variance, spread.reshape(-1, variance.numel()), momentum)


def _move(running: Tensor, batch: Tensor, momentum: float) -> None:
    # Instances have statistics of each item: their mean counts.
    running.mul_(1 - momentum).add_(batch.mean(0), alpha=momentum)


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


@call("conv1d")
def conv1d(
    input: Tensor, weight: Tensor, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1,
    groups: int = 1,
) -> Any:  # fmt: skip
    edge = padding if isinstance(padding, str) else _row(padding, 0)
    picture = input.unsqueeze(-2), weight.unsqueeze(-2), bias
    return conv2d(*picture, _row(stride), edge, _row(dilation), groups).squeeze(-2)


@call("conv_transpose2d", replace=True)
def conv_transpose2d(
    input: Tensor, weight: Tensor, bias: Any = None, stride: Any = 1, padding: Any = 0,
    output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
) -> Any:  # fmt: skip
    """Each pixel paints a patch; patches that overlap add up."""
    stride, padding, dilation, more = pair(stride), pair(padding), pair(dilation), pair(output_padding)
    is_single = len(input.shape) == 3
    pictures = input.unsqueeze(0) if is_single else input
    reached = reached_by(pictures, weight, stride, padding, dilation)
    size = (reached[0] + more[0], reached[1] + more[1])
    result = rules.conv_transpose2d(
        pictures, weight, bias, size=size, stride=stride, padding=padding, dilation=dilation, groups=groups
    )
    return result.squeeze(0) if is_single else result


@call("conv_transpose1d")
def conv_transpose1d(
    input: Tensor, weight: Tensor, bias: Any = None, stride: Any = 1, padding: Any = 0,
    output_padding: Any = 0, groups: int = 1, dilation: Any = 1,
) -> Any:  # fmt: skip
    how: tuple[Any, ...] = _row(stride), _row(padding, 0), _row(output_padding, 0), groups, _row(dilation)
    return conv_transpose2d(input.unsqueeze(-2), weight.unsqueeze(-2), bias, *how).squeeze(-2)


def _row(value: Any, beside: int = 1) -> tuple[int, int]:
    return beside, _single(value)


def _single(value: Any) -> int:
    return value if isinstance(value, int) else int(value[0])


def _largest(
    pool: Callable[..., Any],
    num_dims: int,
    input: Tensor,
    *how: Any,
    return_indices: bool = False,
    **named: Any,
) -> Any:
    """torch says where the largest of each window is, and these are taken: their gradients go back there."""
    with as_plain():
        _, places = pool(input.as_subclass(Tensor), *how, **named, return_indices=True)
        others = tuple(input.shape[:-num_dims])
        flat_places = places.flatten(len(others))
    flat = rules.reshape(input, shape=(*others, math.prod(input.shape[-num_dims:])))
    taken = rules.gather(flat, dim=len(others), index=flat_places)
    pooled = rules.reshape(taken, shape=tuple(places.shape))
    return (pooled, places) if return_indices else pooled


call("max_pool1d", "max_pool1d_with_indices")(partial(_largest, F.max_pool1d, 1))
call("max_pool2d", "max_pool2d_with_indices")(partial(_largest, F.max_pool2d, 2))
call("adaptive_max_pool1d", "adaptive_max_pool1d_with_indices")(partial(_largest, F.adaptive_max_pool1d, 1))
call("adaptive_max_pool2d", "adaptive_max_pool2d_with_indices")(partial(_largest, F.adaptive_max_pool2d, 2))


@call("avg_pool2d")
def avg_pool2d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None,
) -> Any:  # fmt: skip
    kernel, edge = pair(kernel_size), pair(padding)
    step = kernel if stride is None or stride == [] else pair(stride)
    height, width = input.shape[-2:]
    with as_plain():
        ones = torch.ones(1, 1, height, width, dtype=input.dtype, device=input.device)
        counts = F.avg_pool2d(ones, kernel, step, edge, ceil_mode, divisor_override=1)
        shares = F.avg_pool2d(ones, kernel, step, edge, ceil_mode, count_include_pad, divisor_override)
        shares = shares / counts  # by how much each window is divided, its edges looked after by torch
        # The last windows may reach beyond the picture; there it is filled with zeros.
        missing = [
            max(0, (counts.shape[2 + i] - 1) * step[i] + kernel[i] - 2 * edge[i] - input.shape[-2 + i])
            for i in (0, 1)
        ]
        window = torch.ones(1, 1, *kernel, dtype=input.dtype, device=input.device)
    pictures: Tensor = rules.reshape(input, shape=(-1, 1, height, width))
    if any(missing):
        pictures = F.pad(pictures, (0, missing[1], 0, missing[0]))
    sums = rules.conv2d(pictures, window, None, stride=step, padding=edge, dilation=(1, 1), groups=1)
    if sums.shape[2:] != counts.shape[2:]:
        sums = rules.index(sums, key=(..., slice(counts.shape[2]), slice(counts.shape[3])))
    return rules.reshape(sums * shares, shape=(*input.shape[:-2], *counts.shape[2:]))


@call("avg_pool1d")
def avg_pool1d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, *how: bool, **named: bool
) -> Any:
    """A sequence is a picture of one row."""
    step = _row(kernel_size if stride is None or stride == [] else stride)
    picture = input.unsqueeze(-2)
    return avg_pool2d(picture, _row(kernel_size), step, _row(padding, 0), *how, **named).squeeze(-2)


@call("adaptive_avg_pool1d")
def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Any:
    with as_plain():
        shares = F.adaptive_avg_pool1d(_units(input, -1), _single(output_size))
    return torch.matmul(input, shares)


@call("adaptive_avg_pool2d")
def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Any:
    """Windows of almost the same size, so many that the picture has this size."""
    sizes = (output_size, output_size) if isinstance(output_size, int) else tuple(output_size)
    height, width = (input.shape[i - 2] if sizes[i] is None else sizes[i] for i in (0, 1))
    if (height, width) == (1, 1):
        return input.mean((-2, -1), keepdim=True)
    with as_plain():
        of_rows = F.adaptive_avg_pool1d(_units(input, -2), height).mT.contiguous()
        of_columns = F.adaptive_avg_pool1d(_units(input, -1), width)
    return torch.matmul(of_rows, torch.matmul(input, of_columns))


@call("interpolate")
def interpolate(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
    align_corners: bool | None = None, recompute_scale_factor: bool | None = None, antialias: bool = False,
) -> Any:  # fmt: skip
    """Larger or smaller pictures and sequences. All modes are linear, in rows first and then in columns.

    So what torch makes of the unit vectors says everything: it is the matrix to multiply with.
    """
    num_dims = len(input.shape) - 2
    if num_dims not in (1, 2):
        raise InputError(f"sequences and pictures can be interpolated, not a tensor of {tuple(input.shape)}.")
    sizes, factors = _each(size, num_dims), _each(scale_factor, num_dims)
    mode = "bilinear" if mode == "linear" else mode
    how: dict[str, Any] = {"mode": mode, "recompute_scale_factor": recompute_scale_factor}
    if mode in ("bilinear", "bicubic"):
        how.update(align_corners=align_corners, antialias=antialias)
    for i in range(num_dims):
        dim = i - num_dims
        with as_plain():
            goal: dict[str, Any] = {
                "size": None if sizes[i] is None else (1, sizes[i]),
                "scale_factor": None if factors[i] is None else (1.0, factors[i]),
            }
            matrix = F.interpolate(_units(input, dim)[None, :, None], **goal, **how)[0, :, 0]
        input = _along(input, matrix, dim, is_choice=mode.startswith("nearest"))
    return input


def _along(input: Tensor, matrix: Tensor, dim: int, *, is_choice: bool) -> Any:
    if is_choice:
        places = matrix.argmax(0)  # each new one is a copy of one that was there
        return rules.index(input, key=(..., places) if dim == -1 else (..., places, slice(None)))
    return torch.matmul(input, matrix) if dim == -1 else torch.matmul(matrix.mT.contiguous(), input)


def _units(like: Tensor, dim: int) -> Tensor:
    return torch.eye(like.shape[dim], dtype=like.dtype, device=like.device)


def _each(value: Any, num_dims: int) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value] * num_dims


_IN_PYTHON: Final = """
    softsign tanhshrink softmin gumbel_softmax normalize lp_pool1d lp_pool2d multi_head_attention_forward
    multilabel_soft_margin_loss triplet_margin_with_distance_loss
"""


@call(*_IN_PYTHON.split(), asks=True)
def as_it_stands(function: Any, *args: Any, **named: Any) -> Any:
    """Run as it stands in torch: what it calls comes to us by itself."""
    return _copied(function)(*args, **named)


@functools.cache
def _copied(function: FunctionType) -> FunctionType:
    """It begins with the question whether somebody else is to be called. In the copy the answer is no."""
    questions = [name for name in function.__code__.co_names if name.startswith("has_torch_function")]
    names = {**function.__globals__, **dict.fromkeys(questions, lambda *_: False)}
    copied = FunctionType(function.__code__, names, function.__name__, function.__defaults__)
    copied.__kwdefaults__ = function.__kwdefaults__
    return copied
