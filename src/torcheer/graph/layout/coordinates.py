"""Give every vertex its x and its y, and every sideways move of a wire the room it needs."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import chain, pairwise

from torcheer.graph.layout.rows import SPACING, Component, Kind, Link, Segment, Turn, Vertex


def align(component: Component) -> list[list[Vertex]]:
    """Accept segments from the weightiest down: one at each side of a vertex, none crossing another.

    Returns blocks: vertices that straight segments hold together, so that they move together.
    """
    down: set[Vertex] = set()
    up: dict[Vertex, Segment] = {}
    # For each gap the accepted segments as places above and below, both rising.
    tops: list[list[int]] = [[] for _ in component.rows]
    bottoms: list[list[int]] = [[] for _ in component.rows]
    main = _main_segments(component)

    def priority(segment: Segment) -> tuple[int, float, float]:
        """The main line first, then the columns of long wires, then the rest; each by weight and length."""
        num_wires = (not segment.start.is_box) + (not segment.end.is_box)
        group = 0 if segment in main else (1 if num_wires == 2 else 2 + num_wires)
        return group, -segment.weight, -segment.score

    for segment in sorted(component.segments, key=priority):
        start, end = segment.start, segment.end
        if start in down or end in up:
            continue
        above, below = tops[start.rank], bottoms[start.rank]
        i = bisect_left(above, start.place)
        if (i and below[i - 1] > end.place) or (i < len(below) and below[i] < end.place):
            continue
        above.insert(i, start.place)
        below.insert(i, end.place)
        down.add(start)
        up[end] = segment
        segment.is_straight = True
    blocks: list[list[Vertex]] = []
    for vertex in chain.from_iterable(component.rows):
        if vertex in up:
            segment = up[vertex]
            vertex.block = segment.start.block
            vertex.offset = segment.start.offset + segment.shift_out - segment.shift_in
            blocks[vertex.block].append(vertex)
        else:
            vertex.block = len(blocks)
            blocks.append([vertex])
    return blocks


def _main_segments(component: Component) -> set[Segment]:
    """Segments of the main lines: from the longest way down, each vertex followed by its best way on."""
    leaving: dict[Vertex, list[Link]] = {}
    for link in component.links:
        if not link.goes_up:
            leaving.setdefault(link.source, []).append(link)
    way_on: dict[Vertex, Link] = {}
    for vertex, links in leaving.items():
        # The weightiest and longest way; of equal ones the middle one, for symmetry.
        most = max((link.weight, link.score) for link in links)
        equal = [link for link in links if (link.weight, link.score) == most]
        equal.sort(key=lambda link: link.path[0].end.place)
        way_on[vertex] = equal[(len(equal) - 1) // 2]
    number = {vertex: i for i, vertex in enumerate(component.vertices)}
    # Of equal ways the one with fewer wires beside it: what feeds everything is not the main line.
    starts = sorted(
        way_on.values(),
        key=lambda one: (
            one.source.rank,
            -one.weight,
            -one.score,
            len(leaving[one.source]),
            number[one.source],
        ),
    )
    main: set[Segment] = set()
    reached: set[Vertex] = set()
    for start in starts:
        vertex = start.source
        while vertex in way_on and way_on[vertex].target not in reached:
            link = way_on.pop(vertex)
            vertex = link.target
            reached.add(vertex)
            main.update(link.path)
    return main


_SETTLING_ROUNDS = 8
# With many blocks a component gets fewer rounds, and only smaller clusters move together.
_MANY = 2000
_FEW_ROUNDS = 2
_LARGEST_CLUSTER = 300
_LARGEST_CLUSTER_OF_MANY = 60
# A block with more neighbours than this (a long main line) is not pushed by others.
_MOST_NEIGHBOURS = 100
_NOTHING = 1e-6
# How much more than other segments those between two bends want to be straight.
_BEND_WEIGHT = 4.0

# For each block those that must stay right (or left) of it, and by how much.
Gaps = list[list[tuple[int, float]]]
# For each block those that it is wired to: by what the two x differ where the wire is straight, and its
# weight.
Pulls = list[list[tuple[int, float, float]]]


def place_columns(component: Component, blocks: list[list[Vertex]]) -> None:
    """Fill `x` with the vertices' middles; the leftmost edge is at 0."""
    rights, lefts = _separations(component, len(blocks))
    # An order that agrees with all rows; there is one, as straight segments do not cross.
    waiting = [len(one) for one in lefts]
    order = [block for block, count in enumerate(waiting) if not count]
    for block in order:
        for other, _ in rights[block]:
            waiting[other] -= 1
            if not waiting[other]:
                order.append(other)
    x = [0.0] * len(blocks)
    for block in order:
        x[block] = max((x[other] + gap for other, gap in lefts[block]), default=0.0)
    _settle(x, _pulls(component, len(blocks)), order, rights, lefts)
    for vertex in component.vertices:
        vertex.x = x[vertex.block] + vertex.offset
    least = min(vertex.x - vertex.left for vertex in component.vertices)
    for vertex in component.vertices:
        vertex.x -= least


