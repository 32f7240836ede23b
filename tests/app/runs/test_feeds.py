"""Runs that are followed over a real socket while they are written: what is new arrives, and only that."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import torcheer as tl
from tests.app.runs_page import RunsPage, make_impatient, page_on
from tests.app.serving import SECRET
from tests.run.handmade_part import HandmadePart
from torcheer.app.server import serve_runs_in_background


def only_run(page: RunsPage) -> str:
    return str(next(iter(page.all_runs(1).values()))["id"])


# --- scalars -----------------------------------------------------------------------------------------------


def test_new_points_arrive_one_by_one_after_the_whole(tmp_path: Path) -> None:
    with tl.Run(tmp_path / "run") as run, page_on(tmp_path) as page:
        for step in range(3):
            run.log(step, loss=step / 10, acc=1.0)
        run.flush()
        number = page.series(only_run(page), "loss", "acc", "not there")
        blocks = page.blocks(number, 2)
        assert [block["name"] for block, _ in blocks] == ["loss", "acc"]
        for block, (steps, times, values) in blocks:
            assert (block["form"], block["is_fresh"], block["num_points"]) == ("points", True, 3)
            assert steps.tolist() == [0.0, 1.0, 2.0]
            assert block["started"] <= times[0] <= times[2]
            assert values[0] == (0.0 if block["name"] == "loss" else 1.0)

        run.log(3, loss=0.5)
        run.flush()
        ((block, columns),) = page.blocks(number)
        assert (block["name"], block["is_fresh"], block["num_points"]) == ("loss", False, 4)
        assert columns[[0, 2], 0].tolist() == [3.0, 0.5]

        run.log(0, {"not there": 7.0})
        run.flush()
        ((block, columns),) = page.blocks(number)
        assert (block["name"], block["is_fresh"]) == ("not there", True)


def test_new_points_after_buckets_come_in_buckets_as_wide_of_which_the_last_grows(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path / "run")
    part.add_block("loss", [(step, 1000.0 + step, 1.0) for step in range(101)])
    with page_on(tmp_path) as page:
        number = page.series(only_run(page), "loss", num_buckets=10)
        ((block, columns),) = page.blocks(number)
        assert (block["form"], block["num_items"], block["num_points"]) == ("buckets", 10, 101)
        assert columns[5].sum() == 101

        for steps, num_replaced, counts in ((range(101, 121), 0, [9, 10, 1]), (range(121, 140), 1, [10, 10])):
            part.add_block("loss", [(step, 2000.0 + step, 1.0) for step in steps])
            ((block, columns),) = page.blocks(number)
            assert (block["form"], block["is_fresh"]) == ("buckets", False)
            assert (block["num_replaced"], columns[5].tolist()) == (num_replaced, counts)


def test_a_series_comes_anew_where_its_new_items_would_be_too_many(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path / "run")
    part.add_block("loss", [(step, 1000.0 + step, 1.0) for step in range(20)])
    with page_on(tmp_path) as page:
        number = page.series(only_run(page), "loss", num_buckets=20)
        ((block, _),) = page.blocks(number)
        assert (block["form"], block["num_items"]) == ("points", 20)

        part.add_block("loss", [(20 + step, 2000.0 + step, 1.0) for step in range(20)])
        ((block, _),) = page.blocks(number)
        assert (block["form"], block["is_fresh"], block["num_items"]) == ("points", False, 20)
        for first, num_points in ((40, 80), (80, 160)):
            part.add_block("loss", [(step, 3000.0 + step, 1.0) for step in range(first, num_points)])
            ((block, columns),) = page.blocks(number)
            assert (block["form"], block["is_fresh"], block["num_points"]) == ("buckets", True, num_points)
            assert (block["num_items"], columns[5].sum()) == (20, num_points)


def test_a_run_that_was_resumed_at_an_earlier_step_is_put_in_order(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path / "run")
    part.add_block("loss", [(step, 1000.0 + step, 1.0) for step in range(6)])
    with page_on(tmp_path) as page:
        run_id = only_run(page)
        by_step, by_time = page.series(run_id, "loss"), page.series(run_id, "loss", axis="time")
        page.blocks(by_step), page.blocks(by_time)
        part.add_block("loss", [(4, 2000.0, 2.0), (5, 2001.0, 3.0)])
        ((block, columns),) = page.blocks(by_step)
        assert block["is_fresh"]
        assert columns[0].tolist() == [0, 1, 2, 3, 4, 4, 5, 5]
        assert columns[2].tolist() == [1, 1, 1, 1, 1, 2, 1, 3]
        ((block, columns),) = page.blocks(by_time)
        assert not block["is_fresh"]
        assert columns[0].tolist() == [4, 5]


def test_points_that_were_taken_back_are_gone_from_the_page(tmp_path: Path) -> None:
    run = tl.Run(tmp_path / "run")
    for step in range(10):
        run.log(step, loss=1.0)
    for step in range(5, 10):
        run.log(step, late=1.0)
    run.close()
    with page_on(tmp_path) as page:
        run_id = only_run(page)
        index = page.begin("index", run_ids=[run_id])
        assert len(page.hear(index).answer["runs"][0]["series"]) == 2
        number = page.series(run_id, "loss", "late")
        assert [block["num_points"] for block, _ in page.blocks(number, 2)] == [10, 5]
        with tl.Run(tmp_path / "run", purge_step=5) as again:
            again.flush()
            found = {}
            while len(found) < 2:
                found |= {block["name"]: block for block, _ in page.blocks(number)}
        assert found["loss"]["is_fresh"]
        assert (found["loss"]["num_items"], found["late"]["num_items"]) == (5, 0)
        (entry,) = page.hear(index).answer["runs"]
        assert entry["is_all"]
        assert [(one["name"], one["count"]) for one in entry["series"]] == [("loss", 5)]


def test_windows_on_all_axes_hold_what_they_say(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path / "run")  # it began at second 1000
    part.add_block("loss", [(10 * step, 1000.0 + step, float(step)) for step in range(100)])
    with page_on(tmp_path) as page:
        run_id = only_run(page)
        for axis, low, high in (("step", 100, 200), ("time", 1010, 1020), ("relative", 10, 20)):
            number = page.series(run_id, "loss", axis=axis, low=low, high=high)
            ((block, columns),) = page.blocks(number)
            assert block["started"] == 1000.0
            assert columns[2].tolist() == list(range(9, 22)), axis
            page.stop(number)
        for low, high in ((1e308, -1e308), (-1e308, 1e308), (5000, None), (None, -5)):
            page.blocks(page.series(run_id, "loss", low=low, high=high, num_buckets=4096))


def test_several_runs_and_unknown_ones_can_be_asked_for_at_once(tmp_path: Path) -> None:
    for name in ("a", "b"):
        with tl.Run(tmp_path / name) as run:
            run.log(0, loss=1.0)
    with page_on(tmp_path) as page:
        ids = {name: run["id"] for name, run in page.all_runs(2).items()}
        wanted = [{"run_id": one, "name": "loss"} for one in (ids["b"], "nowhere", ids["a"], ids["b"])]
        blocks = page.blocks(page.series("", wanted=wanted), 2)
        assert sorted(block["run_id"] for block, _ in blocks) == sorted([ids["a"], ids["b"]])
        index = page.once("index", run_ids=[ids["a"], "nowhere"]).answer
        assert [entry["run_id"] for entry in index["runs"]] == [ids["a"]]
        assert page.once("index", run_ids=[]).answer["runs"] == []
        assert page.blocks(page.series("nowhere", "loss")) == []


# --- the index ---------------------------------------------------------------------------------------------


def test_an_index_brings_what_is_new_of_each_kind(tmp_path: Path) -> None:
    with tl.Run(tmp_path / "run") as run, page_on(tmp_path) as page:
        run.log(1, loss=float("nan"), acc=0.5)
        run.log_text(1, "words", "hello")
        run.flush()
        number = page.begin("index", run_ids=[only_run(page)])
        (entry,) = page.hear(number).answer["runs"]
        assert entry["is_all"]
        series = {(one["kind"], one["name"]): one for one in entry["series"]}
        assert set(series) == {("scalar", "loss"), ("scalar", "acc"), ("text", "words")}
        loss = series["scalar", "loss"]
        assert (loss["count"], loss["last_step"], loss["last_value"]) == (1, 1, None)
        assert (loss["num_bad"], loss["first_bad_step"]) == (1, 1)

        run.log(2, acc=0.75)
        run.log_tensor(2, "weight", np.zeros(3))
        run.flush()
        new: dict[str, float | None] = {}
        while len(new) < 2:  # they may have been written, and are then told, one after the other
            (entry,) = page.hear(number).answer["runs"]
            assert not entry["is_all"]
            new |= {one["name"]: one["last_value"] for one in entry["series"]}
        assert new == {"acc": 0.75, "weight": None}


def test_a_long_index_comes_in_pieces_and_is_whole(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path / "run")
    part.connection.execute("BEGIN")
    for number in range(3000):
        part.add_block(f"{'long ' * 100}{number}", [(0, 1000.0, 1.0)])
    part.connection.execute("COMMIT")
    with page_on(tmp_path) as page:
        number = page.begin("index", run_ids=[only_run(page)])
        names: list[str] = []
        all_marks = []
        while len(names) < 3000:
            (entry,) = page.hear(number).answer["runs"]
            names += [one["name"] for one in entry["series"]]
            all_marks.append(entry["is_all"])
        assert len(set(names)) == 3000
        assert all_marks == [True] + [False] * (len(all_marks) - 1)
        assert len(all_marks) > 1


# --- beginning and ending ----------------------------------------------------------------------------------


def test_a_question_that_was_stopped_brings_no_more(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path / "run")
    part.add_block("loss", [(0, 1000.0, 1.0)])
    with page_on(tmp_path) as page:
        run_id = only_run(page)
        stopped, goes_on = page.series(run_id, "loss"), page.series(run_id, "loss")
        page.blocks(stopped), page.blocks(goes_on)
        page.stop(stopped)
        page.stop(123456)  # nobody knows it
        for step in range(1, 4):
            part.add_block("loss", [(step, 1000.0 + step, 1.0)])
            heard = page.hear_any()
            assert heard.answer["id"] == goes_on


def test_nobody_looks_at_runs_when_no_page_follows_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_impatient(monkeypatch)
    with tl.Run(tmp_path / "run") as run:
        run.log(0, loss=1.0)
        run.flush()
        with serve_runs_in_background(tmp_path, secret=SECRET) as serving:
            watch = serving._server._conversations._answers._runs.watch
            with RunsPage(serving) as page:
                number = page.series(only_run(page), "loss")
                page.blocks(number)
                assert watch._looking
                page.stop(number)
                page.once("passes")  # answered after the stop was heard
                assert not watch._looking
                page.hear(page.begin("runs"))
                assert watch._looking
            with RunsPage(serving) as page:
                while watch._looking:  # until the server has seen that the other page is gone
                    page.once("passes")


def test_nothing_is_kept_open_long_after_the_last_page_has_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torcheer.app.runs.run_news._KEPT_SECONDS", 0.0)
    with tl.Run(tmp_path / "run") as run:
        run.log(0, loss=1.0)
    with serve_runs_in_background(tmp_path, secret=SECRET) as serving, RunsPage(serving) as page:
        shelf = serving._server._conversations._answers._runs.shelf
        run_id = only_run(page)
        number = page.series(run_id, "loss")
        page.blocks(number)
        assert shelf.known(run_id).is_open
        page.stop(number)
        while shelf.known(run_id).is_open:
            page.refused("open", pass_id="none")
        assert len(page.blocks(page.series(run_id, "loss"))) == 1  # and opened again when it is wanted


def test_a_page_can_follow_only_so_many_questions(tmp_path: Path) -> None:
    with tl.Run(tmp_path / "run") as run:
        run.log(0, loss=1.0)
    with page_on(tmp_path) as page:
        run_id = only_run(page)
        numbers = [page.series(run_id, "loss") for _ in range(64)]
        for number in numbers:
            page.blocks(number)
        assert "stop one of them first" in page.refused("runs")
        page.stop(numbers[0])
        assert page.once("runs").answer["type"] == "runs"


def test_a_run_that_is_deleted_under_way_ends_nothing_but_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_impatient(monkeypatch)
    for name in ("goes", "stays"):
        HandmadePart(tmp_path / name).add_block("loss", [(0, 1000.0, 1.0)])
    with page_on(tmp_path) as page:
        ids = {name: run["id"] for name, run in page.all_runs(2).items()}
        listed, index = page.begin("runs"), page.begin("index", run_ids=list(ids.values()))
        both = [{"run_id": one, "name": "loss"} for one in ids.values()]
        series = page.series("", wanted=both)
        page.hear(index), page.blocks(series)
        shutil.rmtree(tmp_path / "goes")
        while ids["goes"] not in page.hear(listed).answer["gone"]:
            pass
        assert "no longer" in page.refused("records", run_id=ids["goes"], kind="text", name="x", most=1)
        with tl.Run(tmp_path / "stays") as run:
            run.log(1, loss=2.0)
            run.flush()
            # What was there before may come in two answers, and of the run that has gone an empty block.
            new = (
                block["run_id"]
                for block, columns in iter_blocks(page, series)
                if block["num_items"] and columns[0][-1] == 1
            )
            assert next(new) == ids["stays"]
        with tl.Run(tmp_path / "goes") as run:  # another run in the same place
            run.log(5, loss=5.0)
            run.flush()
            fresh = (
                columns[0].tolist()
                for block, columns in iter_blocks(page, series)
                if block["run_id"] == ids["goes"] and block["num_items"]
            )
            assert next(fresh) == [5.0]


TRAINING = """
import sys, torcheer as tl
with tl.Run(sys.argv[1]) as run:
    print("begun", flush=True)
    for step in range(1000):
        run.log(step, loss=1 / (step + 1))
        if sys.stdin.readline() == "":
            break
"""


def test_a_training_in_another_process_is_watched(tmp_path: Path) -> None:
    command = [sys.executable, "-c", TRAINING, str(tmp_path / "run")]
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as training,
        page_on(tmp_path) as page,
    ):
        assert training.stdin is not None
        assert training.stdout is not None
        training.stdout.readline()
        runs = page.begin("runs")
        run_id = page.runs(runs, lambda found: any(run["num_series"] for run in found.values()))["run"]["id"]
        number = page.series(run_id, "loss")
        seen = 0
        for block, columns in iter_blocks(page, number):
            steps = columns[0].astype(int).tolist()
            assert steps == list(range(0 if block["is_fresh"] else seen, block["num_points"]))
            seen = block["num_points"]
            if seen == 6:
                break
            training.stdin.write("on\n")
            training.stdin.flush()
        training.stdin.close()
        training.wait()
        page.runs(runs, lambda found: found.get("run", {}).get("state") == "finished")


def iter_blocks(page: RunsPage, number: int) -> Any:
    while True:
        yield from page.blocks(number)
