"""The state of all random numbers that a training draws: taken, and put back.

torch's generators of the CPU and of every accelerator in use, Python's `random`, NumPy's global state, and
the generators that a loader, its samplers, its dataset and its transforms hold (`loaderstate`).
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy
import torch
from torch import Tensor

from torcheer.training.ordering.loaderstate import generator_states, set_generator_states
from torcheer.training.telling import warn

Tree = dict[str, Any]


def random_state(*holders: Any) -> Tree:
    """A tree that a checkpoint can keep. `holders`: loaders or models that may have their own generators."""
    state: Tree = {
        "torch": torch.get_rng_state(),
        "python": random.getstate(),
        "numpy": numpy.random.get_state(legacy=False),
        "devices": _device_states(),
    }
    return {**state, "generators": [generator_states(holder) for holder in holders]}


def set_random_state(state: Mapping[str, Any], *holders: Any) -> None:
    """Put back what `random_state` gave, for the same holders in the same order."""
    torch.set_rng_state(state["torch"])
    random.setstate(state["python"])
    numpy.random.set_state(state["numpy"])
    for device, one in state["devices"].items():
        _set_device_state(torch.device(device), one)
    for holder, states in zip(holders, state["generators"], strict=False):
        set_generator_states(holder, states)


def _device_states() -> dict[str, Tensor]:
    """Only where an accelerator is in use: to ask for it would start it."""
    states: dict[str, Tensor] = {}
    for kind in ("cuda", "xpu"):
        module = getattr(torch, kind)
        if module.is_available() and module.is_initialized():
            for index in range(module.device_count()):
                states[f"{kind}:{index}"] = module.get_rng_state(index)
    if torch.backends.mps.is_available():
        states["mps"] = torch.mps.get_rng_state()
    return states


def _set_device_state(device: torch.device, state: Tensor) -> None:
    try:
        if device.type == "mps":
            torch.mps.set_rng_state(state)
        else:
            getattr(torch, device.type).set_rng_state(state, device.index)
    except (AssertionError, AttributeError, IndexError, RuntimeError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        warn(f"the random state of {device} cannot be put back here ({reason}): numbers will be others.")