def _separations(component: Component, num_blocks: int) -> tuple[Gaps, Gaps]:
    gaps: dict[tuple[int, int], float] = {}
    rooms = (SPACING.between_wires, SPACING.wire_to_box, SPACING.between_boxes)
    for row in component.rows:
        for one, other in pairwise(row):
            room = rooms[one.is_box + other.is_box]
            gap = one.right + other.left + room + one.offset - other.offset
            pair = one.block, other.block
            gaps[pair] = max(gap, gaps.get(pair, gap))
    rights: Gaps = [[] for _ in range(num_blocks)]
    lefts: Gaps = [[] for _ in range(num_blocks)]
    for (here, there), gap in gaps.items():
        rights[here].append((there, gap))
        lefts[there].append((here, gap))
    return rights, lefts


def _pulls(component: Component, num_blocks: int) -> Pulls:
    pulls: Pulls = [[] for _ in range(num_blocks)]
    for segment in component.segments:
        start, end = segment.start, segment.end
        if start.block != end.block:
            apart = start.offset + segment.shift_out - end.offset - segment.shift_in
            is_bent = not start.is_box and not end.is_box
            weight = segment.weight * (_BEND_WEIGHT if is_bent else 1.0)
            pulls[end.block].append((start.block, apart, weight))
            pulls[start.block].append((end.block, -apart, weight))
    return pulls


def _settle(x: list[float], pulls: Pulls, order: list[int], rights: Gaps, lefts: Gaps) -> None:
    """Make the wires' sideways moves together as short as can be, one cluster of blocks at a time."""
    many = len(order) > _MANY
    largest = _LARGEST_CLUSTER_OF_MANY if many else _LARGEST_CLUSTER
    for _ in range(_FEW_ROUNDS if many else _SETTLING_ROUNDS):
        moved = 0.0
        for block in order:
            moved += _shift(x, pulls, block, rights, 1.0, largest)
        for block in reversed(order):
            moved += _shift(x, pulls, block, lefts, -1.0, largest)
        if moved < 1.0:
            return


def _shift(x: list[float], pulls: Pulls, block: int, ahead: Gaps, way: float, largest: int) -> float:
    """Push a block, and all that it touches, to one side as long as more wires want that than not."""
    cluster, room = _cluster(x, block, ahead, way, largest)
    if not room:
        return 0.0
    force = 0.0
    stops: list[tuple[float, float]] = []
    for one in cluster:
        for other, apart, weight in pulls[one]:
            if other not in cluster:
                distance = (x[other] + apart - x[one]) * way
                if distance > _NOTHING:
                    stops.append((distance, weight))
                    force += weight
                else:
                    force -= weight
    move = 0.0
    for distance, weight in sorted(stops):
        if force <= 0:
            break
        move = distance
        force -= 2 * weight
    move = min(move, room)
    for one in cluster:
        x[one] += move * way
    return move


def _cluster(x: list[float], block: int, ahead: Gaps, way: float, largest: int) -> tuple[set[int], float]:
    """The blocks that have to move with one, and how far they can until they touch another."""
    cluster = {block}
    stack = [block]
    rooms: list[tuple[float, int]] = []
    while stack:
        one = stack.pop()
        for other, gap in ahead[one]:
            if other not in cluster:
                room = (x[other] - x[one]) * way - gap
                if room < _NOTHING:
                    if len(ahead[other]) > _MOST_NEIGHBOURS:
                        return cluster, 0.0
                    cluster.add(other)
                    stack.append(other)
                else:
                    rooms.append((room, other))
        if len(cluster) > largest:
            return cluster, 0.0
    return cluster, min((room for room, other in rooms if other not in cluster), default=float("inf"))


