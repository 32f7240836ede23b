"""What a forward pass changes besides its output: random generators and buffers. Take it, put it back."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn


class RandomState(NamedTuple):
    """All random generators that a model is likely to draw from."""

    python: Any
    numpy: Any
    torch: Tensor
    devices: dict[str, list[Tensor]]


def random_state() -> RandomState:
    numpy = sys.modules.get("numpy")
    devices = {"cuda": torch.cuda.get_rng_state_all()} if torch.cuda._initialized else {}
    return RandomState(
        random.getstate(), None if numpy is None else numpy.random.get_state(), torch.get_rng_state(), devices
    )


def restore_random_state(state: RandomState) -> None:
    random.setstate(state.python)
    if state.numpy is not None:
        sys.modules["numpy"].random.set_state(state.numpy)
    torch.set_rng_state(state.torch)
    if "cuda" in state.devices:
        torch.cuda.set_rng_state_all(state.devices["cuda"])


@contextmanager
def same_random_state_after() -> Iterator[None]:
    """Whatever is drawn inside, the generators are afterwards as they were."""
    state = random_state()
    try:
        yield
    finally:
        restore_random_state(state)


def seed_everything(seed: int) -> None:
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)
    torch.manual_seed(seed)


@contextmanager
def same_model_after(model: nn.Module) -> Iterator[None]:
    """Whatever a forward inside does to buffers, gradients, flags and attributes is undone."""
    modules = [(module, dict(vars(module)), dict(module._buffers)) for module in model.modules()]
    buffers = [(buffer, buffer.detach().clone()) for buffer in model.buffers()]
    parameters = [(p, p.requires_grad, p.grad) for p in model.parameters()]
    try:
        yield
    finally:
        for module, attributes, own_buffers in modules:
            _put_back(vars(module), attributes)
            if not isinstance(module, torch.jit.ScriptModule):
                _put_back(module._buffers, own_buffers)
        with torch.no_grad():
            for buffer, copy in buffers:
                # Not by torch's count of writes: a normalisation in training does not count its own.
                if not buffer.is_meta and not _is_unchanged(buffer, copy):
                    buffer.copy_(copy)
        for parameter, requires_grad, grad in parameters:
            parameter.requires_grad_(requires_grad)
            parameter.grad = grad


def attributes_of(modules: list[tuple[str, nn.Module]]) -> list[tuple[nn.Module, dict[str, Any]]]:
    return [(module, dict(vars(module))) for _, module in modules]


def changed_attributes(
    before: list[tuple[nn.Module, dict[str, Any]]],
) -> Iterator[tuple[nn.Module, str, Any]]:
    """What a forward re-assigned on its modules, with the old values."""
    for module, attributes in before:
        now = vars(module)
        for name, value in attributes.items():
            if now.get(name) is not value:
                yield module, name, value


def _put_back(now: dict[str, Any], before: dict[str, Any]) -> None:
    for name in [name for name in now if name not in before]:
        del now[name]
    for name, value in before.items():
        if now.get(name) is not value:
            now[name] = value


def _is_unchanged(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and torch.equal(a, b)
