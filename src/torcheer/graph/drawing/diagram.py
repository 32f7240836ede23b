"""What a picture is made of: boxes within boxes, and edges between them. Built in steps, then laid out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

EdgeKind = Literal["data", "condition"]


@dataclass(slots=True, kw_only=True, eq=False)
class Node:
    """One box without boxes inside: an op, a layer with its passes, or a module that is not opened."""

    ops: list[int]  # one; all passes of a layer; all ops inside a module
    scopes: list[int] = field(default_factory=list)  # modules and functions that hold just this op
    calls: list[int] = field(default_factory=list)  # of a module that is not opened
    num_repeats: int = 1  # equal blocks that it is drawn for, where it is not opened
    stands_for: list[int] = field(default_factory=list)  # its ops, and those of equal blocks not drawn
    key: int = -1

    @property
    def is_collapsed(self) -> bool:
        return bool(self.calls)

    @property
    def order(self) -> int:
        return self.ops[0]


@dataclass(slots=True, kw_only=True, eq=False)
class Group:
    """One box with boxes inside: the calls of a module, of an opened function, or one of equal stretches."""

    scopes: list[int]  # none for a stretch of several boxes that repeats
    children: list[Part] = field(default_factory=list)
    num_repeats: int = 1
    repeated: list[int] = field(default_factory=list)  # the scopes of all repeats, in order
    is_continued: bool = False  # its beginning stands in another column
    key: int = -1

    @property
    def order(self) -> int:
        return self.children[0].order

    def leaves(self) -> Iterator[Node]:
        stack: list[Part] = [self]
        while stack:
            part = stack.pop()
            if isinstance(part, Node):
                yield part
            else:
                stack.extend(reversed(part.children))


Part = Node | Group


@dataclass(slots=True, kw_only=True, eq=False)
class Edge:
    """What one box gives another, or what a value decided."""

    source: Node
    target: Node
    kind: EdgeKind = "data"
    arguments: list[str] = field(default_factory=list)  # where their order matters
    label: str = ""  # passes, or the condition
    is_back: bool = False
    has_gradient: bool = False
    is_far: bool = False  # its source has many readers far away
    is_cut: bool = False  # its ends stand in two columns

    @property
    def is_chip(self) -> bool:
        """Named at both ends instead of drawn."""
        return self.is_far or self.is_cut

    @property
    def text(self) -> str:
        parts = [", ".join(self.arguments), self.label]
        return " · ".join(part for part in parts if part)


@dataclass(slots=True, kw_only=True, eq=False)
class Diagram:
    """A whole picture before it is laid out."""

    root: Group
    edges: list[Edge]
    hidden: set[int]  # ops that are not shown
    num_folded: int = 0  # boxes that stand for several
    columns: list[Group] = field(default_factory=list)  # the root, cut into stretches that stand side by side

    def nodes(self) -> list[Node]:
        return list(self.root.leaves())
