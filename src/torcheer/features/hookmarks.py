"""By which it is noticed that a model has other hooks, of those that may change what a module gives."""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from torcheer.errors import InputError
from torcheer.features.transforms.fingerprints import describe


def hook_words(root: nn.Module) -> str:
    """The hooks of all modules, what they do and what they hold; "none" where there are none."""
    found = [
        f"{address or 'the model'}: {_words_of(hook)}"
        for address, module in root.named_modules()
        if not isinstance(module, torch.jit.ScriptModule)
        for hook in (*module._forward_pre_hooks.values(), *module._forward_hooks.values())
        if _may_give(hook) and not _is_of_torch(hook)
    ]
    return "; ".join(found) or "none"


def _words_of(hook: Callable[..., Any]) -> str:
    try:
        return describe(hook)
    except InputError:
        return type(hook).__qualname__  # holds what cannot be read


def _is_of_torch(hook: Any) -> bool:
    """Those of FSDP and of tensor parallel bring weights and inputs to where they are needed."""
    while isinstance(hook, functools.partial):
        hook = hook.func
    return str(getattr(hook, "__module__", "")).startswith("torch.distributed.")


def _may_give(hook: Any) -> bool:
    """Whether it can give anything back: who only looks on has nothing to do with the values."""
    while isinstance(hook, functools.partial):
        hook = hook.func
    if not isinstance(hook, types.FunctionType | types.MethodType):
        hook = type(hook).__call__
    code = getattr(hook, "__code__", None)
    if code is None:
        return True
    steps = list(dis.get_instructions(code))
    returned = [
        steps[at - 1] if step.opname == "RETURN_VALUE" else step
        for at, step in enumerate(steps)
        if step.opname in ("RETURN_VALUE", "RETURN_CONST")
    ]
    return any(step.opcode not in dis.hasconst or step.argval is not None for step in returned)
