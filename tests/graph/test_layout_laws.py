"""What holds for every layout, whatever the boxes and wires."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.many import examples
from torcheer.graph.layout.layout_engine import Box, Placement, Point, Rect, Route, Wire, lay_out

ROUNDING = 1e-3
DIRECTIONS = ("topdown", "bottomup", "leftright")

Picture = tuple[Box, list[Wire]]


@st.composite
def pictures(draw: st.DrawFn, most_depth: int = 3) -> Picture:
    """Nested boxes with any wires: cycles, loops, parallel wires, empty groups, no wires at all."""
    keys = iter(draw(st.permutations(range(400))) if draw(st.booleans()) else range(400))
    leaves: list[int] = []
    sizes = st.sampled_from([0.0, 7.0, 30.0, 64.0, 110.0])

    def grow(depth: int) -> Box:
        key = next(keys)
        children: tuple[Box, ...] = ()
        if depth and draw(st.booleans()):
            children = tuple(grow(depth - 1) for _ in range(draw(st.integers(0, 4))))
        if not children:
            leaves.append(key)
        header = draw(st.sampled_from([0.0, 20.0])) if children else 0.0
        return Box(
            key=key,
            width=draw(sizes),
            height=draw(sizes),
            children=children,
            header=header,
            padding=draw(st.sampled_from([0.0, 12.0])),
            title_width=40.0 if header else 0.0,
        )

    children = tuple(grow(most_depth) for _ in range(draw(st.integers(1, 6))))
    root = Box(key=next(keys), width=0.0, height=0.0, children=children)
    ends = st.sampled_from(leaves)
    wires = st.builds(
        Wire,
        source=ends,
        target=ends,
        label=st.none() | st.tuples(st.sampled_from([8.0, 40.0]), st.sampled_from([10.0, 70.0])),
        weight=st.sampled_from([0.2, 1.0, 3.0]),
        is_back=st.sampled_from([False, False, False, True]),
    )
    return root, draw(st.lists(wires, max_size=30))


def walk(box: Box) -> Iterator[Box]:
    yield box
    for child in box.children:
        yield from walk(child)


def overlap(one: Rect, other: Rect) -> bool:
    return (
        one.x < other.x + other.width - ROUNDING
        and other.x < one.x + one.width - ROUNDING
        and one.y < other.y + other.height - ROUNDING
        and other.y < one.y + one.height - ROUNDING
    )


def points_along(route: Route) -> Iterator[Point]:
    """Points so close together that no box between two of them is missed by much."""
    here = route.start
    yield here
    for piece in route.pieces:
        if len(piece) == 1:
            controls = (here, piece[0], piece[0])
            steps = max(2, int((abs(piece[0][0] - here[0]) + abs(piece[0][1] - here[1])) / 5))
        else:
            controls, steps = piece, 30
        for step in range(1, steps + 1):
            t = step / steps
            if len(piece) == 1:
                yield tuple(a + (b - a) * t for a, b in zip(here, piece[0], strict=True))  # type: ignore[misc]
                continue
            weights = ((1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t**2, t**3)
            corners = (here, *controls)
            yield (
                sum(w * x for w, (x, _) in zip(weights, corners, strict=True)),
                sum(w * y for w, (_, y) in zip(weights, corners, strict=True)),
            )
        here = piece[-1]


def is_within(point: Point, rect: Rect, margin: float = 0.1) -> bool:
    return (
        rect.x + margin < point[0] < rect.x + rect.width - margin
        and rect.y + margin < point[1] < rect.y + rect.height - margin
    )


def nodes_of(root: Box, placement: Placement) -> dict[int, Rect]:
    return {box.key: placement.rects[box.key] for box in walk(root) if not box.children}


def laws(count: int):  # type: ignore[no-untyped-def]
    return settings(
        max_examples=examples(count), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
    )


@laws(70)
@given(pictures(), st.sampled_from(DIRECTIONS))
def test_boxes_overlap_only_where_one_contains_the_other(picture: Picture, direction: str) -> None:
    root, wires = picture

    placement = lay_out(root, wires, direction=direction)

    for group in walk(root):
        outer = placement.rects[group.key]
        rects = [placement.rects[child.key] for child in group.children]
        assert not any(overlap(one, other) for one, other in combinations(rects, 2))
        for rect in rects:
            assert rect.x >= outer.x - ROUNDING
            assert rect.y >= outer.y + group.header - ROUNDING
            assert rect.x + rect.width <= outer.x + outer.width + ROUNDING
            assert rect.y + rect.height <= outer.y + outer.height + ROUNDING


@laws(20)
@given(pictures(), st.sampled_from(DIRECTIONS))
def test_every_box_has_the_size_it_asked_for(picture: Picture, direction: str) -> None:
    root, wires = picture

    placement = lay_out(root, wires, direction=direction)

    assert set(placement.rects) == {box.key for box in walk(root)}
    for box in walk(root):
        rect = placement.rects[box.key]
        if box.children:
            assert rect.width >= box.width - ROUNDING
            assert rect.height >= box.height - ROUNDING
        else:
            assert (rect.width, rect.height) == pytest.approx((box.width, box.height))


@laws(70)
@given(pictures(), st.sampled_from(DIRECTIONS))
def test_no_wire_runs_through_a_box(picture: Picture, direction: str) -> None:
    root, wires = picture

    placement = lay_out(root, wires, direction=direction)

    nodes = nodes_of(root, placement)
    for wire, route in zip(wires, placement.routes, strict=True):
        for point in points_along(route):
            assert -ROUNDING <= point[0] <= placement.width + ROUNDING
            assert -ROUNDING <= point[1] <= placement.height + ROUNDING
            met = [key for key, rect in nodes.items() if is_within(point, rect)]
            assert not met, f"{wire} runs through {met}"


@laws(50)
@given(pictures(), st.sampled_from(DIRECTIONS))
def test_a_wire_leaves_and_arrives_along_the_flow(picture: Picture, direction: str) -> None:
    root, wires = picture

    placement = lay_out(root, wires, direction=direction)

    for wire, route in zip(wires, placement.routes, strict=True):
        source, target = placement.rects[wire.source], placement.rects[wire.target]
        # The arrow's last piece is straight and has a length.
        (arrow,) = route.pieces[-1]
        assert arrow == route.end
        if wire.source == wire.target:
            assert route.is_back
            continue
        along = 0 if direction == "leftright" else 1
        leaves = source[along] + (0 if direction == "bottomup" else source[along + 2])
        arrives = target[along] + (target[along + 2] if direction == "bottomup" else 0)
        assert route.start[along] == pytest.approx(leaves)
        assert route.end[along] == pytest.approx(arrives)
        across = 1 - along
        assert (
            source[across] - ROUNDING <= route.start[across] <= source[across] + source[across + 2] + ROUNDING
        )
        assert (
            target[across] - ROUNDING <= route.end[across] <= target[across] + target[across + 2] + ROUNDING
        )


@laws(50)
@given(pictures(), st.sampled_from(DIRECTIONS))
def test_a_label_lies_on_no_box_no_wire_and_no_other_label(picture: Picture, direction: str) -> None:
    root, wires = picture

    placement = lay_out(root, wires, direction=direction)

    nodes = nodes_of(root, placement)
    labels = [route.label for route in placement.routes]
    for wire, label in zip(wires, labels, strict=True):
        assert (label is None) == (wire.label is None)
        if label is not None:
            assert (label.width, label.height) == pytest.approx(wire.label)
            assert min(label.x, label.y) >= -ROUNDING
            assert label.x + label.width <= placement.width + ROUNDING
            assert label.y + label.height <= placement.height + ROUNDING
            assert not any(overlap(label, rect) for rect in nodes.values())
            for route in placement.routes:
                assert not any(is_within(point, label) for point in points_along(route))
    placed = [label for label in labels if label is not None]
    assert not any(overlap(one, other) for one, other in combinations(placed, 2))


@laws(20)
@given(pictures(), st.sampled_from(DIRECTIONS))
def test_the_same_question_has_the_same_answer(picture: Picture, direction: str) -> None:
    root, wires = picture

    assert lay_out(root, wires, direction=direction) == lay_out(root, wires, direction=direction)


@laws(30)
@given(pictures())
def test_what_can_flow_down_does(picture: Picture) -> None:
    root, wires = picture
    order = {box.key: number for number, box in enumerate(walk(root))}
    # Renumbered in reading order and wired forwards in one flat group, nothing has to go up.
    leaves = [box for box in walk(root) if not box.children]
    flat = Box(key=-1, width=0.0, height=0.0, children=tuple(leaves))
    forward = [
        Wire(source=wire.source, target=wire.target, label=wire.label)
        for wire in wires
        if order[wire.source] < order[wire.target]
    ]

    placement = lay_out(flat, forward)

    for wire, route in zip(forward, placement.routes, strict=True):
        assert not route.is_back
        assert placement.rects[wire.target].y >= sum(placement.rects[wire.source][1::2])
