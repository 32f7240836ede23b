"""Threads that forward starts are recorded too.

A function mode belongs to one thread. Python calls a profile function first thing in each new
thread: ours puts a mode on it, and takes it off at the first Python call after the pass has ended.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from torch.overrides import TorchFunctionMode


@contextmanager
def recording_new_threads(make_mode: Callable[[], TorchFunctionMode]) -> Iterator[None]:
    """While this is open, each thread that this one starts runs under a mode of its own."""
    before = threading.getprofile()
    recording_thread = threading.get_ident()
    local = threading.local()
    open_now = [True]

    def profile(frame: Any, event: Any, argument: Any) -> None:
        mode = getattr(local, "mode", None)
        if open_now[0] and mode is None and event == "call":
            if _was_started_by_another(recording_thread):
                sys.setprofile(before)
            else:
                local.mode = make_mode()
                local.mode.__enter__()
        elif not open_now[0]:
            if mode is not None:
                mode.__exit__(None, None, None)
            local.mode = None
            sys.setprofile(before)
        if before is not None:
            before(frame, event, argument)

    threading.setprofile(profile)
    try:
        yield
    finally:
        open_now[0] = False
        threading.setprofile(before)


def _was_started_by_another(thread: int) -> bool:
    """Whether some other thread is just starting this one: the starter waits until it has begun."""
    own = threading.get_ident()
    return any(
        _is_starting(frame, threading.current_thread())
        for ident, frame in sys._current_frames().items()
        if ident not in (thread, own)
    )


def _is_starting(frame: FrameType | None, new_thread: threading.Thread) -> bool:
    while frame is not None:
        if frame.f_code is _START and frame.f_locals.get("self") is new_thread:
            return True
        frame = frame.f_back
    return False


_START = threading.Thread.start.__code__
