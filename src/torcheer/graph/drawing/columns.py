"""Cut a very long picture into columns that stand side by side, as a newspaper does."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from torcheer.graph.drawing.diagram import Diagram, Edge, Group, Node, Part
from torcheer.graph.drawing.faces import HEADER_HEIGHT, FaceMaker

_LONGEST = 12_000.0  # pixels in one piece; a ResNet-18 takes 7,000
_ASPECT = 1.3  # of the whole picture, width to height, or the other way round
_GAP = 28.0
_SHORTEST, _TALLEST = 0.4, 1.6  # of a column, in shares of what was aimed at
_PLACES_A_COLUMN = 40  # that are looked at
_GROUP_COST, _SOURCE_COST, _LENGTH_COST = 2.0, 0.5, 14.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Leaf:
    """A box, the groups around it, and how far down its lower side is at least."""

    node: Node
    groups: tuple[int, ...]
    depth: float


def cut_into_columns(diagram: Diagram, faces: FaceMaker, direction: str, width: float) -> list[str]:
    """Fill `diagram.columns` where one piece would be too long; edges between columns become chips.

    `width` is how wide a column will probably be.
    """
    leaves = _leaves(diagram, faces, sideways=direction == "leftright")
    length = leaves[-1].depth if leaves else 0.0
    if length <= _LONGEST:
        return []
    num_columns = max(2, round(math.sqrt(_ASPECT * length / width)))
    cuts = _cuts(leaves, diagram.edges, length / num_columns)
    if not cuts:
        diagram.columns = []
        for edge in diagram.edges:
            edge.is_cut = False
        return []
    column_of: dict[int, int] = {}
    for place, leaf in enumerate(leaves):
        column_of[id(leaf.node)] = bisect_right(cuts, place)
    diagram.columns = [_stretch(diagram.root, column_of, number) for number in range(len(cuts) + 1)]
    for edge in diagram.edges:
        edge.is_cut = column_of[id(edge.source)] != column_of[id(edge.target)]
    word = "rows" if direction == "leftright" else "columns"
    return [f"In {len(cuts) + 1} {word}; an arrow after a name leads to another place in the picture."]


def _leaves(diagram: Diagram, faces: FaceMaker, *, sideways: bool) -> list[_Leaf]:
    """All boxes in the order in which they ran, each below what it reads."""
    above: dict[int, float] = {}
    incoming: dict[int, list[Edge]] = {}
    for edge in diagram.edges:
        if edge.kind == "data" and not edge.is_back and not edge.is_far:
            incoming.setdefault(id(edge.target), []).append(edge)
    found: list[_Leaf] = []
    lowest = 0.0
    stack: list[tuple[Part, tuple[int, ...]]] = [(diagram.root, ())]
    while stack:
        part, groups = stack.pop()
        if isinstance(part, Group):
            inside = (*groups, id(part))
            stack.extend((child, inside) for child in reversed(part.children))
            continue
        face = faces.face(part)
        # A layer whose passes lie in several modules stands in the first: its reader may come before it here.
        start = max((above.get(id(edge.source), 0.0) for edge in incoming.get(id(part), ())), default=0.0)
        opened = len(groups) - (len(found[-1].groups) if found else 0)
        start += max(opened, 0) * HEADER_HEIGHT
        above[id(part)] = start + (face.width if sideways else face.height) + _GAP
        lowest = max(lowest, above[id(part)])
        found.append(_Leaf(node=part, groups=groups, depth=lowest))
    return found


def _cuts(leaves: Sequence[_Leaf], edges: Sequence[Edge], length: float) -> list[int]:
    """The places to cut for columns of about this length, through few groups and few edges."""
    crossing = _num_crossing(leaves, edges)
    costs = [0.0] + [
        _GROUP_COST * _num_common(leaves[place - 1].groups, leaves[place].groups)
        + _SOURCE_COST * crossing[place]
        for place in range(1, len(leaves))
    ]
    places = [0, *_worth_a_look(leaves, costs, length / _PLACES_A_COLUMN), len(leaves)]
    depths = [0.0, *(leaves[place - 1].depth for place in places[1:])]
    # The cheapest way to cut everything above each place, from that of the places above.
    best = [(0.0, -1)]
    for end in range(1, len(places)):
        own = costs[places[end]] if places[end] < len(leaves) else 0.0
        ways: list[tuple[float, int]] = []
        for start in range(end - 1, -1, -1):
            share = (depths[end] - depths[start]) / length
            if share > _TALLEST and ways:
                break
            short = 10.0 if share < _SHORTEST else 1.0
            ways.append((best[start][0] + own + short * _LENGTH_COST * (share - 1.0) ** 2, start))
        best.append(min(ways))
    cuts: list[int] = []
    at = best[-1][1]
    while at > 0:
        cuts.append(places[at])
        at = best[at][1]
    return cuts[::-1]


def _worth_a_look(leaves: Sequence[_Leaf], costs: Sequence[float], step: float) -> list[int]:
    """The cheapest place of every short stretch."""
    best: dict[int, int] = {}
    for place in range(1, len(costs)):
        stretch = int(leaves[place - 1].depth / step)
        if stretch not in best or costs[place] < costs[best[stretch]]:
            best[stretch] = place
    return sorted(best.values())


def _num_common(one: tuple[int, ...], other: tuple[int, ...]) -> int:
    """How many groups hold both."""
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count


def _num_crossing(leaves: Sequence[_Leaf], edges: Sequence[Edge]) -> list[int]:
    """For each place to cut, how many boxes above it are read below it."""
    place_of = {id(leaf.node): place for place, leaf in enumerate(leaves)}
    last_reader: dict[int, int] = {}
    for edge in edges:
        if not edge.is_far:
            source = place_of[id(edge.source)]
            last_reader[source] = max(last_reader.get(source, 0), place_of[id(edge.target)])
    changes = [0] * (len(leaves) + 2)
    for source, last in last_reader.items():
        if last > source:
            changes[source + 1] += 1
            changes[last + 1] -= 1
    count = 0
    counts = []
    for change in changes:
        count += change
        counts.append(count)
    return counts


def _stretch(group: Group, column_of: dict[int, int], number: int) -> Group:
    """The part of a group that stands in one column."""
    children: list[Part] = []
    begins_before = False
    for child in group.children:
        if isinstance(child, Node):
            column = column_of[id(child)]
            if column == number:
                children.append(child)
            begins_before |= column < number
            continue
        part = _stretch(child, column_of, number)
        if part.children:
            children.append(part)
        begins_before |= part.is_continued or (not part.children and _first_column(child, column_of) < number)
    return Group(
        scopes=group.scopes,
        children=children,
        num_repeats=group.num_repeats,
        repeated=group.repeated,
        is_continued=begins_before,
    )


def _first_column(group: Group, column_of: dict[int, int]) -> int:
    return column_of[id(next(group.leaves()))]
