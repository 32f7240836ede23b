"""A training's process, `python -m torcheer.training.control.worker TARGET FOLDER OPTIONS`.

Commands come by what was its standard input, reports go by what was its standard output; what the user's code
prints goes to standard error. It ends when the commands do, which is also when whoever gave them is gone.
"""

from __future__ import annotations

import faulthandler
import io
import json
import os
import signal
import sys
import threading
import traceback
from contextlib import ExitStack, suppress
from functools import partial
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Final, NoReturn, TextIO

import msgspec

from torcheer.errors import InputError
from torcheer.training.control.control_commands import COMMANDS, Command, FaultReport, Report, line_of
from torcheer.training.control.user_code import fault_of, is_of_the_user, read_target

if TYPE_CHECKING:
    from torcheer.training.control.executor import Executor
    from torcheer.training.loop.loop import Loop


_END_SECONDS: Final = 10.0  # for a trial to end and files to be closed, once there are no more commands


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
        self._executor: Executor | None = None
        self._has_ended = False
        threading.Thread(target=self._read, name="torcheer commands", daemon=True).start()

    def attach(self, executor: Executor) -> None:
        """Give them to this one from now on."""
        with self._lock:
            self._executor = executor
            for command in self._early:
                executor.take(command)
            if self._has_ended:
                executor.end()

    def _read(self) -> None:
        try:
            with open(self._descriptor, "rb") as lines:
                for line in lines:
                    if not line.endswith(b"\n"):
                        break  # half a line: whoever wrote it was killed
                    command = COMMANDS.decode(line)
                    with self._lock:
                        if self._executor is None:
                            self._early.append(command)
                        else:
                            self._executor.take(command)
        finally:  # there are no more: the process has to go, in order or not
            exit_within(_END_SECONDS)
            with self._lock:
                self._has_ended = True
                if self._executor is not None:
                    self._executor.end()


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


FAILED: Final = 3  # the exit code after an exception of the training, which was reported
_CLOSING_SECONDS: Final = 10.0
_TERMINATED: Final = 128 + signal.SIGTERM


class Aborted(SystemExit):
    """Somebody sent SIGTERM. No `except Exception` in the user's code takes it for an error."""

    def __str__(self) -> str:
        return "ended on request"


def main() -> None:
    target, folder, text = sys.argv[1:]
    options = json.loads(text)  # values, seed, search_path
    if options["search_path"]:
        sys.path[:] = options["search_path"]  # whatever could be imported where the training was named
    commands, reports = take_pipes()
    faulthandler.enable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for a whole group of processes: the server decides
    signal.signal(signal.SIGTERM, _abort)
    sys.argv = [target.rpartition(":")[0]]
    with ExitStack() as ending:  # what went wrong is reported before anything is closed
        try:
            # Not before the pipes are ours: what torch prints when it is imported is no report.
            from torcheer.training.control.executor import (
                Executor,
                leave_a_core_free,
                load_loop,
                pass_on_warnings,
            )

            leave_a_core_free()
            loop = load_loop(read_target(target))
            loop.folder = folder
            ending.push(partial(_close, loop))
            executor = Executor(loop, reports.send, options["values"], options["seed"])
            pass_on_warnings(executor.note)
            executor.introduce()
            commands.attach(executor)
            executor.carry_out_all()
        except Aborted:
            raise
        except SystemExit as error:
            message = f"the training called sys.exit({error.code!r})"
            reports.send(FaultReport(fault=msgspec.structs.replace(fault_of(error), message=message)))
            raise
        except BaseException as error:
            if isinstance(error, InputError) and not is_of_the_user(error):
                error.__traceback__ = None  # its sentence says all; our lines say nothing to anybody
            reports.send(FaultReport(fault=fault_of(error)))
            with suppress(Exception):  # the training may have closed where it goes
                traceback.print_exception(error)
            raise SystemExit(FAILED) from error


def _close(
    loop: Loop[Any],
    kind: type[BaseException] | None,
    error: BaseException | None,
    trace: TracebackType | None,
) -> None:
    """End the run in order, with what it died of."""
    exit_within(_CLOSING_SECONDS)
    with suppress(Exception):  # what went wrong before is what counts
        loop.close(error and (error.__cause__ or error))


def _abort(number: int, frame: FrameType | None) -> NoReturn:
    raise Aborted(_TERMINATED)


if __name__ == "__main__":
    main()
