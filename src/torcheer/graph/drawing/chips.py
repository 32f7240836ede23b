"""Name a source at its far readers instead of drawing a wire to each: a mask read by 24 blocks."""

from __future__ import annotations

from collections.abc import Sequence

from torcheer.graph.drawing.diagram import Edge, Node

_FAR = 10  # ranks from source to reader
_MANY_FAR_READERS = 3
_MANY_FAR_READERS_OF_A_START = 2  # of a box that nothing leads to, so that its name says all
_MANY_FAR_SOURCES = 6


def choose_chips(nodes: Sequence[Node], edges: Sequence[Edge]) -> None:
    """Mark the edges that are to be chips."""
    ordered = sorted(nodes, key=lambda node: node.order)
    incoming, outgoing = _sides(edges)
    early, late = _ranks(ordered, incoming, outgoing)
    for node in ordered:
        out = outgoing.get(id(node), ())
        is_start = id(node) not in incoming
        place = late[id(node)] if is_start else early[id(node)]
        far = [edge for edge in out if late[id(edge.target)] - place > _FAR]
        least = _MANY_FAR_READERS_OF_A_START if is_start else _MANY_FAR_READERS
        if len(far) >= least:
            for edge in far:
                edge.is_far = True
    for node in ordered:
        far = [e for e in incoming.get(id(node), ()) if late[id(node)] - early[id(e.source)] > _FAR]
        if len(far) >= _MANY_FAR_SOURCES:
            for edge in far:
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
