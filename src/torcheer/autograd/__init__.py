"""Automatic differentiation to look into: `import torcheer.autograd as torch`, and a script runs on it.

`tracer` is a tensor that remembers its operations, `rules.py` the table of what each does to a gradient,
and `engine.py` the walk back. Of torch only functions are used that compute forward: `WHITELIST` names them.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any, Final

import torch as _torch

from torcheer.autograd import capitalised_names as _seed_aliases
from torcheer.autograd import composed as _composed
from torcheer.autograd import factories as _factories
from torcheer.autograd.engine import Node, Rule, Way, apply, grad, newest_first, tracer, walk_back
from torcheer.autograd.factories import drawn, param
from torcheer.autograd.modes import Recording as _Recording
from torcheer.autograd.modes import as_plain, enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from torcheer.autograd.rules import RULES, rule
from torcheer.autograd.torch_calls import CALLS as _CALLS
from torcheer.autograd.torch_calls import WHITELIST, tensors_in

if TYPE_CHECKING:
    from torcheer.autograd.activation_checkpoint import checkpoint
    from torcheer.autograd.gradient_check import gradcheck

_seed_aliases.install()

globals().update({name: _factories.factory(name) for name in _factories.NAMES})

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
    *_factories.NAMES,
]


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
