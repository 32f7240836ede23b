"""`Control` runs a training in another process; `tl.control` opens its page. No torch here."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import asdict, replace

from torcheer.errors import InputError
from torcheer.training.control import control_commands as commands
from torcheer.training.control.user_code import chosen_values, have_changed, place_of, read_target, target_of

if TYPE_CHECKING:
    from torcheer.training.loop.loop import Loop


_KEPT_BYTES: Final = 1 << 15
_MAX_LINES: Final = 80
# Colours and movements of the cursor, as bars of progress use them.
_ESCAPES: Final = re.compile(
    r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[()#][0-9A-Za-z]|\x1b[=>A-Z]|[\x00-\x08\x0b-\x1f\x7f]"
)


def last_lines(printed: bytes) -> str:
    """As a terminal would show them: of what was written over, what was written last."""
    lines = [line.rstrip("\r").rpartition("\r")[2] for line in printed.decode("utf-8", "replace").split("\n")]
    shown = [_ESCAPES.sub("", line).rstrip() for line in lines]
    return "\n".join(shown[-_MAX_LINES:]).strip("\n")


_WORKER: Final = "torcheer.training.control.worker"
_MAX_LINE_BYTES: Final = 16 << 20
_READ_BYTES: Final = 1 << 16
_SEND_SECONDS: Final = 2.0
_WORDS_SECONDS: Final = 0.5  # after the end, for what it said and printed last
_MUTE_SECONDS: Final = 10.0  # for a process that says no more
_TERM_SECONDS: Final = 1.5  # between asking it to end and killing it


class TrainingProcess:
    """One process. What it prints goes on to our standard error."""

    def __init__(self, line: Sequence[str], control: Control) -> None:
        self._control = control  # is told of it, in threads of this process
        pipe = subprocess.PIPE
        try:
            # A process group of its own: Ctrl-C in the terminal is for us.
            process: Any = subprocess.Popen(line, stdin=pipe, stdout=pipe, stderr=pipe, process_group=0)
        except OSError as error:
            raise InputError(f"no process can be started for the training: {error}.") from error
        self._process, self.pid = process, process.pid
        self.is_over = threading.Event()  # and its last words were heard
        self._has_ended = threading.Event()
        self._sending = threading.Lock()
        self._unsent = b""
        self._has_spoken = False
        self._garbage = ""  # what it sent that is no report
        self.printed = b""  # the end of it
        self._stdin, self._stdout, self._stderr = process.stdin, process.stdout, process.stderr
        os.set_blocking(self._stdin.fileno(), False)
        self._reading = [self._start(self._pass_on_prints, "prints"), self._start(self._listen, "reports")]
        self._start(self._wait, "end")

    def _start(self, work: Callable[[], None], name: str) -> threading.Thread:
        thread = threading.Thread(target=work, name=f"torcheer {name} of {self.pid}", daemon=True)
        thread.start()
        return thread

    def send(self, command: commands.Command) -> None:
        """InputError where the process does not take it."""
        end = time.monotonic() + _SEND_SECONDS
        with self._sending:
            self._unsent += commands.line_of(command)  # after what is left of the one before: these are lines
            while self._unsent:
                try:
                    self._unsent = self._unsent[os.write(self._stdin.fileno(), self._unsent) :]
                except BlockingIOError:
                    if time.monotonic() > end:
                        raise InputError("the training takes no commands: Abort ends its process.") from None
                    time.sleep(0.01)
                except (OSError, ValueError):
                    raise InputError("the process has just ended: Init starts another one.") from None

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

    def _listen(self) -> None:
        try:
            with self._stdout as pipe:
                while (line := pipe.readline(_MAX_LINE_BYTES)).endswith(b"\n"):
                    self._has_spoken = True
                    self._control.heard(self, commands.REPORTS.decode(line))
            if len(line) == _MAX_LINE_BYTES:
                raise ValueError(f"a line of more than {_MAX_LINE_BYTES:,} bytes")
            if not self._has_ended.wait(_MUTE_SECONDS):  # it goes on where nobody hears of it
                raise ValueError("it closed its pipe")
        except ValueError as error:  # msgspec's errors are ValueErrors
            self._garbage = str(error)
            self._process.kill()

    def _wait(self) -> None:
        code = self._process.wait()
        self._has_ended.set()
        for thread in self._reading:  # what the training has started may hold the pipes open longer
            thread.join(_WORDS_SECONDS)
        self.let_end()
        self.is_over.set()
        self._control.ended(self, _words_for(code, self._garbage))

    def _pass_on_prints(self) -> None:
        with self._stderr as pipe:
            while data := os.read(pipe.fileno(), _READ_BYTES):
                self.printed = (self.printed + data)[-_KEPT_BYTES:]
                buffer = getattr(sys.stderr, "buffer", None)  # a notebook's has none
                with suppress(OSError, ValueError):
                    if buffer is None:
                        sys.stderr.write(data.decode("utf-8", "replace"))
                    else:
                        buffer.write(data)
                        buffer.flush()


def wait_for_all(processes: Sequence[TrainingProcess], seconds: float) -> None:
    """Until they are over, or so long."""
    end = time.monotonic() + seconds
    for process in processes:
        process.is_over.wait(max(0.0, end - time.monotonic()))


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


def _fault_of_end(process: TrainingProcess, message: str, doing: str) -> commands.Fault:
    during, printed = f" during {doing}" if doing else "", last_lines(process.printed)
    crashed = _CRASHED.search(printed)
    frames = [] if crashed is None else _FRAME.findall(crashed[1])
    return commands.Fault(
        error="",
        message=f"The process of the training is gone{during}: {message}",
        place=place_of([(file, int(line), name) for file, line, name in reversed(frames)]),
        trace=printed,
    )


_LEAVE_SECONDS: Final = 1.0  # for the end of a trial, when the server ends
_CLOSE_SECONDS: Final = 4.0  # then it is left to itself


class Status(commands.StatusReport, frozen=True, kw_only=True):
    """All that is known of a training. What the process said last stays when it is gone."""

    about: commands.About | None = None  # None until the process has come up for the first time
    all_runs: Sequence[str] = ()  # those of earlier Inits, too
    fault: commands.Fault | None = None
    refusal: str = ""  # why the last command was not carried out
    refused_field: str = ""


class Control:
    """A training that can be controlled. Its methods may be called from any thread."""

    def __init__(
        self,
        target: str,
        *,
        folder: str | os.PathLike[str] = "runs",
        values: Mapping[str, commands.Value] | None = None,
        seed: int | None = None,
        search_path: Sequence[str] = (),
    ) -> None:
        """Nothing is started yet.

        - `target`: `path/to/file.py:function` or `package.module:function`, which returns a `tl.Loop`.
        - `folder`: where its runs go.
        - `values`, `seed`: to begin with, over those of the code.
        - `search_path`: where modules are looked for, if not where a new interpreter does.
        """
        self.target = read_target(target)
        for name, value in dict[str, Any](values or {}).items():
            if not isinstance(value, commands.Value):
                what = type(value).__name__
                raise InputError(f"{name!r} is to be a {what}: give a number, a text, True, False or None.")
        self.folder = Path(os.path.abspath(folder))
        self.id = hashlib.blake2s(f"{self.target}\0{self.folder}".encode(), digest_size=8).hexdigest()
        self._preset = dict(values or {})
        self._seed, self._search_path = seed, tuple(search_path)
        self._changed = threading.Condition()
        self._status = Status(values=self._preset, seed=seed or 0)
        self._process: TrainingProcess | None = None
        # Those that are not over: this one, and any that takes its time to end.
        self._all: list[TrainingProcess] = []
        self._num_sent = 0  # commands, to this process
        self._sources: Mapping[str, int] = {}  # of this process
        self._is_aborted = False
        self._is_closed = False
        self._listeners: list[Callable[[], None]] = []

    @property
    def name(self) -> str:
        about = self.status.about
        return (about.name if about else "") or self.target.title

    @property
    def status(self) -> Status:
        return self._status

    @property
    def pid(self) -> int | None:
        """Of the process; None where there is none."""
        process = self._process
        return None if process is None else process.pid

    @contextmanager
    def listening(self, listener: Callable[[], None]) -> Iterator[None]:
        """Call this whenever the status has changed, in whichever thread that happens."""
        with self._changed:
            self._listeners.append(listener)
        try:
            yield
        finally:
            with self._changed:
                self._listeners.remove(listener)

    def wait(self, is_wanted: Callable[[Status], bool], seconds: float = 60.0) -> Status:
        """The first status from now on that is wanted. TimeoutError where none comes."""
        end = time.monotonic() + seconds
        with self._changed:
            while not is_wanted(self._status):
                if not self._changed.wait(end - time.monotonic()):
                    raise TimeoutError(f"{self.name} is {self._status.state} after {seconds:g} s")
            return self._status

    def start(self) -> None:
        """Let the process come up, where there was none yet."""
        with self._changed:
            if self._process is None and self._status.state == "new" and not self._is_closed:
                self._begin()
        self._tell()

    def do(self, command: commands.Command) -> None:
        """Pass a command on. InputError where it makes no sense now; what comes of it, the status tells."""
        with self._changed:
            self._refuse_when_closed()
            status = self._status
            is_gone = self._process is None or status.state in ("failed", "died")
            reason = commands.why_not(command, status.state, status.doing)
            if reason and not (is_gone and isinstance(command, commands.Init)):
                raise InputError(reason)
            if isinstance(command, commands.Init) and (is_gone or have_changed(self._sources)):
                chosen = chosen_values(command.values, status.about, self._preset)
                command = commands.Init(values=chosen, seed=command.seed)
                self._begin()
            process, former = self._process, self._status
            if process is None:
                return  # `Stop`, where there is nothing to be stopped
            self._num_sent += 1
            self._status = expected = _expected(former, command)
        try:
            process.send(command)
        except InputError:
            with self._changed:
                if self._process is process:
                    self._num_sent -= 1
                if self._status is expected:  # and nothing was heard meanwhile, such as why it has ended
                    self._status = former
            raise
        finally:
            self._tell()

    def abort(self) -> None:
        """End the process, whatever it is doing. What is in memory only is lost, the runs stay."""
        with self._changed:
            process = self._process
            if process is None:
                raise InputError("there is no process of this training to be ended.")
            self._is_aborted = True
        process.terminate()

    def close(self) -> None:
        """End the process, after its trial where that does not take long, and wait for that."""
        close_all([self])

    def _begin(self) -> None:
        self._refuse_when_closed()
        if self._process is not None:
            self._process.let_end()  # it has failed, and is on its way; or its code is an old one
        self._is_aborted = False
        self._num_sent = 0
        self._sources = {}
        options = {"values": self._preset, "seed": self._seed, "search_path": self._search_path}
        # -P: a file here that is called as a module of Python's own is not that module.
        line = [sys.executable, "-P", "-m", _WORKER, str(self.target), str(self.folder), json.dumps(options)]
        self._process = TrainingProcess(line, self)
        self._all.append(self._process)
        self._status = replace(self._status, state="starting", doing="", note="", fault=None)

    def _refuse_when_closed(self) -> None:
        if self._is_closed:
            raise InputError("this training cannot be controlled any more: its server has ended.")

    def heard(self, process: TrainingProcess, report: commands.Report) -> None:
        with self._changed:
            if process is not self._process:
                return
            match report:
                case commands.AboutReport(about=about):
                    self._status = replace(self._status, about=about)
                    self._sources = {**report.sources, **self._sources}  # as they were when first seen
                case commands.StatusReport():
                    self._take(report)
                case commands.FaultReport(fault=fault):
                    self._status = replace(self._status, fault=fault)
                    if fault.error != SystemExit.__name__:
                        self._status = replace(self._status, state="failed", doing="")
                case commands.RefusalReport():
                    self._status = replace(self._status, refusal=report.message, refused_field=report.field)
        self._tell()

    def _take(self, report: commands.StatusReport) -> None:
        former = self._status
        if report.num_taken < self._num_sent or former.fault is not None:
            return  # it was made before the last command was heard, or by a thread that knows of no fault
        # A new process begins with the values of the code; those in force before it come again with Init.
        said = asdict(report)
        if report.state == "starting" and former.about is not None:
            said |= {"values": former.values, "seed": former.seed}
        all_runs = tuple(dict.fromkeys((*former.all_runs, *report.runs)))
        self._status = replace(former, **said, all_runs=all_runs)

    def ended(self, process: TrainingProcess, message: str) -> None:
        with self._changed:
            self._all.remove(process)
            if process is self._process:
                self._process = None
                status = self._status
                if status.state != "failed":
                    message = "it was ended on request." if self._is_aborted else message
                    fault = status.fault or _fault_of_end(process, message, status.doing)
                    self._status = replace(status, state="died", doing="", fault=fault)
        self._tell()

    def _tell(self) -> None:
        with self._changed:
            self._changed.notify_all()
            listeners = list(self._listeners)
        for listener in listeners:
            listener()


def _expected(status: Status, command: commands.Command) -> Status:
    """What the process will say when it has heard the command."""
    status = replace(status, refusal="", refused_field="")
    if isinstance(command, commands.Stop):
        return replace(status, state="stopping") if status.state == "busy" else status
    if isinstance(command, commands.SetLive):
        return status
    return replace(
        status,
        state="starting" if isinstance(command, commands.Init) else "busy",
        doing=commands.doing_of(command),
    )


def close_all(controls: Sequence[Control]) -> None:
    """End the processes of several, side by side."""
    processes: list[TrainingProcess] = []
    for control in controls:
        with control._changed:
            control._is_closed = control._is_aborted = True
            processes += control._all
    for process in processes:
        process.let_end()
    wait_for_all(processes, _LEAVE_SECONDS)
    for process in processes:
        if not process.is_over.is_set():
            process.terminate()
    wait_for_all(processes, _CLOSE_SECONDS)


def control(
    loop: Callable[[], Loop[Any]] | Loop[Any],
    *,
    folder: str | os.PathLike[str] | None = None,
    values: Mapping[str, commands.Value] | None = None,
    seed: int | None = None,
    open_browser: bool = True,
    port: int | None = None,
) -> str | None:
    """Open the page from which a training is initialised, stepped, run, stopped and tested.

    - `loop`: a function that takes nothing and returns a `tl.Loop`, or a `tl.Loop`, at the level of its
      module: another process imports it from there. Call this under `if __name__ == "__main__":`.
    - `folder`: where its runs go; `runs` by default.
    - `values`, `seed`: to begin with, over those of the code.
    - `port`: on which the page is served; one that is free by default.

    It serves until Ctrl-C, and the training ends with it. In a notebook it goes on beside the cells, and
    returns the address.
    """
    main = sys.modules.get("__main__")
    if getattr(getattr(main, "__spec__", None), "name", "") == _WORKER:
        raise InputError(
            "tl.control was called while its own process imports the training: put the call under "
            "`if __name__ == '__main__':`."
        )
    from torcheer.training.loop.loop import checked_seed

    made = Control(
        str(target_of(loop)),
        folder=getattr(loop, "folder", "runs") if folder is None else folder,
        values=values,
        seed=None if seed is None else checked_seed(seed),
        # What is no folder or archive is a mark of some finder, which knows it by its name.
        search_path=[os.path.abspath(entry) if os.path.exists(entry or ".") else entry for entry in sys.path],
    )
    # The one seam upwards: the app stands above this room.
    page = importlib.import_module("torcheer.app")
    address: str | None = page.show_control(made, open_browser=open_browser, port=port)
    return address
