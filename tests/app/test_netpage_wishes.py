"""What is wanted most in a page of limited size: the last moments, the first item, the first variable."""

import hypothesis.strategies as st
from hypothesis import given

from torcheer.app.net.page import moments_in_order, wishes


@given(st.integers(0, 3000))
def test_moments_come_once_each_the_last_first(num_moments: int) -> None:
    order = moments_in_order(num_moments)

    assert sorted(order) == list(range(num_moments))
    assert order[:2] == [num_moments - 1, 0][: min(2, num_moments)]


@given(st.integers(40, 3000), st.integers(8, 30))
def test_the_nearer_to_the_last_moment_the_denser(num_moments: int, num_kept: int) -> None:
    kept = sorted(moments_in_order(num_moments)[:num_kept])

    half = num_moments // 2
    assert sum(one >= half for one in kept) >= sum(one < half for one in kept) - 1
    assert num_moments - 2 in kept


def test_of_what_is_wanted_the_main_values_of_a_moment_come_before_all_else_of_it() -> None:
    wanted = wishes(50, ["Act", "Net", "Grad"], ["Wt", "Grad"], 4)

    assert wanted[0] == (49, "Act", 0, False)
    assert len(set(wanted)) == len(wanted) == 50 * (3 * 4 + 2)
    seen = set()
    for wish in wanted:
        if (wish.variable, wish.item, wish.is_of_weights) == ("Act", 0, False):
            seen.add(wish.moment)
        assert wish.moment in seen


def test_very_many_moments_and_items_are_not_all_gone_through() -> None:
    assert len(wishes(200_000, ["Act"] * 20, ["Wt"] * 5, 100_000)) < 200_000
