"""Name a source at its far readers instead of drawing a wire to each: a mask read by 24 blocks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

from torcheer.graph.drawing.diagram import Edge, Node

_FAR = 10  # ranks from source to reader
_NOT_CLOSE = 5
_MANY_FAR_READERS = 3
_MANY_FAR_READERS_OF_A_START = 2  # of a box that nothing leads to, so that its name says all
_MANY_FAR_SOURCES = 6
_MANY_FAR_OUTPUTS = 3


def choose_chips(nodes: Sequence[Node], edges: Sequence[Edge], outputs: AbstractSet[int]) -> None:
    """Mark the edges that are to be chips. `outputs` are the ids of the boxes of outputs."""
    ordered = sorted(nodes, key=lambda node: node.order)
    incoming, outgoing = _sides(edges)
    early, late = _ranks(ordered, incoming, outgoing)
    bottom = max(early.values(), default=0)
    depth = {key: bottom if key in outputs else rank for key, rank in late.items()}
    for node in ordered:
        is_start = id(node) not in incoming
        place = late[id(node)]  # a branch that is needed late stands right above its first reader
        readers = outgoing.get(id(node), ())
        far = [edge for edge in readers if depth[id(edge.target)] - place > _FAR]
        if len(far) >= (_MANY_FAR_READERS_OF_A_START if is_start else _MANY_FAR_READERS):
            # Where some are named, so are others that are not close by: they are read alike.
            _mark([edge for edge in readers if depth[id(edge.target)] - place > _NOT_CLOSE])
    far_out: list[Edge] = []
    for node in ordered:
        into = incoming.get(id(node), ())
        far = [edge for edge in into if depth[id(node)] - late[id(edge.source)] > _FAR]
        if len(far) >= _MANY_FAR_SOURCES:
            _mark(far)
        if id(node) in outputs:
            far_out.extend(far)
    if len(far_out) >= _MANY_FAR_OUTPUTS:
        _mark(far_out)


def _mark(edges: Iterable[Edge]) -> None:
    for edge in edges:
        edge.is_far = True


def _sides(edges: Sequence[Edge]) -> tuple[dict[int, list[Edge]], dict[int, list[Edge]]]:
    incoming: dict[int, list[Edge]] = {}
    outgoing: dict[int, list[Edge]] = {}
    for edge in edges:
        if edge.kind == "data" and not edge.is_back:
            incoming.setdefault(id(edge.target), []).append(edge)
            outgoing.setdefault(id(edge.source), []).append(edge)
    return incoming, outgoing


def _ranks(
    ordered: Sequence[Node], incoming: dict[int, list[Edge]], outgoing: dict[int, list[Edge]]
) -> tuple[dict[int, int], dict[int, int]]:
    """How far down each box stands at least, and how far down it may stand."""
    early: dict[int, int] = {}
    for node in ordered:
        early[id(node)] = max((early[id(e.source)] + 1 for e in incoming.get(id(node), ())), default=0)
    late: dict[int, int] = {}
    for node in reversed(ordered):
        below = [late[id(e.target)] - 1 for e in outgoing.get(id(node), ())]
        late[id(node)] = min(below, default=early[id(node)])
    return early, late
