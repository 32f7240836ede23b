"""Threads that forward starts are recorded too.

A function mode belongs to one thread. Python calls a profile function first thing in each new
thread: ours puts a mode on it, and takes it off at the first Python call after the pass has ended.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch.overrides import TorchFunctionMode


@contextmanager
def recording_new_threads(make_mode: Callable[[], TorchFunctionMode]) -> Iterator[None]:
    """While this is open, each thread that is started runs under a mode of its own."""
    before = threading.getprofile()
    local = threading.local()
    open_now = [True]

    def profile(frame: Any, event: Any, argument: Any) -> None:
        mode = getattr(local, "mode", None)
        if mode is None and open_now[0] and event == "call":
            local.mode = make_mode()
            local.mode.__enter__()
        elif mode is not None and not open_now[0]:
            mode.__exit__(None, None, None)
            local.mode = None
            sys.setprofile(before)
        elif not open_now[0]:
            sys.setprofile(before)
        if before is not None:
            before(frame, event, argument)

    threading.setprofile(profile)
    try:
        yield
    finally:
        open_now[0] = False
        threading.setprofile(before)
