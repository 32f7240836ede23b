"""A training's process as its parent sees it: start it, send commands, read reports, end it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final, Protocol

from torcheer.errors import InputError
from torcheer.training.control.control_commands import REPORTS, Command, Report, Value, line_of
from torcheer.training.control.user_code import place_of

# --- what it printed last -----------------------------------------------------------------------------------

_KEPT_BYTES: Final = 1 << 15
_MAX_LINES: Final = 80
# Colours and movements of the cursor, as bars of progress use them.
_ESCAPES: Final = re.compile(
    r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[()#][0-9A-Za-z]|\x1b[=>A-Z]|[\x00-\x08\x0b-\x1f\x7f]"
)


def _last_lines(printed: bytes) -> str:
    """As a terminal would show them: of what was written over, what was written last."""
    lines = [line.rstrip("\r").rpartition("\r")[2] for line in printed.decode("utf-8", "replace").split("\n")]
    shown = [_ESCAPES.sub("", line).rstrip() for line in lines]
    return "\n".join(shown[-_MAX_LINES:]).strip("\n")


# --- the process --------------------------------------------------------------------------------------------

_WORKER: Final = "torcheer.training.control.worker"
_MAX_LINE_BYTES: Final = 16 << 20
_READ_BYTES: Final = 1 << 16
_SEND_SECONDS: Final = 2.0
_WORDS_SECONDS: Final = 0.5  # after the end, for what it said and printed last
_TERM_SECONDS: Final = 1.5  # between asking it to end and killing it


def command_line(
    target: str, folder: str, values: Mapping[str, Value], seed: int | None, search_path: Sequence[str]
) -> list[str]:
    """`search_path`: empty for that of a new interpreter."""
    # -P: a file here that is called as a module of Python's own is not that module.
    line = [sys.executable, "-P", "-m", _WORKER, target, folder, "--values", json.dumps(dict(values))]
    if seed is not None:
        line += ["--seed", str(seed)]
    if search_path:
        line += ["--search-path", json.dumps(list(search_path))]
    return line


class Listener(Protocol):
    """Who hears of a process, in threads of that process's own."""

    def heard(self, process: TrainingProcess, report: Report) -> None: ...

    def ended(self, process: TrainingProcess, message: str) -> None:
        """`message` says how, in words; `process.last_lines()` what it printed last."""


