"""What goes into a model and what should come out of it, and the device that both are on.

    (inputs, targets)          model(inputs)          a pair, as nearly every data set gives it
    (a, b, …, targets)         model(a, b, …)         more than two: the last one is the targets
    {"input_ids": …, …}        model(input_ids=…, …)  by name; the targets are its "labels"
    x, or (x,)                 model(x)               a tensor alone is its own target, as for an autoencoder

Where the model computes its loss itself, as those of transformers do, it gets the whole batch, targets too.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from torcheer.errors import InputError

_ROWS = (tuple, list)
TARGET_NAMES = ("labels", "label", "targets", "target", "y")


class Batch(NamedTuple):
    """A batch, taken apart. A plain tuple, because one is made at every step."""

    inputs: Any
    targets: Any
    # How the model is called, if not with one thing.
    feed: Callable[[Callable[..., Any], Any], Any] | None = None

    def given_to(self, model: Callable[..., Any]) -> Any:
        return model(self.inputs) if self.feed is None else self.feed(model, self.inputs)

    def moved_to(self, device: torch.device) -> Batch:
        return Batch(moved(self.inputs, device), moved(self.targets, device), self.feed)

    @property
    def num_items(self) -> int:
        if self.feed is None:
            return num_items_of(self.inputs)
        parts = self.inputs.values() if isinstance(self.inputs, Mapping) else self.inputs
        tensors = (part for part in parts if isinstance(part, Tensor) and part.ndim)
        return num_items_of(next(tensors, next(iter(parts), None)))


def split(batch: Any, *, whole: bool = False) -> Batch:
    """Take a batch apart; `whole` leaves the targets among the inputs, for a model that computes its loss."""
    if isinstance(batch, _ROWS):  # first, because nearly all are
        if len(batch) == 2 and not whole:
            return Batch(batch[0], batch[1])
        return _split_row(batch, whole)
    if isinstance(batch, Tensor):
        return Batch(batch, batch)
    if isinstance(batch, Mapping):
        return _split_mapping(batch, whole)
    raise InputError(
        f"a batch is a {type(batch).__name__}, and that can mean anything: let the loader give "
        "(inputs, targets), a dict of inputs by name, or a tensor. `DataLoader(..., collate_fn=...)` is the "
        "place to make them."
    )


def _split_row(batch: tuple[Any, ...] | list[Any], whole: bool) -> Batch:
    if not batch:
        raise InputError("a batch is empty: let the loader give (inputs, targets).")
    if len(batch) == 1:
        return Batch(batch[0], batch[0])
    return Batch(tuple(batch) if whole else tuple(batch[:-1]), batch[-1], _one_by_one)


def _split_mapping(batch: Mapping[Any, Any], whole: bool) -> Batch:
    name = next((name for name in TARGET_NAMES if name in batch), None)
    if whole:
        return Batch(dict(batch), None if name is None else batch[name], _by_name)
    if name is None:
        names = ", ".join(map(repr, list(batch)[:8])) + (", …" if len(batch) > 8 else "")
        raise InputError(
            f"a batch has {names}, and none of them is a target: name it one of "
            f"{', '.join(TARGET_NAMES)}, or give loss=None for a model that computes its loss itself."
        )
    return Batch({key: value for key, value in batch.items() if key != name}, batch[name], _by_name)


def _one_by_one(model: Callable[..., Any], inputs: Any) -> Any:
    return model(*inputs)


def _by_name(model: Callable[..., Any], inputs: Any) -> Any:
    return model(**inputs)


def num_items_of(value: Any) -> int:
    """How many items something of a batch holds: the first dimension of a tensor, the length of a list."""
    if isinstance(value, Tensor):
        return value.shape[0] if value.ndim else 1
    if isinstance(value, nn.utils.rnn.PackedSequence):
        return int(value.batch_sizes[0])
    if isinstance(value, Mapping):
        return num_items_of(next(iter(value.values()), None))
    try:
        return len(value)
    except TypeError:
        return 1


def moved(value: Any, device: torch.device) -> Any:
    """The same on another device, however deep the tensors are in it."""
    if isinstance(value, Tensor):
        # A copy to the host must be waited for; one from pinned memory to a GPU need not be.
        return value if value.device == device else value.to(device, non_blocking=device.type == "cuda")
    if callable(getattr(value, "to", None)):
        return value.to(device)
    if isinstance(value, Mapping):
        return {key: moved(part, device) for key, part in value.items()}
    return _row_of(value, lambda part: moved(part, device))


def detached(value: Any) -> Any:
    """The same without its history, however deep the tensors are in it."""
    if isinstance(value, Tensor):
        return value.detach()
    if isinstance(value, Mapping):
        # The outputs of transformers are both a mapping and a data class of their own.
        parts = {key: detached(part) for key, part in value.items()}
        try:
            return parts if type(value) is dict else type(value)(**parts)
        except TypeError:
            return parts
    return _row_of(value, detached)


def _row_of(value: Any, change: Callable[[Any], Any]) -> Any:
    """A list or tuple with each part changed; anything else as it is."""
    if isinstance(value, list):
        return [change(part) for part in value]
    if isinstance(value, tuple):
        parts = [change(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


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
        accelerator = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
        chosen = torch.empty(0, device=accelerator or "cpu").device
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


def place(model: nn.Module, device: torch.device, optimizer: torch.optim.Optimizer | None = None) -> None:
    """Move a model, and what its optimizer remembers of it, to a device."""
    if all(part.device == device for part in itertools.chain(model.parameters(), model.buffers())):
        return
    model.to(device)
    if optimizer is not None and optimizer.state:
        # Loading puts each tensor of the state where its parameter is by now.
        optimizer.load_state_dict(optimizer.state_dict())
