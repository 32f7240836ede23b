"""What a picture is made of: boxes within boxes, and edges between them. Built in steps, then laid out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal

from torcheer.graph.document import PassDocument
from torcheer.graph.drawing.text_width import REGULAR, text_width
from torcheer.graph.layout.model import Rect, connected_pieces

NOWHERE = Rect(0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """One line; `ink` names a colour of the palette."""

    words: str
    ink: str = "text_2"
    size: float = 11.0
    weight: int = REGULAR

    @property
    def width(self) -> float:
        return text_width(self.words, self.size, self.weight)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """The name of a far source, or a note that there are far readers."""

    words: str
    edges: tuple[Edge, ...]
    tooltip: str
    width: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Face:
    """Everything on a box."""

    kind: str = "op"
    lines: list[Text] = field(default_factory=list)
    tags: list[Text] = field(default_factory=list)  # at the right of the first line
    chips_in: list[list[Chip]] = field(default_factory=list)  # rows above the text
    chip_out: Chip | None = None  # below it
    width: float = 0.0
    height: float = 0.0


@dataclass(slots=True, kw_only=True, eq=False)
class Node:
    """One box without boxes inside: an op, a layer with its passes, or a module that is not opened."""

    ops: list[int]  # one; all passes of a layer; all ops inside a module
    scopes: list[int] = field(default_factory=list)  # modules and functions that hold just this op
    calls: list[int] = field(default_factory=list)  # of a module that is not opened
    num_repeats: int = 1  # equal blocks that it is drawn for, where it is not opened
    stands_for: list[int] = field(default_factory=list)  # its ops, and those of equal blocks not drawn
    fill: str = ""  # its own colour, and what that means
    figure: str = ""
    column: int = 0
    # Known when it is laid out.
    key: int = -1
    face: Face = field(default_factory=Face)
    rect: Rect = NOWHERE

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
    # Known when it is laid out.
    key: int = -1
    header: list[Text] = field(default_factory=list)  # side by side
    rect: Rect = NOWHERE

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
    kind: Literal["data", "condition"] = "data"
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
    buffers = {index for index, op in enumerate(ops) if op.kind == "buffer"}
    links = ((index, link.op) for index, op in enumerate(ops) for link in op.parents)
    piece_of = connected_pieces(len(ops), (pair for pair in links if buffers.isdisjoint(pair)))
    tied: set[int] = set()  # pieces that read a buffer, and those with something to show
    shown: set[int] = set()
    for piece, op in zip(piece_of, ops, strict=True):
        if any(link.op in buffers for link in op.parents):
            tied.add(piece)
        if op.kind not in ("op", "source") or op.params:
            shown.add(piece)
    hanging = tied - shown
    return buffers | {index for index, piece in enumerate(piece_of) if piece in hanging}


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
        group = None
        if rolled:
            parent = id(groups[scope.parent]) if scope.parent >= 0 else 0
            place = (parent, scope.address or scope.name, -1 if scope.address else scope.source)
            alike = known.setdefault(place, [])
            group = next((g for g, its in alike if not its.isdisjoint(layers[index])), None)
        if group is None:
            group = Group(scopes=[])
            if rolled:
                alike.append((group, layers[index]))
            if scope.parent >= 0:
                groups[scope.parent].children.append(group)
        group.scopes.append(index)
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

    def looks(part: Part) -> object:
        op = document.ops[part.order]
        if isinstance(part, Group) or part.is_collapsed or op.kind != "output":
            return None
        return tuple(op.shape), op.dtype, len(part.ops)

    kept: list[Part] = []
    for look, parts in groupby(root.children, looks):
        run = list(parts)
        first = run[0]
        if look is not None and len(run) >= _MANY_OUTPUTS and isinstance(first, Node):
            first.num_repeats = len(run)
            first.stands_for = [index for part in run if isinstance(part, Node) for index in part.ops]
            run = [first]
        kept.extend(run)
    root.children = kept


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
