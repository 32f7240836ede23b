"""Give every vertex its x and its y, and every sideways move of a wire the room it needs."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from torcheer.graph.layout.model import SPACING, Course, Joint, Kind, Part


@dataclass(slots=True)
class Blocks:
    """Vertices that move together: `x[vertex] = x[block] + offset[vertex]`."""

    block_of: list[int]
    offset: list[float]
    members: list[list[int]]
    is_straight: list[bool]


def align(part: Part) -> Blocks:
    """Accept segments from the weightiest down: one at each side of a vertex, none crossing another."""
    num_segments = len(part.segment_from)
    is_straight = [False] * num_segments
    down: dict[int, int] = {}
    up: dict[int, int] = {}
    # For each gap the accepted segments as places above and below, both rising.
    tops: list[list[int]] = [[] for _ in part.rows]
    bottoms: list[list[int]] = [[] for _ in part.rows]
    place, rank = part.place, part.rank
    for segment in _by_priority(part):
        start, end = part.segment_from[segment], part.segment_to[segment]
        if start in down or end in up:
            continue
        above, below = tops[rank[start]], bottoms[rank[start]]
        i = bisect_left(above, place[start])
        if (i and below[i - 1] > place[end]) or (i < len(below) and below[i] < place[end]):
            continue
        above.insert(i, place[start])
        below.insert(i, place[end])
        down[start] = up[end] = segment
        is_straight[segment] = True
    return _tie(part, down, up, is_straight)


def _by_priority(part: Part) -> list[int]:
    """The main line first, then the columns of long wires, then the rest; each by weight and length."""
    main = _main_segments(part)
    kind, weight, score = part.kind, part.segment_weight, part.segment_score
    wire_like = (Kind.BEND, Kind.LABEL, Kind.IN_PORT, Kind.OUT_PORT)

    def priority(segment: int) -> tuple[int, float, float, int]:
        passing = (kind[part.segment_from[segment]] in wire_like) + (
            kind[part.segment_to[segment]] in wire_like
        )
        group = 0 if segment in main else (1 if passing == 2 else 2 + passing)
        return group, -weight[segment], -score[segment], segment

    return sorted(range(len(part.segment_from)), key=priority)


def _main_segments(part: Part) -> set[int]:
    """Segments of the main lines: from the longest way down, each vertex followed by its best way on."""
    leaving: dict[int, list[Course]] = {}
    for course in part.courses:
        if not course.goes_up and course.chain.start is None:
            leaving.setdefault(course.source, []).append(course)
    way_on = {
        vertex: _best(courses, lambda one: part.place[part.segment_to[_first(one)]])
        for vertex, courses in leaving.items()
    }
    main: set[int] = set()
    reached: set[int] = set()
    # Of equal ways the one with fewer wires beside it: what feeds everything is not the main line.
    starts = sorted(
        way_on.values(),
        key=lambda one: (
            part.rank[one.source],
            -one.weight,
            -one.score,
            len(leaving[one.source]),
            one.source,
        ),
    )
    for start in starts:
        vertex = start.source
        while vertex in way_on and way_on[vertex].target not in reached:
            course = way_on.pop(vertex)
            vertex = course.target
            reached.add(vertex)
            main.update(course.chain.segments[: course.num_steps])
            main.update(course.tail)
    return main


def _first(course: Course) -> int:
    return course.chain.segments[0] if course.num_steps else course.tail[0]


def _best(courses: list[Course], place: Callable[[Course], int]) -> Course:
    """The weightiest and longest way; of equal ones the middle one, for symmetry."""
    if len(courses) == 1:
        return courses[0]
    most = max((course.weight, course.score) for course in courses)
    equal = sorted((one for one in courses if (one.weight, one.score) == most), key=place)
    return equal[(len(equal) - 1) // 2]


def _tie(part: Part, down: dict[int, int], up: dict[int, int], is_straight: list[bool]) -> Blocks:
    size = len(part.kind)
    block_of, offset = [-1] * size, [0.0] * size
    members: list[list[int]] = []
    for row in part.rows:
        for vertex in row:
            if vertex in up:
                segment = up[vertex]
                other = part.segment_from[segment]
                block_of[vertex] = block_of[other]
                shift = part.segment_out[segment] - part.segment_in[segment]
                offset[vertex] = offset[other] + shift
                members[block_of[vertex]].append(vertex)
            else:
                block_of[vertex] = len(members)
                members.append([vertex])
    return Blocks(block_of, offset, members, is_straight)


_APPROACHES = 4
_SETTLING_ROUNDS = 8
# With many blocks a part gets fewer rounds, and only smaller clusters move together.
_MANY = 2000
_FEW_ROUNDS = 2
_LARGEST_CLUSTER = 300
_LARGEST_CLUSTER_OF_MANY = 60
# A block with more neighbours than this (a long main line) is not pushed by others.
_MOST_NEIGHBOURS = 100
# A kink this small is taken away at the cost of room beside the wire.
_KINK = 6.0
_NOTHING = 1e-6
# How much more than other segments those between two bends want to be straight.
_BEND_WEIGHT = 4.0

# A block that must stay right (or left) of this one, and by how much.
Gaps = list[list[tuple[int, float]]]
# A block that this one is wired to, by what the two x differ where the wire is straight, and its weight.
Pulls = list[list[tuple[int, float, float]]]

_IS_WIRE = [kind not in (Kind.NODE, Kind.GROUP) for kind in Kind]


def place_columns(part: Part, blocks: Blocks) -> None:
    """Fill `x` with the vertices' middles; the leftmost edge is at 0."""
    count = len(blocks.members)
    rights, lefts = _separations(part, blocks)
    order = _left_to_right(rights, lefts)
    x = [0.0] * count
    for block in order:
        x[block] = max((x[other] + gap for other, gap in lefts[block]), default=0.0)
    if count > 1:
        pulls = _pulls(part, blocks)
        for _ in range(_APPROACHES):
            _approach(x, pulls, order, rights, lefts)
        _settle(x, pulls, order, rights, lefts)
        _take_kinks_away(part, blocks, x, pulls, rights, lefts)
    part.x = [x[block] + offset for block, offset in zip(blocks.block_of, blocks.offset, strict=True)]
    placed = [vertex for row in part.rows for vertex in row]
    least = min(part.x[vertex] - part.left[vertex] for vertex in placed)
    part.x = [one - least for one in part.x]


