"""Start the process that watches: a new interpreter without the script, or one of multiprocessing's."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.spawn import get_executable
from typing import Any, Final, Protocol

from torcheer.errors import InputError, InspectorError
from torcheer.inspector.callbacks import Callbacks
from torcheer.inspector.child.beginning import begin_in_process
from torcheer.inspector.launchguard import NAME, UNGUARDED, WORDS, usual_start_method

START_METHODS: Final = ("spawn", "fork", "forkserver")

# The places of modules come first: whatever the training could import, the child can.
_CODE: Final = (
    "import sys\n"
    "sys.path[:] = sys.argv[3:]\n"
    "from torcheer.inspector.child.beginning import begin_fresh\n"
    "begin_fresh(int(sys.argv[1]), int(sys.argv[2]))"
)
_SIGNALS: Final = ("SIGINT", "SIGHUP", "SIGTERM")
# A few numbers at a time: more threads would only take the training's cores.
_ONE_THREAD: Final = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class Started(Protocol):
    """A process that was started."""

    @property
    def pid(self) -> int: ...

    def exit_code(self) -> int | None:
        """None while it runs."""

    def kill(self) -> None: ...

    def wait(self) -> object:
        """Until it has ended."""


class Way(Protocol):
    """A way to start the process, found to be possible."""

    def start(self, end: socket.socket) -> Started:
        """With its end of the channel. Raises InputError or InspectorError."""


def way_to_start(callbacks: Callbacks | None, start_method: str | None) -> Way:
    """Raises InputError where the callbacks cannot be handed over that way."""
    if os.name != "posix":
        raise InspectorError(
            "a training is watched from another process with shared memory as Linux and macOS have it, and "
            "this system has not. Log from the training itself: tl.Run."
        )
    if start_method is not None and start_method not in START_METHODS:
        raise InputError(
            f"start_method is {start_method!r}: give one of {', '.join(map(repr, START_METHODS))}, or "
            "leave it out."
        )
    if callbacks is not None and callbacks.is_empty:
        callbacks = None
    if start_method is not None:
        return _Multiprocessing(callbacks, start_method)
    is_bundled = getattr(sys, "frozen", False)  # the executable is the program itself, and no Python
    if callbacks is None and not is_bundled:
        return _Fresh(None)
    pickled = None if callbacks is None or is_bundled else _pickled_without_main(callbacks)
    if pickled is not None:
        return _Fresh(pickled)
    return _Multiprocessing(callbacks, usual_start_method())


def _pickled_without_main(callbacks: Callbacks) -> bytes | None:
    """None where a process that does not have the script's own names could not read them."""
    try:
        pickled = pickle.dumps(callbacks)
    except Exception:
        return None
    return None if b"__main__" in pickled or b"__mp_main__" in pickled else pickled


class _Fresh:
    """A new interpreter. It starts fast, imports no torch, and needs no guard in the script."""

    def __init__(self, pickled: bytes | None) -> None:
        self._pickled = pickled

    def start(self, end: socket.socket) -> Started:
        executable = get_executable()
        if not executable:
            raise InspectorError(
                "there is no Python to start (sys.executable is empty): give start_method='fork'."
            )
        executable = os.fsdecode(executable)
        with _nameless(self._pickled) as pickled, _signals_held_back():
            try:
                process = subprocess.Popen(
                    [executable, "-c", _CODE, str(end.fileno()), str(pickled), *map(str, sys.path)],
                    pass_fds=[end.fileno(), *([pickled] if pickled >= 0 else [])],
                    stdin=subprocess.DEVNULL,
                    env={**os.environ, **_ONE_THREAD},
                )
            except (OSError, ValueError) as error:
                raise InspectorError(
                    f"the process that watches cannot be started ({error}): {executable} is run for it. "
                    "Perhaps there is too little memory, or there are too many processes."
                ) from error
        return _FreshProcess(process)


class _FreshProcess:
    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    def exit_code(self) -> int | None:
        return self._process.poll()

    def kill(self) -> None:
        self._process.kill()

    def wait(self) -> object:
        return self._process.wait()


class _Multiprocessing:
    """A process of multiprocessing: where callbacks are part of the script, or somebody asks for it."""

    def __init__(self, callbacks: Callbacks | None, method: str) -> None:
        self._callbacks, self._method = callbacks, method
        self._context: Any = multiprocessing.get_context(method)

    def start(self, end: socket.socket) -> Started:
        process = self._context.Process(
            target=begin_in_process, args=(end, self._callbacks), name=NAME, daemon=True
        )
        try:
            # The server that forks would hold them back for ever, in all processes that it makes.
            if self._method == "forkserver":
                process.start()
            else:
                with _signals_held_back():
                    process.start()
        except (EOFError, ConnectionError, BrokenPipeError) as error:
            raise InspectorError(WORDS.format(method=self._method)) from error
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise InputError(
                f"the callbacks cannot be handed to another process ({error}): with start_method="
                f"{self._method!r} they must be functions of a module, or methods of objects that pickle; no "
                "lambdas, and no functions inside functions. Or give start_method='fork'."
            ) from error
        except AssertionError as error:
            raise InspectorError(
                "this is a daemon of multiprocessing, which may start no process that way: leave out "
                "start_method, and put callbacks into a module of their own."
            ) from error
        except (OSError, RuntimeError) as error:
            raise InspectorError(
                f"the process that watches cannot be started with start_method={self._method!r} ({error}). "
                "Leave start_method out."
            ) from error
        return _ProcessOfMultiprocessing(process)


class _ProcessOfMultiprocessing:
    def __init__(self, process: Any) -> None:
        self._process = process
        self.pid: int = process.pid

        self._code: int | None = None

    def exit_code(self) -> int | None:
        if self._code is None:
            self._code = self._process.exitcode
            if self._code is not None:
                self._process.close()  # it holds pipes, and would until it is collected
        return self._code

    def kill(self) -> None:
        if self._code is None:
            self._process.kill()

    def wait(self) -> object:
        with suppress(ValueError):  # another thread saw its end
            self._process.join()
        return self.exit_code()


def reason_of(exit_code: int | None, start_method: str | None) -> str:
    """Why a process that was to watch is not there."""
    if exit_code == UNGUARDED:
        return WORDS.format(method=start_method or usual_start_method())
    if exit_code is None:
        return "it does not answer. The machine may be very busy; try again."
    if exit_code < 0:
        with suppress(ValueError):
            return f"it was ended by {signal.Signals(-exit_code).name}. Perhaps there is too little memory."
    hint = "what it printed above says why."
    if start_method in ("spawn", "forkserver"):
        hint += " It runs your script again: guard what trains with `if __name__ == '__main__':`."
    return f"it ended at once, with exit code {exit_code}: {hint}"


@contextmanager
def _signals_held_back() -> Iterator[None]:
    """What comes during the start, a process that does not heed signals yet must not die of."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {getattr(signal, name) for name in _SIGNALS})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _nameless(data: bytes | None) -> Iterator[int]:
    """A descriptor from which the data can be read; -1 for none."""
    if data is None:
        yield -1
        return
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        yield file.fileno()