# Wires keep this far from a node's corner, and at most this far from each other.
_CORNER = 9.0
_FAR_APART = 26.0


def place_lanes(component: Component) -> None:
    """Give wires that go up a column to the right of everything, the shortest the nearest."""
    upward = [link for link in component.links if link.turns]
    upward.sort(key=lambda link: link.source.rank - link.target.rank)
    right = max(vertex.x + vertex.right for vertex in component.vertices)
    x = right + SPACING.wire_to_box
    for link in upward:
        for turn in link.turns or ():
            turn.column = x
        right = x + (SPACING.wire_to_label + link.label[0] if link.label else 0.0)
        x = right + SPACING.between_wires
    component.width = right


def attach(component: Component) -> None:
    """Spread wires over the sides of nodes; where they meet groups is known from the ports."""
    leaving: dict[Vertex, list[Turn]] = {}
    arriving: dict[Vertex, list[Turn]] = {}
    for turn in component.turns:
        (leaving if turn.is_below else arriving).setdefault(turn.vertex, []).append(turn)
    nodes = [one for one in chain.from_iterable(component.rows) if one.kind is Kind.NODE]
    for vertex in nodes:
        nets: dict[int, list[Segment]] = {}
        for segment in vertex.below:
            nets.setdefault(segment.net, []).append(segment)
        for net, shift in _spread(vertex, list(nets.values()), leaving.get(vertex, []), is_below=True):
            for segment in net:
                segment.shift_out = shift
    for vertex in nodes:
        wires = [[segment] for segment in vertex.above]
        for (segment,), shift in _spread(vertex, wires, arriving.get(vertex, []), is_below=False):
            segment.shift_in = shift


def _spread(
    vertex: Vertex, wires: list[list[Segment]], turns: list[Turn], *, is_below: bool
) -> list[tuple[list[Segment], float]]:
    """How far from the middle each wire meets a side: a straight one not at all, the others beside it.

    They lie in the order of their other ends. Shifts of turns are set.
    """
    # The x of the other end, whether straight, and the wire or turn itself.
    contacts: list[tuple[float, bool, list[Segment] | Turn]] = []
    for wire in wires:
        ends = [segment.end_x if is_below else segment.start_x for segment in wire]
        contacts.append((sum(ends) / len(ends), any(segment.is_straight for segment in wire), wire))
    contacts += [(turn.column, False, turn) for turn in turns]
    contacts.sort(key=lambda contact: contact[0])
    last = len(contacts) - 1
    centre = next((float(i) for i, (_, straight, _) in enumerate(contacts) if straight), last / 2)
    half = max(min(vertex.left, vertex.right) - _CORNER, 0.0)
    step = min(half / (max(centre, last - centre) + 0.6), _FAR_APART)
    shifts: list[tuple[list[Segment], float]] = []
    for i, (_, _, contact) in enumerate(contacts):
        if isinstance(contact, Turn):
            contact.shift = (i - centre) * step
        else:
            shifts.append((contact, (i - centre) * step))
    return shifts


_FAR = float("inf")
# Nearer than this two x are the same: nothing but rounding is between them.
_SAME = 1e-3
# How near a curve may come to a box that it passes.
_CLEARANCE = 6.0
_STUB = 3.0


class Skyline:
    """Steps over the x axis: `heights[i]` holds from `edges[i]` to the next edge."""

    __slots__ = ("edges", "heights")

    def __init__(self) -> None:
        self.edges = [-_FAR]
        self.heights = [-_FAR]

    def lowest(self, left: float, right: float) -> float:
        """The greatest y reached between two x."""
        first = bisect_right(self.edges, left) - 1
        last = bisect_left(self.edges, right, first + 1)
        heights = self.heights
        return heights[first] if last == first + 1 else max(heights[first:last])

    def lower(self, left: float, right: float, y: float) -> None:
        """Let the drawing reach at least to y between two x."""
        edges, heights = self.edges, self.heights
        first = bisect_right(edges, left) - 1
        last = bisect_left(edges, right, first + 1)
        covered = heights[first:last]
        if min(covered) >= y:
            return
        new_edges = [left, *edges[first + 1 : last]]
        new_heights = [max(height, y) for height in covered]
        if edges[first] < left:
            new_edges.insert(0, edges[first])
            new_heights.insert(0, covered[0])
        if last == len(edges) or edges[last] > right:
            new_edges.append(right)
            new_heights.append(covered[-1])
        kept = [i for i, height in enumerate(new_heights) if not i or height != new_heights[i - 1]]
        edges[first:last] = [new_edges[i] for i in kept]
        heights[first:last] = [new_heights[i] for i in kept]


