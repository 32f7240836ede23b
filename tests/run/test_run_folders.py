"""Runs are found wherever they are in a folder, and nothing in it can hold that up."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

import torcheer as tl
from tests.run import handmade_events as made
from torcheer.cli import app
from torcheer.errors import InputError
from torcheer.run.read import run_folders
from torcheer.run.read.run_folders import find_runs, is_run, links_within
from torcheer.run.read.run_reader import RunReader


def make(folder: Path, file: str = "rank-0.sqlite") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / file).touch()
    return folder


def names_in(folder: Path) -> list[str]:
    return [run.name for run in find_runs(folder)]


def test_runs_are_found_at_any_depth_by_their_place(tmp_path: Path) -> None:
    make(tmp_path / "first")
    make(tmp_path / "sweep" / "b" / "deep")
    make(tmp_path / "sweep" / "a", "events.out.tfevents.1700000000.host.1.0")
    make(tmp_path / "nothing", "notes.txt")

    assert names_in(tmp_path) == ["first", "sweep/a", "sweep/b/deep"]
    assert find_runs(tmp_path)[1].path == tmp_path / "sweep" / "a"


def test_the_folder_itself_can_be_a_run_with_others_below(tmp_path: Path) -> None:
    make(tmp_path, "rank-3.1.sqlite")
    make(tmp_path / "hparams" / "0")

    assert names_in(tmp_path) == [".", "hparams/0"]


def test_what_only_looks_like_a_run_is_none(tmp_path: Path) -> None:
    (tmp_path / "a" / "rank-0.sqlite").mkdir(parents=True)
    make(tmp_path / "b", "rank-0.sqlite-wal")
    make(tmp_path / "c", "other.sqlite")
    make(tmp_path / ".hidden")
    (tmp_path / "d").mkdir()
    os.mkfifo(tmp_path / "d" / "rank-0.sqlite")
    (tmp_path / "e").mkdir()
    (tmp_path / "e" / "rank-0.sqlite").symlink_to("nowhere")

    assert names_in(tmp_path) == []
    assert not is_run(tmp_path / "d")


def test_links_that_lead_round_in_circles_are_walked_once(tmp_path: Path) -> None:
    make(tmp_path / "a" / "run")
    (tmp_path / "a" / "up").symlink_to(tmp_path)
    (tmp_path / "same").symlink_to(tmp_path / "a")

    assert names_in(tmp_path) == ["a/run"]


def test_the_search_goes_no_deeper_than_eight_folders_and_through_no_more_than_it_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path.joinpath(*"12345678"))
    make(tmp_path.joinpath(*"abcdefghi"))
    assert names_in(tmp_path) == ["1/2/3/4/5/6/7/8"]

    many = tmp_path / "many"
    for number in range(30):
        make(many / f"{number:02}")
    monkeypatch.setattr(run_folders, "_MAX_FOLDERS", 11)

    assert names_in(many) == [f"{number:02}" for number in range(10)]


def test_a_folder_that_vanishes_or_may_not_be_read_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path / "a")
    make(tmp_path / "b")
    scandir = os.scandir

    def refuse(path: Path) -> object:
        if Path(path).name == "a":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)

    assert names_in(tmp_path) == ["b"]
    assert names_in(tmp_path / "gone") == []


# --- links that lead out -----------------------------------------------------------------------------


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    """A folder of runs with a run of its own, and links to runs and files elsewhere."""
    elsewhere, runs = tmp_path / "elsewhere", tmp_path / "runs"
    for name in ("other", "events"):
        made.write_events(elsewhere / name, made.event(made.scalar("secret", 1.0)))
    with tl.Run(elsewhere / "ours") as run:
        run.log(0, secret=1.0)
    made.write_events(runs / "own", made.event(made.scalar("loss", 0.5)))
    (runs / "folder").symlink_to(elsewhere / "other")
    (runs / "file").mkdir()
    (runs / "file" / made.FILE).symlink_to(elsewhere / "events" / made.FILE)
    (runs / "part").mkdir()
    (runs / "part" / "rank-0.sqlite").symlink_to(elsewhere / "ours" / "rank-0.sqlite")
    (runs / "own" / f"{made.FILE}.more").symlink_to(elsewhere / "events" / made.FILE)
    (runs / "inside").symlink_to(runs / "own")
    return runs


def test_links_that_lead_out_of_the_folder_are_not_followed(linked: Path) -> None:
    found = find_runs(linked)
    assert [run.name for run in found] == ["inside"]  # which is `own`, by the name that comes first
    assert found.num_links_out == 4
    with pytest.raises(InputError, match="1 link leads out of the folder, and is not followed: follow_links"):
        tl.open_run(linked / "file")
    with pytest.raises(InputError, match="follow_links=True"):
        tl.open_run(linked / "part")
    run = tl.open_run(linked / "own")
    assert run.names() == ["loss"]
    assert "1 link leads out of the folder, and is not followed" in run.status().note


def test_links_are_followed_where_that_is_asked_for(linked: Path) -> None:
    found = find_runs(linked, links_within(linked, follow_links=True))
    assert [run.name for run in found] == ["file", "folder", "inside", "part"]
    for name in ("file", "folder", "part"):
        assert tl.open_run(linked / name, follow_links=True).names() == ["secret"]
    assert set(tl.open_run(linked / "own", follow_links=True).names()) == {"loss", "secret"}


def test_a_folder_that_is_named_may_be_a_link_itself(linked: Path) -> None:
    assert tl.open_run(linked / "folder").names() == ["secret"]
    there = linked.parent / "there"
    there.symlink_to(linked)
    assert names_in(there) == ["inside"]


def test_the_journal_of_a_part_may_not_be_a_link_that_leads_out(tmp_path: Path) -> None:
    with tl.Run(tmp_path / "run") as run:
        run.log(0, loss=1.0)
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "run" / "rank-0.sqlite-wal").symlink_to(tmp_path / "secret")
    assert "1 link leads out" in RunReader(tmp_path / "run").status().note


def test_the_list_on_the_command_line_says_what_is_not_followed(linked: Path) -> None:
    result = CliRunner().invoke(app, ["runs", "list", str(linked)])
    assert result.exit_code == 0
    assert "folder  " not in result.output
    assert "4 links lead out of the folder, and are not followed: --follow-links" in result.output
    result = CliRunner().invoke(app, ["runs", "list", str(linked), "--follow-links"])
    assert "folder  " in result.output
    assert "links" not in result.output
    result = CliRunner().invoke(app, ["runs", "show", str(linked / "file"), "--follow-links"])
    assert result.exit_code == 0
    assert "secret" in result.output
