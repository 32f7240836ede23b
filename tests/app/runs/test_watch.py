"""Runs that take very long to read, or for ever: pages, lists and other runs go on, and the server ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import torcheer as tl
from tests.app.runs_page import RunsPage, page_on
from tests.app.serving import PATIENCE_SECONDS, SECRET, ask, cookie_of
from tests.run import handmade_events as made
from torcheer.app.runs import open_run
from torcheer.app.server import serve_runs_in_background
from torcheer.run import RunReader
from torcheer.run.tensorboard.events_part import EventsPart

NUM_STUCK = 5


def write_runs(folder: Path) -> None:
    """More of those that get stuck than there are threads to sum up runs."""
    for number in range(NUM_STUCK):
        made.write_events(folder / f"a-stuck-{number}", made.event(made.scalar("loss", 1.0)))
    with tl.Run(folder / "honest") as run:
        for step in range(10):
            run.log(step, loss=1.0 / (step + 1))
    made.write_events(folder / "events", made.event(made.scalar("accuracy", 0.5)))


VIEW = """
import sys
from torcheer.run.tensorboard.events_part import EventsPart

real = EventsPart.refresh

def refresh(part):
    if "stuck" not in part._folder.name:
        return real(part)
    print("stuck", file=sys.stderr, flush=True)
    while True:  # it never asks whether it should stop
        pass

EventsPart.refresh = refresh
from torcheer.app.server import view
view([sys.argv[1]], port=0, open_browser=False)
"""


class Served:
    """`torcheer view` in a process of its own, where some runs cannot be read to their end."""

    def __init__(self, folder: Path) -> None:
        environment = {**os.environ, "XDG_STATE_HOME": str(folder / ".state"), "PYTHONUNBUFFERED": "1"}
        command = [sys.executable, "-c", VIEW, str(folder)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment)
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()
        self.port = int(self.url.partition("127.0.0.1:")[2].partition("/")[0])

    def wait_until_stuck(self) -> None:
        assert self.process.stderr is not None
        while "stuck" not in self.process.stderr.readline():
            pass


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    write_runs(tmp_path)
    serving = Served(tmp_path)
    with serving.process:
        try:
            yield serving
        finally:
            serving.process.kill()


def ids_of(page: RunsPage) -> dict[str, str]:
    """Of all runs, once those that can be read have been."""
    number = page.begin("runs")
    runs = page.runs(
        number, lambda runs: bool(runs.get("honest", {}).get("spark")) and is_read(runs["events"])
    )
    page.stop(number)
    return {name: run["id"] for name, run in runs.items()}


def is_read(run: Any) -> bool:
    return bool(run["num_series"])


def test_other_runs_are_listed_and_answered_while_some_are_stuck(served: Any) -> None:
    with RunsPage(served) as page:
        ids = ids_of(page)
        served.wait_until_stuck()
        assert len(ids) == NUM_STUCK + 2
        in_order = [ids[name] for name in sorted(ids)]  # those that are stuck first
        index = page.begin("index", run_ids=in_order)
        found: set[str] = set()
        while not {ids["honest"], ids["events"]} <= found:
            found |= {run["run_id"] for run in page.hear(index).answer["runs"] if run["series"]}
        assert found == {ids["honest"], ids["events"]}
        wanted = [{"run_id": run_id, "name": "loss"} for run_id in in_order]
        question = {"axis": "step", "low": None, "high": None, "num_buckets": 100, "wanted": wanted}
        number = page.begin("series", **question)
        blocks: list[Any] = []
        while not blocks:
            blocks = page.blocks(number)
        assert [block["run_id"] for block, _ in blocks] == [ids["honest"]]
        assert page.once("hparams").answer["type"] == "hparams"
        head, body = ask(served, "/", cookie=cookie_of(served))
        assert head["status"] == "200"
        assert "torcheer" in body
        with RunsPage(served) as another:  # a second page is greeted
            assert another.hello["has_runs"]


def test_ctrl_c_ends_a_server_while_runs_are_stuck(served: Any) -> None:
    with RunsPage(served) as page:
        page.begin("runs")
        served.wait_until_stuck()
        served.process.send_signal(signal.SIGINT)
        assert served.process.wait(PATIENCE_SECONDS) == 0


def test_a_server_beside_a_program_ends_while_a_run_is_stuck(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.write_events(tmp_path / "stuck", made.event(made.scalar("loss", 1.0)))
    is_stuck, is_over = threading.Event(), threading.Event()

    def refresh(part: EventsPart) -> int:
        is_stuck.set()
        is_over.wait()
        return 0

    monkeypatch.setattr(EventsPart, "refresh", refresh)
    serving = serve_runs_in_background(tmp_path, secret=SECRET)
    try:
        with RunsPage(serving) as page:
            page.begin("runs")
            assert is_stuck.wait(PATIENCE_SECONDS)
            closing = threading.Thread(target=serving.close, daemon=True)
            closing.start()
            closing.join(PATIENCE_SECONDS)
            assert not closing.is_alive()
    finally:
        is_over.set()


# --- runs that take long -----------------------------------------------------------------------------


def test_a_run_that_takes_long_is_read_in_slices_and_then_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_run, "SLICE_SECONDS", 0.0)
    records = [made.event(made.scalar("loss", float(step)), step=step) for step in range(3000)]
    made.write_events(tmp_path / "long", *records)
    looks: list[int] = []
    real = RunReader.refresh

    def refresh(reader: RunReader) -> bool:
        looks.append(1)
        return real(reader)

    monkeypatch.setattr(RunReader, "refresh", refresh)
    with page_on(tmp_path) as page:
        number = page.begin("runs")
        runs = page.runs(number, lambda runs: bool(runs and runs["long"]["num_series"]))
        page.stop(number)
        run_id = runs["long"]["id"]
        blocks: list[Any] = []
        series = page.series(run_id, "loss")
        while not blocks:
            blocks = page.blocks(series)
        assert blocks[0][0]["num_points"] == 3000
    assert len(looks) > 5


def test_a_question_waits_until_its_run_has_been_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_run, "SLICE_SECONDS", 0.0)
    texts = [
        made.event(made.strings("note", "text", [str(step).encode()]), step=step) for step in range(2000)
    ]
    made.write_events(tmp_path / "long", *texts)
    with page_on(tmp_path) as page:
        number = page.begin("runs")
        runs = page.runs(number, bool)
        question = {"run_id": runs["long"]["id"], "kind": "text", "name": "note", "most": 5}
        records = page.once("records", **question).answer["records"]
        assert records[-1]["step"] == 1999
