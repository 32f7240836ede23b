"""The pipes of a training's process: commands in, reports out, and nothing of the user's code in between."""

from __future__ import annotations

import io
import os
import sys
import threading
from contextlib import suppress
from typing import Any, Final, Protocol, TextIO

from torcheer.training.control.protocol import COMMANDS, Command, Report, line_of

_END_SECONDS: Final = 10.0  # for a trial to end and files to be closed, once there are no more commands


class Obedient(Protocol):
    """Somebody who takes commands, in whichever thread they come."""

    def take(self, command: Command) -> None: ...

    def end(self) -> None:
        """There are no more."""


class Reports:
    """Where reports go. Where nobody reads them they are lost: the commands end then, too."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()

    def send(self, report: Report) -> None:
        rest = memoryview(line_of(report))
        with self._lock, suppress(OSError):
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]


class Commands:
    """Reads commands in a thread of its own, from the beginning: those that come early are kept."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()
        self._early: list[Command] = []
        self._obedient: Obedient | None = None
        self._has_ended = False
        threading.Thread(target=self._read, name="torcheer commands", daemon=True).start()

    def attach(self, obedient: Obedient) -> None:
        """Give them to this one from now on."""
        with self._lock:
            self._obedient = obedient
            for command in self._early:
                obedient.take(command)
            if self._has_ended:
                obedient.end()

    def _read(self) -> None:
        try:
            with open(self._descriptor, "rb") as lines:
                for line in lines:
                    if not line.endswith(b"\n"):
                        break  # half a line: whoever wrote it was killed
                    self._pass_on(COMMANDS.decode(line))
        finally:
            self._end()

    def _pass_on(self, command: Command) -> None:
        with self._lock:
            if self._obedient is None:
                self._early.append(command)
            else:
                self._obedient.take(command)

    def _end(self) -> None:
        """There are no more: the process has to go, in order or not."""
        exit_within(_END_SECONDS)
        with self._lock:
            self._has_ended = True
            if self._obedient is not None:
                self._obedient.end()


class _Prints(io.FileIO):
    """A descriptor to print to. What nobody reads any more is lost, and no fault of the training."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            return memoryview(data).nbytes


def take_pipes() -> tuple[Commands, Reports]:
    """Keep standard input and output for ourselves: the user's code reads nothing, and prints to stderr."""
    commands, reports = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout, sys.stderr = _printing_to(1, sys.stdout), _printing_to(2, sys.stderr)
    return Commands(commands), Reports(reports)


def _printing_to(descriptor: int, former: TextIO) -> TextIO:
    """A stream that holds no line back: what was printed before a crash is to be seen."""
    former.flush()
    buffer = io.BufferedWriter(_Prints(descriptor, "w", closefd=False))
    return io.TextIOWrapper(buffer, encoding=former.encoding, errors="backslashreplace", line_buffering=True)


def exit_within(seconds: float) -> None:
    """Whatever hangs, the process is gone by then."""
    timer = threading.Timer(seconds, os._exit, [1])
    timer.daemon = True
    timer.start()
