"""What stands between the layers of a network, composed of exp, tanh and choices between pieces.

Each has its formula in its code. Where two pieces meet, the gradient is the one that torch gives.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from torcheer.autograd import rules
from torcheer.autograd.calls import call, not_in_place, plain
from torcheer.autograd.composed.elementwise import finely
from torcheer.autograd.modes import as_plain
from torcheer.autograd.signatures import softmax
from torcheer.errors import InputError

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