def _separations(part: Part, blocks: Blocks) -> tuple[Gaps, Gaps]:
    gaps: dict[tuple[int, int], float] = {}
    block_of, offset, kind, left, right = blocks.block_of, blocks.offset, part.kind, part.left, part.right
    rooms = (SPACING.between_boxes, SPACING.wire_to_box, SPACING.between_wires)
    for row in part.rows:
        for one, other in pairwise(row):
            room = rooms[_IS_WIRE[kind[one]] + _IS_WIRE[kind[other]]]
            gap = right[one] + left[other] + room + offset[one] - offset[other]
            pair = block_of[one], block_of[other]
            if gap > gaps.get(pair, float("-inf")):
                gaps[pair] = gap
    rights: Gaps = [[] for _ in blocks.members]
    lefts: Gaps = [[] for _ in blocks.members]
    for (here, there), gap in gaps.items():
        rights[here].append((there, gap))
        lefts[there].append((here, gap))
    return rights, lefts


def _left_to_right(rights: Gaps, lefts: Gaps) -> list[int]:
    """Blocks in an order that agrees with all rows; there is one, as straight segments do not cross."""
    waiting = [len(one) for one in lefts]
    order = [block for block, count in enumerate(waiting) if not count]
    for block in order:
        for other, _ in rights[block]:
            waiting[other] -= 1
            if not waiting[other]:
                order.append(other)
    return order


def _pulls(part: Part, blocks: Blocks) -> Pulls:
    pulls: Pulls = [[] for _ in blocks.members]
    block_of, offset = blocks.block_of, blocks.offset
    for segment, start in enumerate(part.segment_from):
        end = part.segment_to[segment]
        one, other = block_of[start], block_of[end]
        if one == other:
            continue
        apart = offset[start] + part.segment_out[segment] - offset[end] - part.segment_in[segment]
        weight = part.segment_weight[segment]
        if _IS_WIRE[part.kind[start]] and _IS_WIRE[part.kind[end]]:
            weight *= _BEND_WEIGHT
        pulls[other].append((one, apart, weight))
        pulls[one].append((other, -apart, weight))
    for joint in part.joints:
        if joint.bend >= 0:
            one, other = block_of[joint.vertex], block_of[joint.bend]
            apart = offset[joint.vertex] + joint.shift - offset[joint.bend]
            pulls[other].append((one, apart, 1.0))
            # A wire against the flow is glad to be near, but moves no box.
            pulls[one].append((other, -apart, 0.1))
    return pulls


