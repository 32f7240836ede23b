"""How often it looks."""

from itertools import pairwise
from typing import Any

import pytest

from torcheer.errors import InputError
from torcheer.inspector.watched_steps import Pace, parse_rate


@pytest.mark.parametrize(
    ("every", "per_second", "num_steps"),
    [
        ("20/s", 20, 1),
        (" 0.5 / s ", 0.5, 1),
        ("6/min", 0.1, 1),
        ("36/hour", 0.01, 1),
        (20.0, 20, 1),
        (1, float("inf"), 1),
        (10, float("inf"), 10),
        ("10 steps", float("inf"), 10),
        ("every 3 steps", float("inf"), 3),
    ],
)
def test_a_rate_or_a_number_of_steps(every: Any, per_second: float, num_steps: int) -> None:
    found = parse_rate(every)
    assert found.per_second == pytest.approx(per_second)
    assert found.num_steps == num_steps


@pytest.mark.parametrize(
    "every",
    ["", "often", "0/s", "-1/s", "nan/s", "1e400/s", 0, -3, 0.0, float("nan"), None, True, "0", "3/x", [1]],
)
def test_what_says_nothing_is_told(every: Any) -> None:
    with pytest.raises(InputError, match="give a rate such as '20/s'"):
        parse_rate(every)


def looks(
    pace: Pace, *, step_seconds: float, num_steps: int, look_seconds: float = 0.0, first: int = 0
) -> list[int]:
    """The steps that are watched in a training whose clock is ours."""
    now, found = first * step_seconds, []
    for step in range(first, first + num_steps):
        if pace.is_due(now, step):
            found.append(step)
            pace.note_look(look_seconds)
            now += look_seconds
        now += step_seconds
        pace.note_step(step_seconds)
    return found


def test_every_tenth_step_is_every_tenth_step() -> None:
    assert looks(Pace(parse_rate(10), None), step_seconds=0.01, num_steps=35) == [0, 10, 20, 30]


def test_a_rate_is_kept_over_time() -> None:
    assert len(looks(Pace(parse_rate("20/s"), None), step_seconds=0.001, num_steps=10_000)) == pytest.approx(
        200, abs=3
    )


def test_where_steps_are_slower_than_the_rate_all_of_them_are_watched() -> None:
    assert looks(Pace(parse_rate("20/s"), None), step_seconds=0.2, num_steps=50) == list(range(50))


@pytest.mark.parametrize("every", [1, "200/s"])
def test_the_cost_stays_within_its_share_of_the_time(every: Any) -> None:
    pace = Pace(parse_rate(every), budget=0.03)
    found = looks(pace, step_seconds=0.010, num_steps=20_000, look_seconds=0.004)

    share = len(found) * 0.004 / (20_000 * 0.010)
    assert 0.025 < share < 0.032
    assert pace.is_limited


def test_looks_that_cost_little_are_all_taken() -> None:
    pace = Pace(parse_rate(1), budget=0.03)
    assert len(looks(pace, step_seconds=0.010, num_steps=1000, look_seconds=0.0001)) == 1000
    assert not pace.is_limited


def test_one_look_that_is_disturbed_does_not_stop_the_others() -> None:
    pace = Pace(parse_rate(1), budget=0.03)
    for _ in range(10):
        pace.note_look(0.0001)
    pace.note_look(30.0)  # the machine was asleep
    assert pace.cost is not None
    assert pace.cost < 0.001


def test_thinned_it_looks_less_often_and_recovers() -> None:
    pace = Pace(parse_rate(1), None)
    assert len(looks(pace, step_seconds=0.01, num_steps=100)) == 100
    pace.thin(1.0)
    pace.thin(1.0)
    thinned = len(looks(pace, step_seconds=0.01, num_steps=100, first=100))
    assert 10 < thinned < 60
    assert len(looks(pace, step_seconds=0.01, num_steps=1000, first=1500)) == 1000


def test_a_child_that_stood_still_for_long_does_not_blind_it_for_long() -> None:
    pace = Pace(parse_rate("20/s"), None)
    for second in range(600):
        pace.thin(float(second))
    assert len(looks(pace, step_seconds=0.01, num_steps=6000, first=60_000)) > 500
    assert len(looks(pace, step_seconds=0.01, num_steps=1000, first=66_000)) == pytest.approx(200, abs=3)


@pytest.mark.parametrize("every", ["20/s", 1, 7])
def test_however_dear_a_look_is_there_are_the_first_ten_steps_and_one_in_five_seconds(every: Any) -> None:
    pace = Pace(parse_rate(every), budget=0.03)
    found = looks(pace, step_seconds=0.010, num_steps=10_000, look_seconds=3.0)

    apart = pace.every.num_steps
    assert found[:10] == list(range(0, 10 * apart, apart))
    later = [step * 0.010 for step in found[10:]]
    assert len(later) >= 15
    assert all(after - before <= 5.1 for before, after in pairwise(later))


def test_what_is_asked_for_less_often_than_that_stays_as_it_is() -> None:
    pace = Pace(parse_rate("6/min"), budget=0.03)
    assert looks(pace, step_seconds=0.1, num_steps=300, look_seconds=0.5) == pytest.approx(
        [0, 95, 190, 285], abs=1
    )


def test_looks_that_are_left_out_for_the_budget_are_known() -> None:
    pace = Pace(parse_rate(5), budget=0.03)
    now, watched, left_out = 0.0, [], []
    for step in range(1000):
        if pace.is_due(now, step):
            watched.append(step)
            pace.note_look(0.05)
            now += 0.05
        elif pace.left_out is not None:
            left_out.append(step)
            assert pace.left_out == "budget"
        now += 0.01
    assert sorted(watched + left_out) == list(range(0, 1000, 5))
    assert len(left_out) > 100


def test_after_a_pause_it_goes_on_at_the_rate_and_not_above() -> None:
    pace = Pace(parse_rate("2/s"), None)
    looks(pace, step_seconds=0.01, num_steps=1000)
    for pause in (10_000, 20_000, 30_000):  # steps that somebody else had
        found = looks(pace, step_seconds=0.01, num_steps=400, first=pause)
        assert [step - pause for step in found] == pytest.approx([0, 50, 100, 150, 200, 250, 300, 350], abs=1)
