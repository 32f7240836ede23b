"""Close modules below the depth that was asked for, and let a module of one op be that op's box."""

from __future__ import annotations

from torcheer.graph.document import PassDocument
from torcheer.graph.drawing.diagram import Group, Node, Part


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