def _approach(x: list[float], pulls: Pulls, order: list[int], rights: Gaps, lefts: Gaps) -> None:
    """Move all blocks towards the middle of their wires' ends: once pushing right, once pushing left.

    Both ways keep all distances, so their mean does too, and it leans to neither side.
    """
    wishes = []
    for block, here in enumerate(x):
        total = sum(weight for _, _, weight in pulls[block])
        middle = sum((x[other] + apart) * weight for other, apart, weight in pulls[block])
        wishes.append((here + middle / total) / 2 if total else here)
    pushed_right, pushed_left = wishes[:], wishes
    for block in order:
        for other, gap in lefts[block]:
            if pushed_right[other] + gap > pushed_right[block]:
                pushed_right[block] = pushed_right[other] + gap
    for block in reversed(order):
        for other, gap in rights[block]:
            if pushed_left[other] - gap < pushed_left[block]:
                pushed_left[block] = pushed_left[other] - gap
    for block in order:
        x[block] = (pushed_right[block] + pushed_left[block]) / 2


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
    if force <= 0:
        return 0.0
    stops.sort()
    move = 0.0
    for distance, weight in stops:
        move = distance
        force -= 2 * weight
        if force <= 0:
            break
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


def _take_kinks_away(
    part: Part, blocks: Blocks, x: list[float], pulls: Pulls, rights: Gaps, lefts: Gaps
) -> None:
    """Straighten wires that are nearly straight, even if they come nearer to their neighbours."""
    for block, members in enumerate(blocks.members):
        if not all(_IS_WIRE[part.kind[vertex]] for vertex in members):
            continue
        kinks = [x[other] + apart - x[block] for other, apart, _ in pulls[block]]
        kink = next((one for one in kinks if _NOTHING < abs(one) <= _KINK), None)
        if kink is None:
            continue
        there = x[block] + kink
        if all(x[other] - there >= gap - _KINK for other, gap in rights[block]) and all(
            there - x[other] >= gap - _KINK for other, gap in lefts[block]
        ):
            x[block] = there


# Wires keep this far from a node's corner, and at least this far from each other where there is room.
_CORNER = 9.0
_LEAST_APART = 7.0
_FAR_APART = 26.0


@dataclass(slots=True)
class _Contact:
    """One place on a node's side, where segments and joints of one net meet it."""

    segments: list[int]
    joints: list[Joint]
    # The middles of what is at the other ends.
    others: list[float]
    is_straight: bool = False

    @property
    def other(self) -> float:
        return sum(self.others) / len(self.others)


def place_lanes(part: Part) -> None:
    """Columns of joints: the x of their bends, or lanes to the right of everything."""
    edge = max(part.x[vertex] + part.right[vertex] for row in part.rows for vertex in row)
    lanes = []
    x = edge + SPACING.wire_to_box
    for width in part.lane_widths:
        lanes.append(x)
        x += SPACING.between_wires + width
    for joint in part.joints:
        joint.column = part.x[joint.bend] if joint.bend >= 0 else lanes[joint.lane]


def attach(part: Part, blocks: Blocks) -> None:
    """Fill the shifts of segments and joints at nodes; groups have theirs from their ports."""
    above: dict[int, list[Joint]] = {}
    below: dict[int, list[Joint]] = {}
    for joint in part.joints:
        (below if joint.is_below else above).setdefault(joint.vertex, []).append(joint)
    for row in part.rows:
        for vertex in row:
            if part.kind[vertex] is Kind.NODE:
                _spread(part, vertex, _leaving(part, blocks, vertex, below.get(vertex, [])), leaving=True)
    for row in part.rows:
        for vertex in row:
            if part.kind[vertex] is Kind.NODE:
                _spread(part, vertex, _arriving(part, blocks, vertex, above.get(vertex, [])), leaving=False)


def _leaving(part: Part, blocks: Blocks, vertex: int, joints: list[Joint]) -> list[_Contact]:
    by_net: dict[int, _Contact] = {}
    for segment in part.below[vertex]:
        contact = by_net.setdefault(part.segment_net[segment], _Contact([], [], []))
        contact.segments.append(segment)
        contact.others.append(part.x[part.segment_to[segment]] + part.segment_in[segment])
        contact.is_straight |= blocks.is_straight[segment]
    for joint in joints:
        by_net[-1 - len(by_net)] = _Contact([], [joint], [joint.column])
    return list(by_net.values())


