"""Passes in runs, hyperparameters, and what paths lead to: runs, event files and saved passes together."""

from __future__ import annotations

import math
import zlib
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter

import torcheer as tl
from tests.app.runs_page import RunsPage, page_on
from tests.app.serving import SECRET, MadeUpPass, Page, serve
from tests.run.handmade_part import HandmadePart
from torcheer.app.runs.run_shelf import RunShelf
from torcheer.app.server import serve_runs_in_background, shelves, view
from torcheer.errors import FileFormatError, InputError
from torcheer.run import PassHead


@pytest.fixture(scope="module")
def model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU())


def log_passes(folder: Path, model: nn.Module, num: int = 3) -> list[tl.ModelHistory]:
    histories = []
    with tl.Run(folder) as run:
        for step in range(num):
            histories.append(tl.log_forward_pass(model, torch.randn(5, 3)))
            run.log_pass(10 * step, "model", histories[-1])
    return histories


def test_passes_of_runs_are_on_the_shelf_and_open_as_any_other(tmp_path: Path, model: nn.Module) -> None:
    histories = log_passes(tmp_path / "runs" / "first", model)
    histories[0].save(tmp_path / "runs" / "saved.safetensors")
    with page_on(tmp_path / "runs") as page:
        assert page.hello["has_runs"]
        run_id = next(iter(page.all_runs(1).values()))["id"]
        saved, *of_run = page.once("passes").answer["passes"]
        assert (saved["name"], saved["run_id"], saved["step"]) == ("saved", "", None)
        assert [(one["step"], one["run_id"], one["name"]) for one in of_run] == [
            (step, run_id, "model") for step in (20, 10, 0)
        ]
        assert "step 20 of first" in of_run[0]["detail"]
        opened = page.once("open", pass_id=of_run[0]["id"]).answer["document"]
        whole = page.once("open", pass_id=saved["id"]).answer["document"]
        assert [op["label"] for op in opened["ops"]] == [op["label"] for op in whole["ops"]]
        assert not any(op["has_value"] or op["has_grad"] for op in opened["ops"] + opened["params"])
        question = {"pass_id": of_run[0]["id"], "kind": "output", "index": 0, "window": None}
        assert "history.save keeps them" in page.refused("tensor", **question)
        zeros = page.once("figures", pass_id=of_run[0]["id"], name="zeros").answer["values"]
        relu = [op["type"] for op in opened["ops"]].index("relu")
        label = opened["ops"][relu]["label"]
        expected = (histories[2][label].tensor_contents == 0).double().mean().item()
        assert zeros[relu] == pytest.approx(expected)
        assert "'zeros' is there" in page.refused("figures", pass_id=of_run[0]["id"], name="nonfinite")


def test_each_pass_shows_its_own_seed(tmp_path: Path, model: nn.Module) -> None:
    with tl.Run(tmp_path / "runs" / "first") as run:
        for seed in (7, 8):
            run.log_pass(seed, "model", tl.log_forward_pass(model, torch.randn(5, 3), random_seed=seed))
    with page_on(tmp_path / "runs") as page:
        page.all_runs(1)
        listed = page.once("passes").answer["passes"]
        seeds = {
            one["step"]: page.once("open", pass_id=one["id"]).answer["document"]["random_seed"]
            for one in listed
        }

    assert seeds == {7: 7, 8: 8}


def test_an_op_is_followed_through_all_passes_of_its_run(tmp_path: Path, model: nn.Module) -> None:
    histories = log_passes(tmp_path / "runs" / "first", model)
    with page_on(tmp_path / "runs") as page:
        page.all_runs(1)
        listed = page.once("passes").answer["passes"][0]
        ops = page.once("open", pass_id=listed["id"]).answer["document"]["ops"]
        index = [op["type"] for op in ops].index("linear")
        found = page.once("op_series", pass_id=listed["id"], op=index).answer
        assert found["steps"] == [0, 10, 20]
        means = [row[found["figures"].index("mean")] for row in found["rows"]]
        expected = [one[ops[index]["label"]].tensor_contents.mean().item() for one in histories]
        assert means == pytest.approx(expected)
        assert "there is no op number" in page.refused("op_series", pass_id=listed["id"], op=999)
        assert "in no run" in page.refused("op_series", pass_id="elsewhere", op=0)


def test_a_pass_that_is_linked_to_opens_though_nobody_has_looked_yet(
    tmp_path: Path, model: nn.Module
) -> None:
    log_passes(tmp_path / "runs" / "first", model)
    with page_on(tmp_path / "runs") as page:
        page.all_runs(1)
        linked = page.once("passes").answer["passes"][1]["id"]
    with serve_runs_in_background(tmp_path / "runs", secret=SECRET) as serving:
        answers = serving._server._conversations._answers
        answers._runs.passes = _no_passes
        with RunsPage(serving) as page:
            assert page.hello["passes"] == []
            assert page.once("open", pass_id=linked).answer["type"] == "document"
            for wrong in (linked[:-1], linked.partition("-")[0], "-", f"{linked}0"):
                assert "no longer here" in page.refused("open", pass_id=wrong)


async def _no_passes() -> list[Any]:
    return []


