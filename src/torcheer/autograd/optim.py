"""Optimizers, with torch's names: `import torcheer.autograd.optim as optim`.

Gradient descent and Adam stand here to be read. Every other optimizer, and every schedule, is torch's own.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from torcheer.autograd.modes import as_plain, as_traced

lr_scheduler = torch.optim.lr_scheduler
sys.modules[f"{__name__}.lr_scheduler"] = lr_scheduler  # `import torcheer.autograd.optim.lr_scheduler`

Closure = Callable[[], Any]


class Optimizer(torch.optim.Optimizer):
    """Parameters come in groups, and each group may have settings of its own; `defaults` fills in the others.

    A new kind of optimizer says in `update` what one step does with one parameter. Those here have their
    settings from torch's of the same name.
    """

    def step(self, closure: Closure | None = None) -> Any:
        """Move each parameter that has a gradient. A closure computes the loss again, before."""
        loss = None if closure is None else closure()
        with as_plain(), torch.no_grad():  # in place, as on ordinary tensors: nobody remembers it
            for group in self.param_groups:
                for one in group["params"]:
                    gradient = one.grad
                    if gradient is not None:
                        gradient = -gradient if group.get("maximize") else gradient
                        self.update(one, gradient, self.state[one], group)
        return loss

    def update(self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        raise NotImplementedError


class SGD(Optimizer, torch.optim.SGD):
    """p ← p - lr · g. With momentum, g is a sum of all gradients so far in which the older ones fade."""

    def update(self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        if group["weight_decay"]:
            grad = grad.add(param, alpha=group["weight_decay"])
        momentum = group["momentum"]
        if momentum:
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = state["momentum_buffer"] = grad.clone()
            else:
                buffer.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
            grad = grad.add(buffer, alpha=momentum) if group["nesterov"] else buffer
        param.add_(grad, alpha=-group["lr"])


class Adam(Optimizer, torch.optim.Adam):
    """p ← p - lr · m / (√v + eps), with the running means m of the gradient and v of its square.

    Both start at 0, which makes them too small at first: they are divided by how much they can have gathered.
    """

    def update(self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any]) -> None:
        if not state:
            state["step"] = torch.tensor(0.0)
            state["exp_avg"] = torch.zeros_like(param)
            state["exp_avg_sq"] = torch.zeros_like(param)
            if group["amsgrad"]:
                state["max_exp_avg_sq"] = torch.zeros_like(param)
        state["step"] += 1
        step = int(state["step"])
        (beta1, beta2), lr = group["betas"], group["lr"]
        if group["weight_decay"]:
            grad = grad.add(param, alpha=group["weight_decay"])
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        mean.lerp_(grad, 1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        if group["amsgrad"]:
            square = torch.maximum(state["max_exp_avg_sq"], square, out=state["max_exp_avg_sq"])
        size = (square.sqrt() / math.sqrt(1 - beta2**step)).add_(group["eps"])
        param.addcdiv_(mean, size, value=-lr / (1 - beta1**step))


def of_torch(torchs: type[torch.optim.Optimizer]) -> type[torch.optim.Optimizer]:
    """An optimizer of torch's that moves tracers: inside of a step they are ordinary tensors."""

    def step(self: Any, closure: Closure | None = None) -> Any:
        def loss() -> Any:
            assert closure is not None
            with as_traced():
                return closure()

        with as_plain():
            return torchs.step(self, None if closure is None else loss)

    return type(torchs.__name__, (torchs,), {"__doc__": torchs.__doc__, "__module__": __name__, "step": step})


def _is_torchs(name: str) -> bool:
    found = getattr(torch.optim, name, None)
    return isinstance(found, type) and issubclass(found, torch.optim.Optimizer)


__all__ = ["lr_scheduler", *filter(_is_torchs, dir(torch.optim))]


def __getattr__(name: str) -> Any:
    if not _is_torchs(name):
        raise AttributeError(
            f"torcheer.autograd.optim has no {name}, only {', '.join(__all__)}. One of your own is a class "
            "on optim.Optimizer with an update(self, param, grad, state, group) that says what one step does."
        )
    globals()[name] = made = of_torch(getattr(torch.optim, name))
    return made


def __dir__() -> list[str]:
    return sorted(__all__)
