"""Who writes a part of a run: a lock on a small file beside it, which goes when its holder dies."""

from __future__ import annotations

import errno
import os
import random
import threading
import time
from pathlib import Path
from typing import Literal

from torcheer.run.schema import PART_ENDING

try:
    import fcntl
except ImportError:  # Windows
    _HAS_LOCKS = False
else:
    _HAS_LOCKS = True

_NUM_TRIES = 40  # while only readers, who test for a moment, are in the way
_PAUSE_SECONDS = 0.005
_BUSY = {errno.EWOULDBLOCK, errno.EACCES, errno.EAGAIN}

# What this process holds. On a network file system a lock belongs to the process, and goes when any
# descriptor of the file is closed: so nobody in the process may open a file that is held here.
_held: set[str] = set()
_guard = threading.RLock()


class PartLock:
    """The right to write one part, held until it is let go or the process ends."""

    __slots__ = ("_descriptor", "_key")

    def __init__(self, descriptor: int | None, key: str) -> None:
        self._descriptor = descriptor  # None where the file system has no locks
        self._key = key

    def release(self) -> None:
        with _guard:
            _held.discard(self._key)
        self.forget_after_fork()

    def forget_after_fork(self) -> None:
        """In a forked child: the lock is the parent's, and must not outlive it here."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def take_lock(path: Path, *, by_name: bool = True) -> PartLock | None:
    """The lock, or None where somebody else writes. Raises OSError where the file cannot be made.

    Where there are no locks, whoever makes the file of the part has it; without `by_name`, everybody.
    """
    key = _key_of(path)
    with _guard:
        if key in _held:
            return None
        _held.add(key)
    lock = None
    try:
        lock = _take(path, key, by_name)
    finally:
        if lock is None:
            with _guard:
                _held.discard(key)
    return lock


def is_locked(path: Path) -> bool | None:
    """Whether somebody writes; None where that cannot be told (no locks on this system or file system)."""
    with _guard:
        if _key_of(path) in _held:
            return True
    if not _HAS_LOCKS:
        return None
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # it may be a pipe
    except FileNotFoundError:
        return False
    except OSError:
        return None
    try:
        answer = _try(descriptor, shared=True)
    finally:
        os.close(descriptor)
    return None if answer == "no locks" else answer == "taken"


def forget_locks_after_fork() -> None:
    """In a forked child: nothing is held here yet."""
    global _guard
    _guard = threading.RLock()
    _held.clear()


def _key_of(path: Path) -> str:
    return os.path.join(os.path.realpath(path.parent), path.name)


def _take(path: Path, key: str, by_name: bool) -> PartLock | None:
    if not _HAS_LOCKS:
        return _take_by_name(path, key) if by_name else PartLock(None, key)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        answer = _try_for_a_while(descriptor)
    except BaseException:
        os.close(descriptor)
        raise
    if answer == "got":
        return PartLock(descriptor, key)
    os.close(descriptor)
    if answer == "taken":
        return None
    return _take_by_name(path, key) if by_name else PartLock(None, key)


def _take_by_name(path: Path, key: str) -> PartLock | None:
    """Without locks no part is appended to: whoever makes its file writes it, and nobody after."""
    try:
        os.close(os.open(path.with_suffix(PART_ENDING), os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666))
    except FileExistsError:
        return None
    return PartLock(None, key)


def _try_for_a_while(descriptor: int) -> Literal["got", "taken", "no locks"]:
    for _ in range(_NUM_TRIES):
        answer = _try(descriptor, shared=False)
        if answer != "taken":
            return answer
        # Shared goes where only readers are, who are gone in a moment; where a writer is, it does not.
        answer = _try(descriptor, shared=True)
        if answer != "got":
            return answer
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        time.sleep(_PAUSE_SECONDS * random.random())
    return "taken"


def _try(descriptor: int, *, shared: bool) -> Literal["got", "taken", "no locks"]:
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError as error:
        return "taken" if error.errno in _BUSY else "no locks"
    return "got"
