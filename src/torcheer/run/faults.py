"""What an error means for the writing: try again later, take another file, or leave something out."""

from __future__ import annotations

import errno
import sqlite3
from enum import Enum, auto


class Fault(Enum):
    """What to do about an error."""

    PASSING = auto()  # disk full, no permission, a lock, an I/O error: later it may work
    DAMAGED = auto()  # the file is not what it should be: another one will do
    UNFIT = auto()  # something in the batch cannot be stored


# The primary codes of SQLite that speak of the place, not of the file or of what is written.
_PASSING = {
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_NOLFS,
    sqlite3.SQLITE_AUTH,
}
_KEEPS_CONNECTION = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_DAMAGED = {
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_ERROR,  # a table or a column is missing
    sqlite3.SQLITE_CONSTRAINT,  # an id is there that we have not given
    sqlite3.SQLITE_MISMATCH,
    sqlite3.SQLITE_FORMAT,
}


def fault_of(error: BaseException) -> Fault:
    if isinstance(error, OSError):
        return Fault.PASSING
    code = _code(error)
    if code in _PASSING:
        return Fault.PASSING
    return Fault.DAMAGED if code in _DAMAGED else Fault.UNFIT


def needs_new_connection(error: BaseException) -> bool:
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return False
    return _code(error) not in _KEEPS_CONNECTION


def is_full(error: BaseException) -> bool:
    """Whether there was no room, so that something smaller may still have some."""
    if isinstance(error, OSError):
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    # A quota that is used up, or the largest file allowed, is to SQLite an error in writing.
    code = getattr(error, "sqlite_errorcode", None)
    return _code(error) == sqlite3.SQLITE_FULL or code == sqlite3.SQLITE_IOERR_WRITE


def words_for(error: BaseException) -> str:
    """What to tell somebody, in words."""
    code = _code(error)
    number = error.errno if isinstance(error, OSError) else None
    if code == sqlite3.SQLITE_FULL or number in (errno.ENOSPC, errno.EDQUOT):
        return "the disk is full"
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM) or number in (
        errno.EACCES,
        errno.EPERM,
        errno.EROFS,
    ):
        return "the folder may not be written to"
    if number in (errno.ENOTDIR, errno.EEXIST):
        return "there is a file where the folder should be"
    if code == sqlite3.SQLITE_BUSY:
        return "another program holds the file locked"
    return f"{error}"


def _code(error: BaseException) -> int | None:
    """The primary code; None where the error is not SQLite's own."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF
