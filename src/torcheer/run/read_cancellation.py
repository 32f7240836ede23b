"""Stop a reading that takes long: where it can go on later, or because nobody wants it any more.

A thread cannot be ended from outside. Code that may take long therefore asks here, again and again, whether
it should go on: `pause_point` where it can be taken up again from where it stopped, `check_cancelled`
elsewhere. Who starts such work says for how long it may go on. Without that, neither ever raises.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class InterruptedReading(BaseException):  # no error, and not to be taken for one
    """The reading was stopped before its end. Where it `can_go_on`, what was read so far is kept."""

    def __init__(self, message: str, *, can_go_on: bool) -> None:
        super().__init__(message)
        self.can_go_on = can_go_on


class _Limits(threading.local):
    deadline: float | None = None
    is_cancelled: Callable[[], bool] | None = None


_limits = _Limits()


@contextmanager
def interruptible(
    seconds: float | None = None, is_cancelled: Callable[[], bool] | None = None
) -> Iterator[None]:
    """Within this block, in this thread, reading stops after so long, or when it is cancelled.

    What a block around this one asked for still holds.
    """
    deadline, outer = _limits.deadline, _limits.is_cancelled
    if seconds is not None:
        end = time.monotonic() + seconds
        _limits.deadline = end if deadline is None else min(end, deadline)
    if is_cancelled is not None:
        _limits.is_cancelled = is_cancelled if outer is None else lambda: is_cancelled() or outer()
    try:
        yield
    finally:
        _limits.deadline, _limits.is_cancelled = deadline, outer


def pause_point() -> None:
    """Raise InterruptedReading where the time is over, or nobody waits any more."""
    check_cancelled()
    if _limits.deadline is not None and time.monotonic() >= _limits.deadline:
        raise InterruptedReading("the reading goes on later", can_go_on=True)


def check_cancelled() -> None:
    """Raise InterruptedReading where nobody waits any more."""
    if _limits.is_cancelled is not None and _limits.is_cancelled():
        raise InterruptedReading("nobody waits for this any more", can_go_on=False)
