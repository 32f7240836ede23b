"""Spread the wires that meet one side of a node along that side."""

from __future__ import annotations

from dataclasses import dataclass

from torcheer.graph.layout.alignment import Blocks
from torcheer.graph.layout.boxes import Spacing
from torcheer.graph.layout.part import Joint, Kind, Part

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
