"""Windows of scalars: every point is in one bucket, and what a bucket says is true of its points."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import torcheer as tl
from torcheer.app.cache import Cache
from torcheer.app.runs.scalar_buckets import SeriesArrays, is_rising, order_along, show, show_tail
from torcheer.run import Points, RunReader

VALUES = st.floats(width=64) | st.sampled_from([np.nan, np.inf, -np.inf, 0.0, 1.7e308, -1.7e308, 5e-324])
PLACES = st.floats(-1e6, 1e6) | st.integers(-5, 5).map(float)
ENDS = st.none() | st.floats(-1e7, 1e7) | st.floats(allow_nan=False, allow_infinity=False)


def columns_of(places: list[float], values: list[float]) -> Points:
    steps = np.array(places, dtype=float)
    return Points(steps, 1.7e9 + np.arange(len(places)), np.array(values, dtype=float))


@given(
    points=st.lists(st.tuples(PLACES, VALUES), max_size=60),
    low=ENDS,
    high=ENDS,
    num_buckets=st.integers(1, 12),
)
def test_every_point_of_a_window_is_counted_once(
    points: list[tuple[float, float]], low: float | None, high: float | None, num_buckets: int
) -> None:
    points = sorted(points, key=lambda point: point[0])
    columns = columns_of([place for place, _ in points], [value for _, value in points])
    shown = show(columns, columns.steps, low, high, num_buckets)

    is_inside = np.ones(len(points), dtype=bool)
    if low is not None:
        is_inside &= columns.steps >= low
    if high is not None:
        is_inside &= columns.steps <= high
    inside = np.flatnonzero(is_inside)
    if len(inside):
        first, last = max(0, inside[0] - 1), min(len(points), inside[-1] + 2)
        expected = columns.taken(slice(first, last))
        if shown.form == "points":
            assert all(map(np.array_equal, shown.columns, expected, (True, True, True)))
        else:
            assert shown.columns[5].sum() == len(expected.steps)
            assert shown.columns[6].sum() == np.count_nonzero(~np.isfinite(expected.values))
            check_buckets(shown.columns, expected)
    assert shown.num_items <= num_buckets + 2
    assert (shown.form == "points") == (len(inside) <= num_buckets)


def check_buckets(buckets: tuple[np.ndarray, ...], points: Points) -> None:
    """What each bucket says, found again one bucket at a time."""
    ends = np.cumsum(buckets[5]).astype(int)
    for index, (start, end) in enumerate(zip(np.r_[0, ends[:-1]], ends, strict=True)):
        steps, times, mean, lowest, highest, count, _ = (column[index] for column in buckets)
        inside = points.taken(slice(start, end))
        assert count == end - start > 0
        assert steps == pytest.approx(inside.steps.mean(), rel=1e-9, abs=1e-6)
        assert times == pytest.approx(inside.times.mean(), rel=1e-15)
        good = inside.values[np.isfinite(inside.values)]
        if not len(good):
            assert np.isnan([mean, lowest, highest]).all()
            continue
        assert lowest == good.min()
        assert highest == good.max()
        assert lowest <= mean <= highest
        expected = (good / len(good)).sum()
        assert mean == pytest.approx(expected, rel=1e-9, abs=max(1e-300, 1e-9 * np.abs(good).max()))


def test_buckets_are_equally_wide_and_empty_ones_are_left_out() -> None:
    steps = np.r_[np.arange(100), np.arange(900, 1001)].astype(float)
    columns = Points(steps, steps, steps)
    shown = show(columns, steps, 0.0, 1000.0, 10)

    assert shown.columns[5].tolist() == [100.0, 101.0]
    assert shown.columns[0].tolist() == [49.5, 950.0]


@given(sizes=st.lists(st.integers(1, 30), min_size=1, max_size=8), width=st.floats(0.5, 40.0))
def test_a_tail_that_grows_is_the_tail_in_one_piece(sizes: list[int], width: float) -> None:
    steps = 100.0 + np.arange(sum(sizes))
    columns = Points(steps, steps, np.sin(steps))
    whole, _ = show_tail(columns, steps, 99.0, width)

    found = np.empty((7, 0))
    start = 0
    for end in np.cumsum(sizes):
        part = columns.taken(slice(start, int(end)))
        shown, first = show_tail(part, part.steps, 99.0, width)
        found = np.concatenate((found[:, :-1], shown.columns), axis=1)  # the last bucket has grown
        start += first
    assert found[5].sum() == len(steps)
    assert found == pytest.approx(np.array(whole.columns))


def test_the_neighbours_of_a_window_come_along() -> None:
    steps = np.arange(0.0, 1000.0, 10.0)
    columns = Points(steps, steps, steps)

    assert show(columns, steps, 101.0, 109.0, 50).columns[0].tolist() == [100.0, 110.0]
    assert show(columns, steps, 100.0, 130.0, 50).columns[0].tolist() == [
        90.0,
        100.0,
        110.0,
        120.0,
        130.0,
        140.0,
    ]
    buckets = show(columns, steps, 100.0, 190.0, 2)
    assert buckets.columns[0].tolist() == [90.0, 120.0, 170.0, 200.0]
    assert buckets.columns[5].tolist() == [1.0, 5.0, 5.0, 1.0]


@given(places=st.lists(st.floats() | st.integers(0, 3).map(float), max_size=30))
def test_points_are_put_in_order_and_those_alike_stay_as_they_were_logged(places: list[float]) -> None:
    found = order_along(np.array(places))
    finite = [index for index, place in enumerate(places) if np.isfinite(place)]

    assert found.tolist() == sorted(finite, key=lambda index: places[index])
    assert is_rising(np.array(places)) == (found.tolist() == list(range(len(places))))


@given(
    batches=st.lists(st.lists(st.tuples(st.integers(-50, 50), st.floats(-9, 9)), max_size=8), max_size=6),
    axis=st.sampled_from(["step", "time", "relative"]),
)
def test_arrays_that_grow_show_what_arrays_in_one_piece_show(
    batches: list[list[tuple[int, float]]], axis: str
) -> None:
    growing, whole = SeriesArrays(), SeriesArrays()
    points = [point for batch in batches for point in batch]
    at = 0
    for batch in batches:
        growing.add(points_of(batch, at))
        at += len(batch)
        growing.show(axis, (None, None), 4)  # so that its order is known before it grows
    whole.add(points_of(points, 0))

    for window in [(None, None), (-10.0, 10.0), (1000.0, 1010.0)]:
        for num_buckets in (4, 100):
            one, other = growing.show(axis, window, num_buckets), whole.show(axis, window, num_buckets)
            assert one.form == other.form
            assert all(map(np.array_equal, one.columns, other.columns))


def points_of(pairs: list[tuple[int, float]], at: int) -> Points:
    return Points(
        np.array([step for step, _ in pairs], dtype=np.int64),
        1000.0 + np.arange(at, at + len(pairs)),
        np.array([value for _, value in pairs], dtype=float),
    )


def test_arrays_that_were_used_longest_ago_are_let_go() -> None:
    cache: Cache[str] = Cache(most_bytes=250)
    run = object()
    for name in ("a", "b", "c"):
        cache.put((run, name), name, 100)
    assert [(run, name) in cache for name in ("a", "b", "c")] == [False, True, True]
    cache.put((run, "b"), "grown", 240)
    assert [cache.get((run, name)) for name in ("b", "c")] == ["grown", None]
    # The last one stays, whatever its size.
    cache.put((run, "d"), "large", 1000)
    assert [(run, name) in cache for name in ("b", "c", "d")] == [False, False, True]
    cache.put(("other", "e"), "small", 1)
    cache.put((run, "f"), "small", 1)
    cache.drop(run)
    assert (run, "f") not in cache
    assert ("other", "e") in cache


def test_what_a_resumed_training_logs_anew_takes_the_place_of_what_it_logged_before(tmp_path: Path) -> None:
    for first, height in ((0, 1.0), (50, 3.0), (40, 5.0)):
        with tl.Run(tmp_path) as run:
            for step in range(first, 100):
                run.log(step, loss=height)
    arrays = SeriesArrays()
    arrays.read_on(RunReader(tmp_path), "loss")

    by_step = arrays.show("step", (None, None), 1000)
    by_time = arrays.show("time", (None, None), 1000)

    assert by_step.columns[0].tolist() == list(range(100))
    assert by_step.columns[2].tolist() == [1.0] * 40 + [5.0] * 60
    assert by_time.columns[2].tolist() == [1.0] * 100 + [3.0] * 50 + [5.0] * 60