class TrainingProcess:
    """One process. What it prints goes on to our standard error."""

    def __init__(self, line: Sequence[str], listener: Listener) -> None:
        self._listener = listener
        pipe = subprocess.PIPE
        try:
            # A process group of its own: Ctrl-C in the terminal is for us.
            self._process = subprocess.Popen(line, stdin=pipe, stdout=pipe, stderr=pipe, process_group=0)
        except OSError as error:
            raise InputError(f"no process can be started for the training: {error}.") from error
        self.pid = self._process.pid
        self.is_over = threading.Event()
        self._sending = threading.Lock()
        self._unsent = b""
        self._has_spoken = False
        self._garbage = ""  # what it sent that is no report
        self._printed = b""  # the end of it
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._stdin, self._stdout, self._stderr = process.stdin, process.stdout, process.stderr
        os.set_blocking(self._stdin.fileno(), False)
        self._reading = [self._start(self._pass_on_prints, "prints"), self._start(self._listen, "reports")]
        self._start(self._wait, "end")

    def _start(self, work: Callable[[], None], name: str) -> threading.Thread:
        thread = threading.Thread(target=work, name=f"torcheer {name} of {self.pid}", daemon=True)
        thread.start()
        return thread

    def send(self, command: Command) -> None:
        """Pass a command on. InputError where the process does not take it."""
        end = time.monotonic() + _SEND_SECONDS
        with self._sending:
            self._unsent += line_of(command)  # after what is left of the one before: these are lines
            while self._unsent:
                try:
                    self._unsent = self._unsent[os.write(self._stdin.fileno(), self._unsent) :]
                except BlockingIOError:
                    if time.monotonic() > end:
                        raise InputError(
                            "the training takes no commands: it may hang. Abort ends its process."
                        ) from None
                    time.sleep(0.01)
                except (OSError, ValueError):
                    raise InputError(
                        "the process of the training has just ended: Init starts another one."
                    ) from None

    def let_end(self) -> None:
        """There are no more commands: it ends by itself, after this trial."""
        with self._sending, suppress(OSError):
            self._stdin.close()
        if not self._has_spoken:  # it is still being imported: there is nothing to be lost
            self._process.kill()

    def terminate(self) -> None:
        """End it soon: in order where it can, by force where it cannot."""
        self._start(self._terminate, "end")

    def _terminate(self) -> None:
        self._process.terminate()
        if not self.is_over.wait(_TERM_SECONDS):
            self._process.kill()

    def last_lines(self) -> str:
        return _last_lines(self._printed)

    def _listen(self) -> None:
        try:
            with self._stdout as pipe:
                while (line := pipe.readline(_MAX_LINE_BYTES)).endswith(b"\n"):
                    self._has_spoken = True
                    self._listener.heard(self, REPORTS.decode(line))
            if len(line) == _MAX_LINE_BYTES:
                raise ValueError(f"a line of more than {_MAX_LINE_BYTES:,} bytes")
        except ValueError as error:  # msgspec's errors are ValueErrors
            self._garbage = str(error)
            self._process.kill()

    def _wait(self) -> None:
        code = self._process.wait()
        for thread in self._reading:  # what the training has started may hold the pipes open longer
            thread.join(_WORDS_SECONDS)
        self.let_end()
        self.is_over.set()
        self._listener.ended(self, _words_for(code, self._garbage))

    def _pass_on_prints(self) -> None:
        with self._stderr as pipe:
            while data := os.read(pipe.fileno(), _READ_BYTES):
                self._printed = (self._printed + data)[-_KEPT_BYTES:]
                with suppress(OSError, ValueError):
                    _print(data)


def wait_for_all(processes: Sequence[TrainingProcess], seconds: float) -> None:
    """Until they are over, or so long."""
    end = time.monotonic() + seconds
    for process in processes:
        process.is_over.wait(max(0.0, end - time.monotonic()))


def _print(data: bytes) -> None:
    buffer = getattr(sys.stderr, "buffer", None)
    if buffer is None:  # in a notebook, for one
        sys.stderr.write(data.decode("utf-8", "replace"))
    else:
        buffer.write(data)
        buffer.flush()


# --- what a page is told of its end -------------------------------------------------------------------------

_SIGNALS: Final[Mapping[int, str]] = {
    signal.SIGKILL: "it was killed (SIGKILL), by somebody, or by the system because memory was short.",
    signal.SIGSEGV: "it crashed (SIGSEGV): compiled code touched memory that is not its own.",
    signal.SIGBUS: "it crashed (SIGBUS): shared memory may be full, as with many workers of a DataLoader.",
}
_NO_REPORT: Final = (
    "it was ended, since it sent what is no report ({garbage}): does the training write to a file descriptor "
    "that is not its own?"
)
# What faulthandler writes of the thread that crashed, the innermost call first.
_CRASHED: Final = re.compile(r"^Current thread .*\n((?:  File .*\n?)+)", re.MULTILINE)
_FRAME: Final = re.compile(r'  File "([^"]+)", line (\d+) in (\S+)')


def _words_for(code: int, garbage: str) -> str:
    if garbage:
        return _NO_REPORT.format(garbage=garbage)
    if code >= 0:
        return f"it ended by itself with exit code {code}."
    with suppress(ValueError):
        return _SIGNALS.get(-code) or f"it was ended by {signal.Signals(-code).name}."
    return f"it was ended by signal {-code}."


def crash_place(last_lines: str) -> str:
    """Where faulthandler says that it crashed; empty where it says nothing."""
    crashed = _CRASHED.search(last_lines)
    if crashed is None:
        return ""
    frames = [(file, int(line), name) for file, line, name in _FRAME.findall(crashed[1])]
    return place_of(frames[::-1])
