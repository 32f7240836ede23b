"""What a picture is made of: boxes within boxes, and edges between them. Built in steps, then laid out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from torcheer.graph.document import OpEntry, PassDocument
from torcheer.graph.layout.model import connected_pieces

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


def hidden_ops(document: PassDocument, *, buffers_shown: bool) -> set[int]:
    """Buffers that are not to be shown, and whatever would hang in the air without them.

    A batch norm that counts its batches makes `buffer -> add`, which leads nowhere: such pieces, tied to
    nothing but buffers, go too.
    """
    ops = document.ops
    if buffers_shown:
        return set()
    hidden = {index for index, op in enumerate(ops) if op.kind == "buffer"}
    for piece in _pieces(ops, hidden):
        reads_buffer = any(link.op in hidden for index in piece for link in ops[index].parents)
        if reads_buffer and all(_may_go(ops[index]) for index in piece):
            hidden.update(piece)
    return hidden


def _may_go(op: OpEntry) -> bool:
    return op.kind in ("op", "source") and not op.params


def _pieces(ops: Sequence[OpEntry], without: set[int]) -> list[list[int]]:
    """The ops, apart from some, in pieces that no edge connects."""
    links = ((index, link.op) for index, op in enumerate(ops) for link in op.parents)
    piece_of = connected_pieces(len(ops), (pair for pair in links if without.isdisjoint(pair)))
    pieces: dict[int, list[int]] = {}
    for index, piece in enumerate(piece_of):
        if index not in without:
            pieces.setdefault(piece, []).append(index)
    return list(pieces.values())


def grow(document: PassDocument, hidden: set[int], *, rolled: bool) -> Group:
    """The tree: one box a call of a module, or, rolled, one a module and place with all its calls."""
    groups = _groups(document, rolled=rolled)
    nodes: dict[int, Node] = {}
    for index, op in enumerate(document.ops):
        if index in hidden:
            continue
        node = nodes.get(op.layer) if rolled else None
        if node is not None:
            node.ops.append(index)
            continue
        node = Node(ops=[index])
        nodes[op.layer] = node
        groups[op.scope].children.append(node)
    return _tidied(groups[0])


def _groups(document: PassDocument, *, rolled: bool) -> list[Group]:
    """The group of each scope, those inside it already among its children.

    Rolled, calls of one module at one place are one group if they ran some layer in common: a ReLU
    module that is used at two places of a block is two boxes, as it is two layers.
    """
    groups: list[Group] = []
    known: dict[tuple[int, str, int], list[tuple[Group, set[int]]]] = {}
    layers = _layers_inside(document) if rolled else []
    for index, scope in enumerate(document.scopes):
        parent = groups[scope.parent] if scope.parent >= 0 else None
        group = None
        if rolled:
            place = (id(parent), str(scope.address or scope.name), -1 if scope.address else scope.source)
            candidates = known.setdefault(place, [])
            group = next((g for g, its in candidates if not its.isdisjoint(layers[index])), None)
            if group is None:
                group = Group(scopes=[])
                candidates.append((group, layers[index]))
                if parent is not None:
                    parent.children.append(group)
            group.scopes.append(index)
        else:
            group = Group(scopes=[index])
            if parent is not None:
                parent.children.append(group)
        groups.append(group)
    return groups


def _layers_inside(document: PassDocument) -> list[set[int]]:
    """The layers that ran in each scope, with those of the scopes inside it."""
    layers: list[set[int]] = [set() for _ in document.scopes]
    for op in document.ops:
        layers[op.scope].add(op.layer)
    for index in range(len(document.scopes) - 1, 0, -1):
        layers[document.scopes[index].parent] |= layers[index]
    return layers


def _tidied(root: Group) -> Group:
    """Without empty groups, all children in the order in which they ran."""
    inside_first: list[Group] = []
    stack = [root]
    while stack:
        group = stack.pop()
        inside_first.append(group)
        stack.extend(child for child in group.children if isinstance(child, Group))
    for group in reversed(inside_first):
        kept = [child for child in group.children if isinstance(child, Node) or child.children]
        group.children = sorted(kept, key=lambda child: child.order)
    return root


def close_modules(root: Group, document: PassDocument, depth: int | None) -> Group:
    """The tree with modules at `depth` as single boxes; inputs and outputs always stay outside."""
    if depth == 0:
        return _closed_model(root, document)
    parts = [_closed(child, 1, depth) for child in root.children]
    return Group(scopes=root.scopes, children=parts)


def _closed_model(root: Group, document: PassDocument) -> Group:
    outside = [leaf for leaf in root.leaves() if document.ops[leaf.order].kind in ("input", "output")]
    inside = Group(scopes=root.scopes, children=[leaf for leaf in root.leaves() if leaf not in set(outside)])
    model = [_collapsed(inside)] if inside.children else []
    children = sorted([*outside, *model], key=lambda part: part.order)
    return Group(scopes=root.scopes, children=list(children))


def _closed(part: Part, level: int, depth: int | None) -> Part:
    """One part of the tree. Recursion is as deep as modules nest, never as long as the model."""
    if isinstance(part, Node):
        return part
    only = _only_leaf(part)
    if only is not None:
        return only
    if depth is not None and level >= depth:
        return _collapsed(part)
    children = [_closed(child, level + 1, depth) for child in part.children]
    return Group(scopes=part.scopes, children=children)


def _only_leaf(group: Group) -> Node | None:
    """The one op of a group, marked with all the modules that hold nothing else."""
    scopes: list[int] = []
    part: Part = group
    while isinstance(part, Group):
        if len(part.children) != 1:
            return None
        scopes.extend(part.scopes)
        part = part.children[0]
    part.scopes = [*scopes, *part.scopes]
    return part


def _collapsed(group: Group) -> Node:
    ops = sorted(index for leaf in group.leaves() for index in leaf.ops)
    return Node(ops=ops, calls=group.scopes)


_MANY_OUTPUTS = 6


def bundle_outputs(root: Group, document: PassDocument) -> None:
    """Runs of outputs that look alike, as the keys and values of 24 blocks do, become one box `× 24`."""
    kept: list[Part] = []
    run: list[Node] = []
    for child in [*root.children, None]:
        looks = _output_looks(child, document)
        if run and (looks is None or looks != _output_looks(run[0], document)):
            kept.extend(_bundled(run))
            run = []
        if child is not None and looks is not None:
            assert isinstance(child, Node)
            run.append(child)
        elif child is not None:
            kept.append(child)
    root.children = kept


def _output_looks(part: Part | None, document: PassDocument) -> object:
    if not isinstance(part, Node) or part.is_collapsed:
        return None
    op = document.ops[part.ops[0]]
    return (tuple(op.shape), op.dtype, len(part.ops)) if op.kind == "output" else None


def _bundled(run: list[Node]) -> list[Node]:
    if len(run) < _MANY_OUTPUTS:
        return run
    first = run[0]
    first.num_repeats = len(run)
    first.stands_for = [index for node in run for index in node.ops]
    return [first]


def dissolve_fans(root: Group, document: PassDocument) -> None:
    """A function such as `split` that holds nothing but the outputs of one call needs no box."""
    stack = [root]
    while stack:
        group = stack.pop()
        children: list[Part] = []
        for child in group.children:
            if isinstance(child, Group) and _is_fan(child, document):
                children.extend(child.children)
            else:
                children.append(child)
        group.children = children
        stack.extend(child for child in children if isinstance(child, Group))


def _is_fan(group: Group, document: PassDocument) -> bool:
    if document.scopes[group.scopes[0]].address is not None:
        return False
    inside = {index for child in group.children if isinstance(child, Node) for index in child.ops}
    ops = [document.ops[index] for index in inside]
    return (
        all(isinstance(child, Node) for child in group.children)
        and len({op.function for op in ops}) == 1
        and not any(link.op in inside for op in ops for link in op.parents)
    )
