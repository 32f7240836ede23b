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
    devices = {"cuda": torch.cuda.get_rng_state_all()} if torch.cuda.is_initialized() else {}
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
    """Whatever a forward inside does to buffers, parameters and their gradients is undone."""
    tensors = [*model.buffers(), *model.parameters()]
    versions = [_version(t) for t in tensors]
    copies = [t.detach().clone() for t in model.buffers()]
    parameters = [(p, p.requires_grad, p.grad) for p in model.parameters()]
    try:
        yield
    finally:
        with torch.no_grad():
            for buffer, copy, version in zip(model.buffers(), copies, versions, strict=False):
                if _version(buffer) != version or version is None:
                    buffer.copy_(copy)
        for parameter, requires_grad, grad in parameters:
            parameter.requires_grad_(requires_grad)
            parameter.grad = grad


def _version(tensor: Tensor) -> int | None:
    return None if tensor.is_inference() else tensor._version
