"""Order the vertices of each rank so that few wires cross."""

from __future__ import annotations

from bisect import bisect_right, insort
from itertools import pairwise

from torcheer.graph.layout.model import Component, Kind, Segment, Vertex

# Above this many vertices a component gets fewer rounds.
_MANY = 4000


def order_rows(component: Component) -> None:
    """Fill `rows` and `place`: a walk along the wires first, then sweeps while they help."""
    _walk(component)
    rows = component.rows
    _number(rows)
    best, idle = _crossings(rows), 0
    kept = [row[:] for row in rows]
    for number in range(4 if len(component.vertices) > _MANY else 12):
        if not best or idle > 3:
            break
        _sweep(rows, down=number % 2 == 0)
        now = _crossings(rows)
        idle += 1
        if now < best:
            best, idle = now, 0
            kept = [row[:] for row in rows]
    component.rows = kept
    _number(kept)


def _number(rows: list[list[Vertex]]) -> None:
    for row in rows:
        for place, vertex in enumerate(row):
            vertex.place = place


def _walk(component: Component) -> None:
    """A depth-first walk: the main line down to its end, then what branches off, more and more outwards.

    Ways that branch off deeper come first, so nested bows do not cross. Branches lie to the right, but
    those that lead nowhere lie to the left and right in turn: they would make a staircase on one side.
    """
    num_rows = max(vertex.rank for vertex in component.vertices) + 1
    rights: list[list[Vertex]] = [[] for _ in range(num_rows)]
    lefts: list[list[Vertex]] = [[] for _ in range(num_rows)]
    seen: set[Vertex] = set()
    dead_ends = _dead_ends(component)
    goes_left = True
    for root in _roots(component):
        stack = [(root, False)]
        while stack:
            vertex, is_left = stack.pop()
            if vertex in seen:
                continue
            seen.add(vertex)
            (lefts if is_left else rights)[vertex.rank].append(vertex)
            ways = _ways_on(vertex)
            side = _side_branch(vertex, dead_ends)
            if side is not None:
                ways.remove(side)
                ways.append(side)
            stack += [(one, is_left or (one is side and goes_left)) for one in reversed(ways)]
            goes_left ^= side is not None
    component.rows = [left[::-1] + right for left, right in zip(lefts, rights, strict=True)]


def _dead_ends(component: Component) -> set[Vertex]:
    """The boxes that have nothing behind them but a tree that ends in this component."""
    found: set[Vertex] = set()
    for vertex in sorted(component.vertices, key=lambda one: one.rank, reverse=True):
        if vertex.is_box and len(vertex.above) == 1 and all(way.end in found for way in vertex.below):
            found.add(vertex)
    return found


def _side_branch(vertex: Vertex, dead_ends: set[Vertex]) -> Vertex | None:
    """The dead end that leaves the main line here, if there is one."""
    if len(vertex.below) < 2:
        return None
    shortest = min(vertex.below, key=lambda way: way.score)
    is_shorter = shortest.score < max(way.score for way in vertex.below)
    return shortest.end if is_shorter and shortest.end in dead_ends else None


def _roots(component: Component) -> list[Vertex]:
    weight: dict[Vertex, float] = {}
    for link in component.links:
        weight[link.source] = max(weight.get(link.source, 0.0), link.score)
    sources = [vertex for vertex in component.vertices if not vertex.above]
    return sorted(sources, key=lambda vertex: (-weight.get(vertex, 0.0), vertex.order))


def _ways_on(vertex: Vertex) -> list[Vertex]:
    """First what feeds the vertex, then its readers as they ran, then wires that pass by."""
    reads = sorted(
        (way.end for way in vertex.below), key=lambda other: (other.kind is Kind.BEND, other.order)
    )
    return [way.start for way in vertex.above] + reads


def _sweep(rows: list[list[Vertex]], *, down: bool) -> None:
    """Put each row in the order of the middles of what its vertices are wired to in the row before."""
    for row in rows[1:] if down else rows[-2::-1]:
        wish: dict[Vertex, float] = {}
        for vertex in row if len(row) > 1 else ():
            segments = vertex.above if down else vertex.below
            if segments:
                ends = _starts(segments) if down else _ends(segments)
                wish[vertex] = sum(ends) / len(ends)
        # What has no neighbour there keeps its place; the others share the remaining places.
        moving = iter(sorted(wish, key=wish.__getitem__))
        row[:] = [next(moving) if one in wish else one for one in row]
        _number([row])


def _starts(segments: list[Segment]) -> list[float]:
    return [_spot(one.start, one.shift_out) for one in segments]


def _ends(segments: list[Segment]) -> list[float]:
    return [_spot(one.end, one.shift_in) for one in segments]


def _spot(vertex: Vertex, shift: float) -> float:
    """Where a segment meets a row: the vertex's place, and a fraction for the port on it."""
    return vertex.place + 0.9 * shift / (vertex.left + vertex.right) if shift else float(vertex.place)


def _crossings(rows: list[list[Vertex]]) -> int:
    """How many wires cross."""
    count = 0
    for row in rows:
        ends: list[float] = []
        for vertex in row:
            pairs = sorted(zip(_starts(vertex.below), _ends(vertex.below), strict=True))
            ends += [end for _, end in pairs]
        if all(one <= other for one, other in pairwise(ends)):
            continue
        seen: list[float] = []
        for end in ends:
            count += len(seen) - bisect_right(seen, end)
            insort(seen, end)
    return count
