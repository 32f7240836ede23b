"""What was watched in a training, as a page sees it: a figure of all rows, all figures of a row, and news."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import torcheer as tl
from tests.app.runs_page import page_on
from tests.app.watched_runs import (
    COLUMNS,
    ask_heat,
    ask_row,
    figures,
    hear_heat,
    hear_row,
    heat,
    log_figures,
    log_plan,
    only_id,
    push_at_once,
)
from torcheer.app.runs import watched_figures as watched_module


def test_a_heat_map_of_few_steps_has_each_figure_as_it_was_logged(tmp_path: Path) -> None:
    steps = [0, 3, 7, 20]
    values = figures(3, steps)
    with tl.Run(tmp_path / "run") as run:
        log_plan(run, "a.Act", "b.Act", "c.Act")
        log_figures(run, steps[:2], values[..., :2])
        log_figures(run, steps[2:], values[..., 2:])
    with page_on(tmp_path) as page:
        run_id = only_id(page)
        for index, column in enumerate(COLUMNS):
            found = heat(page, run_id, column)
            assert np.array_equal(found.values, values[index])
            assert not found.marks.any()
            assert found.answer["first_steps"] == found.answer["last_steps"] == steps
        found = heat(page, run_id)
        assert found.names == ["a.Act", "b.Act", "c.Act"]
        assert found.answer["rows"][1] == {
            "name": "b.Act",
            "layer": "b",
            "variable": "Act",
            "role": "activation",
            "module": "ReLU",
            "shape": [2, 3],
        }
        assert (found.answer["num_steps"], found.answer["every"]) == (4, "20/s")
        assert (found.answer["ranks"], found.answer["columns"]) == ([0], list(COLUMNS))


def test_many_steps_come_as_buckets_of_means_and_of_the_highest_shares(tmp_path: Path) -> None:
    steps = np.arange(1000)
    values = figures(2, steps)
    values[2, 0, 555] = 0.25
    values[3, 1, 990:] = 0.5
    values[0, 0, 555] = np.nan
    values[0, 1, 990:] = np.inf
    with tl.Run(tmp_path / "run") as run:
        log_plan(run, "a.Act", "b.Act")
        for part in np.array_split(np.arange(1000), 7):
            log_figures(run, steps[part], values[..., part])
    with page_on(tmp_path) as page:
        run_id = only_id(page)
        mean = heat(page, run_id, "mean", num_buckets=100)
        assert mean.answer["first_steps"] == list(range(0, 1000, 10))
        assert mean.answer["last_steps"] == list(range(9, 1000, 10))
        finite = np.where(np.isfinite(values[0]), values[0], np.nan).reshape(2, 100, 10)
        assert np.allclose(mean.values[:, :99], np.nanmean(finite[:, :99], axis=2), atol=1e-6)
        assert np.isnan(mean.values[1, 99])
        assert mean.marks[0].tolist() == [1 if index == 55 else 0 for index in range(100)]
        assert mean.marks[1].tolist() == [2 if index == 99 else 0 for index in range(100)]
        shares = heat(page, run_id, "nan", num_buckets=100)
        assert np.array_equal(shares.values, values[2].reshape(2, 100, 10).max(axis=2))
        assert np.array_equal(shares.marks, mean.marks)


def test_a_window_of_steps_is_shown_closer(tmp_path: Path) -> None:
    steps = np.arange(0, 5000, 5)
    values = figures(2, steps)
    with tl.Run(tmp_path / "run") as run:
        log_plan(run, "a.Act", "b.Act")
        log_figures(run, steps, values)
    with page_on(tmp_path) as page:
        run_id = only_id(page)
        found = heat(page, run_id, "norm", low=1000, high=1100, num_buckets=50)
        assert found.answer["first_steps"] == list(range(1000, 1101, 5))
        assert np.array_equal(found.values, values[1][:, 200:221])
        assert found.answer["num_steps"] == 1000
        assert heat(page, run_id, low=6000).values.shape == (2, 0)
        assert heat(page, run_id, low=10, high=2).values.shape == (2, 0)
        assert heat(page, run_id, low=-(2**53), high=2**53, num_buckets=10).values.shape == (2, 10)
        answer, row = hear_row(page, ask_row(page, run_id, "b.Act", low=1000, high=1100))
        assert np.array_equal(row, values[:, 1, 200:221])
        assert answer["first_steps"] == found.answer["first_steps"]


def test_a_row_has_all_figures_and_the_names_of_its_series(tmp_path: Path) -> None:
    steps = np.arange(300)
    values = figures(2, steps)
    values[2, 1, 150] = 0.5
    with tl.Run(tmp_path / "run") as run, tl.Run(tmp_path / "run", rank=1) as other:
        for one in (run, other):
            log_plan(one, "a.Act", "b.Act")
            log_figures(one, steps, values)
        run.log_tensor(0, "b.Act", np.ones((2, 3)))
        other.log_histogram(0, "rank 1/b.Act", np.ones(5))
    with page_on(tmp_path) as page:
        run_id = only_id(page)
        answer, row = hear_row(page, ask_row(page, run_id, "b.Act", num_buckets=100))
        assert (answer["row"]["name"], answer["columns"]) == ("b.Act", list(COLUMNS))
        thirds = values[:, 1].reshape(len(COLUMNS), 100, 3)
        assert np.allclose(row[:2], thirds.mean(axis=2)[:2], atol=1e-6)
        assert np.array_equal(row[2:], thirds.max(axis=2)[2:])
        assert (answer["tensor_name"], answer["histogram_name"]) == ("b.Act", "")
        answer, _ = hear_row(page, ask_row(page, run_id, "b.Act", rank=1))
        assert (answer["tensor_name"], answer["histogram_name"]) == ("", "rank 1/b.Act")
        answer, row = hear_row(page, ask_row(page, run_id, "z.Act"))
        assert (answer["row"], row.size) == (None, 0)


def test_ranks_are_told_apart_and_children_of_one_rank_make_one_table(tmp_path: Path) -> None:
    steps = np.arange(50)
    values = figures(4, steps)
    path = tmp_path / "run"
    with tl.Run(path) as first, tl.Run(path) as second, tl.Run(path, rank=3) as other:
        log_plan(first, "a.Act", "b.Act", digest="ab")
        log_plan(second, "c.Act", digest="c")
        log_plan(other, "a.Act", digest="ab3")
        log_figures(first, steps, values[:, :2], digest="ab")
        log_figures(second, steps[10:], values[:, 2:3, 10:], digest="c")
        log_figures(other, steps[:5], values[:, 3:, :5], digest="ab3")
    with page_on(tmp_path) as page:
        run_id = only_id(page)
        found = heat(page, run_id)
        assert found.answer["ranks"] == [0, 3]
        assert sorted(found.names) == ["a.Act", "b.Act", "c.Act"]
        by_name = dict(zip(found.names, found.values, strict=True))
        assert np.array_equal([by_name["a.Act"], by_name["b.Act"]], values[0, :2])
        assert np.isnan(by_name["c.Act"][:10]).all()
        assert np.array_equal(by_name["c.Act"][10:], values[0, 2, 10:])
        other_rank = heat(page, run_id, rank=3)
        assert (other_rank.names, other_rank.values.shape) == (["a.Act"], (1, 5))
        nobody = heat(page, run_id, rank=2)
        assert (nobody.names, nobody.answer["ranks"]) == ([], [0, 3])


def test_of_a_training_that_went_back_the_later_figures_hold(tmp_path: Path) -> None:
    before, after = figures(1, range(20), seed=1), figures(1, range(10, 30), seed=2)
    with tl.Run(tmp_path / "run") as run:
        log_plan(run, "a.Act")
        log_figures(run, range(20), before)
        times = 1.8e9 + np.arange(20.0)
        run.log_statistics("a", np.arange(10, 30), times, after)
    with page_on(tmp_path) as page:
        found = heat(page, only_id(page))
        assert found.answer["first_steps"] == list(range(30))
        assert np.array_equal(found.values[0], np.concatenate([before[0, 0, :10], after[0, 0]]))


# --- news --------------------------------------------------------------------------------------------------


def test_what_is_new_comes_whole_and_nothing_comes_for_other_news(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    push_at_once(monkeypatch)
    values = figures(2, range(60))
    with tl.Run(tmp_path / "run") as run, page_on(tmp_path) as page:
        run.log(0, loss=1.0)
        run.flush()
        run_id = only_id(page)
        number = ask_heat(page, run_id)
        empty = hear_heat(page, number).answer
        assert (empty["rows"], empty["ranks"], empty["columns"]) == ([], [], [])
        log_plan(run, "a.Act", "b.Act")
        log_figures(run, range(10), values[..., :10])
        run.flush()
        while (found := hear_heat(page, number)).values.size == 0:
            pass  # the rows may be there before their figures
        assert np.array_equal(found.values, values[0, :, :10])
        row = ask_row(page, run_id, "b.Act")
        hear_row(page, row)
        for end in range(20, 61, 10):
            run.log(end, loss=1.0)
            run.flush()
            scalars = page.series(run_id, "loss")
            page.blocks(scalars)
            page.stop(scalars)
            log_figures(run, range(end - 10, end), values[..., end - 10 : end])
            run.flush()
            assert np.array_equal(hear_heat(page, number).values, values[0, :, :end])
            assert np.array_equal(hear_row(page, row)[1], values[:, 1, :end])


def test_a_page_is_told_about_once_a_second_however_much_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    push_at_once(monkeypatch, seconds=0.5)
    values = figures(1, range(100))
    with tl.Run(tmp_path / "run") as run, page_on(tmp_path) as page:
        log_plan(run, "a.Act")
        log_figures(run, [0], values[..., :1])
        run.flush()
        number = ask_heat(page, only_id(page))
        num_answers = 1
        hear_heat(page, number)
        for step in range(1, 100):
            log_figures(run, [step], values[..., step : step + 1])
            run.flush()
        while hear_heat(page, number).values.shape[1] < 100:
            num_answers += 1
        assert num_answers < 50


def test_a_run_that_takes_steps_back_is_shown_without_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    push_at_once(monkeypatch)
    values = figures(1, range(30))
    with tl.Run(tmp_path / "run") as run:
        log_plan(run, "a.Act")
        log_figures(run, range(30), values)
    with page_on(tmp_path) as page:
        number = ask_heat(page, only_id(page))
        assert hear_heat(page, number).values.shape == (1, 30)
        with tl.Run(tmp_path / "run", purge_step=12):
            pass
        while (found := hear_heat(page, number)).values.shape == (1, 30):
            pass
        assert np.array_equal(found.values, values[0, :, :12])


def test_a_new_plan_keeps_the_rows_that_were_watched_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    push_at_once(monkeypatch)
    values = figures(2, range(20))
    with tl.Run(tmp_path / "run") as run, page_on(tmp_path) as page:
        log_plan(run, "a.Act", "b.Act", digest="one")
        log_figures(run, range(10), values[..., :10], digest="one")
        run.flush()
        number = ask_heat(page, only_id(page))
        hear_heat(page, number)
        log_plan(run, "b.Act", "c.Act", digest="two")
        log_figures(run, range(10, 20), values[..., 10:], digest="two")
        run.flush()
        while (found := hear_heat(page, number)).values.shape != (3, 20):
            pass
        by_name = dict(zip(found.names, found.values, strict=True))
        assert np.array_equal(by_name["b.Act"], [*values[0, 1, :10], *values[0, 0, 10:]])
        assert np.isnan(by_name["a.Act"][10:]).all()
        assert np.isnan(by_name["c.Act"][:10]).all()


# --- what cannot be ----------------------------------------------------------------------------------------


def test_a_figure_that_is_not_there_is_nowhere_known(tmp_path: Path) -> None:
    with tl.Run(tmp_path / "run") as run:
        log_plan(run, "a.Act")
        log_figures(run, range(5), figures(1, range(5)))
    with page_on(tmp_path) as page:
        found = heat(page, only_id(page), "beauty")
        assert np.isnan(found.values).all()


@pytest.mark.parametrize("type", ["watched", "watched_row"])
def test_a_run_that_is_not_there_is_refused(tmp_path: Path, type: str) -> None:
    more = {"column": "mean"} if type == "watched" else {"row": "a.Act"}
    with page_on(tmp_path) as page:
        question = {"run_id": "nobody", "rank": 0, "low": None, "high": None, "num_buckets": 9}
        assert "no longer in the folder" in page.refused(type, **question, **more)


def test_with_very_many_rows_there_are_fewer_buckets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watched_module, "MAX_CELLS", 1000)
    steps = np.arange(200)
    values = figures(30, steps)
    with tl.Run(tmp_path / "run") as run:
        log_plan(run, *(f"layer{index}.Act" for index in range(30)))
        log_figures(run, steps, values)
    with page_on(tmp_path) as page:
        run_id = only_id(page)
        found = heat(page, run_id)
        assert found.values.shape == (30, 29)  # 7 steps each: with 6 there would be 34
        assert np.allclose(found.values[:, 0], values[0, :, :7].mean(axis=1), atol=1e-6)
        monkeypatch.setattr(watched_module, "MAX_ROWS", 4)
        assert len(heat(page, run_id).names) == 4
