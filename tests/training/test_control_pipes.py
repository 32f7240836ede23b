"""The pipes of a training's process, once whoever held their other ends is gone."""

from __future__ import annotations

import os
import sys
import threading

import pytest

from torcheer.training.control import RunOn
from torcheer.training.control import worker as pipes
from torcheer.training.control.protocol import Command, RefusalReport, line_of

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
