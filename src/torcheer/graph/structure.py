"""The structure of a pass: parents and children, the passes of layers, the module tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property


class Structure:
    """The edges of a pass. A parent always comes before its child, so one sweep answers each question."""

    def __init__(
        self, parents: Sequence[tuple[int, ...]], inputs: Sequence[int], outputs: Sequence[int]
    ) -> None:
        self.parents = parents
        self.inputs = inputs
        self.outputs = outputs

    @cached_property
    def children(self) -> list[list[int]]:
        children: list[list[int]] = [[] for _ in self.parents]
        for op, its_parents in enumerate(self.parents):
            for parent in its_parents:
                children[parent].append(op)
        return children

    def siblings(self, op: int) -> list[int]:
        """Ops that share a parent with this one."""
        found = {child for parent in self.parents[op] for child in self.children[parent]}
        return sorted(found - {op})

    def co_parents(self, op: int) -> list[int]:
        """Ops that share a child with this one."""
        found = {parent for child in self.children[op] for parent in self.parents[child]}
        return sorted(found - {op})

    def ancestors(self, op: int) -> set[int]:
        return reach(self.parents[op], self.parents)

    def descendants(self, op: int) -> set[int]:
        return reach(self.children[op], self.children)

    @cached_property
    def from_input(self) -> list[tuple[int, int] | None]:
        """The shortest and the longest way from an input; None where no input leads here."""
        ways: list[tuple[int, int] | None] = [None] * len(self.parents)
        for op in self.inputs:
            ways[op] = (0, 0)
        for op in range(len(self.parents)):
            ways[op] = _further(ways[op], [ways[p] for p in self.parents[op]])
        return ways

    @cached_property
    def from_output(self) -> list[tuple[int, int] | None]:
        """The shortest and the longest way to an output; None for ops that lead nowhere."""
        ways: list[tuple[int, int] | None] = [None] * len(self.parents)
        for op in self.outputs:
            ways[op] = (0, 0)
        for op in range(len(self.parents) - 1, -1, -1):
            ways[op] = _further(ways[op], [ways[c] for c in self.children[op]])
        return ways

    @cached_property
    def leads_to_output(self) -> list[bool]:
        return [way is not None for way in self.from_output]


def _further(own: tuple[int, int] | None, others: list[tuple[int, int] | None]) -> tuple[int, int] | None:
    ways = [(low + 1, high + 1) for low, high in filter(None, others)]
    if own is not None:
        ways.append(own)
    if not ways:
        return None
    return min(low for low, _ in ways), max(high for _, high in ways)


def reach(starts: Iterable[int], edges: Sequence[Sequence[int]]) -> set[int]:
    """What can be reached from any of several ops, themselves included."""
    found: set[int] = set()
    queue = list(starts)
    while queue:
        op = queue.pop()
        if op not in found:
            found.add(op)
            queue.extend(edges[op])
    return found


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
    repeated = [layer for layer in counting if num_passes[layer] > 1]
    bit_of = {layer: 1 << place for place, layer in enumerate(repeated)}
    reached: list[int] = []  # by op, the repeated layers that lead to it or that it is a pass of, as bits
    most = 0
    for layer, its_parents in zip(layer_of, parents, strict=True):
        above = 0
        for parent in its_parents:
            above |= reached[parent]
        own = bit_of.get(layer, 0)
        if above & own:
            most = max(most, num_passes[layer])
        reached.append(above | own)
    return most


@dataclass(frozen=True, slots=True, kw_only=True)
class ModulePass:
    """One call of a module."""

    address: str
    pass_num: int
    first_op: int
    num_ops: int
    output_ops: tuple[int, ...]
    elapsed_seconds: float
    caller: str  # "" for the model itself

    @property
    def label(self) -> str:
        return f"{self.address}:{self.pass_num}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleInfo:
    """One module of the model, whether it ran or not."""

    address: str
    class_name: str
    children: tuple[str, ...]
    param_addresses: tuple[str, ...]  # its own, not its children's
    num_params: int  # with its children's
    training: bool
    passes: tuple[ModulePass, ...]

    @property
    def num_passes(self) -> int:
        return len(self.passes)


class ModuleTree:
    """All modules by address; the model itself has the address ""."""

    def __init__(
        self,
        modules: dict[str, ModuleInfo],
        made_in_forward: dict[str, tuple[ModulePass, ...]],
        other_names: dict[str, str],
    ) -> None:
        self.modules = modules
        self.made_in_forward = made_in_forward  # they ran, but are not part of the model
        self.other_names = other_names  # of modules that hang in the tree in more than one place

    def __repr__(self) -> str:
        num_calls = sum(info.num_passes for info in self.modules.values())
        return f"<ModuleTree: {len(self.modules)} modules, {num_calls} calls>"

    @property
    def addresses(self) -> list[str]:
        return [address for address in self.modules if address]

    def passes_of(self, address: str) -> tuple[ModulePass, ...] | None:
        """The calls of a module; None where there is no such module."""
        address = self.other_names.get(address, address)
        info = self.modules.get(address)
        return info.passes if info is not None else self.made_in_forward.get(address)

    def passes_named(self, key: str) -> tuple[tuple[ModulePass, ...], int]:
        """The calls of the module that `layer1.relu` or `layer1.relu:2` names, and which is meant; 0: all."""
        passes = self.passes_of(key)
        if passes is not None:
            return passes, 0
        address, colon, number = key.rpartition(":")
        passes = self.passes_of(address) if colon and number.isdigit() else None
        return (passes or (), int(number)) if passes else ((), 0)

    def all_passes(self) -> Iterator[ModulePass]:
        for info in self.modules.values():
            yield from info.passes
        for passes in self.made_in_forward.values():
            yield from passes
