"""What becomes of watched trainings when the process ends or forks: nothing is lost, nobody left behind."""

from __future__ import annotations

import atexit
import os
import sys
import time
import weakref
from typing import Protocol

from torcheer.run.endings import ending_of

_EXIT_SECONDS = 10.0  # for all of them together


class Open(Protocol):
    """Something that has children."""

    def close_with(self, reason: str, seconds: float) -> None: ...

    def become_inert(self) -> None: ...


_open: weakref.WeakSet[Open] = weakref.WeakSet()
_finalized_in: set[int] = set()  # processes whose multiprocessing was told


def remember(opened: Open) -> None:
    """Close it when the process ends."""
    _open.add(opened)
    # A child of multiprocessing ends without atexit; it has a list of its own.
    process, util = sys.modules.get("multiprocessing.process"), sys.modules.get("multiprocessing.util")
    if process is None or util is None or os.getpid() in _finalized_in:
        return
    if process.parent_process() is not None:
        _finalized_in.add(os.getpid())
        util.Finalize(None, _close_all, exitpriority=10)


@atexit.register
def _close_all() -> None:
    error = sys.exc_info()[1] or getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    is_prompt = hasattr(sys, "ps1") or sys.flags.interactive  # where it is merely the last one shown
    reason = ending_of(error).reason if isinstance(error, BaseException) and not is_prompt else ""
    until = time.monotonic() + _EXIT_SECONDS
    for opened in list(_open):
        opened.close_with(reason, max(0.0, until - time.monotonic()))


def _after_fork() -> None:
    for opened in list(_open):
        opened.become_inert()
    _open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