def _arriving(part: Part, blocks: Blocks, vertex: int, joints: list[Joint]) -> list[_Contact]:
    contacts = []
    for segment in part.above[vertex]:
        other = part.x[part.segment_from[segment]] + part.segment_out[segment]
        contacts.append(_Contact([segment], [], [other], blocks.is_straight[segment]))
    return contacts + [_Contact([], [joint], [joint.column]) for joint in joints]


def _spread(part: Part, vertex: int, contacts: list[_Contact], *, leaving: bool) -> None:
    contacts.sort(key=lambda contact: contact.other)
    half = min(part.left[vertex], part.right[vertex]) - _CORNER
    shifts = _shifts(contacts, part.x[vertex], max(half, 0.0))
    for contact, shift in zip(contacts, shifts, strict=True):
        _set(part, contact, shift, leaving=leaving)


def _shifts(contacts: list[_Contact], middle: float, half: float) -> list[float]:
    """Straight wires in the middle, others straight where they can be, the rest evenly beside them."""
    count = len(contacts)
    straight_at = next((i for i, one in enumerate(contacts) if one.is_straight), None)
    centre = (count - 1) / 2 if straight_at is None else float(straight_at)
    step = min(half / (max(centre, count - 1 - centre) + 0.6), _FAR_APART)
    even = [(i - centre) * step for i in range(count)]
    if count * _LEAST_APART > half:
        return even
    shifts: list[float] = []
    for i, contact in enumerate(contacts):
        if i == straight_at:
            shifts.append(0.0)
            continue
        apart = contact.other - middle
        wish = apart if abs(apart) <= half and len(contact.others) == 1 else even[i]
        least = shifts[-1] + _LEAST_APART if shifts else -half
        is_before = straight_at is not None and i < straight_at
        most = (i - centre) * _LEAST_APART if is_before else half - (count - 1 - i) * _LEAST_APART
        shifts.append(min(max(wish, least), most))
    return shifts


def _set(part: Part, contact: _Contact, shift: float, *, leaving: bool) -> None:
    shifts = part.segment_out if leaving else part.segment_in
    for segment in contact.segments:
        shifts[segment] = shift
    for joint in contact.joints:
        joint.shift = shift


_FAR = float("inf")


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


# Nearer than this two x are the same: nothing but rounding is between them.
_SAME = 1e-3
# How near a curve may come to a box that it passes.
_CLEARANCE = 6.0
_STUB = 3.0
_BOXES = (Kind.NODE, Kind.GROUP)


@dataclass(slots=True, kw_only=True)
class Heights:
    """What is known of the vertical besides the vertices' tops."""

    # Top and bottom of the zones in which segments move sideways; a straight segment has none.
    zones: dict[int, tuple[float, float]]
    bottom: float


def place_heights(part: Part, *, box_top: float, wire_top: float) -> Heights:
    """Fill `top`: no box above `box_top`, no wire moving sideways above `wire_top`."""
    drop = _Drop(part, box_top, wire_top)
    # Wires may still turn around below the last rank.
    for rank in range(len(part.rows) + 1):
        drop.rank(rank)
    if any(part.floats):
        lift = _Sink(part, drop.zones, drop.joints_of)
        for rank in range(len(part.rows) - 1, -1, -1):
            lift.rank(rank)
    bottoms = [part.top[v] + part.height[v] for row in part.rows for v in row]
    bottoms += [zone_bottom for _, zone_bottom in drop.zones.values()]
    bottoms += [joint.zone_bottom for joint in part.joints]
    for course in part.courses:
        if course.label and course.label_vertex < 0 and course.arrival:
            bottoms.append(lane_label_top(part, course.arrival, course.label[1]) + course.label[1])
    return Heights(zones=drop.zones, bottom=max(bottoms, default=0.0))


def lane_label_top(part: Part, arrival: Joint, height: float) -> float:
    """Where a text fits beside a lane, between the wires that cross it on their way to lanes further out."""
    y = arrival.zone_bottom
    crossing = (joint for joint in part.joints if joint.column > arrival.column)
    for joint in sorted(crossing, key=lambda one: one.zone_top):
        if joint.zone_bottom > y:
            if joint.zone_top >= y + height:
                break
            y = joint.zone_bottom
    return y


def _span(part: Part, segment: int) -> tuple[float, float]:
    """The x between which a segment moves."""
    start = part.x[part.segment_from[segment]] + part.segment_out[segment]
    end = part.x[part.segment_to[segment]] + part.segment_in[segment]
    return (start, end) if start < end else (end, start)


