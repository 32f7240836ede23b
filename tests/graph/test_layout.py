"""How the layouts of well-known shapes look: chains, branches, skips, loops."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest

from tests.graph.test_layout_laws import ROUNDING, is_within, nodes_of, overlap, points_along, walk
from tests.many import examples
from torcheer.graph.layout.layout_engine import Box, Placement, Point, Rect, Route, Wire, lay_out
from torcheer.graph.layout.rows import SPACING


def node(key: int, width: float = 80.0, height: float = 30.0) -> Box:
    return Box(key=key, width=width, height=height)


def group(key: int, *children: Box, title_width: float = 60.0) -> Box:
    return Box(key=key, width=70.0, height=40.0, children=children, header=20.0, title_width=title_width)


def root(*children: Box) -> Box:
    return Box(key=-1, width=0.0, height=0.0, children=children)


def chain(*keys: int, weight: float = 1.0) -> list[Wire]:
    return [Wire(source=a, target=b, weight=weight) for a, b in pairwise(keys)]


def middle(rect: Rect) -> float:
    return rect.x + rect.width / 2


def is_straight(route: Route) -> bool:
    return len(route.pieces) == 1


def num_curves(route: Route) -> int:
    return sum(len(piece) == 3 for piece in route.pieces)


def corners(route: Route) -> list[Point]:
    """The start and every piece's end; control points left out."""
    return [route.start, *(piece[-1] for piece in route.pieces)]


def sideways(placement: Placement) -> float:
    """How far all wires together move sideways."""
    total = 0.0
    for route in placement.routes:
        total += sum(abs(b[0] - a[0]) for a, b in pairwise(corners(route)))
    return total


def test_a_chain_is_one_straight_line() -> None:
    widths = [80.0, 33.0, 120.0, 56.0]
    picture = root(*(node(key, width) for key, width in enumerate(widths)))

    placement = lay_out(picture, chain(0, 1, 2, 3))

    assert all(map(is_straight, placement.routes))
    assert len({middle(placement.rects[key]) for key in range(4)}) == 1
    gaps = [placement.rects[k + 1].y - placement.rects[k].y - 30.0 for k in range(3)]
    assert gaps == [SPACING.between_ranks] * 3


def test_a_chain_through_nested_groups_is_one_straight_line() -> None:
    inner = group(10, node(1, 50.0), node(2, 110.0), title_width=90.0)
    outer = group(11, inner, group(12, node(3)), title_width=200.0)
    picture = root(node(0), outer, group(13, group(14, group(15, node(4)))), node(5, 20.0))

    placement = lay_out(picture, chain(0, 1, 2, 3, 4, 5))

    assert all(map(is_straight, placement.routes))


def test_wires_enter_a_group_beside_its_title() -> None:
    picture = root(node(0), group(10, node(1), title_width=150.0))

    placement = lay_out(picture, chain(0, 1))

    assert placement.routes[0].end[0] - placement.rects[10].x > 150.0
    assert is_straight(placement.routes[0])


def residual_block() -> tuple[Box, list[Wire]]:
    block = group(20, *(node(key) for key in range(1, 6)))
    return root(node(0), block, node(6)), [*chain(0, 1, 2, 3, 4, 5, 6), Wire(source=0, target=5)]


def test_a_skip_is_one_bow_beside_a_straight_main_line() -> None:
    picture, wires = residual_block()

    placement = lay_out(picture, wires)

    *main, skip = placement.routes
    assert all(map(is_straight, main))
    assert num_curves(skip) == 2
    right = max(placement.rects[key].x + placement.rects[key].width for key in range(1, 5))
    column = skip.pieces[1][-1][0]
    assert right < column < right + 30.0


def test_a_side_branch_beside_the_main_line_does_not_stretch_it() -> None:
    plain, wires = residual_block()
    side = group(21, node(7), node(8))
    block = group(20, *(node(key) for key in range(1, 6)), side)
    picture = root(node(0), block, node(6))

    branched = lay_out(picture, [*wires[:-1], *chain(0, 7, 8, 5)])

    assert all(map(is_straight, branched.routes[:6]))
    alone = lay_out(plain, wires)
    length = alone.rects[4].y - alone.rects[1].y
    assert branched.rects[4].y - branched.rects[1].y == pytest.approx(length)
    # The side branch begins beside the first node of the main line.
    assert branched.rects[21].y <= branched.rects[1].y + SPACING.between_ranks
    assert branched.rects[21].x > branched.rects[1].x + branched.rects[1].width


def test_the_longer_way_goes_on_straight() -> None:
    picture = root(*(node(key) for key in range(6)))

    placement = lay_out(picture, [*chain(0, 1, 5), *chain(0, 2, 3, 4, 5)])

    assert not is_straight(placement.routes[0])
    assert all(map(is_straight, placement.routes[2:]))


def test_the_heavier_way_goes_on_straight_even_if_it_is_shorter() -> None:
    picture = root(*(node(key) for key in range(6)))

    placement = lay_out(picture, [*chain(0, 1, 5, weight=2.0), *chain(0, 2, 3, 4, 5)])

    assert all(map(is_straight, placement.routes[:2]))


