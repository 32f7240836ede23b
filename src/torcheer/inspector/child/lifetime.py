"""How the child ends: when the training does, when it is told to, and in any case in time."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Final

from torcheer.inspector.child_process import NOT_TOLD, note_that_this_is_a_child
from torcheer.inspector.protocol import Callbacks, Channel, Failed, Job, Ready, ToChild, wait_for

LEAST_SECONDS: Final = 1.0  # after the end of the training, for what is in the ring
_TAKEOVER_SECONDS: Final = 1.35  # then the guard closes the files itself: the rest hangs in a callback
_LAST_SECONDS: Final = 1.8  # then it is over
_LOOK_SECONDS: Final = 0.1

# They reach the whole group of processes. What they mean, the training decides.
_NOT_OURS = ("SIGINT", "SIGHUP", "SIGUSR1", "SIGUSR2")


def words_of(error: BaseException) -> str:
    """The exception in a line, and where it was raised."""
    try:
        text = "".join(traceback.format_exception_only(error)).strip().splitlines()[-1]
    except Exception:  # an exception whose own text fails
        text = type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return text
    return f"{text} ({Path(frames[-1].filename).name}, line {frames[-1].lineno})"


class Parent:
    """The training's process. Files that other processes hold open do not hide its end."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._is_gone = False
        self._is_direct = os.getppid() == pid
        self.descriptor: int | None = None  # becomes readable at its end, where the system has such a thing
        if hasattr(os, "pidfd_open"):
            try:
                self.descriptor = os.pidfd_open(pid)
            except ProcessLookupError:
                self._is_gone = True
            except OSError:  # not in this container: it is asked for by its number
                pass

    @property
    def is_gone(self) -> bool:
        if not self._is_gone:
            self._is_gone = self._look()
        return self._is_gone

    def wait(self, seconds: float) -> bool:
        """True if it ends within that time."""
        end = time.monotonic() + seconds
        while not self.is_gone:
            left = end - time.monotonic()
            if left <= 0:
                return False
            if self.descriptor is None:
                time.sleep(min(left, _LOOK_SECONDS))
            else:
                wait_for(self.descriptor, left)
        return True

    def _look(self) -> bool:
        if self.descriptor is not None:
            return wait_for(self.descriptor, 0.0)
        if self._is_direct:
            return os.getppid() != self.pid
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except OSError:
            return False
        return False


class Signals:
    """Which signals this process heeds. Made in its main thread."""

    def __init__(self) -> None:
        self.is_terminated = False
        for name in _NOT_OURS:
            signal.signal(getattr(signal, name), signal.SIG_IGN)
        signal.signal(signal.SIGTERM, self._terminate)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # ends the process, whatever Python does
        # They were held back from the start, so that none could come before this.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGHUP, signal.SIGTERM})
        self._woken, self._waking = socket.socketpair()
        self._woken.setblocking(False)
        self._waking.setblocking(False)
        signal.set_wakeup_fd(self._waking.fileno(), warn_on_full_buffer=False)

    def fileno(self) -> int:
        """Becomes readable when a signal came."""
        return self._woken.fileno()

    def calm(self) -> None:
        with suppress(BlockingIOError):
            while self._woken.recv(64):
                pass

    def _terminate(self, number: int, frame: FrameType | None) -> None:
        self.is_terminated = True


class Guard:
    """A thread that sees to it that the process is gone within two seconds after the training.

    The rest of the process has its own way to end in order. Where that hangs, in a callback for example, this
    closes the files in its place.
    """

    def __init__(self, parent: Parent, take_over: Callable[[], None]) -> None:
        self._parent = parent
        self._take_over = take_over
        self._is_done = threading.Event()
        threading.Thread(target=self._watch, name="torcheer guard", daemon=True).start()

    def _watch(self) -> None:
        while not self._parent.wait(60.0):
            pass
        ended = time.monotonic()
        # The system does this, also where some code never lets another thread run.
        signal.setitimer(signal.ITIMER_REAL, _LAST_SECONDS + 0.1)
        if not self._is_done.wait(_TAKEOVER_SECONDS):
            with suppress(Exception):
                self._take_over()
        time.sleep(max(0.0, ended + _LAST_SECONDS - time.monotonic()))
        os._exit(1)

    def is_done(self) -> None:
        """The files are closed; what is left is the end of the interpreter."""
        self._is_done.set()


def end_within(seconds: float) -> None:
    """The interpreter is to end by itself, but threads and libraries of others must not keep it."""
    if signal.getitimer(signal.ITIMER_REAL)[0] == 0.0:
        signal.setitimer(signal.ITIMER_REAL, seconds)


_JOB_SECONDS: Final = 120.0
_SHUTDOWN_SECONDS: Final = 10.0
_NICENESS: Final = 10


def begin_fresh(channel: int) -> None:
    """In a new interpreter, with the descriptor of the channel."""
    _live(socket.socket(fileno=channel), None)


def begin_in_process(end: socket.socket, callbacks: Callbacks | None) -> None:
    """In a process of multiprocessing."""
    gc.freeze()  # after a fork: what the training has is not looked through, and stays shared
    torch = sys.modules.get("torch")
    if torch is not None:  # its threads did not come along
        torch.set_num_threads(1)
    _live(end, callbacks)


def _live(end: socket.socket, callbacks: Callbacks | None) -> None:
    note_that_this_is_a_child()
    signals = Signals()
    channel: Channel[ToChild] = Channel(end, ToChild)
    job = _job(channel)
    if job is None:
        return
    with suppress(OSError):
        os.nice(_NICENESS)
    try:
        # Only now, so that signals are heeded from the first moment on.
        from torcheer.inspector.child.child_loop import Loop

        if job.callbacks is not None:
            callbacks = pickle.loads(job.callbacks)
        loop = Loop(channel, job, callbacks, signals)
    except Exception as error:
        channel.send(Failed(message=words_of(error)))
        end_within(1.0)
        return
    channel.send(Ready())
    loop.run()
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    end_within(_SHUTDOWN_SECONDS)
    if not loop.was_told_to_close:
        sys.exit(NOT_TOLD)  # what was said to it at the end, it may not have heard


def _job(channel: Channel[ToChild]) -> Job | None:
    """The first thing that the training says; None where it has gone."""
    end = time.monotonic() + _JOB_SECONDS
    while channel.is_open and time.monotonic() < end:
        for message in channel.hear():
            assert isinstance(message, Job)
            return message
        wait_for(channel.fileno(), 1.0)
    return None
