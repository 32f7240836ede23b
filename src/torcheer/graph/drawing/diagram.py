"""What a picture is made of: boxes within boxes, and edges between them. Built in steps, then laid out.

An edge says which box gives which a tensor, in which passes. Far sources are named at their readers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal

from torcheer.graph.document import BranchEntry, Link, OpEntry, PassDocument
from torcheer.graph.drawing.text_width import REGULAR, fitted, printable, text_width
from torcheer.graph.layout.layout_engine import Rect
from torcheer.graph.layout.rows import connected_pieces

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


def _tidied(group: Group) -> Group:
    """Without empty groups, all children in the order in which they ran."""
    parts = [child if isinstance(child, Node) else _tidied(child) for child in group.children]
    kept = [part for part in parts if isinstance(part, Node) or part.children]
    group.children = sorted(kept, key=lambda part: part.order)
    return group


def close_modules(root: Group, document: PassDocument, depth: int | None) -> Group:
    """The tree with modules at `depth` as single boxes; inputs and outputs always stay outside."""
    if depth == 0:
        leaves = list(root.leaves())
        outside = [leaf for leaf in leaves if document.ops[leaf.order].kind in ("input", "output")]
        inside = Group(scopes=root.scopes, children=[leaf for leaf in leaves if leaf not in set(outside)])
        model = [_collapsed(inside)] if inside.children else []
        return Group(scopes=root.scopes, children=sorted([*outside, *model], key=lambda part: part.order))
    parts = [_closed(child, 1, depth) for child in root.children]
    return Group(scopes=root.scopes, children=parts)


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


def dissolve_fans(group: Group, document: PassDocument) -> None:
    """A function such as `split` that holds nothing but the outputs of one call needs no box."""
    children: list[Part] = []
    for child in group.children:
        if isinstance(child, Group) and _is_fan(child, document):
            children.extend(child.children)
            continue
        children.append(child)
        if isinstance(child, Group):
            dissolve_fans(child, document)
    group.children = children


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


_STATEMENTS = {"if": "if", "while": "while", "if-expression": "if"}
_MAX_LABEL = 120.0  # pixels beside a wire
_MAX_RUNS = 3  # `1–3, 7, 9–12`
Pair = tuple[int, int]


class Wiring:
    """Collects the edges between boxes from those between ops."""

    def __init__(self, document: PassDocument, root: Group, carried: set[Pair], *, rolled: bool) -> None:
        self._document = document
        # The box that an op is drawn in.
        self._node_of = {index: node for node in root.leaves() for index in (node.stands_for or node.ops)}
        self._carried = carried  # from one of several equal blocks to the next: the block itself says so
        self._rolled = rolled
        self._edges: dict[tuple[Node, Node, bool], Edge] = {}
        self._uses: dict[tuple[Node, Node, bool], set[tuple[int, int, str]]] = {}  # both passes, and as what
        self._turn_of_scope: dict[tuple[Node, int], int] = {}

    def edges(self) -> list[Edge]:
        for index, op in enumerate(self._document.ops):
            target = self._node_of.get(index)
            if target is not None:
                self._into(index, op, target)
        if self._rolled:
            for key, edge in self._edges.items():
                self._tell_passes(edge, self._uses[key], from_before=key[2])
        found = [*self._edges.values(), *self._conditions()]
        return sorted(found, key=lambda edge: (edge.target.order, edge.source.order))

    def _into(self, index: int, op: OpEntry, target: Node) -> None:
        links = [link for link in op.parents if link.op in self._node_of]
        sources = [self._node_of[link.op] for link in links]
        # Several passes of one layer are one box, and yet not the same argument.
        are_several = self._rolled or len(set(sources)) > 1
        named = op.argument_order_matters and not target.is_collapsed and are_several
        names = map(_short, _short_arguments(links)) if named else [""] * len(links)
        for link, source, name in zip(links, sources, names, strict=True):
            self._between(link.op, index, source, target, name)

    def _between(self, parent: int, child: int, source: Node, target: Node, name: str) -> None:
        if (parent, child) in self._carried:
            return
        turns = (self._turn(parent, source), self._turn(child, target))
        if source is target and turns[0] == turns[1]:
            return  # inside a module that is not opened
        # What comes from an earlier pass is an edge of its own, beside that within the same pass.
        from_before = self._runs_often(source) and self._runs_often(target) and turns[0] != turns[1]
        key = (source, target, from_before)
        edge = self._edges.get(key)
        if edge is None:
            is_back = source.order >= target.order
            edge = self._edges[key] = Edge(source=source, target=target, is_back=is_back)
            self._uses[key] = set()
        if name and name not in edge.arguments:
            edge.arguments.append(name)
        ops = self._document.ops
        edge.has_gradient |= ops[parent].has_grad and ops[child].has_grad
        self._uses[key].add((*turns, name))

    def _turn(self, index: int, node: Node) -> int:
        """Which pass of its box an op belongs to."""
        if not self._rolled:
            return 1
        op = self._document.ops[index]
        if not node.is_collapsed:
            return op.pass_num
        scope = op.scope
        key = (node, scope)
        if key not in self._turn_of_scope:
            calls = {call: turn for turn, call in enumerate(node.calls, start=1)}
            while scope >= 0 and scope not in calls:
                scope = self._document.scopes[scope].parent
            self._turn_of_scope[key] = calls.get(scope, 0)
        return self._turn_of_scope[key]

    def _tell_passes(self, edge: Edge, uses: set[tuple[int, int, str]], *, from_before: bool) -> None:
        """`passes 2–5` where an edge is not there each time; nothing where it is."""
        out_of, into = {use[0] for use in uses}, {use[1] for use in uses}
        if from_before and not edge.is_back:
            before = all(turn - other == 1 for other, turn, _ in uses)
            edge.label = "from the pass before" if before else f"from {self._passes(out_of, edge.source)}"
        elif not into.issuperset(self._all_turns(edge.target)):
            edge.label = self._passes(into, edge.target)
        elif len(into) == 1 and len(out_of) > 1 and len({use[2] for use in uses}) > 1:
            # `0 from pass 1, 1 from pass 2`: a difference of two passes of one layer.
            parts = sorted((other, name) for other, _, name in uses)
            edge.arguments = [f"{name} from pass {other}" for other, name in parts]
        elif not out_of.issuperset(self._all_turns(edge.source)):
            edge.label = f"from {self._passes(out_of, edge.source)}"

    def _passes(self, turns: set[int], node: Node) -> str:
        """`passes 2–5`; where that would become a long list, only how many."""
        if len(_runs(sorted(turns))) > _MAX_RUNS:
            return f"{len(turns):,} of {len(list(self._all_turns(node))):,} passes"
        return f"{'pass' if len(turns) == 1 else 'passes'} {ranges(sorted(turns), '–', ', ')}"

    def _runs_often(self, node: Node) -> bool:
        return self._rolled and (len(node.calls) if node.is_collapsed else len(node.ops)) > 1

    def _all_turns(self, node: Node) -> Iterable[int]:
        if node.is_collapsed:
            return range(1, len(node.calls) + 1)
        return (self._document.ops[index].pass_num for index in node.ops)

    def _conditions(self) -> list[Edge]:
        found: dict[tuple[Node, Node, str], Edge] = {}
        for branch in self._document.branches:
            if branch.statement not in _STATEMENTS or branch.op < 0:
                continue
            source = self._node_of.get(branch.op)
            shown = (self._node_of[index] for index in branch.followed_by if index in self._node_of)
            target = next(shown, None)
            if source is None or target is None or source is target:
                continue
            edge = Edge(
                source=source,
                target=target,
                kind="condition",
                label=_short(_condition(branch)),
                is_back=source.order >= target.order,
            )
            found.setdefault((source, target, edge.label), edge)
        return list(found.values())


def _short(words: str) -> str:
    return fitted(printable(words), _MAX_LABEL, 11.0)


def _short_arguments(links: Sequence[Link]) -> list[str]:
    """`0` and `1` for the members of a list that is the only thing given, else the names as they are."""
    heads = {link.argument.partition(".")[0] for link in links}
    if len(heads) == 1 and all("." in link.argument for link in links):
        return [link.argument.partition(".")[2] for link in links]
    return [link.argument for link in links]


def _condition(branch: BranchEntry) -> str:
    word = _STATEMENTS[branch.statement]
    if branch.value in ("True", "False"):
        return f"{word} {branch.value}"
    # A number such as `x.item()` was compared with something: only the way taken can be told.
    return f"{word}: {branch.taken}" if branch.taken else word


def ranges(numbers: Sequence[int], to: str, then: str) -> str:
    """`1–3, 7` for 1, 2, 3, 7."""
    return then.join(str(a) if a == b else f"{a}{to}{b}" for a, b in _runs(numbers))


def _runs(numbers: Sequence[int]) -> list[Pair]:
    """The first and last of each stretch without a gap."""
    found: list[Pair] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


_FAR = 10  # ranks from source to reader
_NOT_CLOSE = 5
_MANY_FAR_READERS = 3
_MANY_FAR_READERS_OF_A_START = 2  # of a box that nothing leads to, so that its name says all
_MANY_FAR_SOURCES = 6
_MANY_FAR_OUTPUTS = 3


def choose_chips(diagram: Diagram, document: PassDocument) -> None:
    """Mark the edges that are to be chips."""
    ordered = sorted(diagram.root.leaves(), key=lambda node: node.order)
    outputs = {node for node in ordered if document.ops[node.order].kind == "output"}
    incoming: dict[Node, list[Edge]] = {}
    outgoing: dict[Node, list[Edge]] = {}
    for edge in diagram.edges:
        if edge.kind == "data" and not edge.is_back:
            incoming.setdefault(edge.target, []).append(edge)
            outgoing.setdefault(edge.source, []).append(edge)
    early, late = _ranks(ordered, incoming, outgoing)
    bottom = max(early.values(), default=0)
    depth = {key: bottom if key in outputs else rank for key, rank in late.items()}
    for node in ordered:
        is_start = node not in incoming
        place = late[node]  # a branch that is needed late stands right above its first reader
        readers = outgoing.get(node, ())
        far = [edge for edge in readers if depth[edge.target] - place > _FAR]
        if len(far) >= (_MANY_FAR_READERS_OF_A_START if is_start else _MANY_FAR_READERS):
            # Where some are named, so are others that are not close by: they are read alike.
            _mark([edge for edge in readers if depth[edge.target] - place > _NOT_CLOSE])
    far_out: list[Edge] = []
    for node in ordered:
        into = incoming.get(node, ())
        far = [edge for edge in into if depth[node] - late[edge.source] > _FAR]
        if len(far) >= _MANY_FAR_SOURCES:
            _mark(far)
        if node in outputs:
            far_out.extend(far)
    if len(far_out) >= _MANY_FAR_OUTPUTS:
        _mark(far_out)


def _mark(edges: Iterable[Edge]) -> None:
    for edge in edges:
        edge.is_far = True


def _ranks(
    ordered: Sequence[Node], incoming: dict[Node, list[Edge]], outgoing: dict[Node, list[Edge]]
) -> tuple[dict[Node, int], dict[Node, int]]:
    """How far down each box stands at least, and how far down it may stand."""
    early: dict[Node, int] = {}
    for node in ordered:
        early[node] = max((early[e.source] + 1 for e in incoming.get(node, ())), default=0)
    late: dict[Node, int] = {}
    for node in reversed(ordered):
        below = [late[e.target] - 1 for e in outgoing.get(node, ())]
        late[node] = min(below, default=early[node])
    return early, late
