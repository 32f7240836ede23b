"""Adam and AdamW: each number of a parameter gets a step size of its own."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import torch
from torch import Tensor

from torcheer.autograd.optim.optimizer import Optimizer
from torcheer.errors import InputError


class Adam(Optimizer):
    """p ← p - lr · m / (√v + eps), with the running means m of the gradient and v of its square.

    Both start at 0, which makes them too small at first: they are divided by how much they can have gathered.
    """

    decays_weights_apart: ClassVar[bool] = False  # from the gradient: AdamW

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        fused: bool | None = None,
    ) -> None:
        if not all(0 <= beta < 1 for beta in betas):
            raise InputError(f"betas are from 0 up to below 1, not {betas}.")
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def update(self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not state:
            state["step"] = torch.tensor(0.0)
            state["exp_avg"] = torch.zeros_like(param)
            state["exp_avg_sq"] = torch.zeros_like(param)
            if group["amsgrad"]:
                state["max_exp_avg_sq"] = torch.zeros_like(param)
        state["step"] += 1
        step = int(state["step"])
        (beta1, beta2), lr, decay = group["betas"], group["lr"], group["weight_decay"]
        if decay and self.decays_weights_apart:
            param.mul_(1 - lr * decay)
        elif decay:
            grad = grad.add(param, alpha=decay)
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        mean.lerp_(grad, 1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        if group["amsgrad"]:
            square = torch.maximum(state["max_exp_avg_sq"], square, out=state["max_exp_avg_sq"])
        size = (square.sqrt() / math.sqrt(1 - beta2**step)).add_(group["eps"])
        param.addcdiv_(mean, size, value=-lr / (1 - beta1**step))


class AdamW(Adam):
    """Adam whose weight decay is a step by itself, not part of the gradient."""

    decays_weights_apart = True

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        fused: bool | None = None,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)
