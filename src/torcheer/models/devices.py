"""On which device a model runs: where it is, the fastest there is, or the one that was named."""

from __future__ import annotations

import itertools

import torch
from torch import nn

from torcheer.errors import InputError

AUTOMATIC = "auto"


def device_of(model: nn.Module) -> torch.device:
    """Where a model is: the device of its first parameter or buffer."""
    first = next(itertools.chain(model.parameters(), model.buffers()), None)
    return torch.device("cpu") if first is None else first.device


def chosen_device(device: str | torch.device | None, model: nn.Module) -> torch.device:
    """None: where the model is. `"auto"`: the fastest there is. Else the one that is named."""
    if device is None:
        chosen = device_of(model)
    elif device == AUTOMATIC:
        chosen = fastest_device()
    else:
        try:
            # An empty tensor says whether the device can be used, and its full name: cuda:0 for cuda.
            chosen = torch.empty(0, device=device).device
        except (RuntimeError, AssertionError, TypeError, ValueError, NotImplementedError) as error:
            reason = str(error).partition("\n")[0]
            raise InputError(
                f"device={str(device)!r} cannot be used here ({reason}): device='auto' takes the fastest one."
            ) from error
    if chosen.type == "meta":
        raise InputError(
            "the model is on the device 'meta' and has no weights: model.to_empty(device='cpu') "
            "gives it some, and its initialisation must be called after that."
        )
    return chosen


def fastest_device() -> torch.device:
    """The accelerator, if there is one that torch can use."""
    accelerator = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    return torch.device("cpu") if accelerator is None else torch.empty(0, device=accelerator).device


def place(model: nn.Module, device: torch.device, optimizer: torch.optim.Optimizer | None = None) -> None:
    """Move a model, and what its optimizer remembers of it, to a device."""
    if all(part.device == device for part in itertools.chain(model.parameters(), model.buffers())):
        return
    model.to(device)
    if optimizer is not None and optimizer.state:
        # Loading puts each tensor of the state where its parameter is by now.
        optimizer.load_state_dict(optimizer.state_dict())
