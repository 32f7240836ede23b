"""Write a file so that it is there when it is whole; until then an older one stays as it was."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Callable
from typing import BinaryIO

from torcheer.errors import InputError


def write_whole(
    path: str | os.PathLike[str],
    what: str,
    write: Callable[[BinaryIO], None],
    example: str = "pass.html",
) -> str:
    """Have a file written; returns where it is. `what` it is stands in the errors: "a page"."""
    target = target_of(path, what, example)
    temporary = f"{target}.{secrets.token_hex(4)}.partial"
    try:
        with _created(temporary) as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError):
            error.add_note(f"torcheer: {what} was not written; what was at {target} is as it was.")
        raise
    return target


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


def _created(path: str) -> BinaryIO:
    # Not by tempfile: the file is to have the usual permissions.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    return open(os.open(path, flags, 0o666), "wb", buffering=1 << 16)


def sync_folder(folder: str) -> None:
    """So that a new name, too, outlives a power cut. Windows has no such thing; some network disks refuse."""
    if os.name != "posix":
        return
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
