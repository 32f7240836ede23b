"""The rows of a group while it is laid out: what it consists of, the rank of each vertex, its place in a row.

Ranks fill `rank` and add bends and segments, order fills `rows` and `place`, coordinates fill `x` and `top`.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import pairwise
from typing import Final

Size = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spacing:
    """How much room is left between things."""

    # Between boxes side by side, and between a box and the next along a wire.
    between_boxes: float = 24.0
    between_ranks: float = 26.0
    # Between boxes that stand above each other without a wire between them.
    between_strangers: float = 18.0
    between_wires: float = 12.0
    wire_to_box: float = 14.0
    wire_to_label: float = 5.0
    arrow: float = 10.0  # straight piece before a target, for the arrow head
    # Height of a curve that moves a wire sideways: for a small move, and at most.
    least_curve: float = 14.0
    most_curve: float = 38.0
    loop: float = 18.0  # how far a wire from a box to itself bulges out
    between_parts: float = 32.0  # between pieces of a group that no wire connects


SPACING: Final = Spacing()


class Kind(IntEnum):
    """What a vertex stands for."""

    NODE = 0
    GROUP = 1
    IN_PORT = 2
    OUT_PORT = 3
    BEND = 4  # where a long wire passes a rank
    LABEL = 5  # a bend with a text beside it


@dataclass(slots=True, eq=False)
class Vertex:
    """A thing with a place in one group: a box, a port or a bend. Stages fill it one after the other."""

    kind: Kind
    # How far it reaches to either side of its middle, and its height.
    left: float = 0.0
    right: float = 0.0
    height: float = 0.0
    # The height at which wires leave it: less than its height where texts beside it are higher.
    body: float = 0.0
    order: int = 0  # boxes with a smaller one ran earlier
    rank: int = 0
    floats: bool = False  # stays close to its readers rather than to the top
    # Who stands below it and above it, and by how many ranks at least.
    after: list[tuple[Vertex, int]] = field(default_factory=list)
    before: list[tuple[Vertex, int]] = field(default_factory=list)
    above: list[Segment] = field(default_factory=list)
    below: list[Segment] = field(default_factory=list)
    place: int = 0  # in its row
    block: int = -1  # what it moves with, and how far it is from the middle of that
    offset: float = 0.0
    x: float = 0.0
    top: float = 0.0

    @property
    def is_box(self) -> bool:
        return self.kind <= Kind.GROUP

    @property
    def bottom(self) -> float:
        return self.top + self.height


@dataclass(slots=True, eq=False)
class Segment:
    """A piece of a wire between neighbouring ranks. Wires of one net share segments."""

    start: Vertex
    end: Vertex
    net: int
    weight: float
    score: float
    # Where it meets its ends, sideways from their middles.
    shift_out: float = 0.0
    shift_in: float = 0.0
    is_straight: bool = False
    zone: tuple[float, float] | None = None  # top and bottom of where it moves sideways

    @property
    def start_x(self) -> float:
        return self.start.x + self.shift_out

    @property
    def end_x(self) -> float:
        return self.end.x + self.shift_in


@dataclass(slots=True, eq=False)
class Turn:
    """Where a wire against the flow turns around: below its source, or above its target."""

    vertex: Vertex
    is_below: bool
    shift: float = 0.0  # from the vertex's middle
    column: float = 0.0  # the x of the wire beside everything else
    top: float = 0.0
    bottom: float = 0.0

    @property
    def x(self) -> float:
        return self.vertex.x + self.shift


@dataclass(slots=True, eq=False)
class Link:
    """The way of a wire, or of several that share it, inside one group: from a child or port to another."""

    # Wires of one source share links, ports and bends; parallel wires are different nets.
    net: int
    source: Vertex
    target: Vertex
    weight: float
    label: Size | None = None
    is_back: bool = False
    # Where it meets its ends if these are groups.
    source_shift: float = 0.0
    target_shift: float = 0.0
    goes_up: bool = False
    score: float = 0.0  # length of the longest way through it
    path: list[Segment] = field(default_factory=list)
    label_vertex: Vertex | None = None
    turns: tuple[Turn, Turn] | None = None  # at source and target, where it goes up


@dataclass(slots=True, eq=False)
class Component:
    """The vertices of a group that links connect. Bends and rows are added by the stages."""

    vertices: list[Vertex]
    links: list[Link]
    segments: list[Segment] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    rows: list[list[Vertex]] = field(default_factory=list)  # of each rank, from left to right
    width: float = 0.0
    bottom: float = 0.0
    x: float = 0.0
    y: float = 0.0

    def add_bend(self, kind: Kind, rank: int) -> Vertex:
        bend = Vertex(kind, rank=rank)
        self.vertices.append(bend)
        return bend

    def add_segment(
        self, start: Vertex, end: Vertex, link: Link, shift_out: float = 0.0, shift_in: float = 0.0
    ) -> Segment:
        segment = Segment(start, end, link.net, link.weight, link.score, shift_out, shift_in)
        self.segments.append(segment)
        start.below.append(segment)
        end.above.append(segment)
        return segment


def connected_pieces(size: int, pairs: Iterable[tuple[int, int]]) -> list[int]:
    """For each of so many things a number that it shares with all it is connected to: that of the first."""
    leader = list(range(size))

    def find(one: int) -> int:
        while leader[one] != one:
            leader[one] = leader[leader[one]]
            one = leader[one]
        return one

    for one, other in pairs:
        one, other = find(one), find(other)
        leader[max(one, other)] = min(one, other)
    return [find(one) for one in range(size)]


# --- ranks: a row for every vertex, and a bend of every wire in each row that it passes --------------

# Links of less weight do not make a main line.
_LITTLE = 0.5
# More than any way inside a component is long.
_FROM_OUTSIDE = 1e7
# A branch that could stand as well above as below stands below if it gets this much closer to its readers.
_FAR = 10


def assign_ranks(component: Component) -> None:
    """Fill `rank`, say which links go up and how long the longest way through each is."""
    order = _orient(component)
    for vertex in order:
        vertex.rank = max((other.rank + length for other, length in vertex.before), default=0)
    grounded = _grounded(order)
    _lower_runs(component.links, order, grounded)
    _pull_down(order, grounded)
    least = min(vertex.rank for vertex in order)
    last = max(vertex.rank for vertex in order) - least
    for vertex in order:
        vertex.rank -= least
        if vertex.kind is Kind.IN_PORT:
            vertex.rank = 0
        elif vertex.kind is Kind.OUT_PORT:
            vertex.rank = last
    _score(component.links, order)


def _orient(component: Component) -> list[Vertex]:
    """The vertices in an order without cycles; links that oppose it are marked as going up."""
    for link in component.links:
        link.goes_up = link.is_back
    order = _topological(component)
    if len(order) < len(component.vertices):
        for link in component.links:
            # In a cycle, what ran first stands higher.
            if link.source.is_box and link.target.is_box:
                link.goes_up = link.source.order > link.target.order
        order = _topological(component)
    return order


def _topological(component: Component) -> list[Vertex]:
    """Vertices, each after all before it; those on or behind a cycle are missing."""
    for vertex in component.vertices:
        vertex.after, vertex.before = [], []
    for link in component.links:
        start, end = (link.target, link.source) if link.goes_up else (link.source, link.target)
        length = 2 if link.label and not link.goes_up else 1
        start.after.append((end, length))
        end.before.append((start, length))
    waiting = {vertex: len(vertex.before) for vertex in component.vertices}
    order = [vertex for vertex, count in waiting.items() if not count]
    for vertex in order:
        for other, _ in vertex.after:
            waiting[other] -= 1
            if not waiting[other]:
                order.append(other)
    return order


def _grounded(order: list[Vertex]) -> set[Vertex]:
    """The vertices that are reached from a port, or without ports from where the longest way begins."""
    grounded = {vertex for vertex in order if vertex.kind is Kind.IN_PORT}
    if not grounded:
        last = max(vertex.rank for vertex in order)
        latest: dict[Vertex, int] = {}
        for vertex in reversed(order):
            latest[vertex] = min((latest[other] - length for other, length in vertex.after), default=last)
        grounded = {vertex for vertex in order if not latest[vertex]}
    for vertex in order:
        if vertex in grounded:
            grounded.update(other for other, _ in vertex.after)
    return grounded


def _lower_runs(links: list[Link], order: list[Vertex], grounded: set[Vertex]) -> None:
    """Move runs of vertices down, later ones first, so that what they read from can follow.

    A run is a chain without branches. Its wires out get shorter by as many ranks as it moves; a wire that
    it reads from gets longer only as far as no other reader stands as low already. What is not grounded
    comes down to its readers anyway, and costs nothing.
    """
    nets_out: dict[Vertex, set[int]] = {}
    nets_in: dict[Vertex, list[int]] = {}
    reach: dict[int, int] = {}  # the lowest rank that each net reaches
    for link in links:
        if not link.goes_up and link.source in grounded:
            nets_out.setdefault(link.source, set()).add(link.net)
            nets_in.setdefault(link.target, []).append(link.net)
            reach[link.net] = max(reach.get(link.net, 0), link.target.rank)
    done: set[Vertex] = set()
    for vertex in reversed(order):
        if vertex in done or vertex not in grounded or not vertex.is_box or not vertex.after:
            continue
        run = _run_up_to(vertex)
        done.update(run)
        head = run[-1]
        slack = min(other.rank - length for other, length in vertex.after) - vertex.rank
        if slack <= 0 or not head.before:
            continue
        cost = sum(max(0, head.rank + slack - reach[net]) for net in nets_in.get(head, ()))
        gain = slack * len(nets_out.get(vertex, ())) - cost
        if gain > 0 or (gain == 0 and slack >= _FAR):
            for one in run:
                one.rank += slack
                one.floats = True
                for net in nets_in.get(one, ()):
                    reach[net] = max(reach[net], one.rank)


def _run_up_to(last: Vertex) -> list[Vertex]:
    """The run that ends at a vertex, last first."""
    run = [last]
    while len(run[-1].before) == 1:
        previous = run[-1].before[0][0]
        if len(previous.after) != 1 or not previous.is_box:
            break
        run.append(previous)
    return run


def _pull_down(order: list[Vertex], grounded: set[Vertex]) -> None:
    """Bring what does not hang on the main flow (constants, parameters, masks) close to its readers."""
    leads_to_ground = set(grounded)
    for vertex in reversed(order):
        if vertex in grounded:
            continue
        vertex.floats = True
        readers = [other.rank - length for other, length in vertex.after if other in leads_to_ground]
        if readers:
            leads_to_ground.add(vertex)
            vertex.rank = min(readers)
    for vertex in order:
        # What floats and leads nowhere follows its sources.
        if vertex not in leads_to_ground and vertex.before:
            vertex.rank = max(other.rank + length for other, length in vertex.before)


def _score(links: list[Link], order: list[Vertex]) -> None:
    """How long the longest way through each link is, counted in heights.

    Links of little weight lie on no way but their own: the main line does not follow them.
    """
    sources: dict[Vertex, list[Vertex]] = {vertex: [] for vertex in order}
    targets: dict[Vertex, list[Vertex]] = {vertex: [] for vertex in order}
    for link in links:
        if link.weight >= _LITTLE and not link.goes_up:
            sources[link.target].append(link.source)
            targets[link.source].append(link.target)
    up = {vertex: vertex.height + SPACING.between_ranks for vertex in order}
    down = dict(up)
    # The main line comes from outside and goes outside; if there are several, the source that ran last
    # is the nearest.
    entries = sorted((vertex for vertex in order if vertex.kind is Kind.IN_PORT), key=lambda one: one.order)
    for number, vertex in enumerate(entries):
        up[vertex] += _FROM_OUTSIDE + 0.002 * number
    for vertex in order:
        if vertex.kind is Kind.OUT_PORT:
            down[vertex] += _FROM_OUTSIDE
    for vertex in order:
        up[vertex] += max((up[other] for other in sources[vertex]), default=0.0)
    for vertex in reversed(order):
        down[vertex] += max((down[other] for other in targets[vertex]), default=0.0)
    for link in links:
        if not link.goes_up:
            # Rounded, so that ways of the same length count as equal.
            link.score = round(up[link.source] + down[link.target], 3)


def add_bends(component: Component) -> None:
    """Wires of one net share one column of bends; a wire that goes up runs beside everything else."""
    nets: dict[int, list[Link]] = {}
    for link in component.links:
        if not link.goes_up:
            nets.setdefault(link.net, []).append(link)
    for links in nets.values():
        _run_down(component, sorted(links, key=lambda link: link.target.rank))
    for link in component.links:
        if link.goes_up:
            below = Turn(link.source, is_below=True, shift=link.source_shift)
            above = Turn(link.target, is_below=False, shift=link.target_shift)
            link.turns = below, above
            component.turns += link.turns


def _run_down(component: Component, links: list[Link]) -> None:
    """Lead the links of one net down, nearest target first, along one chain of bends."""
    source = links[0].source
    chain: list[Segment] = []
    for link in links:
        # The last vertex before the target is a bend, or the label where there is one.
        num_steps = link.target.rank - source.rank - 1 - (link.label is not None)
        for segment in chain[:num_steps]:
            # A shared segment matters as much as the weightiest of the links through it.
            weightiest = max((segment.weight, segment.score), (link.weight, link.score))
            segment.weight, segment.score = weightiest
        end = chain[-1].end if chain else source
        while len(chain) < num_steps:
            bend = component.add_bend(Kind.BEND, source.rank + 1 + len(chain))
            bend.floats = source.floats
            chain.append(component.add_segment(end, bend, link, _shift_out(link, end)))
            end = bend
        link.path = chain[:num_steps]
        end = chain[num_steps - 1].end if num_steps else source
        if link.label is not None:
            label = link.label_vertex = component.add_bend(Kind.LABEL, link.target.rank - 1)
            gap, (width, label.height) = SPACING.wire_to_label, link.label
            label.left, label.right = gap, gap + width
            label.floats = True  # a text stands close to the wire's target
            link.path.append(component.add_segment(end, label, link, _shift_out(link, end)))
            end = label
        shifts = _shift_out(link, end), link.target_shift
        link.path.append(component.add_segment(end, link.target, link, *shifts))


def _shift_out(link: Link, start: Vertex) -> float:
    return link.source_shift if start is link.source else 0.0


# --- order: few wires cross --------------------------------------------------------------------------

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
