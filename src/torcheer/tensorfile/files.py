"""Open files of others, where a name may be a pipe; write files that are there only when they are whole."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Callable
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, Final

from torcheer.errors import InputError

# A pipe would keep whoever opens it waiting for somebody who writes.
_FLAGS: Final = (
    os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
)


class NoOrdinaryFileError(OSError):
    """There is something under this name, and it is neither a file nor a folder."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(f"{Path(path).name} is no ordinary file")


def open_file(path: str | os.PathLike[str]) -> BufferedReader:
    """Open a file to read its bytes. OSError where it is none; no pipe is waited for."""
    # Before it is opened: of a device that may be felt. After that, too: it may have been replaced.
    _check(os.stat(path).st_mode, path)
    descriptor = os.open(path, _FLAGS)
    try:
        _check(os.fstat(descriptor).st_mode, path)
        return open(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _check(mode: int, path: str | os.PathLike[str]) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(mode):
        raise NoOrdinaryFileError(path)


def write_atomically(
    path: str | os.PathLike[str], what: str, write: Callable[[BinaryIO], None], example: str = "pass.html"
) -> str:
    """Have a file written; returns where it is. `what` it is stands in the errors: "a page"."""
    target = target_of(path, what, example)
    temporary = f"{target}.{secrets.token_hex(4)}.partial"
    try:
        # Not by tempfile: the file is to have the usual permissions.
        flags = (
            os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
        )
        with open(os.open(temporary, flags, 0o666), "wb", buffering=1 << 16) as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
        sync_folder(os.path.dirname(target))
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError):
            error.add_note(f"torcheer: {what} was not written; what was at {target} is as it was.")
        raise
    return target


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """So that a new name in it outlives a power cut, too. Windows cannot, and some network disks refuse."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def target_of(path: str | os.PathLike[str], what: str, example: str = "pass.html") -> str:
    """Where a file goes, once it is clear that it can go there."""
    try:
        target = os.path.realpath(os.fsdecode(path))
    except (TypeError, ValueError):
        raise InputError(f"{what} is written to a path such as {example!r}, not to {path!r}.") from None
    folder = os.path.dirname(target)
    if not os.path.isdir(folder):
        raise FileNotFoundError(
            errno.ENOENT, f"there is no such folder to write {what} to: make it first", folder
        )
    if os.path.isdir(target):
        why = f"{what} is written to a file, and this is a folder: add a name such as {example!r}"
        raise IsADirectoryError(errno.EISDIR, why, target)
    if os.path.exists(target) and not os.path.isfile(target):
        raise InputError(f"{target} is no ordinary file: name one that may be replaced by {what}.")
    return target
