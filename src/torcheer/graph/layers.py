"""Which executions are passes of one layer: loops are recognised here.

Two executions are one layer when they come from the same place in the code and module, with the
same parameters, and sit in the same place of the surrounding pattern. The pattern is read off the
inputs: each argument slot holds either the layer that made it, or a value *carried* from an
earlier iteration. `for l in layers: x = relu(l(x))` gives different relus, since each one's input
is another layer; in `h = tanh(a(h) + b(x))` only `h` is carried, and carried slots match anything.

Layers are assigned one op at a time, in the order of the pass, so that labels are known while the
model is still running and a single pass is enough to save only some of them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

OUTSIDE = -1  # the slot of a value that enters a module which has parameters of its own

Slots = tuple[Hashable, ...]
Carried = tuple[bool, ...]


@dataclass(slots=True)
class _Group:
    """All executions with one key: same function, place, module and parameters."""

    layers: list[tuple[int, Slots]] = field(default_factory=list)
    by_pattern: dict[Carried, dict[Slots, int]] = field(default_factory=dict)

    def find(self, slots: Slots, carried: Carried) -> int | None:
        for pattern in (carried, *(p for p in self.by_pattern if p != carried)):
            if len(pattern) != len(slots):
                continue
            layer = self._table(pattern).get(_project(slots, pattern))
            if layer is not None:
                return layer
        return None

    def add(self, layer: int, slots: Slots) -> None:
        self.layers.append((layer, slots))
        for pattern, table in self.by_pattern.items():
            if len(pattern) == len(slots):
                table.setdefault(_project(slots, pattern), layer)

    def _table(self, pattern: Carried) -> dict[Slots, int]:
        table = self.by_pattern.get(pattern)
        if table is None:
            table = self.by_pattern[pattern] = {}
            for layer, slots in self.layers:
                if len(slots) == len(pattern):
                    table.setdefault(_project(slots, pattern), layer)
        return table


def _project(slots: Slots, pattern: Carried) -> Slots:
    return tuple(None if carried else slot for slot, carried in zip(slots, pattern, strict=True))


class LayerBook:
    """Assigns a layer number and a pass number to each op, in order."""

    def __init__(self, slots_of: Callable[[int], tuple[Slots, Carried]]) -> None:
        # Asked only for an op whose key was met before: most ops never need it.
        self._slots_of = slots_of
        self._first: dict[Hashable, int] = {}
        self._groups: dict[Hashable, _Group] = {}
        self.layer_of: list[int] = []
        self.pass_of: list[int] = []
        self.num_passes: list[int] = []  # by layer

    def assign(self, key: Hashable, *, by_key_alone: bool) -> int:
        """The layer of the next op. `by_key_alone`: it has parameters, which settle it."""
        op = len(self.layer_of)
        first = self._first.setdefault(key, op)
        if first == op:
            layer = self._new_layer()
        elif by_key_alone:
            layer = self.layer_of[first]
        else:
            layer = self._match(key, first, op)
        self.layer_of.append(layer)
        self.num_passes[layer] += 1
        self.pass_of.append(self.num_passes[layer])
        return layer

    def _match(self, key: Hashable, first: int, op: int) -> int:
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = _Group()
            group.add(self.layer_of[first], self._slots_of(first)[0])
        slots, carried = self._slots_of(op)
        layer = group.find(slots, carried)
        if layer is None:
            layer = self._new_layer()
            group.add(layer, slots)
        return layer

    def _new_layer(self) -> int:
        self.num_passes.append(0)
        return len(self.num_passes) - 1


def feedback_loops(
    layer_of: Sequence[int], num_passes: Sequence[int], parents: Sequence[Sequence[int]]
) -> int:
    """The passes of the most repeated layer of which a later pass depends on an earlier one.

    Zero when no layer feeds back into itself: a module applied to two inputs is not recurrent.
    """
    on_cycle = _layers_on_cycles(layer_of, len(num_passes), parents)
    for layer in sorted(on_cycle, key=lambda one: -num_passes[one]):
        if _feeds_back(layer, layer_of, parents):
            return num_passes[layer]
    return 0


def _feeds_back(layer: int, layer_of: Sequence[int], parents: Sequence[Sequence[int]]) -> bool:
    reached = bytearray(len(layer_of))
    for op, its_parents in enumerate(parents):
        above = any(reached[p] for p in its_parents)
        mine = layer_of[op] == layer
        if above and mine:
            return True
        reached[op] = above or mine
    return False


def _layers_on_cycles(
    layer_of: Sequence[int], num_layers: int, parents: Sequence[Sequence[int]]
) -> list[int]:
    """Layers on a cycle of the rolled graph: peel off what has no parent left, then no child left."""
    above: list[set[int]] = [set() for _ in range(num_layers)]
    below: list[set[int]] = [set() for _ in range(num_layers)]
    for op, its_parents in enumerate(parents):
        for parent in its_parents:
            above[layer_of[op]].add(layer_of[parent])
            below[layer_of[parent]].add(layer_of[op])
    alive = _peel(set(range(num_layers)), above, below)
    return sorted(_peel(alive, below, above))


def _peel(alive: set[int], incoming: list[set[int]], outgoing: list[set[int]]) -> set[int]:
    alive = set(alive)
    degree = {layer: len(incoming[layer] & alive) for layer in alive}
    ready = [layer for layer in alive if not degree[layer]]
    while ready:
        layer = ready.pop()
        alive.discard(layer)
        for other in outgoing[layer]:
            if other in alive:
                degree[other] -= 1
                if not degree[other]:
                    ready.append(other)
    return alive
