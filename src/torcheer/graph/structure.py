"""Parents, children, ancestors and distances of ops that are numbered in the order they ran."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
