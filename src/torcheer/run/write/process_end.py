"""What becomes of open runs when the process forks or ends."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, NamedTuple

from torcheer.run.part_storage import forget_locks_after_fork

if TYPE_CHECKING:
    from torcheer.run.write.writer import Writer

_FORK_WAIT_SECONDS = 2.0
_EXIT_WAIT_SECONDS = 10.0  # for a writer that stands still


class Ending(NamedTuple):
    """How a session ended."""

    outcome: Literal["finished", "died"]
    reason: str = ""


_open: weakref.WeakSet[Writer] = weakref.WeakSet()
_held = threading.local()  # what the thread that is forking holds
_finalized_in: set[tuple[int, int]] = set()  # processes whose multiprocessing was told, and how soon it acts


def watch(writer: Writer) -> None:
    """See to it when the process forks or ends."""
    _open.add(writer)


def ending_of(error: BaseException | None) -> Ending:
    """Leaving with an exception is dying, but for an exit in good order."""
    if isinstance(error, SystemExit):
        if not error.code:
            return Ending("finished")
        # Others report an exception and then exit: that exception is the reason.
        error = error.__context__ or error
    if error is None or isinstance(error, GeneratorExit):
        return Ending("finished")
    name, text = type(error).__name__, _text_of(error)
    return Ending("died", f"{name}: {text}" if text else name)


def ending_of_program() -> Ending:
    """How the interpreter, which is ending now, ends."""
    return ending_of(sys.exc_info()[1] or _uncaught())


def watch_end_of_child() -> None:
    """See to open runs at the end of a child of multiprocessing."""
    at_end_of_child(_close_all, priority=0)


def at_end_of_child(close: Callable[[], None], *, priority: int) -> None:
    """A child of multiprocessing ends without atexit; it has its own list, the highest priority first."""
    key = os.getpid(), priority
    if key in _finalized_in:
        return
    process = sys.modules.get("multiprocessing.process")
    util = sys.modules.get("multiprocessing.util")
    if process is not None and util is not None and process.parent_process() is not None:
        _finalized_in.add(key)
        util.Finalize(None, close, exitpriority=priority)


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return ""


@atexit.register
def _close_all() -> None:
    ending = ending_of_program()
    all_open = list(_open)
    for writer in all_open:
        writer.close_with(ending, 0.0)  # so that they all end at the same time
    for writer in all_open:
        if not writer.close_with(ending, _EXIT_WAIT_SECONDS):
            writer.cut_off()


def _uncaught() -> BaseException | None:
    """The exception with which the interpreter ends. At a prompt it is merely the last one shown."""
    if hasattr(sys, "ps1") or sys.flags.interactive:
        return None
    error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    return error if isinstance(error, BaseException) else None


def _before_fork() -> None:
    # A lock inside SQLite that another thread holds now would be held in the child for ever.
    _held.writers = [writer for writer in list(_open) if writer.busy.acquire(timeout=_FORK_WAIT_SECONDS)]


def _after_fork_in_parent() -> None:
    for writer in getattr(_held, "writers", ()):
        writer.busy.release()
    _held.writers = []


def _after_fork_in_child() -> None:
    forget_locks_after_fork()
    for writer in list(_open):
        writer.renew_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child
    )