def test_a_way_over_a_light_wire_does_not_become_the_main_line() -> None:
    picture = root(*(node(key) for key in range(7)))
    condition = Wire(source=3, target=4, weight=0.2)

    placement = lay_out(picture, [*chain(0, 1, 4, 5, 6), *chain(1, 2, 3), condition])

    assert all(map(is_straight, placement.routes[:4]))
    assert not is_straight(placement.routes[4])


def test_of_three_equal_branches_the_middle_one_is_straight() -> None:
    picture = root(*(node(key) for key in range(5)))
    wires = [wire for key in (1, 2, 3) for wire in chain(0, key, 4)]

    placement = lay_out(picture, wires)

    x = [middle(placement.rects[key]) for key in range(5)]
    assert x[0] == x[2] == x[4]
    assert x[2] - x[1] == pytest.approx(x[3] - x[2])
    assert len({placement.rects[key].y for key in (1, 2, 3)}) == 1


def test_a_long_side_chain_uses_the_whole_height_of_a_tall_group() -> None:
    tall = group(20, *(node(key) for key in range(1, 9)))
    picture = root(node(0), tall, *(node(key) for key in range(10, 16)), node(30))

    placement = lay_out(picture, [*chain(0, *range(1, 9), 30), *chain(0, *range(10, 16), 30)])

    side = [placement.rects[key] for key in range(10, 16)]
    assert side[0].y < placement.rects[20].y + 20.0
    assert side[-1].y + 30.0 < placement.rects[20].y + placement.rects[20].height
    assert placement.rects[30].y < placement.rects[20].y + placement.rects[20].height + 60.0


def test_a_constant_stands_right_above_its_reader() -> None:
    picture = root(*(node(key) for key in range(8)), node(50), node(51))

    placement = lay_out(picture, [*chain(*range(8)), *chain(50, 51, 6)])

    reader, nearest, constant = (placement.rects[key] for key in (6, 51, 50))
    assert reader.y - nearest.y - nearest.height < 2 * SPACING.between_ranks
    assert nearest.y - constant.y - constant.height == SPACING.between_ranks


def test_steps_that_read_one_input_stand_where_they_are_used() -> None:
    # As in a recurrence by hand: every step takes its own slice of the input.
    steps = range(10, 40, 5)
    boxes = [node(0), node(1)]
    wires = []
    state = 1
    for first in steps:
        boxes += [node(key) for key in range(first, first + 5)]
        wires += [Wire(source=0, target=first), *chain(first, first + 1), *chain(state, first + 2, first + 3)]
        wires += [Wire(source=first + 1, target=first + 2), Wire(source=first + 3, target=first + 4)]
        state = first + 4

    placement = lay_out(root(*boxes), wires)

    for first in steps:
        used = placement.rects[first + 2].y
        assert used - placement.rects[first + 1].y < 150.0


def test_boxes_without_wires_are_packed_and_not_stacked() -> None:
    placement = lay_out(root(*(node(key) for key in range(12))), [])

    assert placement.height < 4 * 30.0 + 5 * 40.0
    assert placement.width < 6 * 130.0


def test_separate_pieces_stand_side_by_side() -> None:
    picture = root(*(node(key) for key in range(8)))

    placement = lay_out(picture, [*chain(0, 1, 2, 3), *chain(4, 5, 6, 7)])

    assert placement.rects[0].y == placement.rects[4].y
    assert placement.rects[4].x > placement.rects[0].x + placement.rects[0].width
    assert all(map(is_straight, placement.routes))


def test_nested_skips_lie_inside_each_other() -> None:
    picture = root(*(node(key) for key in range(8)))
    skips = [Wire(source=key, target=7 - key) for key in range(3)]

    placement = lay_out(picture, [*chain(*range(8)), *skips])

    outer, between, inner = (route.pieces[1][-1][0] for route in placement.routes[7:])
    assert outer > between > inner > placement.rects[0].x + 80.0
    assert all(map(is_straight, placement.routes[:7]))


def test_the_main_line_of_a_group_comes_from_outside_whatever_stands_inside() -> None:
    # As in a normalisation: tall boxes of running statistics beside the one input.
    norm = group(20, node(1, height=90.0), node(2, height=90.0), node(3))
    picture = root(node(0), norm, node(4))

    placement = lay_out(picture, [Wire(source=1, target=3), Wire(source=2, target=3), *chain(0, 3, 4)])

    assert all(map(is_straight, placement.routes[2:]))


def test_the_latest_source_is_the_main_line_into_a_group() -> None:
    # As in a dense block: every layer reads the one before it and older ones.
    layers = [group(100 + 10 * layer, node(10 * layer + 1), node(10 * layer + 2)) for layer in range(5)]
    wires = []
    for layer in range(1, 5):
        wires += [
            Wire(source=10 * older + 2, target=10 * layer + 1) for older in range(max(0, layer - 2), layer)
        ]
    wires += [Wire(source=10 * layer + 1, target=10 * layer + 2) for layer in range(5)]

    placement = lay_out(root(*layers), wires)

    for wire, route in zip(wires, placement.routes, strict=True):
        is_next = wire.target - wire.source in (1, 9)
        assert is_straight(route) == is_next


