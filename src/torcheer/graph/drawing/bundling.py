"""Many equal outputs as one box, and functions that only fan one call out without a box of their own."""

from __future__ import annotations

from torcheer.graph.document import PassDocument
from torcheer.graph.drawing.diagram import Group, Node, Part

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
