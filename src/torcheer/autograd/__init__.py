"""Automatic differentiation to look into: `import torcheer.autograd as torch`, and a script runs on it.

`tracer` is a tensor that remembers its operations, `rules.py` the table of what each does to a gradient,
and `engine.py` the walk back. Of torch only functions are used that compute forward: `WHITELIST` names them.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import torch as _torch

from torcheer.autograd import capitalised_names as _seed_aliases
from torcheer.autograd import composed as _composed
from torcheer.autograd.engine import Node, Rule, Way, apply, grad, newest_first, tracer, walk_back
from torcheer.autograd.modes import Recording as _Recording
from torcheer.autograd.modes import as_plain, enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from torcheer.autograd.rules import RULES, rule
from torcheer.autograd.torch_calls import CALLS as _CALLS
from torcheer.autograd.torch_calls import WHITELIST, tensors_in

if TYPE_CHECKING:
    from torcheer.autograd.activation_checkpoint import checkpoint
    from torcheer.autograd.gradient_check import gradcheck

_seed_aliases.install()

# Functions of torch's that make tensors. They take `requires_grad`, or a script later asks their results to
# require a gradient.
_FACTORIES: Final = tuple(
    """
    tensor as_tensor asarray from_numpy zeros ones full empty eye rand randn normal arange linspace logspace
    zeros_like ones_like full_like empty_like rand_like randn_like
    """.split()
)

# Read when they are asked for: nn and optim stand on all of this.
_ROOMS: Final = ("nn", "optim")
_ELSEWHERE: Final = {
    "functional": "torcheer.autograd.nn",
    "checkpoint": "torcheer.autograd.activation_checkpoint",
    "gradcheck": "torcheer.autograd.gradient_check",
}
__all__ = [
    "RULES",
    "WHITELIST",
    "checkpoint",
    "enable_grad",
    "functional",
    "grad",
    "gradcheck",
    "is_grad_enabled",
    "nn",
    "no_grad",
    "optim",
    "param",
    "rule",
    "set_grad_enabled",
    "tracer",
    *_FACTORIES,
]


def param(*sizes: Any, seed: int | None = None, dtype: _torch.dtype | None = None) -> tracer:
    """Weights to learn with: `param(3, 4, seed=1)` at random, or as given, `param([[1.0, 2.0]])`."""
    if not all(isinstance(one, int) for one in sizes):
        return tracer(*sizes, dtype=dtype, requires_grad=True)
    return tracer(drawn(sizes, seed, dtype) / 2, requires_grad=True)


def drawn(sizes: Sequence[int], seed: int | None, dtype: _torch.dtype | None = None) -> _torch.Tensor:
    """Random numbers of a few digits: they can be read, and halves of them are exact, too.

    A seed gives the same ones each time, and leaves torch's own random numbers as they are.
    """
    with as_plain():
        source = None if seed is None else _torch.Generator().manual_seed(seed)
        numbers = _torch.randn(tuple(sizes), generator=source, dtype=_torch.float64)
        return numbers.mul(50).round().div(50).to(dtype or _torch.get_default_dtype())


def _factory(name: str) -> Callable[..., Any]:
    """Makes floats as tracers, so that `requires_grad_()` is ours."""
    make = getattr(_torch, name)

    def made(*args: Any, requires_grad: bool = False, **kwargs: Any) -> Any:
        if name == "randn" and kwargs.get("seed") is not None:  # as in the expressions of the page Learn
            return tracer(drawn(args, **kwargs), requires_grad=requires_grad)
        if name == "as_tensor" and args and isinstance(args[0], tracer):
            return args[0].to(**kwargs) if kwargs else args[0]  # it keeps its history
        with as_plain():
            value: _torch.Tensor = make(*args, **kwargs)
        if not requires_grad and not value.is_floating_point():
            return value
        return tracer(value, requires_grad=requires_grad)

    made.__name__ = made.__qualname__ = name
    made.__doc__ = f"torch.{name}: floats come as tracers; with requires_grad=True they want a gradient."
    return made


globals().update({name: _factory(name) for name in _FACTORIES})


def inference_mode(mode: Any = True) -> Any:
    """What torch's does for speed is here the same as `no_grad()`."""
    return no_grad(mode) if callable(mode) else _Recording(not mode)


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"{__name__}.{name}")
    if name == "autograd":  # `torch.autograd.grad` of a script that moved over
        return sys.modules[__name__]
    if name in _ELSEWHERE:
        return getattr(importlib.import_module(_ELSEWHERE[name]), name)
    if _is_torchs(name):
        return getattr(_torch, name)
    raise AttributeError(
        f"torcheer.autograd has no {name}. It has nn, optim, tensors and gradients of its own, and those "
        "functions of torch for which there is a rule; from torch itself (import torch) come all others."
    )


def _is_torchs(name: str) -> bool:
    """Whether it is torch's own here, too: it is on the list, or there is a rule behind it, or it computes.

    One that computes and has no rule says so, and how to write it, when it is called with a tracer.
    """
    is_known = f"torch.{name}" in WHITELIST or name in _CALLS or hasattr(_torch._C._VariableFunctions, name)
    return is_known and (name[0] != "_" or name == "__version__") and hasattr(_torch, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in dir(_torch) if _is_torchs(name))})
