"""Runs are found wherever they are in a folder, and nothing in it can hold that up."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from torcheer.run.reading import finding
from torcheer.run.reading.finding import find_runs, is_run


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
    monkeypatch.setattr(finding, "_MAX_FOLDERS", 11)

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
