"""The process of a training: its pipes, and all of it once from its start to its end."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

import pytest

import torcheer as tl
from tests.copying import popen
from tests.training import small_loop
from torcheer.training.control import Control, Init, RunOn, SetLive, Status, Step, Stop
from torcheer.training.control import control_commands as commands
from torcheer.training.control import worker as pipes
from torcheer.training.control.control_commands import Command, RefusalReport, line_of

SCRIPT = """
import sys
from tests.training import small_loop

print("what a script prints is no report", sys.argv)

def loop():
    made = small_loop.loop()
    made.name = "NAME"
    return made
"""
VALUES = {"netview_every": "never", "fault": "chatter", "runs": 1}


def do(control: Control, command: Command, *states: str) -> Status:
    control.do(command)
    wanted = states or ("ready", "done", "failed", "died")
    return control.wait(lambda status: status.state in wanted)


def test_a_training_is_stepped_fails_is_changed_and_ends_with_its_parent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torcheer.training.control.controller.subprocess.Popen", popen)
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.replace("NAME", "first"))
    control = Control(f"{script}:loop", folder=tmp_path, values=VALUES)
    control.start()
    new = control.wait(lambda status: status.state == "new" and status.about is not None)
    assert new.about is not None
    assert (control.name, new.about.num_test_items, new.values["fault"]) == ("first", None, "chatter")

    # It goes on whatever it prints, and whatever a terminal sends to everybody.
    ready = do(control, Init(values={}, seed=3))
    assert ready.about is not None
    assert (ready.state, ready.seed, ready.about.num_test_items) == ("ready", 3, small_loop.NUM_ITEMS)
    assert control.pid is not None
    os.kill(control.pid, signal.SIGINT)
    assert do(control, Step(level="trial", count=5)).counters.step == 5
    assert do(control, SetLive(values={"learning_rate": 0.25})).state == "ready"
    assert do(control, commands.TestAll()).refusal == ""
    assert do(control, RunOn()).state == "done"
    rates = tl.open_run(control.status.runs[-1]).scalars("train/lr").values
    assert rates.tolist() == [0.5] * 5 + [0.25] * 15

    # A fault shows with its place; what is repaired meanwhile is taken up.
    do(control, Init(values={"fault": "raise"}, seed=3))
    failed = do(control, RunOn())
    assert failed.state == "failed"
    assert failed.fault is not None
    assert (failed.fault.error, failed.fault.message) == ("ZeroDivisionError", "a fault that was asked for")
    assert failed.fault.place.startswith("small_loop.py, line ")
    assert failed.fault.trace.startswith("Traceback")
    assert "executor.py" not in failed.fault.trace
    assert failed.counters.step == 3
    script.write_text(SCRIPT.replace("NAME", "second"))
    again = do(control, Init(values={"trial_seconds": 0.01}, seed=4))
    assert (again.state, again.fault, control.name) == ("ready", None, "second")
    died = tl.open_run(failed.runs[-1]).status()
    assert (died.state, died.reason) == ("died", "ZeroDivisionError: a fault that was asked for")

    # Where nobody is left who gives commands, it ends by itself, and in order.
    do(control, RunOn(), "busy")
    process = control._process
    assert process is not None
    process.let_end()
    over = control.wait(lambda status: status.state == "died")
    assert over.fault is not None
    assert "exit code 0" in over.fault.message
    assert tl.open_run(over.runs[-1]).status().state == "finished"
    control.do(Stop())
    control.close()


# --- pipes --------------------------------------------------------------------------------------------------


PATIENCE_SECONDS = 30


class Heeding:
    """Takes commands, and says when there are no more."""

    def __init__(self) -> None:
        self.taken: list[Command] = []
        self.has_ended = threading.Event()

    def take(self, command: Command) -> None:
        self.taken.append(command)

    def end(self) -> None:
        self.has_ended.set()


def test_half_a_command_is_the_end_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipes, "exit_within", lambda seconds: None)
    reading, writing = os.pipe()
    os.write(writing, line_of(RunOn()) + line_of(RunOn())[:-5])
    os.close(writing)
    heeding = Heeding()

    pipes.Commands(reading).attach(heeding)

    assert heeding.has_ended.wait(PATIENCE_SECONDS)
    assert heeding.taken == [RunOn()]


def test_reports_and_prints_that_nobody_reads_are_no_fault_of_the_training() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        with pytest.raises(BrokenPipeError):
            os.write(writing, b"x")

        pipes.Reports(writing).send(RefusalReport(message="x"))
        print("x", file=pipes._printing_to(writing, sys.__stderr__ or sys.stderr))
    finally:
        os.close(writing)


def test_prints_are_not_held_back() -> None:
    reading, writing = os.pipe()
    stream = pipes._printing_to(writing, sys.__stderr__ or sys.stderr)
    print("half a character: \ud800", file=stream)

    assert os.read(reading, 100) == b"half a character: \\ud800\n"
    os.close(reading)
    os.close(writing)
