"""Give every vertex its x: which segments are straight, how blocks stand apart, where wires meet a side."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from torcheer.graph.layout.model import Course, Joint, Kind, Part, Spacing


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


def place_columns(part: Part, blocks: Blocks, spacing: Spacing) -> None:
    """Fill `x` with the vertices' middles; the leftmost edge is at 0."""
    count = len(blocks.members)
    rights, lefts = _separations(part, blocks, spacing)
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


def _separations(part: Part, blocks: Blocks, spacing: Spacing) -> tuple[Gaps, Gaps]:
    gaps: dict[tuple[int, int], float] = {}
    block_of, offset, kind, left, right = blocks.block_of, blocks.offset, part.kind, part.left, part.right
    rooms = (spacing.between_boxes, spacing.wire_to_box, spacing.between_wires)
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


def place_lanes(part: Part, spacing: Spacing) -> None:
    """Columns of joints: the x of their bends, or lanes to the right of everything."""
    edge = max(part.x[vertex] + part.right[vertex] for row in part.rows for vertex in row)
    lanes = []
    x = edge + spacing.wire_to_box
    for width in part.lane_widths:
        lanes.append(x)
        x += spacing.between_wires + width
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
