"""Put a model back to where it was before a pass, for as long as a second forward takes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from torcheer.capture.inputs import Call, copy_of_containers, copy_of_input
from torcheer.capture.modes import under
from torcheer.capture.nesting import map_tensors
from torcheer.capture.snapshot import held_by
from torcheer.capture.state import (
    RandomState,
    random_state,
    restore_random_state,
    same_model_after,
    same_random_state_after,
)
from torcheer.capture.tape import BUFFER
from torcheer.capture.walk import ModelWalk
from torcheer.models import unwrapped_model

if TYPE_CHECKING:
    from torcheer.capture.history import ModelHistory


class PassStart:
    """What a forward began with: a second one that begins with the same gives the same."""

    def __init__(self, walk: ModelWalk, call: Call) -> None:
        modules = [module for _, module in walk.modules]
        self.random: RandomState = random_state()
        self.call = copy_of_containers(call)
        self.training = {note.address: note.training for note in walk.notes}
        self._held = held_by(modules)
        self._attributes = [(vars(module), dict(vars(module))) for module in modules]

    def end(self) -> None:
        """The pass is over: from here on only what it changed is kept, and no model."""
        self._held.only_changes()
        self._attributes = [
            (now, changed) for now, before in self._attributes if (changed := _changes(now, before))
        ]

    def put_back(self) -> None:
        """Give modules what they had. It is left to the caller to take it from them again."""
        for now, changed in self._attributes:
            for name, value in changed.items():
                if value is _ABSENT:
                    now.pop(name, None)
                else:
                    now[name] = value
        self._held.put_back()


_ABSENT = object()


def _changes(now: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """The old values of what was re-assigned, and the names that are new."""
    changed = {name: value for name, value in before.items() if now.get(name) is not value}
    return changed | dict.fromkeys(now.keys() - before.keys(), _ABSENT)


@contextmanager
def as_before_the_pass(history: ModelHistory, model: nn.Module) -> Iterator[Call]:
    """Gives the call as it was; afterwards model, generators and modes are as they are now."""
    start: PassStart = history._facts.start
    root = unwrapped_model(model)
    with same_random_state_after(), same_model_after(model):
        start.put_back()
        for address, module in root.named_modules():
            if module.training != start.training.get(address, module.training):
                module.training = not module.training
        _put_buffers_back(history, root)
        restore_random_state(start.random)
        with _parameters_as_they_were(history), under(history._facts.modes):
            yield _call_as_it_was(history)


@contextmanager
def _parameters_as_they_were(history: ModelHistory) -> Iterator[None]:
    """Lend parameters that the pass wrote into other memory, with the values from before."""
    tape = history._tape
    written = [(tape.params[-index - 1][1], value) for index, value in tape.param_values.items()]
    now = [param.data for param, _ in written]
    try:
        for param, value in written:
            param.data = value.detach().clone()
        yield
    finally:
        for (param, _), data in zip(written, now, strict=True):
            param.data = data


def _put_buffers_back(history: ModelHistory, root: nn.Module) -> None:
    """Give the model copies of its buffers as they were when the pass first used them."""
    tape = history._tape
    seen: set[str] = set()
    for op, record in enumerate(tape.records):
        address = tape.addresses.get(op)
        if record.trait is not BUFFER or address is None or address in seen:
            continue
        seen.add(address)
        owner_address, _, name = address.rpartition(".")
        value = tape.unedited.get(op, tape.values[op])
        owner: Any = root
        for part in filter(None, owner_address.split(".")):
            owner = getattr(owner, part, None)
        if not isinstance(owner, nn.Module):
            continue  # a module that is no part of the model
        if value is not None and not isinstance(owner, torch.jit.ScriptModule):
            owner._buffers[name] = value.detach().clone()


def _call_as_it_was(history: ModelHistory) -> Call:
    """The input as it was before the pass, also where the model wrote into it."""
    tape = history._tape
    call: Call = history._facts.start.call
    originals = {
        id(tensor): tape.unedited.get(op, tape.values[op]) for op, tensor in tape.input_tensors.items()
    }

    def fresh(tensor: Tensor) -> Tensor:
        value = originals.get(id(tensor))
        if value is None or value is tensor:
            return tensor  # it was not written into
        if value.requires_grad:
            return value.clone()  # it hangs on the input itself
        # A pass that writes into its input must not write into what was saved.
        return copy_of_input(value, tensor)

    again = copy_of_containers(call)  # the kept one must stay as it is
    return Call(*map_tensors((again.args, again.kwargs), fresh, into_objects=True))
