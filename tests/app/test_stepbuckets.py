"""Figures over steps in buckets: against a plain loop that says what should be there."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.many import examples
from torcheer.app.runs.heatmap import StepBuckets, bucket_steps, highest_figures, mean_figures

LOWEST, HIGHEST = -(2**63), 2**63 - 1
steps_of_any_size = st.one_of(st.integers(LOWEST, HIGHEST), st.integers(-50, 300))
rising = st.lists(steps_of_any_size, unique=True, max_size=80).map(sorted)
limits = st.one_of(st.none(), st.integers(-60, 320), st.integers(-(2**70), 2**70))
values = st.one_of(
    st.floats(width=32, allow_nan=True, allow_infinity=True),
    st.sampled_from([math.nan, math.inf, -math.inf, 3.4e38, -3.4e38, 0.0, 1.0]),
)


def steps_in(buckets: StepBuckets, steps: list[int]) -> list[list[int]]:
    """The steps of each bucket by its edges alone."""
    edges = zip(buckets.first_steps, buckets.last_steps, strict=True)
    return [[step for step in steps if first <= step <= last] for first, last in edges]


@settings(max_examples=examples(200))
@example([LOWEST, 0, HIGHEST], None, None, 1)
@example([LOWEST, 0, HIGHEST], LOWEST, HIGHEST, 2)
@given(rising, limits, limits, st.integers(1, 40))
def test_each_step_of_the_window_is_in_one_bucket(
    steps: list[int], low: int | None, high: int | None, most: int
) -> None:
    buckets = bucket_steps(np.array(steps, dtype=np.int64), low, high, most)
    wanted = [step for step in steps if (low is None or step >= low) and (high is None or step <= high)]
    found = steps_in(buckets, wanted)
    assert [step for bucket in found for step in bucket] == wanted
    assert steps[buckets.chosen] == wanted
    assert buckets.count <= most
    if len(wanted) <= most:
        assert buckets.first_steps == buckets.last_steps == wanted
    else:
        widths = [
            last - first + 1 for first, last in zip(buckets.first_steps, buckets.last_steps, strict=True)
        ]
        assert len(set(widths[:-1])) <= 1
        assert widths[-1] <= widths[0]
        assert (buckets.first_steps[0], buckets.last_steps[-1]) == (wanted[0], wanted[-1])


@settings(max_examples=examples(200))
@given(rising, st.integers(1, 40), st.data())
def test_a_bucket_has_the_mean_of_what_is_finite_and_the_highest(
    steps: list[int], most: int, data: st.DataObject
) -> None:
    lanes = [data.draw(st.lists(values, min_size=len(steps), max_size=len(steps))) for _ in range(2)]
    figures = np.array(lanes, dtype=np.float32).reshape(2, len(steps))
    buckets = bucket_steps(np.array(steps, dtype=np.int64), None, None, most)
    means, highest = mean_figures(figures, buckets), highest_figures(figures, buckets)
    assert means.dtype == highest.dtype == np.float32
    assert means.shape == highest.shape == (2, buckets.count)
    for lane in range(2):
        of_step = dict(zip(steps, figures[lane].astype(np.float64), strict=True))
        for index, its_steps in enumerate(steps_in(buckets, steps)):
            numbers = [of_step[step] for step in its_steps]
            finite = [number for number in numbers if math.isfinite(number)]
            if finite:
                size = max(map(abs, finite))
                assert means[lane, index] == pytest.approx(math.fsum(finite) / len(finite), abs=1e-5 * size)
            else:
                assert math.isnan(means[lane, index])
            known = [number for number in numbers if not math.isnan(number)]
            assert highest[lane, index] == max(known) if known else math.isnan(highest[lane, index])


def test_steps_that_lie_far_apart_leave_empty_buckets_between() -> None:
    steps = np.array([0, 1, 2, 3, 100, 101, 102, 103])
    buckets = bucket_steps(steps, None, None, 4)
    assert buckets.first_steps == [0, 26, 52, 78]
    assert buckets.last_steps == [25, 51, 77, 103]
    means = mean_figures(np.arange(8, dtype=np.float32)[None], buckets)
    assert means.tolist()[0][::3] == [1.5, 5.5]
    assert np.isnan(means[0, 1:3]).all()


def test_a_number_that_is_none_spoils_neither_its_bucket_nor_others() -> None:
    figures = np.ones((3, 1000), dtype=np.float32)
    figures[0, 500] = np.nan
    figures[1, 500:510] = [np.inf, -np.inf] * 5
    figures[2] = np.nan
    buckets = bucket_steps(np.arange(1000), None, None, 100)
    means = mean_figures(figures, buckets)
    assert (means[0] == 1.0).all()
    assert np.flatnonzero(np.isnan(means[1])).tolist() == [50]
    assert np.isnan(means[2]).all()
