"""The edges of a picture: which box gives which a tensor, in which passes; far ones are named, not drawn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

from torcheer.graph.document import BranchEntry, Link, OpEntry, PassDocument
from torcheer.graph.drawing.diagram import Edge, Group, Node
from torcheer.graph.drawing.text_width import fitted, printable

_STATEMENTS = {"if": "if", "while": "while", "if-expression": "if"}
_MAX_LABEL = 120.0  # pixels beside a wire
_MAX_RUNS = 3  # `1–3, 7, 9–12`
Pair = tuple[int, int]


def nodes_by_op(root: Group) -> dict[int, Node]:
    """The box that an op is drawn in."""
    return {index: node for node in root.leaves() for index in (node.stands_for or node.ops)}


class Wiring:
    """Collects the edges between boxes from those between ops."""

    def __init__(self, document: PassDocument, root: Group, carried: set[Pair], *, rolled: bool) -> None:
        self._document = document
        self._node_of = nodes_by_op(root)
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
            text = _short(_condition(branch))
            found.setdefault(
                (source, target, text),
                Edge(
                    source=source,
                    target=target,
                    kind="condition",
                    label=text,
                    is_back=source.order >= target.order,
                ),
            )
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


def choose_chips(nodes: Sequence[Node], edges: Sequence[Edge], outputs: AbstractSet[Node]) -> None:
    """Mark the edges that are to be chips. `outputs` are the boxes of outputs."""
    ordered = sorted(nodes, key=lambda node: node.order)
    incoming, outgoing = _sides(edges)
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


def _sides(edges: Sequence[Edge]) -> tuple[dict[Node, list[Edge]], dict[Node, list[Edge]]]:
    incoming: dict[Node, list[Edge]] = {}
    outgoing: dict[Node, list[Edge]] = {}
    for edge in edges:
        if edge.kind == "data" and not edge.is_back:
            incoming.setdefault(edge.target, []).append(edge)
            outgoing.setdefault(edge.source, []).append(edge)
    return incoming, outgoing


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
