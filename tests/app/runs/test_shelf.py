"""The list of runs: names and ids, states, the small chart of the loss, what is wrong."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import torcheer as tl
from tests.app.runs_page import RunsPage, make_impatient, page_on
from tests.app.serving import SECRET
from tests.run import handmade_events as made
from tests.run.handmade_part import HandmadePart
from torcheer.app.runs.open_run import RunFolders
from torcheer.app.server import serve_runs_in_background
from torcheer.run import by_interest, find_runs, loss_of


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["acc", "val/loss", "train/loss"], "train/loss"),
        (["Accuracy/train", "Loss/test", "Loss/train"], "Loss/train"),
        (["val_loss", "train_loss"], "train_loss"),
        (["loss", "val/loss", "loss/box", "loss/class"], "loss"),
        (["lr", "epoch", "trainLoss"], "trainLoss"),
        (["lr", "bceloss"], "bceloss"),
        (["lr", "validation loss"], "validation loss"),
        (["lr", "train/nll"], "train/nll"),
        (["lr", "throughput"], ""),
        (["watch/cost", "watch/records a second"], ""),  # what a watcher says of itself
        (["watch/cost", "training cost"], "training cost"),
        ([], ""),
    ],
)
def test_the_small_chart_shows_what_looks_most_like_the_loss(names: list[str], expected: str) -> None:
    assert loss_of(names) == expected


def test_losses_stand_before_accuracies_and_those_before_the_rest() -> None:
    assert by_interest(["lr", "val_acc", "loss", "grad", "top1", "aux_loss"]) == [
        "loss",
        "aux_loss",
        "val_acc",
        "top1",
        "lr",
        "grad",
    ]


def test_what_a_watcher_says_of_itself_stands_last() -> None:
    names = ["watch/cost", "lr", "watch/records a second", "watched", "loss"]
    assert by_interest(names) == ["loss", "lr", "watched", "watch/cost", "watch/records a second"]


def write_run(folder: Path, num_points: int = 10, **scalars: float) -> None:
    with tl.Run(folder) as run:
        for step in range(num_points):
            run.log(step, {name: value + step for name, value in (scalars or {"loss": 0.0}).items()})


def test_a_run_is_listed_with_all_that_is_known_of_it(tmp_path: Path) -> None:
    with tl.Run(tmp_path / "sweep" / "first", comment="a try", tags=("a", "b"), total_steps=500) as run:
        for step in range(200):
            run.log(step, {"acc": 0.5, "train/loss": float(step)})
        run.log_text(3, "words", "hello")
        run.flush()
        with page_on(tmp_path) as page:
            (found,) = page.all_runs(1).values()
            assert found["state"] == "running"
            assert found["name"] == "sweep/first"
            assert (found["comment"], found["tags"], found["total_steps"]) == ("a try", ["a", "b"], 500)
            assert (found["last_step"], found["num_series"], found["source"]) == (199, 3, "torcheer")
            assert found["spark_name"] == "train/loss"
            assert len(found["spark"]) == 64
            assert found["spark"][0] == 1.5
            assert sorted(found["spark"]) == found["spark"]
            assert found["metrics"] == [{"name": "train/loss", "value": 199.0}, {"name": "acc", "value": 0.5}]
            assert 0 < found["started"] <= found["updated"]
            assert found["reason"] == found["note"] == ""


def test_a_run_that_ends_is_said_to_have_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_impatient(monkeypatch)
    with page_on(tmp_path) as page:
        number = page.begin("runs")
        first = page.hear(number).answer
        assert (first["runs"], first["is_all"], first["folder"]) == ([], True, str(tmp_path))
        run = tl.Run(tmp_path / "one")
        run.log(1, loss=1.0)
        run.flush()
        page.runs(number, lambda runs: "one" in runs and runs["one"]["state"] == "running")
        run.close()
        page.runs(number, lambda runs: runs["one"]["state"] == "finished")
        with suppress(ZeroDivisionError), tl.Run(tmp_path / "two") as two:
            two.log(1, loss=1.0)
            1 / 0
        found = page.runs(number, lambda runs: "two" in runs and runs["two"]["state"] == "died")
        assert "ZeroDivisionError" in found["two"]["reason"]


def test_a_loss_that_is_no_number_is_named_with_its_step(tmp_path: Path) -> None:
    with tl.Run(tmp_path / "nan") as run:
        for step in range(5):
            run.log(step, {"loss": float("nan") if step >= 3 else 1.0, "other": float("inf")})
    with tl.Run(tmp_path / "inf") as run:
        run.log(7, {"loss": -float("inf")})
    with tl.Run(tmp_path / "other") as run:
        run.log(8, {"loss": 1.0, "lr": float("nan")})
    with page_on(tmp_path) as page:
        runs = page.all_runs(3)
    assert runs["nan"]["reason"] == "NaN in loss at step 3"
    assert runs["nan"]["spark"] == [1.0, 1.0, 1.0, None, None]
    assert runs["nan"]["metrics"][0] == {"name": "loss", "value": None}
    assert runs["inf"]["reason"] == "infinity in loss at step 7"
    assert runs["other"]["reason"] == "NaN or infinity in lr at step 8"


def test_what_was_dropped_or_thinned_is_said(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path / "run")
    part.add_block("loss", [(0, 1000.0, 1.0)])
    part.connection.execute("UPDATE sessions SET num_dropped = 1234, num_thinned = 1, note = 'no WAL here'")
    with page_on(tmp_path) as page:
        (found,) = page.all_runs(1).values()
    assert (found["num_dropped"], found["num_thinned"]) == (1234, 1)
    assert "1,234 values were dropped" in found["note"]
    assert "1 old record was thinned out" in found["note"]
    assert "no WAL here" in found["note"]


def test_a_run_that_cannot_be_read_is_listed_with_the_reason_beside_those_that_can(tmp_path: Path) -> None:
    write_run(tmp_path / "good")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "rank-0.sqlite").write_bytes(
        b"no database at all, but long enough to look like one" * 99
    )
    with page_on(tmp_path) as page:
        runs = page.all_runs(2)
    assert runs["bad"]["note"]
    assert runs["good"]["note"] == ""
    assert runs["good"]["num_series"] == 1


# --- places and ids --------------------------------------------------------------------------------------


def test_an_id_is_of_the_place_in_the_folder_and_tells_nobody_the_path(tmp_path: Path) -> None:
    for name in ("here/runs", "there/runs"):
        write_run(tmp_path / name / "sweep" / "first")
    here, there = (
        RunFolders([tmp_path / name / "runs"], find_runs).look().runs for name in ("here", "there")
    )

    assert list(here) == list(there)
    (only,) = here.values()
    assert only.name == "sweep/first"
    assert len(only.id) == 16
    assert only.id.isalnum()


def test_runs_of_several_folders_are_named_from_where_the_folders_part(tmp_path: Path) -> None:
    for name in ("a/runs/one", "b/runs/one", "b/runs/two"):
        write_run(tmp_path / name)
    both = RunFolders([tmp_path / "a" / "runs", tmp_path / "b" / "runs"], find_runs).look()
    assert sorted(run.name for run in both.runs.values()) == ["a/runs/one", "b/runs/one", "b/runs/two"]
    single = RunFolders([tmp_path / "a" / "runs" / "one"], find_runs).look()
    assert [run.name for run in single.runs.values()] == ["one"]
    twice = RunFolders([tmp_path / "a", tmp_path / "a"], find_runs).look()
    assert [run.name for run in twice.runs.values()] == ["runs/one"]


def test_runs_come_and_go_with_their_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_impatient(monkeypatch)
    folder = tmp_path / "runs"
    write_run(folder / "one")
    with page_on(folder) as page:
        number = page.begin("runs")
        one = page.runs(number, lambda runs: set(runs) == {"one"})["one"]
        write_run(folder / "deep" / "er" / "two")
        page.runs(number, lambda runs: "deep/er/two" in runs)
        shutil.rmtree(folder / "one")
        hear_until(page, number, lambda answer: one["id"] in answer["gone"])
        shutil.rmtree(folder)
        folder.write_text("a file now")
        hear_until(page, number, lambda answer: "no folder" in answer["note"])


def hear_until(page: RunsPage, number: int, wanted: Callable[[Any], bool]) -> None:
    while not wanted(page.hear(number).answer):
        pass


def test_links_that_lead_out_are_not_followed_unless_asked_for(tmp_path: Path) -> None:
    made.write_events(tmp_path / "elsewhere", made.event(made.scalar("secret", 1.0)))
    made.write_events(tmp_path / "runs" / "own", made.event(made.scalar("loss", 1.0)))
    (tmp_path / "runs" / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "runs" / "own" / f"{made.FILE}.more").symlink_to(tmp_path / "elsewhere" / made.FILE)
    tl.log_forward_pass(nn.ReLU(), torch.ones(2)).save(tmp_path / "elsewhere" / "pass.safetensors")
    (tmp_path / "runs" / "pass.safetensors").symlink_to(tmp_path / "elsewhere" / "pass.safetensors")
    for follows in (False, True):
        with (
            serve_runs_in_background(tmp_path / "runs", secret=SECRET, follow_links=follows) as serving,
            RunsPage(serving) as page,
        ):
            runs = page.all_runs(1 + follows)
            assert set(runs) == ({"own", "link"} if follows else {"own"})
            number = page.begin("runs")
            note = page.hear(number).answer["note"]
            assert ("2 links lead out of the folder" in note) is not follows
            (index,) = page.once("index", run_ids=[runs["own"]["id"]]).answer["runs"]
            assert {one["name"] for one in index["series"]} == ({"loss", "secret"} if follows else {"loss"})
            assert len(page.hello["passes"]) == follows
