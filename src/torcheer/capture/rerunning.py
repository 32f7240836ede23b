"""Put a model back to where it was before a pass, for as long as a second forward takes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from torcheer.capture.inputs import Call, copy_of_containers, copy_of_input, named_root
from torcheer.capture.nesting import map_leaves
from torcheer.capture.state import restore_random_state, same_model_after, same_random_state_after
from torcheer.capture.tape import BUFFER

if TYPE_CHECKING:
    from torcheer.capture.history import ModelHistory


@contextmanager
def as_before_the_pass(history: ModelHistory, model: nn.Module) -> Iterator[Call]:
    """Gives the call as it was; afterwards model and generators are as they are now."""
    with same_random_state_after(), same_model_after(model):
        for module, name, value in history._facts.old_attributes:
            vars(module)[name] = value
        _put_buffers_back(history, named_root(model))
        restore_random_state(history._facts.start_state)
        with _parameters_as_they_were(history):
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


def put_parameters_back(history: ModelHistory) -> None:
    """Give parameters that a pass wrote into the values from before it."""
    tape = history._tape
    with torch.no_grad():
        for index, value in tape.param_values.items():
            tape.params[-index - 1][1].copy_(value)


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
    call: Call = history._facts.call
    originals = {
        id(tensor): tape.unedited.get(op, tape.values[op]) for op, tensor in tape.input_tensors.items()
    }

    def fresh(leaf: Any) -> Any:
        value = originals.get(id(leaf)) if isinstance(leaf, Tensor) else None
        if value is None or value is leaf:
            return leaf  # it was not written into
        if value.requires_grad:
            return value.clone()  # it hangs on the input itself
        # A pass that writes into its input must not write into what was saved.
        return copy_of_input(value, leaf)

    again = copy_of_containers(call)  # the kept one must stay as it is
    return Call(map_leaves(again.args, fresh), map_leaves(again.kwargs, fresh))
