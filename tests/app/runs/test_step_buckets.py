"""Figures over steps in buckets: against a plain loop that says what should be there."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import torcheer as tl
from tests.app.watched_runs import COLUMNS, figures, log_figures, log_plan
from tests.many import examples
from torcheer.app.runs.run_messages import WatchedQuestion
from torcheer.app.runs.watched_figures import (
    StepBuckets,
    bucket_steps,
    heat_map,
    highest_figures,
    mean_figures,
)
from torcheer.run import RunReader

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


class HeatMap(NamedTuple):
    first_steps: list[int]
    last_steps: list[int]
    values: np.ndarray
    marks: np.ndarray


def heat_map_of(
    reader: RunReader, most: int, column: str = "mean", low: int | None = None, high: int | None = None
) -> HeatMap:
    question = WatchedQuestion(id=1, run_id="", rank=0, column=column, low=low, high=high, num_buckets=most)
    buckets, values, marks = heat_map(reader.watched, question, most)
    return HeatMap(buckets.first_steps, buckets.last_steps, values, marks)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[tl.Run]:
    with tl.Run(tmp_path / "run") as run:
        yield run


@pytest.fixture
def reader(run: tl.Run) -> Iterator[RunReader]:
    reader = RunReader(run.path)
    yield reader
    reader.close()


def assert_is_right(
    found: HeatMap, steps: Sequence[int] | np.ndarray, values: np.ndarray, column: str
) -> None:
    """Each bucket by its edges, from the figures as they were logged: [column][row][step]."""
    steps = np.asarray(steps)
    assert found.values.shape == found.marks.shape == (values.shape[1], len(found.first_steps))
    assert list(found.first_steps) == sorted(found.first_steps)
    num_seen = 0
    for index, (first, last) in enumerate(zip(found.first_steps, found.last_steps, strict=True)):
        inside = values[:, :, (steps >= first) & (steps <= last)]
        num_seen += inside.shape[2]
        of_column = inside[COLUMNS.index(column)]
        for row in range(values.shape[1]):
            finite = of_column[row][np.isfinite(of_column[row])].astype(np.float64)
            expected = np.nan if not len(finite) else finite.max() if column == "nan" else finite.mean()
            assert np.isclose(found.values[row, index], expected, atol=1e-5, equal_nan=True)
            marks = 1 * (inside[2, row] > 0).any() + 2 * (inside[3, row] > 0).any()
            assert found.marks[row, index] == marks
    assert num_seen == len(steps)


def spoilt(num_rows: int, steps: Sequence[int] | np.ndarray) -> np.ndarray:
    """Figures with some NaN and infinities among them."""
    generator = np.random.default_rng(5)
    values = figures(num_rows, steps)
    for column, mark in ((2, np.nan), (3, np.inf)):
        where = generator.random(values.shape[1:]) < 0.03
        values[column][where] = 0.5
        values[0][where] = mark
    return values


@pytest.mark.parametrize("column", ["mean", "nan"])
def test_a_heat_map_stays_right_while_blocks_come_and_are_merged(
    run: tl.Run, reader: RunReader, column: str
) -> None:
    steps = np.cumsum(np.random.default_rng(1).integers(1, 4, 600)) - 300
    values = spoilt(3, steps)
    log_plan(run, "a.Act", "b.Act", "c.Act")
    for end in range(20, 601, 20):
        log_figures(run, steps[end - 20 : end], values[..., end - 20 : end])
        run.flush()
        if end % 100 == 0:
            reader.refresh()
            found = heat_map_of(reader, 16, column)
            assert_is_right(found, steps[:end], values[..., :end], column)
    assert 8 <= len(found.first_steps) <= 16
    assert len(reader.parts()["rank-0"].records("statistics", "watch")) < 30


def test_a_window_between_two_steps_is_empty(run: tl.Run, reader: RunReader) -> None:
    log_plan(run, "a.Act")
    log_figures(run, range(0, 100, 10), figures(1, range(10)))
    log_figures(run, range(100, 200, 10), figures(1, range(10)))
    run.flush()
    reader.refresh()
    assert heat_map_of(reader, 10, low=101, high=105).values.shape == (1, 0)
    assert heat_map_of(reader, 10, low=95, high=105).first_steps == [100]


def test_children_and_plans_that_follow_each_other_are_put_together(tmp_path: Path) -> None:
    steps = np.arange(100)
    values = spoilt(4, steps)
    path = tmp_path / "run"
    with tl.Run(path) as first, tl.Run(path) as second:
        log_plan(first, "a.Act", "b.Act", digest="one")
        log_plan(second, "c.Act", digest="three")
        log_figures(first, steps[:50], values[:, :2, :50], digest="one")
        log_plan(first, "b.Act", "d.Act", "a.Act", digest="two")
        log_figures(first, steps[50:], values[:, [1, 3, 0], 50:], digest="two")
        log_figures(second, steps, values[:, 2:3], digest="three")
    reader = RunReader(path)
    found = heat_map_of(reader, 10)
    names = [row.name for row in reader.watched.plan(0).rows]
    expected = values[:, [["a.Act", "b.Act", "c.Act", "d.Act"].index(name) for name in names]]
    expected[:, names.index("d.Act"), :50] = np.nan
    assert_is_right(found, steps, expected, "mean")


def test_where_a_training_went_back_the_later_figure_of_a_step_holds(run: tl.Run, reader: RunReader) -> None:
    first, second = figures(1, range(20)), figures(1, range(20), seed=1)
    log_plan(run, "a.Act")
    log_figures(run, range(20), first)
    run.log_statistics("a", np.arange(10, 30), 1.8e9 + np.arange(20.0), second)
    run.flush()
    reader.refresh()
    assert_is_right(
        heat_map_of(reader, 5), range(30), np.concatenate((first[..., :10], second), axis=2), "mean"
    )
