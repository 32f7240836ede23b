"""Put the ops of a pass into the tree of its modules, each op by itself or each layer once."""

from __future__ import annotations

from collections.abc import Sequence

from torcheer.graph.document import OpEntry, PassDocument
from torcheer.graph.drawing.diagram import Group, Node


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
    leader = list(range(len(ops)))

    def find(index: int) -> int:
        while leader[index] != index:
            leader[index] = leader[leader[index]]
            index = leader[index]
        return index

    for index, op in enumerate(ops):
        if index not in without:
            for link in op.parents:
                if link.op not in without:
                    leader[find(index)] = find(link.op)
    pieces: dict[int, list[int]] = {}
    for index in range(len(ops)):
        if index not in without:
            pieces.setdefault(find(index), []).append(index)
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
