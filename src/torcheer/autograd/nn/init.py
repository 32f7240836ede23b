"""Initial values, by torch's names: each writes into a parameter, outside of the graph, and returns it.

With the same seed they draw the same numbers as torch's. `torch.nn.init` itself takes our parameters, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Generator, Tensor

from torcheer.autograd.modes import as_plain
from torcheer.errors import InputError

P = TypeVar("P", bound=Tensor)


def _written(tensor: P, write: Callable[[P], object]) -> P:
    with as_plain(), torch.no_grad():
        write(tensor)
    return tensor


def uniform_(tensor: P, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> P:
    return _written(tensor, lambda t: t.uniform_(a, b, generator=generator))


def normal_(tensor: P, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> P:
    return _written(tensor, lambda t: t.normal_(mean, std, generator=generator))


def constant_(tensor: P, val: float) -> P:
    return _written(tensor, lambda t: t.fill_(val))


def zeros_(tensor: P) -> P:
    return constant_(tensor, 0.0)


def ones_(tensor: P) -> P:
    return constant_(tensor, 1.0)


def eye_(tensor: P) -> P:
    """The matrix that changes nothing."""
    rows, columns = tensor.shape
    return _written(tensor, lambda t: t.copy_(torch.eye(rows, columns)))


def xavier_uniform_(tensor: P, gain: float = 1.0, generator: Generator | None = None) -> P:
    """So that numbers neither grow nor shrink on the way through, nor gradients on the way back."""
    fan_in, fan_out = fans_of(tensor)
    bound = math.sqrt(3.0) * gain * math.sqrt(2.0 / (fan_in + fan_out))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: P, gain: float = 1.0, generator: Generator | None = None) -> P:
    fan_in, fan_out = fans_of(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / (fan_in + fan_out)), generator)


def kaiming_uniform_(
    tensor: P,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> P:
    """The same for one direction only, with an activation that takes away a part."""
    bound = math.sqrt(3.0) * calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode))
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: P,
    a: float = 0.0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> P:
    return normal_(tensor, 0.0, calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode)), generator)


def trunc_normal_(
    tensor: P,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> P:
    """A normal distribution of which only the part from `a` to `b` is drawn.

    What falls outside is drawn again. Where that would be most of it, numbers are drawn evenly between the
    bounds, and each is taken as often as the distribution has it, compared with its peak there.
    """

    def below(x: float) -> float:
        return (1.0 + math.erf((x - mean) / std / math.sqrt(2.0))) / 2.0

    def draw_again_outside(t: P) -> None:
        low, high = (t.new_tensor(bound, device="cpu").item() for bound in (a, b))  # as the tensor has them
        t.normal_(mean, std, generator=generator)
        while bool((outside := (t < low) | (t > high)).any()):
            t.copy_(torch.where(outside, torch.empty_like(t).normal_(mean, std, generator=generator), t))

    def take_as_often(t: P) -> None:
        peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2

        def is_refused(drawn: Tensor) -> Tensor:
            often = drawn.sub(mean).div(std).pow(2).mul(-0.5).sub(peak)
            return torch.empty_like(drawn).uniform_(generator=generator).log().gt(often)

        waiting = is_refused(t.uniform_(a, b, generator=generator))
        while bool(waiting.any()):
            drawn = torch.empty_like(t).uniform_(a, b, generator=generator)
            t.copy_(torch.where(waiting, drawn, t))
            waiting = waiting & is_refused(drawn)

    return _written(tensor, draw_again_outside if below(b) - below(a) > 0.3 else take_as_often)


def orthogonal_(tensor: P, gain: float = 1.0, generator: Generator | None = None) -> P:
    """Rows, or columns if there are more of them, at right angles: lengths stay."""
    if tensor.dim() < 2:
        raise InputError("a vector has no rows that could be at right angles: orthogonal_ takes a matrix.")

    def write(t: P) -> None:
        rows = t.shape[0]
        drawn = torch.empty(rows, t.numel() // rows, dtype=t.dtype, device=t.device)
        drawn.normal_(0, 1, generator=generator)
        wide = rows < drawn.shape[1]
        q, r = torch.linalg.qr(drawn.mT if wide else drawn)
        q = q * torch.diagonal(r).sign()
        t.copy_((q.mT if wide else q).reshape(t.shape)).mul_(gain)

    return _written(tensor, write)


def dirac_(tensor: P, groups: int = 1) -> P:
    """A convolution that changes nothing, as far as it has channels for it."""
    if tensor.dim() not in (3, 4, 5) or tensor.shape[0] % groups:
        raise InputError(
            f"a weight of shape {tuple(tensor.shape)} is of no convolution in {groups} groups: it takes 3 to "
            "5 dimensions, and as many channels in each group."
        )
    size = tensor.shape[0] // groups
    middle = tuple(one // 2 for one in tensor.shape[2:])

    def write(t: P) -> None:
        t.zero_()
        for group in range(groups):
            for channel in range(min(size, t.shape[1])):
                t[(group * size + channel, channel, *middle)] = 1.0

    return _written(tensor, write)


def sparse_(tensor: P, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> P:
    """Columns in which so large a share of the numbers is zero, and the others are near it."""
    if tensor.dim() != 2:
        raise InputError(f"a weight of shape {tuple(tensor.shape)} is no matrix: sparse_ takes one.")

    def write(t: P) -> None:
        rows, columns = t.shape
        t.normal_(0, std, generator=generator)
        for column in range(columns):
            t[torch.randperm(rows)[: math.ceil(sparsity * rows)], column] = 0.0

    return _written(tensor, write)


def calculate_gain(nonlinearity: str, param: Any = None) -> float:
    """By how much an activation makes numbers smaller, turned round."""
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else float(param)
        return math.sqrt(2.0 / (1 + slope**2))
    known = {"relu": math.sqrt(2.0), "tanh": 5.0 / 3, "selu": 3.0 / 4}
    if nonlinearity in known:
        return known[nonlinearity]
    if nonlinearity in ("linear", "sigmoid", "conv1d", "conv2d", "conv_transpose1d", "conv_transpose2d"):
        return 1.0
    raise InputError(f"no gain is known for {nonlinearity!r}: pass one as a number where that is possible.")


def fans_of(tensor: Tensor) -> tuple[int, int]:
    """How many numbers each unit takes in, and to how many it gives out."""
    if tensor.dim() < 2:
        raise InputError(f"a weight of shape {tuple(tensor.shape)} has no units: it takes two dimensions.")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _fan(tensor: Tensor, mode: str) -> int:
    if mode not in ("fan_in", "fan_out"):
        raise InputError(f"mode is 'fan_in' or 'fan_out', not {mode!r}.")
    return fans_of(tensor)[0 if mode == "fan_in" else 1]
