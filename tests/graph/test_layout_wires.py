"""Wires back, parallel, shared and very long ones; other directions; large pictures."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest

from tests.graph.test_layout_laws import is_within, nodes_of, overlap, points_along, walk
from tests.graph.test_layout_shapes import chain, corners, group, is_straight, node, num_curves, root
from torcheer.graph.layout.engine import lay_out
from torcheer.graph.layout.model import Wire


def test_a_wire_back_goes_round_the_side_from_the_bottom_to_the_top() -> None:
    picture = root(*(node(key) for key in range(4)))
    back = Wire(source=2, target=1, is_back=True, label=(30.0, 12.0))

    placement = lay_out(picture, [*chain(0, 1, 2, 3), back])

    *main, route = placement.routes
    assert all(map(is_straight, main))
    assert route.is_back
    assert num_curves(route) == 2
    low = max(y for _, y in points_along(route))
    high = min(y for _, y in points_along(route))
    assert low > placement.rects[2].y + 30.0
    assert high < placement.rects[1].y


def test_a_cycle_without_a_mark_is_turned_by_the_order_of_the_boxes() -> None:
    placement = lay_out(root(*(node(key) for key in range(3))), [*chain(0, 1, 2), Wire(source=2, target=0)])

    assert [route.is_back for route in placement.routes] == [False, False, True]


def test_a_wire_against_the_order_alone_is_no_cycle() -> None:
    placement = lay_out(root(*(node(key) for key in range(3))), chain(2, 0, 1))

    assert not any(route.is_back for route in placement.routes)
    assert placement.rects[2].y < placement.rects[0].y < placement.rects[1].y


def test_groups_that_feed_each_other_are_laid_out() -> None:
    picture = root(group(10, node(1), node(4)), group(11, node(2), node(3)))

    placement = lay_out(picture, [*chain(1, 2, 3, 4), Wire(source=4, target=2)])

    assert not overlap(placement.rects[10], placement.rects[11])
    assert any(route.is_back for route in placement.routes)
    nodes = nodes_of(picture, placement)
    for route in placement.routes:
        assert not any(is_within(point, rect) for point in points_along(route) for rect in nodes.values())


def test_parallel_wires_are_apart_from_end_to_end() -> None:
    placement = lay_out(root(node(0), node(1)), [Wire(source=0, target=1)] * 3)

    starts = sorted(route.start[0] for route in placement.routes)
    ends = sorted(route.end[0] for route in placement.routes)
    assert min(b - a for a, b in pairwise(starts)) > 5.0
    assert min(b - a for a, b in pairwise(ends)) > 5.0


def test_wires_of_one_source_share_their_way() -> None:
    picture = root(*(node(key) for key in range(6)))
    far = [Wire(source=0, target=key) for key in (3, 4, 5)]

    placement = lay_out(picture, [*chain(0, 1, 2, 3, 4, 5), *far])

    columns = {route.pieces[1][-1][0] for route in placement.routes[5:]}
    assert len(columns) == 1
    assert len({route.start for route in placement.routes[5:]}) == 1


def test_left_to_right_is_top_down_with_the_sides_exchanged() -> None:
    keys = range(7)
    wires = [*chain(0, 1, 2, 6), *chain(1, 3, 4), Wire(source=0, target=6), Wire(source=4, target=3)]
    down = lay_out(root(*(node(key, 80.0, 30.0) for key in keys)), wires)

    right = lay_out(root(*(node(key, 30.0, 80.0) for key in keys)), wires, direction="leftright")

    for key in keys:
        x, y, width, height = down.rects[key]
        assert right.rects[key] == pytest.approx((y, x, height, width))
    for one, other in zip(down.routes, right.routes, strict=True):
        for (x, y), corner in zip(corners(one), corners(other), strict=True):
            assert corner == pytest.approx((y, x))


def test_bottom_up_is_top_down_turned_over_with_titles_at_the_top() -> None:
    picture = root(node(0), group(10, node(1), node(2)), node(3))
    wires = chain(0, 1, 2, 3)

    up = lay_out(picture, wires, direction="bottomup")

    assert up.rects[0].y > up.rects[1].y > up.rects[2].y > up.rects[3].y
    assert up.rects[2].y >= up.rects[10].y + 20.0
    assert all(route.start[1] > route.end[1] for route in up.routes)
    assert all(map(is_straight, up.routes))


def test_titles_stay_at_the_top_from_left_to_right() -> None:
    picture = root(node(0), group(10, node(1), node(2)), node(3))

    placement = lay_out(picture, chain(0, 1, 2, 3), direction="leftright")

    assert placement.rects[1].y >= placement.rects[10].y + 20.0
    assert placement.rects[2].x > placement.rects[1].x + 80.0
    assert all(map(is_straight, placement.routes))


def test_ten_thousand_boxes_in_a_row_are_laid_out() -> None:
    count = 10_000
    skips = [Wire(source=key, target=key + 5) for key in range(0, count - 10, 50)]

    placement = lay_out(root(*(node(key) for key in range(count))), [*chain(*range(count)), *skips])

    assert all(map(is_straight, placement.routes[: count - 1]))
    assert placement.rects[count - 1].y > count * 30.0


def test_a_source_of_a_thousand_readers_takes_one_column() -> None:
    count = 1_000
    wires = [*chain(*range(1, count)), *(Wire(source=0, target=key) for key in range(2, count))]

    placement = lay_out(root(*(node(key) for key in range(count))), wires)

    assert placement.width < 300.0
    assert all(map(is_straight, placement.routes[: count - 2]))


def test_sixty_groups_inside_each_other_are_laid_out() -> None:
    inner = node(0)
    for depth in range(60):
        inner = group(1000 + depth, inner, node(1 + depth), title_width=0.0)
    wires = chain(*range(61))

    placement = lay_out(root(inner), wires)

    assert all(map(is_straight, placement.routes))
    assert len(placement.rects) == len(list(walk(inner))) + 1


def test_wires_too_long_for_bends_run_in_lanes_at_the_side() -> None:
    count = 700
    boxes = root(*(node(key) for key in range(count)))
    far = [Wire(source=key, target=count - 1 - key) for key in range(60)]

    placement = lay_out(boxes, [*chain(*range(count)), *far])

    right = max(rect.x + rect.width for key, rect in placement.rects.items() if key >= 0)
    columns = {route.pieces[1][-1][0] for route in placement.routes[count - 1 :]}
    assert len(columns) == 60
    assert any(column > right for column in columns)
    assert all(map(is_straight, placement.routes[: count - 1]))


def test_wires_do_not_cross_where_another_order_avoids_it() -> None:
    wires = [Wire(source=a, target=b) for a, b in ((0, 1), (0, 2), (2, 3), (1, 3), (1, 4))]

    placement = lay_out(root(*(node(key) for key in range(5))), wires)

    for one, other in combinations(placement.routes[2:], 2):
        assert (one.start[0] - other.start[0]) * (one.end[0] - other.end[0]) >= 0


def test_a_skip_into_a_group_has_no_small_kink_at_the_border() -> None:
    # The box above the group is a little wider than those inside, so the wire could be nearer there.
    block = group(20, node(2, 74.0), node(3, 74.0), node(4, 74.0))
    picture = root(node(0), node(1, 82.0), block, node(5))

    placement = lay_out(picture, [*chain(0, 1, 2, 3, 4, 5), Wire(source=0, target=4)])

    assert num_curves(placement.routes[-1]) == 2
