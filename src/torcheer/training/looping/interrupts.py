"""Ctrl-C while a loop is at work: it stops after its trial; the second time at once."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stopping(stop: Callable[[], None]) -> Iterator[None]:
    """Only where Python's own handling is in place, in the main thread."""
    is_ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if not is_ours:
        yield
        return
    was_asked = False

    def handle(_signal: int, _frame: FrameType | None) -> None:
        nonlocal was_asked
        if was_asked:
            raise KeyboardInterrupt
        was_asked = True
        stop()
        if sys.stderr is not None:
            sys.stderr.write("\ntorcheer: stopping after this trial; Ctrl-C again ends it at once.\n")

    signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