def _curve_height(width: float) -> float:
    return min(SPACING.least_curve + 0.12 * width, SPACING.most_curve)


class _Drop:
    """Everything as high as it can be, from the first rank to the last."""

    def __init__(self, part: Part, box_top: float, wire_top: float) -> None:
        self.part = part
        self.box_top, self.wire_top = box_top, wire_top
        self.boxes, self.wires = Skyline(), Skyline()
        self.zones: dict[int, tuple[float, float]] = {}
        # Joints by the rank above the gap that they are in.
        self.joints_in: dict[int, list[Joint]] = {}
        self.joints_of: dict[int, list[Joint]] = {}
        for joint in part.joints:
            gap = part.rank[joint.vertex] - (not joint.is_below)
            self.joints_in.setdefault(gap, []).append(joint)
            self.joints_of.setdefault(joint.vertex, []).append(joint)
        part.top = [0.0] * len(part.kind)

    def rank(self, rank: int) -> None:
        part = self.part
        row = part.rows[rank] if rank < len(part.rows) else []
        if rank:
            for vertex in part.rows[rank - 1]:
                for segment in part.below[vertex]:
                    self._zone(segment, vertex)
        for joint in self.joints_in.get(rank - 1, ()):
            self._joint_zone(joint)
        for vertex in row:
            part.top[vertex] = self._highest(vertex)
        self._level(row)
        for vertex in row:
            self._stand(vertex)

    def _zone(self, segment: int, start: int) -> None:
        left, right = _span(self.part, segment)
        if right - left < _SAME:
            return
        top = max(
            self.boxes.lowest(left - _CLEARANCE, right + _CLEARANCE) + _CLEARANCE,
            self.part.top[start] + self.part.height[start],
            self.wire_top,
        )
        bottom = top + _curve_height(right - left)
        self.zones[segment] = (top, bottom)
        self.wires.lower(left - _CLEARANCE, right + _CLEARANCE, bottom)

    def _joint_zone(self, joint: Joint) -> None:
        part = self.part
        here = part.x[joint.vertex] + joint.shift
        left, right = min(here, joint.column), max(here, joint.column)
        top = max(self.boxes.lowest(left - _CLEARANCE, right + _CLEARANCE) + _CLEARANCE, self.wire_top)
        if joint.is_below:
            top = max(top, part.top[joint.vertex] + part.height[joint.vertex])
            if joint.bend >= 0:
                top = max(top, part.top[joint.bend] + part.height[joint.bend])
        joint.zone_top, joint.zone_bottom = top, top + _curve_height(right - left)
        self.wires.lower(left - _CLEARANCE, right + _CLEARANCE, joint.zone_bottom)

    def _highest(self, vertex: int) -> float:
        part, kind = self.part, self.part.kind[vertex]
        if kind is Kind.IN_PORT:
            return 0.0
        left, right = part.x[vertex] - part.left[vertex], part.x[vertex] + part.right[vertex]
        if kind not in _BOXES:
            left, right = left - _CLEARANCE, right + _CLEARANCE
        top = self.wires.lowest(left, right) + (_CLEARANCE if kind in _BOXES else 0.0)
        top = max(top, self.box_top if kind in _BOXES else self.wire_top)
        above_boxes = self.boxes.lowest(left, right)
        if kind in _BOXES:
            top = max(top, above_boxes + SPACING.between_strangers)
        else:
            top = max(top, above_boxes + (_CLEARANCE if kind is Kind.LABEL else 0.0))
        for segment in part.above[vertex]:
            top = max(top, self._below(segment, kind))
        if kind in _BOXES:
            for joint in self.joints_of.get(vertex, ()):
                if not joint.is_below:
                    top = max(top, joint.zone_bottom + SPACING.arrow)
        return top

    def _below(self, segment: int, kind: Kind) -> float:
        """How high a vertex may be because of a segment that arrives at it."""
        part = self.part
        zone = self.zones.get(segment)
        if zone is not None:
            return zone[1] + (SPACING.arrow if kind in _BOXES else 0.0)
        start = part.segment_from[segment]
        if part.kind[start] is Kind.IN_PORT:
            return self.wire_top
        bottom = part.top[start] + part.height[start]
        return bottom + _straight_gap(part.kind[start], kind)

    def _level(self, row: list[int]) -> None:
        """Let boxes whose tops are nearly equal stand in one line."""
        part = self.part
        boxes = [vertex for vertex in row if part.kind[vertex] in _BOXES]
        if len(boxes) < 2:
            return
        boxes.sort(key=part.top.__getitem__, reverse=True)
        level = part.top[boxes[0]]
        for vertex in boxes:
            if level - part.top[vertex] <= SPACING.between_ranks:
                part.top[vertex] = level
            else:
                level = part.top[vertex]

    def _stand(self, vertex: int) -> None:
        part, kind = self.part, self.part.kind[vertex]
        left, right = part.x[vertex] - part.left[vertex], part.x[vertex] + part.right[vertex]
        bottom = part.top[vertex] + part.height[vertex]
        if kind in _BOXES or kind is Kind.LABEL:
            self.boxes.lower(left, right, bottom)
        elif kind is Kind.BEND:
            self.wires.lower(left - _CLEARANCE, right + _CLEARANCE, bottom)


