"""RMSprop and Adagrad: steps are divided by how large gradients usually are."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from torcheer.autograd.optim.optimizer import Optimizer


class RMSprop(Optimizer):
    """p ← p - lr · g / (√v + eps), with the running mean v of the square of the gradient."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        fused: bool | None = None,
    ) -> None:
        defaults = {
            "lr": lr,
            "alpha": alpha,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "centered": centered,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def update(self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not state:
            state["step"] = torch.tensor(0.0)
            state["square_avg"] = torch.zeros_like(param)
            if group["momentum"] > 0:
                state["momentum_buffer"] = torch.zeros_like(param)
            if group["centered"]:
                state["grad_avg"] = torch.zeros_like(param)
        state["step"] += 1
        if group["weight_decay"]:
            grad = grad.add(param, alpha=group["weight_decay"])
        square: Tensor = state["square_avg"]
        square.mul_(group["alpha"]).addcmul_(grad, grad, value=1 - group["alpha"])
        if group["centered"]:
            mean = state["grad_avg"].lerp_(grad, 1 - group["alpha"])
            square = square.addcmul(mean, mean, value=-1)
        size = square.sqrt().add_(group["eps"])
        if group["momentum"] > 0:
            buffer = state["momentum_buffer"].mul_(group["momentum"]).addcdiv_(grad, size)
            param.add_(buffer, alpha=-group["lr"])
        else:
            param.addcdiv_(grad, size, value=-group["lr"])


class Adagrad(Optimizer):
    """p ← p - lr · g / (√s + eps), with the sum s of all squares so far: steps only become smaller."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        fused: bool | None = None,
    ) -> None:
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def update(self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not state:
            state["step"] = torch.tensor(0.0)
            state["sum"] = torch.full_like(param, group["initial_accumulator_value"])
        state["step"] += 1
        if group["weight_decay"]:
            grad = grad.add(param, alpha=group["weight_decay"])
        total = state["sum"].addcmul_(grad, grad)
        lr = group["lr"] / (1 + (int(state["step"]) - 1) * group["lr_decay"])
        param.addcdiv_(grad, total.sqrt().add_(group["eps"]), value=-lr)