def place_heights(component: Component, *, box_top: float, wire_top: float) -> None:
    """Fill `top` and the zones: no box above `box_top`, no wire moving sideways above `wire_top`."""
    turns: dict[int, list[Turn]] = {}  # by the rank above the gap that they are in
    turns_above: dict[Vertex, list[Turn]] = {}
    for turn in component.turns:
        turns.setdefault(turn.vertex.rank - (not turn.is_below), []).append(turn)
        if not turn.is_below:
            turns_above.setdefault(turn.vertex, []).append(turn)
    drop = _Drop(turns_above, box_top, wire_top)
    # Wires may still turn around below the last rank.
    for rank, row in enumerate([*component.rows, []]):
        drop.row(component.rows[rank - 1] if rank else [], turns.get(rank - 1, []), row)
    if any(vertex.floats for vertex in component.vertices):
        sink = _Sink()
        for rank in range(len(component.rows) - 1, -1, -1):
            sink.row(component.rows[rank], turns.get(rank, []))
    bottoms = [vertex.bottom for vertex in component.vertices]
    bottoms += [segment.zone[1] for segment in component.segments if segment.zone]
    bottoms += [turn.bottom for turn in component.turns]
    for link in component.links:
        if link.turns and link.label:
            bottoms.append(lane_label_top(component, link.turns[1], link.label[1]) + link.label[1])
    component.bottom = max(bottoms)


def lane_label_top(component: Component, arrival: Turn, height: float) -> float:
    """Where a text fits beside a lane, between the wires that cross it on their way to lanes further out."""
    y = arrival.bottom
    crossing = (turn for turn in component.turns if turn.column > arrival.column)
    for turn in sorted(crossing, key=lambda one: one.top):
        if turn.bottom > y:
            if turn.top >= y + height:
                break
            y = turn.bottom
    return y


def _straight_gap(start: Vertex, end: Vertex) -> float:
    if end.is_box:
        return SPACING.between_ranks if start.is_box else SPACING.arrow
    return _CLEARANCE if end.kind is Kind.LABEL and start.is_box else 0.0


def _sides(vertex: Vertex) -> tuple[float, float]:
    """From where to where other things keep away; wires need more room than boxes have in themselves."""
    margin = 0.0 if vertex.is_box else _CLEARANCE
    return vertex.x - vertex.left - margin, vertex.x + vertex.right + margin


def _between(one: float, other: float) -> tuple[float, float]:
    """From where to where a curve between two x keeps things away."""
    return min(one, other) - _CLEARANCE, max(one, other) + _CLEARANCE