def _straight_gap(start: Kind, end: Kind) -> float:
    if end in _BOXES:
        return SPACING.between_ranks if start in _BOXES else SPACING.arrow
    return _CLEARANCE if end is Kind.LABEL and start in _BOXES else 0.0


class _Sink:
    """What floats is let down again, from the last rank to the first, until it meets its readers."""

    def __init__(
        self, part: Part, zones: dict[int, tuple[float, float]], joints_of: dict[int, list[Joint]]
    ) -> None:
        self.part, self.zones, self.joints_of = part, zones, joints_of
        # Turned upside down: y counts upwards.
        self.boxes, self.wires = Skyline(), Skyline()

    def rank(self, rank: int) -> None:
        part = self.part
        row = part.rows[rank]
        for vertex in row:
            for segment in part.below[vertex]:
                if segment in self.zones:
                    self._zone(segment, part.floats[vertex])
            self._block(vertex, below=True)
        for vertex in row:
            if part.floats[vertex] and part.below[vertex] and part.kind[vertex] is not Kind.IN_PORT:
                part.top[vertex] = max(part.top[vertex], self._lowest(vertex))
        for vertex in row:
            self._hang(vertex)
            self._block(vertex, below=False)

    def _block(self, vertex: int, *, below: bool) -> None:
        for joint in self.joints_of.get(vertex, ()):
            if joint.is_below is below:
                here = self.part.x[vertex] + joint.shift
                left, right = min(here, joint.column), max(here, joint.column)
                self.wires.lower(left - _CLEARANCE, right + _CLEARANCE, -joint.zone_top)

    def _zone(self, segment: int, floats: bool) -> None:
        part = self.part
        left, right = _span(part, segment)
        if floats:
            end = part.segment_to[segment]
            arrow = SPACING.arrow if part.kind[end] in _BOXES else 0.0
            top, bottom = self.zones[segment]
            limit = -self.boxes.lowest(left - _CLEARANCE, right + _CLEARANCE) - _CLEARANCE
            if part.kind[end] is not Kind.OUT_PORT:
                limit = min(limit, part.top[end] - arrow)
            if limit < float("inf"):
                down = max(0.0, limit - bottom)
                self.zones[segment] = (top + down, bottom + down)
        self.wires.lower(left - _CLEARANCE, right + _CLEARANCE, -self.zones[segment][0])

    def _lowest(self, vertex: int) -> float:
        part, kind = self.part, self.part.kind[vertex]
        left, right = part.x[vertex] - part.left[vertex], part.x[vertex] + part.right[vertex]
        gap = SPACING.between_strangers
        if kind not in _BOXES:
            left, right, gap = left - _CLEARANCE, right + _CLEARANCE, _CLEARANCE
        bottom = min(-self.wires.lowest(left, right) - _STUB, -self.boxes.lowest(left, right) - gap)
        for segment in part.below[vertex]:
            zone = self.zones.get(segment)
            end = part.segment_to[segment]
            if zone is not None:
                bottom = min(bottom, zone[0])
            elif part.kind[end] is not Kind.OUT_PORT:
                bottom = min(bottom, part.top[end] - _straight_gap(kind, part.kind[end]))
        return bottom - part.height[vertex] if bottom < float("inf") else part.top[vertex]

    def _hang(self, vertex: int) -> None:
        part, kind = self.part, self.part.kind[vertex]
        left, right = part.x[vertex] - part.left[vertex], part.x[vertex] + part.right[vertex]
        if kind in _BOXES or kind is Kind.LABEL:
            self.boxes.lower(left, right, -part.top[vertex])
        elif kind is Kind.BEND:
            self.wires.lower(left - _CLEARANCE, right + _CLEARANCE, -part.top[vertex])
