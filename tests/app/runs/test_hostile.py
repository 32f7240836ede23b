"""Runs that are not what they should be, questions that nobody should ask, and pages that do not read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import torcheer as tl
from tests.app.runs_page import RunsPage, make_impatient, page_on
from tests.app.serving import SECRET, frame, raw_socket
from tests.run.handmade_part import HandmadePart
from torcheer.app.listen import listen
from torcheer.app.passes.saved import SavedPasses
from torcheer.app.runs import run_answers
from torcheer.app.runs import run_shelf as shelf_module
from torcheer.app.runs.open_run import MAX_RUNS, RunFolders
from torcheer.app.runs.run_shelf import RunShelf
from torcheer.app.server import Server, Serving, serve_runs_in_background
from torcheer.errors import FileFormatError
from torcheer.run import FoundRun, RunReader, find_runs

NAMES = [
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "\"'`${alert(1)}\\",
    "a\0b",
    "\u202egnp.exe\u2028\x1b[31m\r\n",
    "../../etc/passwd",
    "%s%n{0}",
    "",
    " ",
    "\U0001f600" * 1000,
]


def test_names_with_anything_in_them_arrive_and_can_be_asked_for(tmp_path: Path) -> None:
    with tl.Run(tmp_path / "run", comment=NAMES[0], tags=tuple(NAMES[:3])) as run:
        run.log(1, dict.fromkeys(NAMES, 0.5))
        for name in NAMES:
            run.log_text(1, name, name)
    with page_on(tmp_path) as page:
        (listed,) = page.all_runs(1).values()
        assert (listed["comment"], listed["tags"]) == (NAMES[0], NAMES[:3])
        assert {metric["name"] for metric in listed["metrics"]} == set(NAMES)
        (entry,) = page.once("index", run_ids=[listed["id"]]).answer["runs"]
        assert {one["name"] for one in entry["series"] if one["kind"] == "text"} == set(NAMES)
        blocks = page.blocks(page.series(listed["id"], *NAMES), len(NAMES))
        assert {block["name"] for block, _ in blocks} == set(NAMES)
        for name in NAMES:
            question = {"run_id": listed["id"], "kind": "text", "name": name, "most": 5}
            (record,) = page.once("records", **question).answer["records"]
            data = page.once("record", run_id=listed["id"], record=record["record"]).data
            assert data.decode() == name


@pytest.mark.parametrize("folder", ["<b>run</b>", "a'b\"c", "ünï 🙂", "%2e%2e", "new\nline", "-"])
def test_a_folder_may_have_any_name(tmp_path: Path, folder: str) -> None:
    with tl.Run(tmp_path / folder / "deep") as run:
        run.log(0, loss=1.0)
    with page_on(tmp_path) as page:
        (listed,) = page.all_runs(1).values()
        assert listed["name"] == f"{folder}/deep"
        assert listed["id"].isalnum()


WANTED = {"run_id": "x", "name": "y"}
SERIES: dict[str, Any] = {
    "type": "series",
    "axis": "step",
    "low": None,
    "high": None,
    "num_buckets": 9,
    "wanted": [],
}


@pytest.mark.parametrize(
    "question",
    [
        {"type": "index", "run_ids": ["x"] * 257},
        {"type": "index", "run_ids": ["x" * 65]},
        {"type": "index", "run_ids": None},
        SERIES | {"wanted": [WANTED] * 513},
        SERIES | {"wanted": [WANTED | {"path": "/etc/passwd"}]},
        SERIES | {"wanted": [WANTED | {"name": "y" * 5000}]},
        SERIES | {"num_buckets": 0},
        SERIES | {"num_buckets": 2**60},
        SERIES | {"axis": "depth"},
        SERIES | {"low": "low"},
        {"type": "records", "run_id": "x", "kind": "secrets", "name": "y", "most": 5},
        {"type": "records", "run_id": "x", "kind": "text", "name": "y", "most": 10**9},
        {"type": "histograms", "run_id": "x", "kind": "text", "name": "y", "num_steps": 5, "num_bins": 5},
        {
            "type": "histograms",
            "run_id": "x",
            "kind": "tensor",
            "name": "y",
            "num_steps": 5,
            "num_bins": 10**9,
        },
        {"type": "stop", "which": -1},
        {"type": "stop"},
        {"type": "op_series", "pass_id": "x", "op": -1},
        {"type": "runs", "folder": "/"},
    ],
    ids=lambda question: question["type"],
)
def test_a_question_that_cannot_be_is_refused_and_the_page_goes_on(
    quiet_page: RunsPage, question: dict[str, Any]
) -> None:
    quiet_page.socket.send(json.dumps({"id": 7, **question}))
    refusal = quiet_page.hear(7).answer
    assert refusal["type"] == "refusal"
    assert quiet_page.once("runs").answer["type"] == "runs"


@pytest.fixture(scope="module")
def quiet_serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with serve_runs_in_background(tmp_path_factory.mktemp("runs"), secret=SECRET) as serving:
        yield serving


@pytest.fixture
def quiet_page(quiet_serving: Serving) -> Iterator[RunsPage]:
    with RunsPage(quiet_serving) as page:
        yield page


# --- pages that do not read --------------------------------------------------------------------------------


def test_a_page_that_does_not_read_is_not_flooded_and_holds_up_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torcheer.app.runs.run_news._BUSY", 0)  # nothing but the page itself slows it down
    part = HandmadePart(tmp_path / "run")
    names = [f"s{number}" for number in range(8)]
    for name in names:
        part.add_block(name, [(step, 1000.0 + step, 1.0) for step in range(4097)])
    part.add_block("small", [(0, 1000.0, 0.0)])
    made = []
    frame_of = run_answers.binary_frame
    monkeypatch.setattr(
        run_answers,
        "binary_frame",
        lambda head, data: (made.append(len(head.blocks)), frame_of(head, data))[1],
    )
    with serve_runs_in_background(tmp_path, secret=SECRET) as serving, RunsPage(serving) as page:
        run_id = next(iter(page.all_runs(1).values()))["id"]
        number = page.series(run_id, "small")
        page.blocks(number)
        question = SERIES | {"id": 1, "num_buckets": 4096}
        question["wanted"] = [{"run_id": run_id, "name": name} for name in names]
        with raw_socket(serving) as deaf:
            deaf.sendall(frame(json.dumps(question).encode()))
            made.clear()
            for step in range(1, 41):
                for name in names:
                    part.add_block(name, [(0, 2000.0 + step, 1.0)])  # it goes back, so all comes anew
                part.add_block("small", [(step, 1000.0 + step, 0.0)])
                page.blocks(number)
            num_large = len([num for num in made if num > 1])
            assert 0 < num_large < 20  # megabytes each: a few fill what the system keeps for a socket


# --- readers that fail -------------------------------------------------------------------------------------


class FailingReader(RunReader):
    """Opens, and then cannot."""

    def series(self) -> Any:
        raise RuntimeError("the password is 1234")


@contextmanager
def page_with(opener: Any, *folders: Path, finder: Any = find_runs) -> Iterator[RunsPage]:
    runs = RunShelf(folders, finder, opener)
    with Serving(Server(SavedPasses(()), listen(port=0), SECRET, runs)) as serving, RunsPage(serving) as page:
        yield page


def test_a_run_that_raises_is_listed_with_a_note_and_others_go_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for name in ("bad", "good", "gone"):
        with tl.Run(tmp_path / name) as run:
            run.log(0, loss=1.0)

    def opener(path: Path) -> RunReader:
        if path.name == "gone":
            raise FileFormatError("it is no run: make it again.")
        return FailingReader(path) if path.name == "bad" else RunReader(path)

    with page_with(opener, tmp_path) as page:
        runs = page.all_runs(3)
        assert runs["bad"]["note"] == "this run cannot be read: the server's log says why."
        assert "make it again" in runs["gone"]["note"]
        assert "password" in caplog.text
        ids = [run["id"] for run in runs.values()]
        (entry,) = page.once("index", run_ids=ids).answer["runs"]
        assert entry["run_id"] == runs["good"]["id"]
        wanted = [{"run_id": one, "name": "loss"} for one in ids]
        assert [block["run_id"] for block, _ in page.blocks(page.series("", wanted=wanted))] == [
            entry["run_id"]
        ]
        question = {"kind": "text", "name": "x", "most": 1}
        assert "make it again" in page.refused("records", run_id=runs["gone"]["id"], **question)


def test_a_list_of_very_many_runs_comes_in_pieces_with_few_files_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_impatient(monkeypatch)
    monkeypatch.setattr(shelf_module, "_MAX_OPEN", 5)
    monkeypatch.setattr("torcheer.app.wire.CHUNK_BYTES", 20_000)
    with tl.Run(tmp_path / "run") as run:
        for step in range(100):
            run.log(step, loss=1 / (step + 1))
    num_open = 0
    most_open = 0

    class Counted(RunReader):
        def __init__(self, path: Path) -> None:
            nonlocal num_open, most_open
            super().__init__(path)
            num_open += 1
            most_open = max(most_open, num_open)

        def close(self) -> None:
            nonlocal num_open
            num_open -= 1
            super().close()

    def finder(root: Path) -> list[FoundRun]:
        return [FoundRun(name=f"run {number}", path=tmp_path / "run") for number in range(200)]

    with page_with(Counted, tmp_path, finder=finder) as page:
        number = page.begin("runs")
        seen: dict[str, Any] = {}
        marks = []
        while len(seen) < 200 or not all(run["num_series"] for run in seen.values()):
            answer = page.hear(number).answer
            marks.append(answer["is_all"])
            seen |= {run["id"]: run for run in answer["runs"]}
            assert len(json.dumps(answer)) < 30_000
        assert marks == [True] + [False] * (len(marks) - 1)
        assert most_open <= 5 + 3


def test_more_runs_than_can_be_shown_are_said(tmp_path: Path) -> None:
    places = RunFolders(
        [tmp_path], lambda root: [FoundRun(name=str(number), path=root) for number in range(MAX_RUNS + 1)]
    ).look()
    assert len(places.runs) == MAX_RUNS
    assert "10,001 runs" in places.note


def test_a_folder_that_cannot_be_searched_is_said(tmp_path: Path) -> None:
    def finder(root: Path) -> list[FoundRun]:
        raise PermissionError(13, "Permission denied")

    with page_with(RunReader, tmp_path, finder=finder) as page:
        assert "Permission denied" in page.once("runs").answer["note"]