class _Drop:
    """Everything as high as it can be, from the first rank to the last."""

    def __init__(self, turns_above: dict[Vertex, list[Turn]], box_top: float, wire_top: float) -> None:
        self._turns_above = turns_above
        self._box_top, self._wire_top = box_top, wire_top
        self._boxes, self._wires = Skyline(), Skyline()

    def row(self, row_before: list[Vertex], turns: list[Turn], row: list[Vertex]) -> None:
        for vertex in row_before:
            for segment in vertex.below:
                if abs(segment.start_x - segment.end_x) >= _SAME:
                    segment.zone = self._zone(segment.start_x, segment.end_x, vertex.bottom)
        for turn in turns:
            least = turn.vertex.bottom if turn.is_below else -_FAR
            turn.top, turn.bottom = self._zone(turn.x, turn.column, least)
        for vertex in row:
            vertex.top = self._highest(vertex)
        # Boxes whose tops are nearly equal stand in one line.
        level = _FAR
        for vertex in sorted((one for one in row if one.is_box), key=lambda one: one.top, reverse=True):
            level = vertex.top = level if level - vertex.top <= SPACING.between_ranks else vertex.top
        for vertex in row:
            if vertex.is_box or vertex.kind is Kind.LABEL:
                self._boxes.lower(vertex.x - vertex.left, vertex.x + vertex.right, vertex.bottom)
            elif vertex.kind is Kind.BEND:
                self._wires.lower(*_sides(vertex), vertex.bottom)

    def _zone(self, start_x: float, end_x: float, least: float) -> tuple[float, float]:
        """Room for a curve, below all that stands there."""
        sides = _between(start_x, end_x)
        top = max(self._boxes.lowest(*sides) + _CLEARANCE, least, self._wire_top)
        bottom = top + min(SPACING.least_curve + 0.12 * abs(end_x - start_x), SPACING.most_curve)
        self._wires.lower(*sides, bottom)
        return top, bottom

    def _highest(self, vertex: Vertex) -> float:
        if vertex.kind is Kind.IN_PORT:
            return 0.0
        sides = _sides(vertex)
        wires, boxes = self._wires.lowest(*sides), self._boxes.lowest(*sides)
        if vertex.is_box:
            top = max(wires + _CLEARANCE, boxes + SPACING.between_strangers, self._box_top)
            for turn in self._turns_above.get(vertex, ()):
                top = max(top, turn.bottom + SPACING.arrow)
        else:
            top = max(wires, boxes + (_CLEARANCE if vertex.kind is Kind.LABEL else 0.0), self._wire_top)
        for segment in vertex.above:
            if segment.zone is not None:
                top = max(top, segment.zone[1] + (SPACING.arrow if vertex.is_box else 0.0))
            elif segment.start.kind is Kind.IN_PORT:
                top = max(top, self._wire_top)
            else:
                top = max(top, segment.start.bottom + _straight_gap(segment.start, vertex))
        return top


class _Sink:
    """What floats is let down again, from the last rank to the first, until it meets its readers."""

    def __init__(self) -> None:
        # Turned upside down: y counts upwards.
        self._boxes, self._wires = Skyline(), Skyline()

    def _block(self, start_x: float, end_x: float, top: float) -> None:
        self._wires.lower(*_between(start_x, end_x), -top)

    def row(self, row: list[Vertex], turns: list[Turn]) -> None:
        for segment in chain.from_iterable(vertex.below for vertex in row):
            if segment.zone is not None:
                if segment.start.floats:
                    segment.zone = self._lower_zone(segment, *segment.zone)
                self._block(segment.start_x, segment.end_x, segment.zone[0])
        for turn in turns:
            self._block(turn.x, turn.column, turn.top)
        for vertex in row:
            if vertex.floats and vertex.below and vertex.kind is not Kind.IN_PORT:
                vertex.top = max(vertex.top, self._lowest(vertex))
        for vertex in row:
            if vertex.is_box or vertex.kind is Kind.LABEL:
                self._boxes.lower(vertex.x - vertex.left, vertex.x + vertex.right, -vertex.top)
            elif vertex.kind is Kind.BEND:
                self._wires.lower(*_sides(vertex), -vertex.top)

    def _lower_zone(self, segment: Segment, top: float, bottom: float) -> tuple[float, float]:
        limit = -self._boxes.lowest(*_between(segment.start_x, segment.end_x)) - _CLEARANCE
        if segment.end.kind is not Kind.OUT_PORT:
            limit = min(limit, segment.end.top - (SPACING.arrow if segment.end.is_box else 0.0))
        down = max(0.0, limit - bottom) if limit < _FAR else 0.0
        return top + down, bottom + down

    def _lowest(self, vertex: Vertex) -> float:
        sides = _sides(vertex)
        gap = SPACING.between_strangers if vertex.is_box else _CLEARANCE
        bottom = min(-self._wires.lowest(*sides) - _STUB, -self._boxes.lowest(*sides) - gap)
        for segment in vertex.below:
            if segment.zone is not None:
                bottom = min(bottom, segment.zone[0])
            elif segment.end.kind is not Kind.OUT_PORT:
                bottom = min(bottom, segment.end.top - _straight_gap(vertex, segment.end))
        return bottom - vertex.height if bottom < _FAR else vertex.top
