"""Activations as layers: between linear ones, so that together they are more than one of them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from torcheer.autograd.nn import functional as F
from torcheer.autograd.nn.module import Module
from torcheer.autograd.nn.parameter import Parameter


class _Plain(Module):
    """One without numbers to choose. `inplace` is taken for torch's sake: there is always a new tensor."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()


class ReLU(_Plain):
    def forward(self, x: Tensor) -> Any:
        return F.relu(x)


class ReLU6(_Plain):
    def forward(self, x: Tensor) -> Any:
        return F.relu6(x)


class SELU(_Plain):
    def forward(self, x: Tensor) -> Any:
        return F.selu(x)


class SiLU(_Plain):
    def forward(self, x: Tensor) -> Any:
        return F.silu(x)


class Mish(_Plain):
    def forward(self, x: Tensor) -> Any:
        return F.mish(x)


class Hardswish(_Plain):
    def forward(self, x: Tensor) -> Any:
        return F.hardswish(x)


class Hardsigmoid(_Plain):
    def forward(self, x: Tensor) -> Any:
        return F.hardsigmoid(x)


class Tanh(Module):
    def forward(self, x: Tensor) -> Any:
        return torch.tanh(x)


class Sigmoid(Module):
    def forward(self, x: Tensor) -> Any:
        return torch.sigmoid(x)


class LogSigmoid(Module):
    def forward(self, x: Tensor) -> Any:
        return F.logsigmoid(x)


class Softsign(Module):
    def forward(self, x: Tensor) -> Any:
        return F.softsign(x)


class Tanhshrink(Module):
    def forward(self, x: Tensor) -> Any:
        return F.tanhshrink(x)


class _Shrink(Module):
    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        return str(self.lambd)


class Softshrink(_Shrink):
    def forward(self, x: Tensor) -> Any:
        return F.softshrink(x, self.lambd)


class Hardshrink(_Shrink):
    def forward(self, x: Tensor) -> Any:
        return F.hardshrink(x, self.lambd)


class Threshold(Module):
    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold, self.value = threshold, value

    def forward(self, x: Tensor) -> Any:
        return F.threshold(x, self.threshold, self.value)

    def extra_repr(self) -> str:
        return f"{self.threshold}, {self.value}"


class LeakyReLU(Module):
    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x: Tensor) -> Any:
        return F.leaky_relu(x, self.negative_slope)

    def extra_repr(self) -> str:
        return str(self.negative_slope)


class PReLU(Module):
    """A leaky one that learns how much leaks, for all or for each channel."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.weight = Parameter(torch.full((num_parameters,), init))

    def forward(self, x: Tensor) -> Any:
        return F.prelu(x, self.weight)

    def extra_repr(self) -> str:
        return str(self.num_parameters)


class ELU(Module):
    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha

    def forward(self, x: Tensor) -> Any:
        return F.elu(x, self.alpha)

    def extra_repr(self) -> str:
        return str(self.alpha)


class CELU(Module):
    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha

    def forward(self, x: Tensor) -> Any:
        return F.celu(x, self.alpha)

    def extra_repr(self) -> str:
        return str(self.alpha)


class GELU(Module):
    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, x: Tensor) -> Any:
        return F.gelu(x, approximate=self.approximate)

    def extra_repr(self) -> str:
        return "" if self.approximate == "none" else self.approximate


class Softplus(Module):
    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta, self.threshold = beta, threshold

    def forward(self, x: Tensor) -> Any:
        return F.softplus(x, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return "" if self.beta == 1 else str(self.beta)


class Hardtanh(Module):
    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.min_val, self.max_val = min_val, max_val

    def forward(self, x: Tensor) -> Any:
        return F.hardtanh(x, self.min_val, self.max_val)

    def extra_repr(self) -> str:
        return f"{self.min_val}, {self.max_val}"


class GLU(Module):
    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, x: Tensor) -> Any:
        return F.glu(x, self.dim)

    def extra_repr(self) -> str:
        return str(self.dim)


class Softmax(Module):
    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, x: Tensor) -> Any:
        return torch.softmax(x, self.dim)

    def extra_repr(self) -> str:
        return str(self.dim)


class LogSoftmax(Module):
    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, x: Tensor) -> Any:
        return torch.log_softmax(x, self.dim)

    def extra_repr(self) -> str:
        return str(self.dim)


class Softmin(Softmax):
    def forward(self, x: Tensor) -> Any:
        return F.softmin(x, self.dim)


class Softmax2d(Module):
    """Over the channels of each pixel."""

    def forward(self, x: Tensor) -> Any:
        return torch.softmax(x, -3)
