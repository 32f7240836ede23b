"""Trainings that pages may control, over the socket: what is told, what is done, what is refused."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import torcheer as tl
from tests.app.runs_page import RunsPage, page_on
from tests.app.serving import PATIENCE_SECONDS, SECRET, MadeUpPass, Page, serve
from tests.training import fake_worker, small_loop
from tests.training.fake_worker import ACTS
from torcheer import cli
from torcheer.app import control as controls_module
from torcheer.app.control import ControlQuestion, Controls
from torcheer.app.runs.run_shelf import RunShelf
from torcheer.app.server import serve_runs_in_background, with_folders_of
from torcheer.cli import read_settings
from torcheer.errors import InputError
from torcheer.training.control import Control, Counters
from torcheer.training.control import controller as process_module

ROOT = Path(__file__).parents[2]
TARGET = "tests.training.small_loop:loop"


@pytest.fixture(autouse=True)
def quick_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """One without torch, which is there at once."""
    monkeypatch.setattr(process_module, "_WORKER", fake_worker.__name__)
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}{os.pathsep}{ROOT / 'src'}")


class ControlPage(RunsPage):
    """A page that follows one training and gives commands."""

    def follow(self, control: Control) -> None:
        self.control_id = control.id
        self.number = self.begin("control", control_id=control.id)

    def until(self, is_wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        while True:
            answer: dict[str, Any] = self.hear(self.number).answer
            assert answer["type"] == "control", answer
            if is_wanted(answer):
                return answer

    def until_state(self, state: str) -> dict[str, Any]:
        return self.until(lambda answer: answer["listing"]["state"] == state)

    def do(self, type: str, **action: Any) -> dict[str, Any]:
        done: dict[str, Any] = self.once(
            "control_do", control_id=self.control_id, action={"type": type, **action}
        ).answer
        return done


@contextmanager
def page_with(*controls: Control, paths: tuple[Path, ...] = ()) -> Iterator[ControlPage]:
    with (
        serve_runs_in_background(*paths, controls=controls, secret=SECRET) as serving,
        ControlPage(serving) as page,
    ):
        yield page


def test_a_training_is_followed_and_told_what_to_do(tmp_path: Path) -> None:
    control = Control(TARGET, folder=tmp_path / "runs")
    with page_with(control) as page:
        listed = page.once("controls").answer["controls"]
        assert [(one["id"], one["name"], one["state"]) for one in listed] == [
            (control.id, "small_loop", "new")
        ]
        assert control.pid is None  # nobody has wanted it yet

        page.follow(control)
        new = page.until_state("new")
        assert (new["about"]["name"], new["listing"]["name"], new["values"]) == (
            "fake",
            "fake",
            {"rate": 0.5},
        )
        assert page.do("step", level="trial", count=1)["message"].endswith("Init comes first.")

        run = tl.Run(tmp_path / "runs" / "fake" / "run-0")
        assert page.do("init", values={"rate": 0.25}, seed=len(ACTS))["type"] == "control_done"
        ready = page.until(lambda answer: bool(answer["run_id"]))
        assert (ready["values"], ready["seed"], ready["run_ids"]) == (
            {"rate": 0.25},
            len(ACTS),
            [ready["run_id"]],
        )
        run.log(1, loss=0.5)
        run.close()
        # A page can ask for what it was told of.
        assert page.once("index", run_ids=[ready["run_id"]]).answer["runs"][0]["run_id"] == ready["run_id"]

        page.do("run")
        assert page.until_state("busy")["listing"]["doing"] == "Run"
        page.do("stop")
        assert page.until_state("ready")["listing"]["counters"]["step"] == 2


def test_a_death_shows_and_init_recovers(tmp_path: Path) -> None:
    control = Control(TARGET, folder=tmp_path)
    with page_with(control) as page:
        page.follow(control)
        page.until_state("new")
        page.do("init", values={"rate": 0.125}, seed=len(ACTS))
        page.until_state("ready")
        assert control.pid is not None
        os.kill(control.pid, signal.SIGKILL)

        dead = page.until_state("died")
        assert "killed (SIGKILL)" in dead["fault"]["message"]
        assert (dead["values"], dead["about"]["name"]) == ({"rate": 0.125}, "fake")
        page.do("init", values={}, seed=len(ACTS))
        assert page.until_state("ready")["fault"] is None

        page.do("run")
        page.until_state("busy")
        assert page.do("abort")["type"] == "control_done"
        assert "ended on request" in page.until_state("died")["fault"]["message"]


def test_only_what_was_named_can_be_controlled_and_only_as_listed(tmp_path: Path) -> None:
    with page_with(Control(TARGET, folder=tmp_path)) as page:
        for control_id in ("", "nothing", TARGET):
            assert "cannot be controlled" in page.refused("control", control_id=control_id)
            assert "cannot be controlled" in page.refused(
                "control_do", control_id=control_id, action={"type": "run"}
            )
        for action in (
            {"type": "exec", "code": "1"},
            {"type": "init", "values": {"x": [1]}, "seed": 1},
            {"type": "init", "values": {}},
            {"type": "step", "level": "life", "count": 1},
            {"type": "step", "level": "run", "count": 0},
            {"type": "test_item", "item": -1},
            {"type": "set_live", "values": None},
            "run",
            None,
        ):
            assert "cannot be read" in page.refused("control_do", control_id="x", action=action)


def test_pages_without_trainings_are_told_so(tmp_path: Path) -> None:
    with page_on(tmp_path) as page:
        assert page.once("controls").answer["controls"] == []
    with serve(MadeUpPass()) as serving, Page(serving) as passes:
        assert passes.ask(type="controls", id=3)["controls"] == []
        assert "cannot be controlled" in passes.ask(type="control", id=4, control_id="x")["message"]


def test_the_process_ends_with_the_server(tmp_path: Path) -> None:
    controls = [Control(TARGET, folder=tmp_path / name) for name in ("a", "b")]
    with page_with(*controls, paths=(tmp_path,)) as page:
        assert len({one["id"] for one in page.once("controls").answer["controls"]}) == 2
        for control in controls:
            page.follow(control)
            page.until_state("new")
        pids = [control.pid for control in controls]
    for pid in pids:
        assert pid is not None
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_folders_of_runs_are_served_wherever_they_are(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    def folders(name: str) -> list[Path]:
        return list(with_folders_of([tmp_path / "runs"], [Control(TARGET, folder=tmp_path / name)]))

    assert folders("runs/deep") == [tmp_path / "runs"]
    for elsewhere in ("others", "runs2", "runs/.hidden/deep"):
        assert folders(elsewhere) == [tmp_path / "runs", tmp_path / elsewhere]
    with pytest.raises(InputError, match="Name another folder"):
        folders("file/runs")
    with pytest.raises(InputError, match="named twice"):
        Controls([Control(TARGET), Control(TARGET)], None)


class EmptyShelf(RunShelf):
    """Finds nothing, and counts how often it is asked to."""

    def __init__(self) -> None:
        self.num_scans = 0

    def id_of(self, path: str) -> None:
        return None

    def scan_again(self) -> None:
        self.num_scans += 1


def test_a_run_that_is_not_found_is_not_looked_for_with_every_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(controls_module, "_FIND_SECONDS", 60.0)
    monkeypatch.setattr(controls_module, "_PUSH_SECONDS", 0.0)
    monkeypatch.setattr(Control, "start", lambda self: None)
    control, shelf = Control(TARGET, folder=tmp_path), EmptyShelf()

    async def follow() -> None:
        answers = Controls([control], shelf).followed[ControlQuestion](
            ControlQuestion(id=1, control_id=control.id), None
        )
        await anext(answers)
        for step in range(1, 6):
            control._status = replace(control.status, runs=("run-0",), counters=Counters(step=step))
            control._tell()
            await anext(answers)
        await answers.aclose()

    with ThreadPoolExecutor(1) as pool:  # a browser that another test has opened has its loop in this thread
        pool.submit(asyncio.run, follow()).result()
    assert shelf.num_scans == 1


def test_the_command_serves_the_page_of_a_training_until_it_is_interrupted(tmp_path: Path) -> None:
    """The process of the training has not come up by then: also in that state it ends with the server."""
    code = "from torcheer.cli import main; import sys; main(); assert 'torch' not in sys.modules"
    target = f"{Path(small_loop.__file__).relative_to(ROOT)}:loop"
    arguments = ["control", target, "--folder", str(tmp_path / "runs"), "--port", "0", "--no-browser"]
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, cwd=ROOT, text=True
    ) as server:
        assert server.stdout is not None
        url = server.stdout.readline()
        control = Control(target, folder=tmp_path / "runs")
        assert url.endswith(f"#control?c={control.id}\n")
        pid = child_of(server.pid)
        server.send_signal(signal.SIGINT)
        assert server.wait(PATIENCE_SECONDS) == 0
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def child_of(pid: int) -> int:
    """The first process that it starts."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    if not children.exists():
        pytest.skip("this system does not list the children of a process")
    while not (found := children.read_text().split()):
        pass
    return int(found[0])


def test_settings_are_read_as_numbers_truths_and_texts() -> None:
    given = [
        "hidden=20",
        "learning-rate=.5",
        "rate = 1e-3",
        "on=True",
        "test_every=",
        "every=1 epoch",
        'id="7"',
    ]
    read = read_settings([*given, "fault=none", "expression=a=b"])
    assert read == {
        "hidden": 20,
        "learning_rate": 0.5,
        "rate": 0.001,
        "on": True,
        "test_every": None,
        "every": "1 epoch",
        "id": "7",
        "fault": "none",
        "expression": "a=b",
    }
    for wrong, message in ((["=3"], "write --set"), (["a=1", "a=2"], "a twice")):
        with pytest.raises(InputError, match=message):
            read_settings(wrong)


def test_a_command_that_cannot_be_is_refused_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = ["--set", "hidden=3", "--set", "rate"]
    for more, message in (([], "there is no file nothing.py"), (settings, "--set 'rate' names no parameter")):
        monkeypatch.setattr(sys, "argv", ["torcheer", "control", "nothing.py:loop", *more])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert ended.value.code == 2
        assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