def test_dead_ends_leave_the_main_line_to_the_left_and_right_in_turn() -> None:
    # As in a loop whose condition is computed from its state in every round.
    rounds = range(1, 6)
    wires = chain(0, *(10 * number for number in rounds), 97, 98, 99)
    for number in rounds:
        wires += chain(10 * number, 10 * number + 1, 10 * number + 2)
    keys = [0, 97, 98, 99, *(10 * number + offset for number in rounds for offset in range(3))]

    placement = lay_out(root(*(node(key) for key in keys)), wires)

    assert all(map(is_straight, placement.routes[:8]))
    assert placement.width < 4 * 110.0


def test_the_sum_of_sideways_moves_is_as_small_as_it_can_be_for_a_fan() -> None:
    # Five readers of one source: the middle one straight below it, the others one box further out each.
    placement = lay_out(
        root(*(node(key) for key in range(6))), [Wire(source=0, target=k) for k in range(1, 6)]
    )

    step = 80.0 + SPACING.between_boxes
    assert sideways(placement) == pytest.approx(2 * step * (1 + 2))


def test_what_stands_beside_the_main_line_stands_close_to_it() -> None:
    picture = root(*(node(key) for key in range(5)))

    placement = lay_out(picture, [*chain(0, 1, 2, 3), Wire(source=0, target=2), Wire(source=2, target=4)])

    assert middle(placement.rects[4]) - middle(placement.rects[3]) == pytest.approx(
        80.0 + SPACING.between_boxes
    )
    column = placement.routes[3].pieces[1][-1][0]
    assert column - middle(placement.rects[1]) == pytest.approx(40.0 + SPACING.wire_to_box)


# --- wires ---------------------------------------------------------------------------------------


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


def test_thousands_of_boxes_in_a_row_are_laid_out() -> None:
    count = examples(10_000)
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


def test_many_long_skips_lie_beside_a_straight_main_line() -> None:
    count = 300
    boxes = root(*(node(key) for key in range(count)))
    far = [Wire(source=key, target=count - 1 - key) for key in range(60)]

    placement = lay_out(boxes, [*chain(*range(count)), *far])

    columns = {route.pieces[1][-1][0] for route in placement.routes[count - 1 :]}
    assert len(columns) == 60
    assert all(map(is_straight, placement.routes[: count - 1]))


def test_wires_do_not_cross_where_another_order_avoids_it() -> None:
    wires = [Wire(source=a, target=b) for a, b in ((0, 1), (0, 2), (2, 3), (1, 3), (1, 4))]

    placement = lay_out(root(*(node(key) for key in range(5))), wires)

    for one, other in combinations(placement.routes[2:], 2):
        assert (one.start[0] - other.start[0]) * (one.end[0] - other.end[0]) >= 0


def cross(one: Route, other: Route) -> bool:
    def side(a: Point, b: Point, c: Point) -> float:
        return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])

    return any(
        side(a, b, c) * side(a, b, d) < -ROUNDING and side(c, d, a) * side(c, d, b) < -ROUNDING
        for a, b in pairwise(corners(one))
        for c, d in pairwise(corners(other))
    )


@pytest.mark.parametrize(
    "ends",
    [
        ((0, 1), (0, 3), (0, 4), (1, 2), (1, 4), (1, 5), (3, 5)),  # neighbours are exchanged
        ((0, 1), (0, 2), (0, 4), (1, 2), (1, 3), (1, 5), (4, 5)),  # equal wishes are turned around
    ],
)
def test_six_boxes_are_drawn_without_a_crossing(ends: tuple[tuple[int, int], ...]) -> None:
    wires = [Wire(source=a, target=b) for a, b in ends]

    placement = lay_out(root(*map(node, range(6))), wires)

    assert not any(cross(one, other) for one, other in combinations(placement.routes, 2))


@pytest.mark.parametrize("num_steps", [1, 3])
def test_states_that_are_carried_past_the_cells_of_an_lstm_cross_no_wire(num_steps: int) -> None:
    wires = [*chain(0, 2, 10), Wire(source=1, target=10), Wire(source=1, target=17)]
    for cat in range(10, 10 + 20 * num_steps, 20):
        linear, write, keep, new, show, gate, kept, written, cell, shown, hidden = range(cat + 1, cat + 12)
        wires += chain(cat, linear, write, written, cell, shown, hidden, cat + 20)
        wires += chain(linear, keep, kept, cell) + chain(linear, new, written)
        wires += chain(linear, show, gate, hidden)
        if cat + 20 < 10 + 20 * num_steps:
            wires += chain(cell, cat + 27)
    keys = sorted({end for wire in wires for end in (wire.source, wire.target)})

    placement = lay_out(root(*map(node, keys)), wires)

    assert not any(cross(one, other) for one, other in combinations(placement.routes, 2))
