"""A training's process that ends as it should not: what is known of it, and that another one can begin."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.training import fake_worker
from tests.training.fake_worker import ACTS
from torcheer.errors import InputError
from torcheer.training.control import Control, Fault, Init, RunOn, Status, Step, Stop
from torcheer.training.control import controller as control_module
from torcheer.training.control import controller as process_module
from torcheer.training.control.control_commands import FaultReport
from torcheer.training.control.controller import TrainingProcess

ROOT = Path(__file__).parents[2]
TARGET = "tests.training.small_loop:loop"


@pytest.fixture
def control(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Control]:
    """With a process that has no torch, and is there at once."""
    monkeypatch.setattr(process_module, "_WORKER", fake_worker.__name__)
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}{os.pathsep}{ROOT / 'src'}")
    monkeypatch.setattr(process_module, "_MUTE_SECONDS", 0.2)
    monkeypatch.setattr(process_module, "_TERM_SECONDS", 0.2)
    monkeypatch.setattr(control_module, "_LEAVE_SECONDS", 0.2)
    made = Control(TARGET, folder=tmp_path)
    yield made
    made.close()


def until(control: Control, *states: str) -> Status:
    return control.wait(lambda status: status.state in states)


def act(control: Control, name: str, *, ends: bool = True) -> Status:
    """Let the process do something."""
    number = next(number for number, act in enumerate(ACTS) if act.__name__ == f"_{name}")
    control.do(Init(values={"rate": 0.25}, seed=number))
    until(control, "ready")
    control.do(RunOn())
    return until(control, "failed", "died") if ends else until(control, "busy")


@pytest.mark.parametrize(
    ("name", "message", "trace"),
    [
        ("exit_after_a_word", "it ended by itself with exit code 9", "step 2\nthese are its last words"),
        ("kill_itself", "it was killed (SIGKILL)", ""),
        ("crash", "it crashed (SIGSEGV)", "Fatal Python error: Segmentation fault"),
        ("say_what_is_no_report", "it sent what is no report", ""),
        ("never_end_a_line", "it sent what is no report (a line of more than", ""),
        ("print_megabytes", "exit code 1", "the end"),
        ("leave_a_child", "exit code 4", ""),
        ("close_its_pipe", "it sent what is no report (it closed its pipe)", ""),
    ],
)
def test_a_death_is_told_in_words_and_another_process_can_begin(
    control: Control, name: str, message: str, trace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_module, "_MAX_LINE_BYTES", 1 << 20)
    dead = act(control, name)

    assert dead.state == "died"
    assert dead.fault is not None
    assert message in dead.fault.message
    assert "during Run" in dead.fault.message
    assert trace in dead.fault.trace
    assert len(dead.fault.trace) < 100_000
    assert (dead.values, dead.runs) == ({"rate": 0.25}, (f"{control.folder}/fake/run-0",))
    assert control.pid is None

    control.do(Init(values={}, seed=99))
    again = until(control, "ready")
    assert (again.fault, again.seed, again.all_runs) == (None, 99, dead.all_runs)


def test_a_crash_names_the_line_that_crashed(control: Control) -> None:
    dead = act(control, "crash")

    assert dead.fault is not None
    assert dead.fault.place.startswith("fake_worker.py, line ")
    assert dead.fault.place.endswith("in _crash")


def test_init_takes_up_a_file_that_was_changed_while_all_is_well(control: Control, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("def loop(): ...  # 0.5")
    changing = Control(f"{script}:loop", folder=tmp_path)
    changing.do(Init(values={}, seed=99))
    until(changing, "ready")
    first = changing.pid
    changing.do(Init(values={"rate": 0.25}, seed=99))
    assert until(changing, "ready").values == {"rate": 0.25}
    assert changing.pid == first

    script.write_text("def loop(): ...  # 0.75")
    # The rate is what the code had, so that of the new code counts; the other one somebody chose.
    changing.do(Init(values={"rate": 0.5, "chosen": 3}, seed=99))
    again = until(changing, "ready")
    assert (changing.pid != first, again.fault) == (True, None)
    assert again.values == {"rate": 0.75, "chosen": 3}
    changing.close()


def test_an_exception_is_a_failure_and_an_exit_a_death(control: Control) -> None:
    act(control, "raise")
    failed = control.wait(lambda status: control.name == "has failed")
    assert (failed.state, failed.doing) == ("failed", "")
    assert failed.fault is not None
    assert (failed.fault.error, failed.fault.place) == ("ZeroDivisionError", "net.py, line 3")
    with pytest.raises(InputError, match="Init starts it anew"):
        control.do(RunOn())

    left = act(control, "exit_in_order")
    assert left.state == "died"
    assert left.fault is not None
    assert (left.fault.error, left.fault.message) == ("SystemExit", "sys.exit(5)")


def test_what_does_not_end_when_it_is_told_to_is_killed(control: Control) -> None:
    act(control, "heed_nobody", ends=False)
    control.abort()
    dead = until(control, "died")

    assert dead.fault is not None
    assert "it was ended on request" in dead.fault.message
    with pytest.raises(InputError, match="no process"):
        control.abort()


def test_a_parent_leaves_no_process_and_no_zombie_behind(control: Control) -> None:
    act(control, "heed_nobody", ends=False)
    pid = control.pid
    assert pid is not None

    control.close()

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    with pytest.raises(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    with pytest.raises(InputError, match="server has ended"):
        control.do(Init(values={}, seed=1))


def test_a_process_that_reads_no_commands_does_not_hold_up_the_one_who_gives_them(
    control: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_module, "_SEND_SECONDS", 0.05)
    act(control, "heed_nobody", ends=False)

    def go_on() -> None:
        while True:
            control.do(Stop())

    with pytest.raises(InputError, match="takes no commands"):
        go_on()
    assert control.status.state == "stopping"


def test_commands_that_make_no_sense_are_refused_with_what_to_do(control: Control) -> None:
    control.do(Stop())  # there is nothing to stop, and nothing wrong with that
    assert control.pid is None
    with pytest.raises(InputError, match="Init comes first"):
        control.do(Step(level="trial", count=1))
    control.do(Init(values={}, seed=len(ACTS)))  # which goes on until it is stopped
    until(control, "ready")
    control.do(RunOn())
    for command in (RunOn(), Init(values={}, seed=1)):
        with pytest.raises(InputError, match="Run is under way: stop it first"):
            control.do(command)
    control.do(Stop())
    assert control.status.state in ("stopping", "ready")  # it may have stopped already
    assert until(control, "ready").counters.step == 2


def test_the_interrupt_of_a_terminal_does_not_reach_the_training(control: Control) -> None:
    control.start()
    until(control, "new")
    assert control.pid is not None

    assert os.getpgid(control.pid) != os.getpgrp()


def test_a_file_that_is_called_as_a_module_of_pythons_own_does_not_take_its_place(
    control: Control, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "subprocess.py").write_text("raise AssertionError")
    monkeypatch.chdir(tmp_path)

    control.do(Init(values={}, seed=len(ACTS)))
    assert until(control, "ready", "died").state == "ready"


def test_why_it_ended_is_not_lost_to_a_command_that_comes_too_late(
    control: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    control.do(Init(values={}, seed=len(ACTS)))
    until(control, "ready")
    control.do(RunOn())
    fault = Fault(error="ValueError", message="too late", place="", trace="")

    def fail_meanwhile(process: TrainingProcess, command: object) -> None:
        control.heard(process, FaultReport(fault=fault))
        raise InputError("it has just ended")

    monkeypatch.setattr(TrainingProcess, "send", fail_meanwhile)
    with pytest.raises(InputError, match="just ended"):
        control.do(Stop())
    assert (control.status.state, control.status.fault) == ("failed", fault)


def test_a_training_that_cannot_be_started_is_refused(
    control: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_memory(*arguments: object, **options: object) -> None:
        raise OSError("no memory")

    monkeypatch.setattr(subprocess, "Popen", no_memory)
    with pytest.raises(InputError, match="no memory"):
        control.do(Init(values={}, seed=1))
    assert control.status.state == "new"


def test_signals_that_are_not_known_are_told_by_name(control: Control) -> None:
    control.do(Init(values={}, seed=len(ACTS)))
    until(control, "ready")
    assert control.pid is not None
    os.kill(control.pid, signal.SIGUSR1)

    dead = until(control, "died")
    assert dead.fault is not None
    assert "it was ended by SIGUSR1" in dead.fault.message
