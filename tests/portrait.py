"""All that hangs on a model, in a form that can be compared: made with nothing of torcheer."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Mapping
from types import MemberDescriptorType, ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

_DEPTH = 8


def portrait(model: nn.Module, *, with_weights: bool = True) -> dict[str, Any]:
    """Every attribute of every module and all that is in it, modes, hooks, numbers and random generators.

    Without weights it is for calls that train: what they may change is left out.
    """
    seen: dict[str, Any] = {}
    for address, module in model.named_modules(remove_duplicate=False):
        for name, value in vars(module).items():
            if name not in ("_parameters", "_buffers", "_modules"):
                seen[f"{address}: {name}"] = look(value)
        seen[f"{address}: members"] = [list(module._parameters), list(module._buffers), list(module._modules)]
    if with_weights:
        for name, tensor in (*model.named_parameters(), *model.named_buffers()):
            grad = None if tensor.grad is None else look(tensor.grad)
            seen[name] = (look(tensor), tensor.requires_grad, grad)
        name, keys, *rest = np.random.get_state()
        seen["random"] = [random.getstate(), name, keys.tolist(), rest, torch.get_rng_state().tolist()]
    return seen


_GENERATORS: tuple[tuple[type, Any], ...] = (
    (torch.Generator, lambda generator: generator.get_state().tolist()),
    (random.Random, random.Random.getstate),
    (np.random.Generator, lambda generator: repr(generator.bit_generator.state)),
    (np.random.RandomState, lambda generator: repr(generator.get_state(legacy=False))),
)


def look(value: Any, depth: int = 0) -> Any:
    """What is in a value, with the identity of each container."""
    if isinstance(value, Tensor):
        return (id(value), value.dtype, tuple(value.shape), repr(value.detach().flatten().tolist()))
    if isinstance(value, np.ndarray):
        return (id(value) if depth else 0, value.dtype, repr(value.tolist()))
    for kind, state_of in _GENERATORS:
        if isinstance(value, kind):
            return (id(value), state_of(value))
    if isinstance(value, type | ModuleType) or callable(value) or depth > _DEPTH:
        return id(value)
    inside: list[Any] = []
    if isinstance(value, Mapping):
        inside = [(key, look(value[key], depth + 1)) for key in list(value)]
    elif isinstance(value, list | tuple | deque):
        inside = [look(item, depth + 1) for item in value]
    elif isinstance(value, set | frozenset):
        inside = sorted(repr(look(item, depth + 1)) for item in value)
    elif isinstance(value, int | float | str | bytes | complex | bool | None):
        return value
    own = [(name, look(item, depth + 1)) for name, item in getattr(value, "__dict__", {}).items()]
    slots = [
        (name, look(getattr(value, name, None), depth + 1))
        for kind in type(value).__mro__
        for name, slot in vars(kind).items()
        if isinstance(slot, MemberDescriptorType)
    ]
    identity = 0 if isinstance(value, tuple) or not depth else id(value)
    return (type(value).__name__, identity, inside, own, slots)


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    return sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))
