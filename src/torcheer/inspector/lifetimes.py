"""What becomes of watched trainings when the process ends or forks: nothing is lost, nobody left behind."""

from __future__ import annotations

import atexit
import os
import time
import weakref
from typing import Protocol

from torcheer.run import at_end_of_child, ending_of_program

_EXIT_SECONDS = 10.0  # for all of them together


class Open(Protocol):
    """Something that has children."""

    def close_with(self, reason: str, seconds: float) -> None: ...

    def become_inert(self) -> None: ...


_open: weakref.WeakSet[Open] = weakref.WeakSet()


def remember(opened: Open) -> None:
    """Close it when the process ends."""
    _open.add(opened)
    at_end_of_child(_close_all, priority=10)  # before runs are closed


@atexit.register
def _close_all() -> None:
    reason = ending_of_program().reason
    until = time.monotonic() + _EXIT_SECONDS
    for opened in list(_open):
        opened.close_with(reason, max(0.0, until - time.monotonic()))


def _after_fork() -> None:
    for opened in list(_open):
        opened.become_inert()
    _open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
