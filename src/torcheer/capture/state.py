"""What a forward pass may change besides its output: generators and the state of modules. Put it back."""

from __future__ import annotations

import copy
import random
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from torcheer.capture.memory import has_data


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
    things = [
        thing
        for module, attributes, _ in modules
        if not isinstance(module, torch.jit.ScriptModule)
        for thing in _things_of_its_own(attributes)
    ]
    held = [thing for _, attributes, _ in modules for thing in _tensors_held(attributes)]
    buffers = [(buffer, buffer.detach().clone()) for buffer in (*model.buffers(), *held)]
    parameters = [(p, p.requires_grad, p.grad) for p in model.parameters()]
    try:
        yield
    finally:
        for module, attributes, own_buffers in modules:
            _put_back(vars(module), attributes)
            if not isinstance(module, torch.jit.ScriptModule):
                _put_back(module._buffers, own_buffers)
        for thing, content in things:
            _put_content_back(thing, content)
        with torch.no_grad():
            for buffer, before in buffers:
                # Not by torch's count of writes: a normalisation in training does not count its own.
                if has_data(buffer) and has_data(before) and not _is_unchanged(buffer, before):
                    buffer.copy_(before)
        for parameter, requires_grad, grad in parameters:
            parameter.requires_grad_(requires_grad)
            parameter.grad = grad


def _things_of_its_own(attributes: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Lists, dicts, sets and random generators that a module keeps, torch's own too, with what is in them."""
    for name, thing in attributes.items():
        if isinstance(thing, torch.Generator):
            yield thing, thing.get_state()
        elif isinstance(thing, list | dict | set | deque) and name != "_buffers":
            yield thing, copy.copy(thing)


def _tensors_held(attributes: dict[str, Any]) -> Iterator[Tensor]:
    """Tensors that a module keeps as plain attributes, or in a list or dict of its own."""
    for name, thing in attributes.items():
        if name not in _OF_EVERY_MODULE:
            items = thing.values() if isinstance(thing, dict) else thing
            for one in items if isinstance(thing, list | tuple | dict) else (thing,):
                if isinstance(one, Tensor):
                    yield one


_OF_EVERY_MODULE = frozenset(vars(nn.Module()))


def _put_content_back(thing: Any, content: Any) -> None:
    if isinstance(thing, torch.Generator):
        thing.set_state(content)
    else:
        thing.clear()
        thing.extend(content) if isinstance(thing, list | deque) else thing.update(content)


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
