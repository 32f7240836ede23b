"""A pass as a flow of values: what each op reads, and inside which module that is shown as one thing."""

from __future__ import annotations

from functools import cached_property
from math import prod
from typing import Any

import torch
from torch import Tensor

from torcheer.capture import INPUT, OUTPUT, OWN_TRAITS, TENSOR, ModelHistory, Record, Scope, map_leaves
from torcheer.netview.optypes import COMBINING, HANDING_ON, REORDERING, WEIGHTY

MULTIHEAD = "MultiheadAttention"  # torch's own, which calls none of its modules
_PARAMETRIZATIONS = "parametrizations"  # the child of a module whose weights are computed


class Flow:
    """What capturing asks of a pass. Ops are numbers; a parameter that is read is a negative one."""

    def __init__(self, history: ModelHistory) -> None:
        self.history = history
        self.tape = history._tape
        self.records: list[Record] = self.tape.records
        self._closed: dict[int, Scope | None] = {}  # by the id of a scope
        self._arguments: dict[int, dict[int | str, int]] = {}

    # --- ops ---------------------------------------------------------------------------------

    def type(self, op: int) -> str:
        return self.records[op].trait.type

    def is_input(self, op: int) -> bool:
        return self.records[op].trait is INPUT

    def is_output(self, op: int) -> bool:
        return self.records[op].trait is OUTPUT

    def is_call(self, op: int) -> bool:
        return self.records[op].trait not in OWN_TRAITS

    def value(self, op: int) -> Tensor | None:
        """Of an op, or of a parameter as it was when the pass read it."""
        return self.history._value_of(op)

    def shape(self, op: int) -> tuple[int, ...]:
        if op < 0:
            return tuple(self.tape.params[-op - 1][1].shape)
        return tuple(self.tape.meta(op).shape)

    def size(self, op: int) -> int:
        return prod(self.shape(op))

    def is_real_or_complex(self, op: int) -> bool:
        dtype = self.tape.meta(op).dtype
        return bool(dtype.is_floating_point or dtype.is_complex)

    def param(self, op: int) -> str:
        """The address of a parameter."""
        return self.tape.params[-op - 1][0]

    def argument(self, op: int, position: int, name: str) -> int | None:
        """The op, or the parameter, that stood at this place of the call."""
        found = self._slots(op)
        return found.get(position, found.get(name))

    def plain(self, op: int, position: int, name: str, default: Any = None) -> Any:
        """An argument that is no tensor."""
        record = self.records[op]
        value = record.args[position] if position < len(record.args) else None
        return (record.kwargs or {}).get(name, default) if value is None else value

    def _slots(self, op: int) -> dict[int | str, int]:
        found = self._arguments.get(op)
        if found is None:
            found = self._arguments[op] = {}
            record = self.records[op]
            rest = iter(record.parents)
            given: list[tuple[int | str, Any]] = [*enumerate(record.args), *(record.kwargs or {}).items()]
            for place, value in given:
                inside: list[int] = []

                def see(leaf: Any, inside: list[int] = inside) -> None:
                    if leaf is TENSOR:
                        inside.append(next(rest, 0))

                map_leaves(value, see)
                if value is TENSOR and inside:
                    found[place] = inside[0]
        return found

    @cached_property
    def children(self) -> list[list[int]]:
        """The ops that read each op."""
        found: list[list[int]] = [[] for _ in self.records]
        for op, record in enumerate(self.records):
            for parent in set(record.parents):
                if parent >= 0:
                    found[parent].append(op)
        return found

    # --- handing on --------------------------------------------------------------------------

    def handed_on(self, op: int) -> int | None:
        """The op, or parameter, whose values these are, one for one and in the same order; None: new ones."""
        record = self.records[op]
        parents = record.parents
        if not parents:
            return None
        kind, first = record.trait.type, parents[0]
        if kind in COMBINING:
            # A cache that is still empty is put before the keys: nothing is added.
            full = [parent for parent in parents if self.size(parent)]
            is_joined = kind in ("cat", "concat", "concatenate") and len(full) == 1 and len(parents) > 1
            return full[0] if is_joined else None
        if self.size(first) != self.size(op):
            return None
        if kind in HANDING_ON:
            return first
        if kind in REORDERING or kind in ("expand", "expandas", "broadcastto"):
            return (
                first if _long(self.shape(first)) == _long(self.shape(op)) and self._is_in_row(op) else None
            )
        is_plain_index = kind == "getitem" and len(parents) == 1 and _is_plain(record.args[1:])
        return first if is_plain_index else None

    def _is_in_row(self, op: int) -> bool:
        """Dimensions of equal length may have changed places."""
        sizes = _long(self.shape(op))
        if self.type(op) not in REORDERING or len(set(sizes)) == len(sizes):
            return True
        value = self.value(op)
        return value is not None and value.layout == torch.strided and value.is_contiguous()

    def origin(self, op: int) -> int:
        """Where the values come from, through all that only hands them on."""
        while op >= 0:
            before = self.handed_on(op)
            if before is None:
                return op
            op = before
        return op

    # --- modules -----------------------------------------------------------------------------

    def closed(self, op: int) -> Scope | None:
        """The call of a module around an op that is shown as one thing; None where the op stands open."""
        scope = self.records[op].scope
        key = id(scope)
        if key not in self._closed:
            chain = [one for one in scope.chain() if one.is_module]
            self._closed[key] = next((one for one in chain if self._is_closed(one)), None)
        return self._closed[key]

    def _is_closed(self, scope: Scope) -> bool:
        info = self.history.module_tree.modules.get(scope.address or "")
        if info is None:  # made in forward: nothing is known of what is in it
            return True
        if info.class_name == MULTIHEAD or not scope.address:
            return info.class_name == MULTIHEAD  # of the model itself, the inside is what one wants to see
        names = {child.rpartition(".")[2] for child in info.children}
        return names <= {_PARAMETRIZATIONS} and self._num_weighty.get(id(scope), 0) < 2

    @cached_property
    def _num_weighty(self) -> dict[int, int]:
        """By call of a module: how many of its own ops are products, convolutions and the like."""
        counts: dict[int, int] = {}
        for record in self.records:
            if record.trait.type in WEIGHTY:
                scope = id(record.scope.module())
                counts[scope] = counts.get(scope, 0) + 1
        return counts

    def class_of(self, address: str) -> str:
        info = self.history.module_tree.modules.get(address)
        return address.partition("#")[0] if info is None else info.class_name

    def num_calls(self, address: str) -> int:
        return len(self.history.module_tree.passes_of(address) or ())


def _long(shape: tuple[int, ...]) -> list[int]:
    return [size for size in shape if size != 1]


def _is_plain(index: Any) -> bool:
    """Whole dimensions, new ones and single places keep the order; lists of places need not."""
    if isinstance(index, tuple):
        return all(_is_plain(part) for part in index)
    return index is None or index is Ellipsis or isinstance(index, slice | int)
