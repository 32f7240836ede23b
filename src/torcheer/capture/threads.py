"""Threads that forward starts are recorded too.

A function mode belongs to one thread. Python calls a profile function first thing in each new thread:
ours puts a mode on it, and takes it off at the first Python call after the pass has ended. All passes that
run at once share this function: were each to put its own in place and the one before it back, one that is
over would stay.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from torch import overrides
from torch.overrides import TorchFunctionMode

MakeMode = Callable[[], TorchFunctionMode]


class _Recording:
    """A pass that records the threads which its own thread starts."""

    def __init__(self, make_mode: MakeMode) -> None:
        self.thread = threading.get_ident()
        self.make_mode = make_mode
        self.is_open = True


_lock = threading.Lock()
_open: list[_Recording] = []
_others: Any = None  # somebody else's profile function, which goes on
_local = threading.local()


class OtherThreads:
    """The threads that run beside this one and may compute, as they were when a pass began."""

    def __init__(self) -> None:
        own = threading.current_thread()
        others = [thread for thread in threading.enumerate() if thread is not own]
        self._others = [(thread, _seconds_of(thread)) for thread in others if not _only_waits(thread)]

    def at_work(self) -> list[str]:
        """The names of those that have done anything since."""
        return [
            thread.name
            for thread, before in self._others
            if before is None or not thread.is_alive() or _seconds_of(thread) != before
        ]


# Their threads redraw a bar, keep a notebook or a debugger alive, or wait for a process to end.
_KEEPERS = ("tqdm", "rich", "ipykernel", "IPython", "zmq", "debugpy", "pydevd", "_pydevd_bundle", "torcheer")


def _only_waits(thread: threading.Thread) -> bool:
    homes = (type(thread).__module__, getattr(getattr(thread, "_target", None), "__module__", None) or "")
    is_keeper = any(home.partition(".")[0] in _KEEPERS for home in homes)
    return is_keeper or thread.name.startswith("asyncio-waitpid-")


def _seconds_of(thread: threading.Thread) -> float | None:
    """How long a thread has computed; None where the system does not say."""
    try:
        return time.clock_gettime(time.pthread_getcpuclockid(thread.ident))  # type: ignore[arg-type]
    except (AttributeError, OSError, TypeError):
        return None


@contextmanager
def recording_new_threads(make_mode: MakeMode) -> Iterator[None]:
    """While this is open, each thread that this one starts runs under a mode of its own."""
    global _others
    recording = _Recording(make_mode)
    with _lock:
        before = threading.getprofile()
        if before is not _profile:
            _others = before
            threading.setprofile(_profile)
        _open.append(recording)
    try:
        yield
    finally:
        recording.is_open = False
        with _lock:
            _open.remove(recording)
            if not _open and threading.getprofile() is _profile:
                threading.setprofile(_others)


def _profile(frame: FrameType, event: str, argument: Any) -> None:
    others = _others
    held: tuple[_Recording, Any] | None = getattr(_local, "held", None)  # a pass, and its mode
    if held is None:
        if event == "call" and not _begin():
            sys.setprofile(others)
    # While the mode handles a call torch keeps it aside, and puts it back: then a later event takes it off.
    elif not held[0].is_open and _is_on_top(held[1]):
        held[1].__exit__(None, None, None)
        _local.held = None
        sys.setprofile(others)
    if others is not None:
        others(frame, event, argument)


def _begin() -> bool:
    """Put the mode of the pass that starts this thread on it; False where no pass does."""
    recording = _starter()
    if recording is None:
        return False
    mode: Any = recording.make_mode()
    _local.held = (recording, mode)
    mode.__enter__()
    return True


def _is_on_top(mode: TorchFunctionMode) -> bool:
    return overrides._get_current_function_mode() is mode  # type: ignore[no-untyped-call]


def _starter() -> _Recording | None:
    """The pass whose thread is just starting this one: the starter waits until it has begun."""
    new_thread, own = threading.current_thread(), threading.get_ident()
    starters = {
        ident
        for ident, frame in sys._current_frames().items()
        if ident != own and _is_starting(frame, new_thread)
    }
    passes = list(_open)
    if not starters and len(passes) == 1:  # started by other means than threading.Thread
        return passes[0]
    return next((one for one in passes if one.thread in starters), None)


def _is_starting(frame: FrameType | None, new_thread: threading.Thread) -> bool:
    while frame is not None:
        if frame.f_code is _START and frame.f_locals.get("self") is new_thread:
            return True
        frame = frame.f_back
    return False


_START = threading.Thread.start.__code__
