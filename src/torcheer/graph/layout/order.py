"""Order the vertices of each rank so that few wires cross."""

from __future__ import annotations

from bisect import bisect_right, insort
from itertools import pairwise

from torcheer.graph.layout.model import Component, Kind, Segment, Vertex

# Above this many vertices a component gets fewer rounds; above the smaller number its runs stay.
_MANY = 4000
_MANY_FOR_RUNS = 1000
# Neighbours with more pairs of wires than this are not worth exchanging.
_MOST_PAIRS = 400


def order_rows(component: Component) -> None:
    """Fill `rows` and `place`: a walk along the wires first, then sweeps while they help."""
    _walk(component)
    rows = component.rows
    _number(rows)
    best, idle = _crossings(rows), 0
    kept = [row[:] for row in rows]
    runs = _runs(component) if len(component.vertices) <= _MANY_FOR_RUNS else []
    for number in range(4 if len(component.vertices) > _MANY else 12):
        if not best or idle > 3:
            break
        _sweep(rows, down=number % 2 == 0, flips=number % 4 > 1)
        if number % 2:
            _move_runs(rows, runs)
        _transpose(rows)
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


def _sweep(rows: list[list[Vertex]], *, down: bool, flips: bool) -> None:
    """Put each row in the order of the middles of what its vertices are wired to in the row before.

    Vertices with the same middle keep their order, or `flips` turns it around.
    """
    for row in rows[1:] if down else rows[-2::-1]:
        wish: dict[Vertex, float] = {}
        for vertex in row if len(row) > 1 else ():
            segments = vertex.above if down else vertex.below
            if segments:
                ends = _starts(segments) if down else _ends(segments)
                wish[vertex] = sum(ends) / len(ends)
        # What has no neighbour there keeps its place; the others share the remaining places.
        moving = iter(sorted(reversed(wish) if flips else wish, key=wish.__getitem__))
        row[:] = [next(moving) if one in wish else one for one in row]
        _number([row])


def _transpose(rows: list[list[Vertex]]) -> None:
    """Exchange neighbours in a row wherever that takes crossings away."""
    for _ in range(3):
        is_better = False
        for row in rows:
            for place in range(1, len(row)):
                one, other = row[place - 1], row[place]
                if _gain(one, other) > 0:
                    row[place - 1], row[place] = other, one
                    other.place, one.place = place - 1, place
                    is_better = True
        if not is_better:
            return


def _gain(one: Vertex, other: Vertex) -> int:
    """How many crossings fewer there are if two neighbours, from left to right, change places."""
    gain = 0
    for mine, theirs, spots in ((one.above, other.above, _starts), (one.below, other.below, _ends)):
        if mine and theirs and len(mine) * len(theirs) <= _MOST_PAIRS:
            heres = spots(mine)
            gain += sum((here > there) - (here < there) for there in spots(theirs) for here in heres)
    return gain


def _runs(component: Component) -> list[list[Vertex]]:
    """Vertices below one another without a branch, as a long wire has them."""
    run_of: dict[Vertex, list[Vertex]] = {}
    for vertex in sorted(component.vertices, key=lambda one: one.rank):
        if len(vertex.above) <= 1 and len(vertex.below) <= 1:
            run = run_of.get(vertex.above[0].start, []) if vertex.above else []
            run.append(vertex)
            run_of[vertex] = run
    return [run for vertex, run in run_of.items() if vertex is run[0] and len(run) > 1]


def _move_runs(rows: list[list[Vertex]], runs: list[list[Vertex]]) -> None:
    """Move a run to the left or right end of its rows where that takes crossings away.

    Single exchanges do not get it there: on its way it crosses more wires.
    """
    for run in runs:
        near = rows[max(0, run[0].rank - 1) : run[-1].rank + 1]
        own = [rows[one.rank] for one in run]
        now = _crossings(near)
        for is_left in (True, False) if now else ():
            before = [row[:] for row in own]
            for row, one in zip(own, run, strict=True):
                row.remove(one)
                row.insert(0 if is_left else len(row), one)
            _number(own)
            if _crossings(near) < now:
                break
            for row, kept in zip(own, before, strict=True):
                row[:] = kept
            _number(own)


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
