"""The state of a module: names and values, in the form that torch's modules write and read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from torcheer.autograd.modes import as_plain
from torcheer.errors import InputError

if TYPE_CHECKING:
    from torcheer.autograd.nn.module import Module


class LoadedKeys(NamedTuple):
    """What did not find its place; both are empty if all fits."""

    missing_keys: list[str]
    unexpected_keys: list[str]


def state_of(module: Module, prefix: str = "") -> dict[str, Tensor]:
    """Ordinary tensors by name; they share the memory of the module."""
    return {name: value.data for name, value in _places(module, prefix)}


def load_state(module: Module, state: dict[str, Any], strict: bool) -> LoadedKeys:
    """All of it or, if something does not fit, nothing."""
    places = dict(_places(module, ""))
    missing = [name for name in places if name not in state]
    unexpected = [name for name in state if name not in places]
    wrong = [
        f"{name} is {tuple(places[name].shape)} here, and {tuple(value.shape)} in the state"
        for name, value in state.items()
        if name in places and value.shape != places[name].shape
    ]
    found = []
    if strict and missing:
        found.append(f"missing: {', '.join(missing)}")
    if strict and unexpected:
        found.append(f"unexpected: {', '.join(unexpected)}")
    if wrong:
        found.append(f"other shapes: {'; '.join(wrong)}")
    if found:
        hint = "" if wrong else " strict=False takes over what fits."
        raise InputError(
            f"this state is not of such a {type(module).__name__}: {'. '.join(found)}. Nothing was changed."
            f"{hint}"
        )
    with as_plain(), torch.no_grad():
        for name, value in state.items():
            if name in places:
                places[name].copy_(value)
    return LoadedKeys(missing, unexpected)


def _places(module: Module, prefix: str) -> Iterator[tuple[str, Tensor]]:
    """In torch's order: of each module its parameters, then its buffers, then the modules inside."""
    for address, one in module.named_modules(remove_duplicate=False):
        start = f"{prefix}{address}." if address else prefix
        for name, value in (*one._own_parameters(), *one._own_buffers(also_passing=False)):
            yield start + name, value