def test_a_damaged_pass_is_refused_with_a_sentence(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path / "run")
    for number, (digest, text) in enumerate({"a": b"{}", "b": b"no JSON", "c": b'{"version": 99}'}.items()):
        part.run("INSERT INTO documents VALUES (?, ?, ?)", digest, len(text), zlib.compress(text))
        head = PassHead(document=digest, model_name="M", num_ops=2**50, figures=["mean"])
        part.add_record("pass", "model", head, b"", step=number)
    head = PassHead(document="nowhere", model_name="M", num_ops=1, figures=[])
    part.add_record("pass", "model", head, b"", step=9)
    with page_on(tmp_path) as page:
        page.all_runs(1)
        for listed in page.once("passes").answer["passes"]:
            message = page.refused("open", pass_id=listed["id"])
            assert any(words in message for words in ("damaged", "newer torcheer", "any more")), message


# --- hyperparameters ---------------------------------------------------------------------------------------


def test_hyperparameters_of_all_runs_come_in_rows(tmp_path: Path) -> None:
    for name, lr in (("a", 0.1), ("b", 0.01)):
        with tl.Run(tmp_path / name) as run:
            run.log_hparams({"lr": lr, "name": name, "deep": True}, {"acc": lr * 2})
            run.log_hparams({"more": 3}, {"acc": float("nan")} if name == "b" else {})
    with tl.Run(tmp_path / "none") as run:
        run.log(0, loss=1.0)
    with page_on(tmp_path) as page:
        ids = {name: run["id"] for name, run in page.all_runs(3).items()}
        rows = {row["run_id"]: row for row in page.once("hparams").answer["rows"]}
    assert set(rows) == {ids["a"], ids["b"]}
    assert rows[ids["a"]]["hparams"] == {"lr": 0.1, "name": "a", "deep": True, "more": 3}
    assert rows[ids["a"]]["metrics"] == {"acc": 0.2}
    assert rows[ids["b"]]["metrics"] == {"acc": None}


# --- what paths lead to ------------------------------------------------------------------------------------


def names_of(runs: RunShelf | None) -> list[str]:
    assert runs is not None
    runs.scan()
    return sorted(summary.run.place.name for summary in runs.summaries())


def test_a_path_may_be_a_folder_of_runs_a_run_event_files_or_a_pass(tmp_path: Path, model: nn.Module) -> None:
    log_passes(tmp_path / "runs" / "ours", model, 1)
    with SummaryWriter(str(tmp_path / "runs" / "theirs")) as writer:
        writer.add_scalar("loss", 0.5, 3)
    tl.log_forward_pass(model, torch.randn(2, 3)).save(tmp_path / "one.safetensors")
    event_file = next((tmp_path / "runs" / "theirs").iterdir())

    assert names_of(shelves([tmp_path / "runs"])[1]) == ["ours", "theirs"]
    assert names_of(shelves([tmp_path / "runs" / "ours"])[1]) == ["ours"]
    assert names_of(shelves([tmp_path / "runs" / "theirs"])[1]) == ["theirs"]
    assert names_of(shelves([event_file])[1]) == ["theirs"]
    assert names_of(shelves([tmp_path / "runs" / "ours" / "rank-0.sqlite"])[1]) == ["ours"]
    passes, runs = shelves([tmp_path / "one.safetensors"])
    assert runs is None
    assert [one.name for one in passes.listing()] == ["one"]
    passes, runs = shelves([tmp_path / "one.safetensors", tmp_path / "runs"])
    assert names_of(runs) == ["ours", "theirs"]
    assert len(passes.listing()) == 1
    with page_on(tmp_path / "runs") as page:
        theirs = page.all_runs(2)["theirs"]
        assert (theirs["source"], theirs["last_step"], theirs["metrics"]) == (
            "tensorboard",
            3,
            [{"name": "loss", "value": 0.5}],
        )
        ((_, columns),) = page.blocks(page.series(theirs["id"], "loss"))
        assert columns[[0, 2], 0].tolist() == [3.0, 0.5]


def test_a_folder_without_anything_is_served_and_said_to_be_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("torcheer.app.server.Server.serve_until_stopped", lambda self: None)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "runs").mkdir()
    view([tmp_path / "runs"], port=0)
    said = capsys.readouterr().err
    assert "no run and no saved pass yet" in said
    assert "tl.Run" in said
    with tl.Run(tmp_path / "runs" / "one") as run:
        run.log(0, loss=1.0)
    view([tmp_path / "runs"], port=0)
    assert capsys.readouterr().err == ""


def test_a_path_that_leads_nowhere_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="give a folder of runs"):
        serve_runs_in_background(tmp_path / "nothing")
    (tmp_path / "weights.pt").write_bytes(b"x")
    with pytest.raises(FileFormatError, match=r"weights\.pt"):
        view([tmp_path / "weights.pt"])


def test_a_page_of_passes_alone_has_no_runs() -> None:
    with serve(MadeUpPass()) as serving, Page(serving) as page:
        assert page.hello["has_runs"] is False
        for number, question in enumerate(
            ({"type": "runs"}, {"type": "index", "run_ids": []}, {"type": "hparams"})
        ):
            answer = page.ask(**question, id=number)
            assert (answer["type"], answer["id"]) == ("refusal", number)
            assert "torcheer view FOLDER" in answer["message"]
        assert page.is_alive()


def test_numbers_that_are_none_never_reach_the_page_as_such(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path / "run")
    part.add_block("loss", [(-(2**63), math.nan, math.inf), (2**63 - 1, -math.inf, math.nan)])
    part.run("UPDATE sessions SET started = 9e999, num_dropped = 9223372036854775807")
    with page_on(tmp_path) as page:
        (run,) = page.all_runs(1).values()
        assert all(math.isfinite(run[key]) for key in ("started", "updated", "last_step", "num_dropped"))
        page.once("index", run_ids=[run["id"]])
        for axis in ("step", "time", "relative"):
            page.blocks(page.series(run["id"], "loss", axis=axis, num_buckets=1))
