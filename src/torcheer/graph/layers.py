"""The layer and pass number of each op, and whether a layer feeds back into itself."""

from __future__ import annotations

from collections.abc import Sequence


class LayerBook:
    """Ops in the order they ran, each a pass of some layer. Layers are numbered as they appear."""

    def __init__(self) -> None:
        self.layer_of: list[int] = []
        self.pass_of: list[int] = []
        self.num_passes: list[int] = []  # by layer

    def new_layer(self) -> int:
        self.num_passes.append(0)
        return len(self.num_passes) - 1

    def append(self, layer: int) -> None:
        """The next op is a pass of this layer."""
        passes = self.num_passes[layer] + 1
        self.num_passes[layer] = passes
        self.layer_of.append(layer)
        self.pass_of.append(passes)


def feedback_loops(
    layer_of: Sequence[int],
    num_passes: Sequence[int],
    parents: Sequence[Sequence[int]],
    counts: Sequence[bool],
) -> int:
    """The passes of the most repeated layer of which a later pass depends on an earlier one.

    Zero when no layer feeds back into itself: a module applied to two inputs is not recurrent. Only
    ops that count do: filling in a mask in a loop makes no model recurrent.
    """
    counting = {layer for layer, does in zip(layer_of, counts, strict=True) if does}
    on_cycle = counting.intersection(_layers_on_cycles(layer_of, len(num_passes), parents))
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
