"""Lay a diagram out: in columns where it is long, sizes to the layout, places and routes back."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, count, takewhile

from torcheer.graph.document import PassDocument
from torcheer.graph.drawing.boxes import (
    HEADER_HEIGHT,
    PADDING_X,
    TEXT_SIZE,
    header_of,
    make_faces,
    width_of_texts,
)
from torcheer.graph.drawing.diagram import Diagram, Edge, Group, Node, Part
from torcheer.graph.drawing.text_width import text_width
from torcheer.graph.layout.layout_engine import Box, Rect, Route, Wire, lay_out

_COLUMN_GAP = 56.0
_COLUMN_WIDTH = 800.0  # what most columns turn out to be
_NEAR_ENOUGH = 1.4
_LABEL_HEIGHT = 14.0
_CONDITION_WEIGHT = 0.2
_UNSEEN_WEIGHT = 0.05


@dataclass(slots=True, kw_only=True)
class Arrangement:
    """What there is to paint. Nodes and groups have their places by now."""

    groups: list[tuple[Group, int]] = field(default_factory=list)  # with their depth, outer ones first
    nodes: list[Node] = field(default_factory=list)
    wires: list[tuple[Edge, Route]] = field(default_factory=list)
    connectors: list[tuple[Edge, Route]] = field(default_factory=list)  # from one column to the next
    columns: list[Rect] = field(default_factory=list)
    note: str = ""
    width: float = 0.0
    height: float = 0.0


def arranged(document: PassDocument, diagram: Diagram, direction: str) -> Arrangement:
    """In columns where it is long; cut anew where one turns out much wider or narrower than was thought."""
    make_faces(document, diagram)
    leaves = _leaves(diagram, is_sideways=direction == "leftright")
    if leaves and leaves[-1].depth > _LONGEST:
        _cut_into_columns(document, diagram, leaves, _COLUMN_WIDTH)
        middle = diagram.columns[len(diagram.columns) // 2]
        trial = _arrange(document, diagram, [middle], direction)
        width = trial.height if direction == "leftright" else trial.width
        if not 1 / _NEAR_ENOUGH < width / _COLUMN_WIDTH < _NEAR_ENOUGH:
            _cut_into_columns(document, diagram, leaves, width)
    arrangement = _arrange(document, diagram, diagram.columns or [diagram.root], direction)
    if diagram.columns:
        shown = f"{len(diagram.columns)} {'rows' if direction == 'leftright' else 'columns'}"
        arrangement.note = f"In {shown}; an arrow after a name leads to another place in the picture."
        arrangement.connectors += _connectors(arrangement, diagram.edges, direction)
    return arrangement


def _arrange(
    document: PassDocument, diagram: Diagram, columns: Sequence[Group], direction: str
) -> Arrangement:
    """Columns side by side; where the flow is to the right, one below the other."""
    whole = Arrangement()
    keys = count(1)
    for column in columns:
        column.key = next(keys)
        boxes = tuple(_box(document, part, 0, whole, keys) for part in column.children)
        root = Box(key=column.key, width=0.0, height=0.0, children=boxes, padding=0.0)
        inside = set(column.leaves())
        edges = [edge for edge in diagram.edges if not edge.is_chip and edge.source in inside]
        wires = [*map(_wire, edges), *_below_the_rest(list(column.leaves()), edges)]
        placed = lay_out(root, wires, direction=direction)
        gap = _COLUMN_GAP if whole.columns else 0.0
        dx, dy = (0.0, whole.height + gap) if direction == "leftright" else (whole.width + gap, 0.0)
        stack: list[Part] = list(column.children)
        while stack:
            part = stack.pop()
            part.rect = placed.rects[part.key].moved(dx, dy)
            if isinstance(part, Group):
                stack.extend(part.children)
        routes = (route.moved(dx, dy) for route in placed.routes)
        whole.wires += zip(edges, routes, strict=False)
        whole.columns.append(Rect(dx, dy, placed.width, placed.height))
        whole.width = max(whole.width, dx + placed.width)
        whole.height = max(whole.height, dy + placed.height)
    return whole


def _box(document: PassDocument, part: Part, depth: int, whole: Arrangement, keys: Iterator[int]) -> Box:
    part.key = next(keys)
    if isinstance(part, Node):
        whole.nodes.append(part)
        return Box(key=part.key, width=part.face.width, height=part.face.height)
    part.header = header_of(document, part)
    whole.groups.append((part, depth))
    title_width = width_of_texts(part.header) + 2 * PADDING_X
    return Box(
        key=part.key,
        width=title_width,
        height=HEADER_HEIGHT,
        children=tuple(_box(document, child, depth + 1, whole, keys) for child in part.children),
        header=HEADER_HEIGHT,
        title_width=title_width,
    )


def _wire(edge: Edge) -> Wire:
    words = edge.text
    return Wire(
        source=edge.source.key,
        target=edge.target.key,
        label=(text_width(words, TEXT_SIZE) + 4.0, _LABEL_HEIGHT) if words else None,
        weight=_CONDITION_WEIGHT if edge.kind == "condition" else 1.0,
        is_back=edge.is_back,
    )


def _below_the_rest(leaves: Sequence[Node], edges: Sequence[Edge]) -> list[Wire]:
    """Wires that are not painted: they keep outputs without any at the end of their column."""
    wired = {edge.target for edge in edges}
    others = [leaf for leaf in leaves if leaf.face.kind != "output"]
    lonely = [leaf for leaf in leaves if leaf.face.kind == "output" and leaf not in wired]
    if not others:
        return []
    last = max(others, key=lambda leaf: leaf.order)
    return [Wire(source=last.key, target=leaf.key, weight=_UNSEEN_WEIGHT) for leaf in lonely]


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
    groups: tuple[Group, ...]
    depth: float


def _cut_into_columns(
    document: PassDocument, diagram: Diagram, leaves: Sequence[_Leaf], width: float
) -> None:
    """Fill `diagram.columns`; edges between columns become chips. `width`: of a column, probably."""
    num_columns = max(2, round(math.sqrt(_ASPECT * leaves[-1].depth / width)))
    cuts = _cuts(leaves, diagram.edges, leaves[-1].depth / num_columns)
    for place, leaf in enumerate(leaves):
        leaf.node.column = bisect_right(cuts, place)
    diagram.columns = [_stretch(diagram.root, number) for number in range(len(cuts) + 1)]
    for edge in diagram.edges:
        edge.is_cut = edge.source.column != edge.target.column
    make_faces(document, diagram)


def _leaves(diagram: Diagram, *, is_sideways: bool) -> list[_Leaf]:
    """All boxes in the order in which they ran, each below what it reads."""
    above: dict[Node, float] = {}
    incoming: dict[Node, list[Edge]] = {}
    for edge in diagram.edges:
        if edge.kind == "data" and not edge.is_back and not edge.is_far:
            incoming.setdefault(edge.target, []).append(edge)
    found: list[_Leaf] = []
    lowest = 0.0
    stack: list[tuple[Part, tuple[Group, ...]]] = [(diagram.root, ())]
    while stack:
        part, groups = stack.pop()
        if isinstance(part, Group):
            stack.extend((child, (*groups, part)) for child in reversed(part.children))
            continue
        # A layer whose passes lie in several modules stands in the first: its reader may come before it here.
        start = max((above.get(edge.source, 0.0) for edge in incoming.get(part, ())), default=0.0)
        opened = len(groups) - (len(found[-1].groups) if found else 0)
        start += max(opened, 0) * HEADER_HEIGHT
        above[part] = start + (part.face.width if is_sideways else part.face.height) + _GAP
        lowest = max(lowest, above[part])
        found.append(_Leaf(node=part, groups=groups, depth=lowest))
    return found


def _cuts(leaves: Sequence[_Leaf], edges: Sequence[Edge], length: float) -> list[int]:
    """The places to cut for columns of about this length, through few groups and few edges."""
    crossing = _num_crossing(leaves, edges)
    costs = [0.0]
    for place in range(1, len(leaves)):
        around = zip(leaves[place - 1].groups, leaves[place].groups, strict=False)
        num_cut = len(list(takewhile(lambda both: both[0] is both[1], around)))
        costs.append(_GROUP_COST * num_cut + _SOURCE_COST * crossing[place])
    # Of every short stretch, the cheapest place is looked at.
    cheapest: dict[int, int] = {}
    for place in range(1, len(costs)):
        stretch = int(leaves[place - 1].depth / (length / _PLACES_A_COLUMN))
        if stretch not in cheapest or costs[place] < costs[cheapest[stretch]]:
            cheapest[stretch] = place
    places = [0, *sorted(cheapest.values()), len(leaves)]
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


def _num_crossing(leaves: Sequence[_Leaf], edges: Sequence[Edge]) -> list[int]:
    """For each place to cut, how many boxes above it are read below it."""
    place_of = {leaf.node: place for place, leaf in enumerate(leaves)}
    last_reader: dict[int, int] = {}
    for edge in edges:
        if not edge.is_far:
            source = place_of[edge.source]
            last_reader[source] = max(last_reader.get(source, 0), place_of[edge.target])
    changes = [0] * (len(leaves) + 2)
    for source, last in last_reader.items():
        if last > source:
            changes[source + 1] += 1
            changes[last + 1] -= 1
    return list(accumulate(changes))


def _stretch(group: Group, number: int) -> Group:
    """The part of a group that stands in one column."""
    children: list[Part] = []
    for child in group.children:
        if isinstance(child, Group):
            part = _stretch(child, number)
            if part.children:
                children.append(part)
        elif child.column == number:
            children.append(child)
    return Group(
        scopes=group.scopes,
        children=children,
        num_repeats=group.num_repeats,
        repeated=group.repeated,
        is_continued=bool(children) and any(leaf.column < number for leaf in group.leaves()),
    )


_AROUND = 13.0  # how far below and above the columns it runs


def _connectors(
    arrangement: Arrangement, edges: Sequence[Edge], direction: str
) -> Iterator[tuple[Edge, Route]]:
    """At most one from each column to the next, where nothing stands in its way."""
    columns = [_turned(column, direction) for column in arrangement.columns]
    place_of = {node: _turned(node.rect, direction) for node in arrangement.nodes}
    ways: dict[int, list[tuple[float, float, Edge]]] = {}
    for edge in edges:
        is_next = edge.target.column == edge.source.column + 1
        if edge.is_cut and not edge.is_far and edge.kind == "data" and is_next:
            source, target = place_of[edge.source], place_of[edge.target]
            ways.setdefault(edge.source.column, []).append((-source.y - source.height, target.y, edge))
    for column in sorted(ways):
        boxes = [
            [rect for node, rect in place_of.items() if node.column == number]
            for number in (column, column + 1)
        ]
        # The main line ends furthest down, and goes on furthest up.
        for end, start, edge in sorted(ways[column], key=lambda way: way[:2]):
            source, target = place_of[edge.source], place_of[edge.target]
            out, into = source.x + source.width / 2, target.x + target.width / 2
            bottom = columns[column].y + columns[column].height + _AROUND
            top = columns[column + 1].y - _AROUND
            if _is_free(boxes[0], out, -end, bottom) and _is_free(boxes[1], into, top, start):
                gap = columns[column + 1].x - _COLUMN_GAP / 2
                # Down, into the gap, up, and down again.
                corners = ((out, -end), (out, bottom), (gap, bottom), (gap, top), (into, top), (into, start))
                begin, *others = (_turned(Rect(x, y, 0.0, 0.0), direction)[:2] for x, y in corners)
                yield edge, Route(start=begin, pieces=tuple((corner,) for corner in others))
                break


def _is_free(boxes: Sequence[Rect], x: float, start: float, end: float) -> bool:
    return not any(
        box.x - 4.0 < x < box.x + box.width + 4.0 and box.y < end - 0.5 and start + 0.5 < box.y + box.height
        for box in boxes
    )


def _turned(place: Rect, direction: str) -> Rect:
    """A place as if the picture ran from top to bottom; turned twice it is as it was."""
    x, y, width, height = place
    if direction == "leftright":
        return Rect(y, x, height, width)
    return Rect(x, -y - height, width, height) if direction == "bottomup" else place
