"""Give every vertex its x: blocks kept apart, and wires as straight as that allows."""

from __future__ import annotations

from itertools import pairwise

from torcheer.graph.layout.alignment import Blocks
from torcheer.graph.layout.boxes import Spacing
from torcheer.graph.layout.part import Kind, Part

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
