"""Open files in folders of others, where a name may belong to a pipe, a socket or a device."""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path
from typing import Final

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


def read_file(path: str | os.PathLike[str]) -> bytes:
    """All bytes of a file. OSError where it is none; no pipe is waited for."""
    with open_file(path) as file:
        return file.read()


def _check(mode: int, path: str | os.PathLike[str]) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(mode):
        raise NoOrdinaryFileError(path)
