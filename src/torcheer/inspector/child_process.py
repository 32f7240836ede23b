"""The process that watches, from the training's side: how it is started, spoken to, and ended.

It is a new interpreter without the script, or a process of multiprocessing where callbacks are part of the
script.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing.spawn import get_executable
from typing import Any, Final

from torcheer.errors import InputError, InspectorError
from torcheer.inspector.protocol import Callbacks, Channel, ToParent, to_child, wait_for

# The places of modules come first: whatever the training could import, the child can.
_CODE: Final = (
    "import sys\n"
    "sys.path[:] = sys.argv[3:]\n"
    "from torcheer.inspector.child.lifetime import begin_fresh\n"
    "begin_fresh(int(sys.argv[1]), int(sys.argv[2]))"
)
_SIGNALS: Final = ("SIGINT", "SIGHUP", "SIGTERM")
# A few numbers at a time: more threads would only take the training's cores.
_ONE_THREAD: Final = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
_DYING_SECONDS: Final = 3.0  # for a process that has closed its channel


# --- forks of the training ------------------------------------------------------------------------------


_of_the_training: weakref.WeakSet[Any] = weakref.WeakSet()


def forget_in_forks(one: Any) -> None:
    """In a fork of the training, `become_inert` of it is called."""
    _of_the_training.add(one)


def _after_fork() -> None:
    for one in list(_of_the_training):
        one.become_inert()
    _of_the_training.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


# --- a guard against scripts that run themselves again --------------------------------------------------

NAME: Final = "torcheer inspector"  # of the processes that multiprocessing makes for us
UNGUARDED: Final = 86  # the exit code that says so
NOT_TOLD: Final = 87  # the exit code of one that ended in order, but not because it was told to

WORDS: Final = (
    "the start method {method!r} runs your script again in each new process, and the script has no guard "
    "against that. Put what starts the training into a function, and call it at the end of the script like "
    "this:\n\n"
    '    if __name__ == "__main__":\n'
    "        main()\n\n"
    "Or leave out start_method: then nothing of the script is run again."
)

_is_child = False


def usual_start_method() -> str:
    """What multiprocessing does where nothing is said. Merely asking for it must not settle it."""
    return multiprocessing.get_start_method(allow_none=True) or multiprocessing.get_all_start_methods()[0]


def note_that_this_is_a_child() -> None:
    global _is_child
    _is_child = True


def check_start(method: str | None) -> None:
    """Raises where no child can be started from here, or ends the process that is our own."""
    if method not in (None, "spawn", "fork", "forkserver"):
        raise InputError(f"start_method is {method!r}: give spawn, fork or forkserver, or leave it out.")
    process = multiprocessing.current_process()
    if getattr(process, "_inheriting", False):
        if process.name == NAME:
            # Nothing was done here yet, and the script might catch what is raised and train on, unseen.
            os._exit(UNGUARDED)
        raise InspectorError(WORDS.format(method=method or usual_start_method()))
    if _is_child:
        raise InspectorError("this process watches a training itself: nothing can be watched from within.")


# --- the start ------------------------------------------------------------------------------------------


Process = Any  # a Popen, or a process of multiprocessing
Start = Callable[[socket.socket], Process]  # with its end of the channel; raises InputError or InspectorError


def way_to_start(callbacks: Callbacks | None, start_method: str | None) -> Start:
    """Raises InputError where the callbacks cannot be handed over that way."""
    if os.name != "posix":
        raise InspectorError(
            "a training is watched from another process with shared memory as Linux and macOS have it, and "
            "this system has not. Log from the training itself: tl.Run."
        )
    is_bundled = getattr(sys, "frozen", False)  # the executable is the program itself, and no Python
    if start_method is None and not is_bundled:
        if callbacks is None:
            return partial(_start_fresh, None)
        with suppress(Exception):
            pickled = pickle.dumps(callbacks)
            # A process that does not have the script's own names could not read those.
            if b"__main__" not in pickled and b"__mp_main__" not in pickled:
                return partial(_start_fresh, pickled)
    return partial(_start_by_multiprocessing, callbacks, start_method or usual_start_method())


def _start_fresh(pickled_callbacks: bytes | None, end: socket.socket) -> Process:
    """A new interpreter. It starts fast, imports no torch, and needs no guard in the script."""
    executable = os.fsdecode(get_executable() or "")
    try:
        with _nameless(pickled_callbacks) as pickled, _signals_held_back():
            return subprocess.Popen(
                [executable, "-c", _CODE, str(end.fileno()), str(pickled), *map(str, sys.path)],
                pass_fds=[end.fileno(), *([pickled] if pickled >= 0 else [])],
                stdin=subprocess.DEVNULL,
                env={**os.environ, **_ONE_THREAD},
            )
    except (OSError, ValueError) as error:
        raise InspectorError(
            f"the process that watches cannot be started ({error}): {executable!r} is run for it. Perhaps "
            "there is too little memory or room for temporary files, or there are too many processes."
        ) from error


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


def _start_by_multiprocessing(callbacks: Callbacks | None, method: str, end: socket.socket) -> Process:
    """Where callbacks are part of the script, or somebody asks for it."""
    from torcheer.inspector.child.lifetime import begin_in_process  # which imports this module

    context: Any = multiprocessing.get_context(method)
    process = context.Process(target=begin_in_process, args=(end, callbacks), name=NAME, daemon=True)
    try:
        # The server that forks would hold them back for ever, in all processes that it makes.
        if method == "forkserver":
            process.start()
        else:
            with _signals_held_back():
                process.start()
    except (EOFError, ConnectionError) as error:
        raise InspectorError(WORDS.format(method=method)) from error
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InputError(
            f"the callbacks cannot be handed to another process ({error}): with start_method="
            f"{method!r} they must be functions of a module, or methods of objects that pickle; no "
            "lambdas, and no functions inside functions. Or give start_method='fork'."
        ) from error
    except (OSError, RuntimeError, AssertionError) as error:  # a daemon may start no process that way
        raise InspectorError(
            f"the process that watches cannot be started with start_method={method!r} ({error}). Leave "
            "start_method out, and put callbacks into a module of their own."
        ) from error
    return process


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


# --- the life of a process ------------------------------------------------------------------------------


class Life:
    """One process and the channel to it. Raises InputError or InspectorError where it cannot be started."""

    def __init__(self, start: Start) -> None:
        try:
            ours, theirs = socket.socketpair()
        except OSError as error:
            raise InspectorError(f"there can be no channel to the process that watches ({error}).") from error
        self.channel: Channel[ToParent] = to_child(ours)
        # Before the start: a fork that kept this end would hide that it was closed.
        forget_in_forks(self)
        try:
            self._process = start(theirs)
        except BaseException:
            self.channel.close()
            raise
        finally:
            theirs.close()
        self.pid: int = self._process.pid
        self._code: int | None = None
        self.is_ready = False
        self.failure = ""  # why it could not begin
        self.is_expected_to_end = False  # it said that it was idle, or was told to close
        self._dying_since = 0.0

    def become_inert(self) -> None:
        self.channel.close()

    @property
    def exit_code(self) -> int | None:
        """None while it lives."""
        if self._code is None:
            if isinstance(self._process, subprocess.Popen):
                self._code = self._process.poll()
            else:
                self._code = self._process.exitcode
                if self._code is not None:
                    self._process.close()  # it holds pipes, and would until it is collected
        return self._code

    @property
    def is_alive(self) -> bool:
        return self.exit_code is None

    def wait_for_news(self, seconds: float) -> None:
        """Until it says something, or can be told something, or the time is up."""
        if self.channel.is_open:
            wait_for(self.channel.fileno(), seconds, writing=self.channel.num_waiting > 0)
        else:
            time.sleep(seconds)

    def hasten(self, now: float) -> None:
        """Without its channel it is of no use: where it does not end by itself, it is killed."""
        if not self.channel.is_open:
            self._dying_since = self._dying_since or now
            if now - self._dying_since > _DYING_SECONDS and self.is_alive:
                self._process.kill()

    def stop(self) -> None:
        """One that never became ready."""
        while self.exit_code is None:
            self._process.kill()
            time.sleep(0.01)
        self.let_go()

    def let_go(self) -> None:
        """Close our end of the channel. The process, where it still lives, ends by itself."""
        self.channel.close()
        if self.is_alive:  # somebody has to wait for its end, else it stays a zombie
            with suppress(RuntimeError):  # the interpreter is ending
                threading.Thread(target=self._wait, name="torcheer end", daemon=True).start()

    def _wait(self) -> None:
        with suppress(ValueError):  # another thread saw its end
            self._process.wait() if isinstance(self._process, subprocess.Popen) else self._process.join()
            self._code = self.exit_code
