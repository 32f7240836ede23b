"""The calls of a pass, each with all of its outputs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from types import GetSetDescriptorType
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F

from torcheer.capture.fields.generic import GenericValues
from torcheer.capture.fields.standins import UndecidedError
from torcheer.capture.tape import OWN_TRAITS, Record, Tape
from torcheer.capture.traits import Kind, trait_of

_VIEWS = frozenset(
    (
        "view view_as reshape flatten ravel unflatten permute transpose t T mT swapaxes swapdims movedim "
        "__getitem__ select narrow split chunk tensor_split unbind squeeze unsqueeze expand expand_as "
        "diagonal unfold detach data alias as_strided contiguous real imag view_as_real view_as_complex "
        "identity updated"
    ).split()
)
_HOMES = (
    *(F, torch._C._nn, torch, torch.Tensor, torch._C.TensorBase, torch._VF),
    *(getattr(torch._C, name) for name in ("_linalg", "_fft", "_special")),
)
NO_FUNCTIONS = "a loaded history has no functions"


class Call(NamedTuple):
    """One call of the pass with all its outputs."""

    record: Record
    ops: range
    first_position: int
    data: tuple[int, ...]  # the parents that are data, each once

    def position(self, op: int) -> int:
        return self.first_position + op - self.ops[0]

    @property
    def name(self) -> str:
        return self.record.trait.name.strip("_")

    @property
    def is_in_vmap(self) -> bool:
        return self.record.context is not None and any(self.record.context.batch_dims)


def call_of(tape: Tape, values: GenericValues, op: int) -> Call:
    """The call that made an op."""
    records, record = tape.records, tape.records[op]
    parents = _memory_above(tape, op) if record.trait.name == "as_strided" else record.parents
    data = tuple(dict.fromkeys(p for p in parents if values.is_data(p)))
    first = last = op
    if record.trait in OWN_TRAITS:
        return Call(record, range(op, op + 1), 0, data)
    while first > 0 and _goes_on(records[first - 1], records[first]):
        first -= 1
    while last + 1 < len(records) and _goes_on(records[last], records[last + 1]):
        last += 1
    return Call(record, range(first, last + 1), records[first].position, data)


def _memory_above(tape: Tape, op: int) -> list[int]:
    """The tensors whose memory an op may look at: what its parent is a view of, too."""
    found = list(tape.records[op].parents)
    for parent in found:  # it grows on the way
        if parent >= 0 and _may_share_memory(tape.records[parent]):
            found += [each for each in tape.records[parent].parents if each not in found]
    return found


def _may_share_memory(record: Record) -> bool:
    return record.trait.name in _VIEWS or (record.context is not None and record.context.num_targets > 0)


def _goes_on(a: Record, b: Record) -> bool:
    return b.position == a.position + 1 and a.trait is b.trait and a.args is b.args and a.parents == b.parents


def functions_of(values: GenericValues, record: Record) -> list[Callable[..., Any]]:
    """The function that was called; of a loaded history, which has only names, all that it may have been."""
    if record.trait.func is not None:
        return [record.trait.func]
    if record.trait.name == "where" and values.dtype(record.parents[0]) != torch.bool:
        return [torch.Tensor.where]  # a method begins with other arguments than the function
    found = [getattr(home, record.trait.name, None) for home in _HOMES]
    # Functions that are opened never stand in a record: another one of the same name was meant.
    functions = [each for each in found if callable(each) and trait_of(each).kind is not Kind.OPEN]
    functions += [each.__get__ for each in found if isinstance(each, GetSetDescriptorType)]  # such as T
    if not functions:
        raise UndecidedError(NO_FUNCTIONS)
    return functions


def first_that_takes(functions: list[Callable[..., Any]], args: Any, kwargs: Any) -> Any:
    """A name alone may mean a function or a method: `torch.reshape(x, shape)`, `x.reshape(*shape)`."""
    *others, last = functions
    for function in others:
        with suppress(TypeError):
            return function(*args, **kwargs)
    return last(*args, **kwargs)
