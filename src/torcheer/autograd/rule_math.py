"""Slopes, shares, gates and convolutions that take more than a line in rules.py."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import EllipsisType
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from torcheer.autograd.torch_calls import places_of


def power_slope(base: Any, exponent: Any) -> Any:
    """b a^(b-1), and 0 for b = 0, where the power is 1 whatever the base."""
    if isinstance(exponent, Tensor):
        return torch.where(exponent == 0, 0.0, exponent * base ** (exponent - 1))
    if exponent == 0:
        return 0.0
    return exponent * base if exponent == 2 else exponent * base ** (exponent - 1)


def log_of_base(base: Any, exponent: Tensor) -> Any:
    """ln a, and 0 for a = 0, where the power stays 0 for all positive exponents."""
    if isinstance(base, Tensor):
        return torch.where((base == 0) & (exponent >= 0), 0.0, torch.log(base))
    if base > 0:
        return math.log(base)
    return torch.where(exponent >= 0, 0.0, -math.inf) if base == 0 else math.nan


def is_largest(this: Tensor, other: Tensor) -> Tensor:
    """1 where this one is larger, a half where both are equal. Beside NaN each counts as the larger."""
    return (~(this < other)).to(this.dtype) - 0.5 * (this == other)


def spread(value: Tensor, like: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """What was left after a reduction, for each of the elements that it came from."""
    if not keepdim:
        for one in sorted(places_of(dim, like.dim())):
            value = value.unsqueeze(one)
    return value.expand(like.shape)


def share_of_largest(gradient: Tensor, largest: Tensor, value: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """To the elements that are the largest; where several are equal, in equal shares."""
    is_it = (value == spread(largest, value, dim, keepdim)).to(value.dtype)
    shares = is_it / is_it.sum(places_of(dim, value.dim()), keepdim=True)
    return spread(gradient, value, dim, keepdim) * shares


def inverse(dims: Sequence[int]) -> tuple[int, ...]:
    """The permutation that undoes this one."""
    places = [one % len(dims) for one in dims]
    return tuple(places.index(place) for place in range(len(places)))


def piece_of(whole: Tensor, which: int, parts: Sequence[Tensor], dim: int) -> Tensor:
    """The piece of a concatenation where one of the parts lies."""
    start = sum(part.shape[dim] for part in parts[:which])
    return whole.narrow(dim, start, parts[which].shape[dim])


def other_factors(
    gradient: Tensor, which: int, parts: Sequence[Tensor], terms: Sequence[str], output: str
) -> Tensor:
    """The gradient times all other factors of an einsum; the same along what only this one has."""
    others = [
        (term, part) for place, (term, part) in enumerate(zip(terms, parts, strict=True)) if place != which
    ]
    known = {*output, *(letter for term, _ in others for letter in term)}
    kept = "".join(letter for letter in terms[which] if letter in known)
    left = ",".join([output, *(term for term, _ in others)])
    product = torch.einsum(f"{left}->{kept}", gradient, *(part for _, part in others))
    shape = parts[which].shape
    apart = [size if letter in known else 1 for letter, size in zip(terms[which], shape, strict=True)]
    return product.reshape(apart).expand(shape)


def lstm_memory_of(gates: Tensor, c: Tensor) -> Tensor:
    i, f, g, _ = gates.chunk(4, -1)
    return torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)


def lstm_memory_to_gates(grad: Tensor, gates: Tensor, c: Tensor) -> Tensor:
    i, f, g, o = gates.chunk(4, -1)
    i, f, g = torch.sigmoid(i), torch.sigmoid(f), torch.tanh(g)
    to_i = grad * g * i * (1 - i)
    to_f = grad * c * f * (1 - f)
    to_g = grad * i * (1 - g * g)
    return torch.cat([to_i, to_f, to_g, torch.zeros_like(o)], -1)


def lstm_state_to_gates(grad: Tensor, gates: Tensor, c: Tensor) -> Tensor:
    i, _, _, o = gates.chunk(4, -1)
    o = torch.sigmoid(o)
    nothing = torch.zeros_like(i)
    return torch.cat([nothing, nothing, nothing, grad * torch.tanh(c) * o * (1 - o)], -1)


def lstm_state_to_memory(grad: Tensor, gates: Tensor, c: Tensor) -> Tensor:
    shown = torch.tanh(c)
    return grad * torch.sigmoid(gates.chunk(4, -1)[3]) * (1 - shown * shown)


def gru_state_of(x: Tensor, y: Tensor, h: Tensor) -> Tensor:
    """x is what comes from the input, y from the state, both with parts for r, z and n."""
    _, z, n = gru_gates(x, y)
    return n + z * (h - n)


def gru_to_state_part(grad: Tensor, x: Tensor, y: Tensor, h: Tensor) -> Tensor:
    to_r, to_z, to_n, r = gru_slopes(grad, x, y, h)
    return torch.cat([to_r, to_z, to_n * r], -1)


def gru_slopes(grad: Tensor, x: Tensor, y: Tensor, h: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    r, z, n = gru_gates(x, y)
    to_n = grad * (1 - z) * (1 - n * n)
    to_z = grad * (h - n) * z * (1 - z)
    to_r = to_n * y.chunk(3, -1)[2] * r * (1 - r)
    return to_r, to_z, to_n, r


def gru_gates(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    xr, xz, xn = x.chunk(3, -1)
    yr, yz, yn = y.chunk(3, -1)
    r = torch.sigmoid(xr + yr)
    return r, torch.sigmoid(xz + yz), torch.tanh(xn + r * yn)


Pair = tuple[int, int]


def reached_by(x: Tensor, w: Tensor, stride: Pair, padding: Pair, dilation: Pair) -> list[int]:
    """The size of the picture that the patches of all places reach."""
    return [
        (x.shape[2 + i] - 1) * stride[i] - 2 * padding[i] + dilation[i] * (w.shape[2 + i] - 1) + 1
        for i in (0, 1)
    ]


def conv_transpose_to(
    x: Tensor,
    w: Tensor,
    b: Tensor | None,
    *,
    size: Pair,
    stride: Pair,
    padding: Pair,
    dilation: Pair,
    groups: int,
) -> Tensor:
    """Spread each place over the patch that a convolution would have seen, to a picture of this size.

    A stride above 1 leaves open how large the picture was: rows at its end that no patch reached get zeros.
    """
    reached = reached_by(x, w, stride, padding, dilation)
    rest = (size[0] - reached[0], size[1] - reached[1])
    return F.conv_transpose2d(x, w, b, stride, padding, rest, groups, dilation)


def conv_weight_of(
    x: Tensor, w: Tensor, *, size: Pair, stride: Pair, padding: Pair, dilation: Pair, groups: int
) -> Tensor:
    """How much each weight of a kernel of this size met of x, weighed by w at the places where it met it.

    That is a convolution, too: with items and channels changed over, w is the kernel, which goes over x in
    steps of the dilation and is itself as wide apart as the stride.
    """
    num_items, num_channels = x.shape[:2]
    each = num_channels // groups
    if not num_items:  # of no channels torch makes no kernel
        return torch.zeros(w.shape[1], each, *size, dtype=x.dtype, device=x.device)
    pictures = x.reshape(num_items, groups, each, *x.shape[2:]).permute(2, 1, 0, 3, 4)
    pictures = pictures.reshape(each, groups * num_items, *x.shape[2:])
    met = F.conv2d(pictures, w.transpose(0, 1), None, dilation, padding, stride, groups)
    return met[:, :, : size[0], : size[1]].transpose(0, 1)


def pair(value: Any) -> Pair:
    """3 as (3, 3)."""
    if isinstance(value, int):
        return value, value
    both = tuple(value)
    return (both[0], both[0]) if len(both) == 1 else (both[0], both[1])


def placed(values: Tensor, *, shape: tuple[int, ...], key: Any) -> Tensor:
    """Zeros of this shape, with the values added where `key` points to; what it names twice gets both."""
    result = torch.zeros(shape, dtype=values.dtype, device=values.device)
    if _names_nothing_twice(key):
        result[key] = values
        return result
    if isinstance(key, Tensor) and key.dtype == torch.int64 and key.dim():
        # Whole rows, as of an embedding.
        return result.index_add_(0, key.reshape(-1) % shape[0], values.reshape(key.numel(), *shape[1:]))
    # Whatever the key is made of, masks, lists, slices: used on the places it says where each was.
    places = torch.arange(result.numel(), device=values.device).reshape(shape)[key]
    result.view(-1).index_add_(0, places.reshape(-1), values.reshape(-1))
    return result


def add_part(whole: Tensor, values: Tensor, *, key: Any) -> bool:
    """Add them where `key` points to, if it can be done in place; whether it was."""
    if not _names_nothing_twice(key):
        return False
    whole[key].add_(values)
    return True


def _names_nothing_twice(key: Any) -> bool:
    """Numbers and slices take each element once at most; lists of places may not."""
    parts = key if isinstance(key, tuple) else (key,)
    return all(
        part is None or (isinstance(part, int | slice | EllipsisType) and not isinstance(part, bool))
        for part in parts
    )


def standardised(a: Tensor, *, dim: tuple[int, ...], eps: float) -> Tensor:
    return (a - a.mean(dim, keepdim=True)) / deviation(a, dim, eps)


def deviation(a: Tensor, dim: tuple[int, ...], eps: float) -> Tensor:
    """The standard deviation; `eps` keeps it above 0."""
    centred = a - a.mean(dim, keepdim=True)
    return torch.sqrt((centred * centred).mean(dim, keepdim=True) + eps)


def unstandardised(g: Tensor, c: Tensor, a: Tensor, dim: tuple[int, ...], eps: float) -> Tensor:
    """Mean and variance stay whatever comes in, so what would change them is taken out of the gradient."""
    centred = g - g.mean(dim, keepdim=True)
    return (centred - c * (g * c).mean(dim, keepdim=True)) / deviation(a, dim, eps)
