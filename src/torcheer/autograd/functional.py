"""The ops of nn as functions, by torch's names: `from torcheer.autograd.nn import functional as F`.

They are those that calls of torch's lead to, so `F.relu` here and `torch.nn.functional.relu` do the same with
a tracer.
"""

from __future__ import annotations

from typing import Any

import torch.nn.functional

from torcheer.autograd.torch_calls import CALLS


def __getattr__(name: str) -> Any:
    if name.startswith("_") or not hasattr(torch.nn.functional, name):
        raise AttributeError(f"torch.nn.functional has no {name}, so neither is it here.")
    # One without an entry asks for a rule when it is called with a tracer that wants a gradient.
    globals()[name] = found = CALLS.get(name) or getattr(torch.nn.functional, name)
    return found


def __dir__() -> list[str]:
    return sorted(name for name in CALLS if hasattr(torch.nn.functional, name))
