"""Which layers of a network are shown: all, or by name, pattern, type, module or rule, as in `tl.watch`."""

from __future__ import annotations

import difflib
import fnmatch
import re
from collections.abc import Iterable
from typing import Any

from torch import nn

from torcheer.capture import unwrapped
from torcheer.errors import InputError
from torcheer.netview.planning import PlannedLayer


def chosen(model: nn.Module, layers: list[PlannedLayer], wanted: Any) -> list[PlannedLayer]:
    """The inputs are always among them."""
    if isinstance(wanted, str) and wanted == "all":
        return list(layers)
    modules = dict(unwrapped(model).named_modules())
    is_one = isinstance(wanted, str | re.Pattern | type | nn.Module) or callable(wanted)
    if not is_one and not isinstance(wanted, Iterable):
        raise InputError(f"layers is {wanted!r}: give 'all', names, patterns such as 'features.*', or types.")
    choices = [wanted] if is_one else list(wanted)
    if not choices:
        raise InputError("layers is empty: give 'all', names, patterns such as 'features.*', or types.")
    found: set[str] = set()
    for choice in choices:
        matching = {layer.name for layer in layers if _answers(choice, layer, modules)}
        if not matching:
            raise InputError(_nobody(choice, layers))
        found |= matching
    return [layer for layer in layers if layer.is_input or layer.name in found]


def _answers(choice: Any, layer: PlannedLayer, modules: dict[str, nn.Module]) -> bool:
    if isinstance(choice, str):
        # The name of a module with modules in it means all that is inside.
        inside = f"{choice}."
        return any(
            name == choice or name.startswith(inside) or fnmatch.fnmatchcase(name, choice)
            for name in layer.names
        )
    if isinstance(choice, re.Pattern):
        return any(choice.search(name) is not None for name in layer.names)
    own = [(name, modules[name]) for name in dict.fromkeys(layer.names) if name in modules]
    if isinstance(choice, type):
        return any(isinstance(module, choice) for _, module in own)
    if isinstance(choice, nn.Module):
        return any(module is choice for _, module in own)
    if callable(choice):
        return any(bool(choice(name, module)) for name, module in own)
    raise InputError(f"{choice!r} names no layer: give a name, a pattern, a type, a module or a rule.")


def _nobody(choice: Any, layers: list[PlannedLayer]) -> str:
    names = [name for layer in layers for name in layer.names]
    near = difflib.get_close_matches(choice, names, 3) if isinstance(choice, str) else []
    hint = f" The nearest: {', '.join(near)}." if near else ""
    listed = ", ".join(layer.name for layer in layers[:6])
    more = "…" if len(layers) > 6 else "."
    return f"no layer answers to {choice!r}.{hint} There are {len(layers)}: {listed}{more}"
