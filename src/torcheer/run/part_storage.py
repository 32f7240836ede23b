"""The tables of one part of a run: the SQLite file that one process writes.

Points of scalars stand in blocks of columns, so that a million of them are read as three arrays. A new batch
is a small block; the writer merges small ones into larger ones. A block knows which points of its series it
holds (`first`, `count`), so a reader that follows takes only what it does not have yet, whichever way they
were merged. Ids are never used twice. When points or records are taken back (`purge_step`), the generation
rises and readers begin again.
"""

from __future__ import annotations

import errno
import os
import random
import re
import sqlite3
import threading
import time
from collections.abc import Iterable, Sequence
from enum import Enum, auto
from pathlib import Path
from typing import Any, Final, Literal

FORMAT: Final = 1
APPLICATION_ID: Final = 0x746F7263  # "torc", in the header of the file
PART_ENDING: Final = ".sqlite"
LOCK_ENDING: Final = ".lock"
PAGE_BYTES: Final = 8192

THINNED_STEPS: Final = "num_thinned_steps"

# The keys of `meta`: format, generation (whole numbers), comment, tags (JSON list), total_steps,
# num_thinned_steps (of statistics, over all sessions; records that were thinned are counted by session).
TABLES: Final = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
-- one for each time that a process opened the part; ended is NULL until it closed it in good order
CREATE TABLE IF NOT EXISTS sessions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    started REAL NOT NULL,
    ended REAL,
    outcome TEXT NOT NULL DEFAULT '',   -- finished, or died
    reason TEXT NOT NULL DEFAULT '',    -- what it died of
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    num_dropped INTEGER NOT NULL DEFAULT 0,
    num_thinned INTEGER NOT NULL DEFAULT 0,
    note TEXT NOT NULL DEFAULT ''       -- what the reader should know: no WAL on this file system
);
CREATE TABLE IF NOT EXISTS names (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    description TEXT NOT NULL DEFAULT '',
    UNIQUE (kind, name)
);
CREATE TABLE IF NOT EXISTS points (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name INTEGER NOT NULL REFERENCES names (id),
    first INTEGER NOT NULL,             -- how many points of the series stand before this block
    count INTEGER NOT NULL,
    level INTEGER NOT NULL,             -- how often it was merged
    num_bad INTEGER NOT NULL,           -- values that are NaN or infinite
    steps BLOB NOT NULL,                -- int64 each, little-endian
    times BLOB NOT NULL,                -- float64 each, seconds since 1970
    vals BLOB NOT NULL                  -- float64 each
);
CREATE INDEX IF NOT EXISTS points_by_name ON points (name, first);
CREATE TABLE IF NOT EXISTS records (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name INTEGER NOT NULL REFERENCES names (id),
    step INTEGER NOT NULL,
    time REAL NOT NULL,
    head BLOB NOT NULL,                 -- JSON, see records.py
    num_bytes INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS records_by_name ON records (name, id);
CREATE TABLE IF NOT EXISTS data (record INTEGER PRIMARY KEY REFERENCES records (id), bytes BLOB NOT NULL);
-- passes without their tensors, by the hash of their JSON, which is kept compressed (zlib)
CREATE TABLE IF NOT EXISTS documents (hash TEXT PRIMARY KEY, num_bytes INTEGER NOT NULL, json BLOB NOT NULL);
"""


_BUSY_SECONDS = 1.0
_LOG_BYTES = 64 << 20  # to which the write-ahead log is cut down when it has grown
_STATEMENTS = tuple(filter(str.strip, re.sub(r"--[^\n]*", "", TABLES).split(";")))
_TABLE_NAMES = frozenset(re.findall(r"CREATE TABLE IF NOT EXISTS (\w+)", TABLES))


class NotOursError(Exception):
    """The file is no part that can be appended to; the message says why."""


def open_database(path: Path) -> tuple[sqlite3.Connection, str, bool]:
    """A connection in which nothing has begun yet, what readers should know of it, and whether it is remote.

    Raises NotOursError, or sqlite3.Error where the disk does not allow it.
    """
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        _check(connection, path)
        remote = remote_kind(path.parent)
        return connection, _choose_journal(connection, remote), bool(remote)
    except BaseException:
        connection.close()
        raise


def make_tables(connection: sqlite3.Connection) -> None:
    """Within the transaction of the caller."""
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    for statement in _STATEMENTS:
        connection.execute(statement)


def _check(connection: sqlite3.Connection, path: Path) -> None:
    found = connection.execute("SELECT type, name FROM sqlite_master").fetchall()
    if not found:  # new, or its maker was killed at once
        return
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    tables = {name for type, name in found if type == "table"}
    # A view or a trigger would do something else than we ask for.
    if (
        application != APPLICATION_ID
        or not tables >= _TABLE_NAMES
        or {type for type, _ in found} - {"table", "index"}
    ):
        raise NotOursError(f"{path.name} is a database of something else")
    row = connection.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
    if row is None or row[0] != str(FORMAT):
        raise NotOursError(f"{path.name} is of another version of torcheer")


def _choose_journal(connection: sqlite3.Connection, remote: str) -> str:
    """The write-ahead log where it works; else a note that says why not."""
    # These two only take effect in a new file, before anything else is in it.
    connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    mode = "" if remote else connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    if mode != "wal":
        connection.execute("PRAGMA journal_mode = DELETE").fetchone()
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}").fetchone()
    if mode == "wal":
        return ""
    reason = (
        f"{remote} may be a network file system" if remote else "the file system allows no write-ahead log"
    )
    return f"written with a rollback journal: {reason}"


_REMOTE = frozenset(
    "9p acfs afs beegfs ceph cifs coda davfs drvfs gfs2 glusterfs gpfs lustre ncpfs nfs nfs4 ocfs2 orangefs "
    "panfs prl_fs pvfs2 smb2 smb3 smbfs vboxsf virtiofs vmhgfs wekafs".split()
)
_ESCAPED = re.compile(r"\\([0-7]{3})")


def remote_kind(folder: Path, mounts: Path = Path("/proc/self/mountinfo")) -> str:
    """The name of the file system where it is a remote one, or one that may be; empty for a local one."""
    kind = _kind_of(os.path.realpath(folder), mounts)
    is_remote = kind in _REMOTE or kind == "fuse" or kind.startswith("fuse.")
    return kind if is_remote else ""


def _kind_of(folder: str, mounts: Path) -> str:
    try:
        lines = mounts.read_text(errors="surrogateescape").splitlines()
    except OSError:  # no Linux: SQLite itself says whether it can
        return ""
    best, kind = "", ""
    for line in lines:
        before, _, after = line.partition(" - ")
        fields = before.split()
        if len(fields) < 5 or not after:
            continue
        place = _ESCAPED.sub(lambda found: chr(int(found[1], 8)), fields[4])
        # Of mounts on one place the last hides the others.
        if len(place) >= len(best) and f"{folder}/".startswith(place.rstrip("/") + "/"):
            best, kind = place, after.split()[0]
    return kind


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
    """True if somebody writes; None if nobody can tell (no locks on this system or file system)."""
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


# Rows into the tables of a part, many in one statement.
#
# Each statement lets the training's thread run, and in a busy training the writer gets the interpreter back
# only milliseconds later. So what counts is how many statements there are, not how many rows.

_MOST_VALUES = 900  # in a statement; SQLite allows 999 or more
_MOST_BYTES = 8 << 20  # that a statement carries

Row = tuple[Any, ...]


def insert(connection: sqlite3.Connection, table: str, columns: str, rows: Sequence[Row]) -> None:
    """The names of table and columns are ours, never somebody's data."""
    width = columns.count(",") + 1
    marks = "(" + ", ".join("?" * width) + ")"
    for chunk in _chunks(rows, _MOST_VALUES // width):
        values = [value for row in chunk for value in row]
        connection.execute(
            f"INSERT INTO {table} ({columns}) VALUES {', '.join([marks] * len(chunk))}", values
        )


def delete(connection: sqlite3.Connection, table: str, key: str, ids: Sequence[int]) -> None:
    for start in range(0, len(ids), _MOST_VALUES):
        chunk = ids[start : start + _MOST_VALUES]
        connection.execute(f"DELETE FROM {table} WHERE {key} IN ({', '.join('?' * len(chunk))})", chunk)


def delete_records(connection: sqlite3.Connection, ids: Sequence[int]) -> None:
    delete(connection, "data", "record", ids)
    delete(connection, "records", "id", ids)


def next_id(connection: sqlite3.Connection, table: str) -> int:
    """We give the ids, so that many rows go in at once; AUTOINCREMENT remembers the highest for ever."""
    row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
    return 1 if row is None else int(row[0]) + 1


def _chunks(rows: Sequence[Row], most_rows: int) -> Iterable[Sequence[Row]]:
    start = num_bytes = 0
    for index, row in enumerate(rows):
        for value in row:
            if type(value) is bytes:
                num_bytes += len(value)
        if index + 1 - start == most_rows or num_bytes > _MOST_BYTES:
            yield rows[start : index + 1]
            start, num_bytes = index + 1, 0
    if start < len(rows):
        yield rows[start:]


class Fault(Enum):
    """What to do about an error."""

    PASSING = auto()  # disk full, no permission, a lock, an I/O error: later it may work
    DAMAGED = auto()  # the file is not what it should be: another one will do
    UNFIT = auto()  # something in the batch cannot be stored


# The primary codes of SQLite that speak of the place, not of the file or of what is written.
_FULL: Final = sqlite3.SQLITE_FULL
_NOT_ALLOWED: Final = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM}
_HELD: Final = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_PASSING: Final = {
    _FULL,
    *_NOT_ALLOWED,
    *_HELD,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_NOLFS,
    sqlite3.SQLITE_AUTH,
}
_DAMAGED: Final = {
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_ERROR,  # a table or a column is missing
    sqlite3.SQLITE_CONSTRAINT,  # an id is there that we have not given
    sqlite3.SQLITE_MISMATCH,
    sqlite3.SQLITE_FORMAT,
}
_NO_SPACE: Final = (errno.ENOSPC, errno.EDQUOT)


def fault_of(error: BaseException) -> Fault:
    code = primary_code(error)
    if isinstance(error, OSError) or code in _PASSING:
        return Fault.PASSING
    return Fault.DAMAGED if code in _DAMAGED else Fault.UNFIT


def needs_new_connection(error: BaseException) -> bool:
    return not (primary_code(error) in {_FULL, *_HELD} or getattr(error, "errno", None) == errno.ENOSPC)


def is_full(error: BaseException) -> bool:
    """True if the disk had no room for it. Something smaller may still fit."""
    # A quota that is used up, or the largest file allowed, is to SQLite an error in writing.
    is_unwritten = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_IOERR_WRITE
    return is_unwritten or primary_code(error) == _FULL or getattr(error, "errno", None) in _NO_SPACE


def words_for(error: BaseException) -> str:
    """What to tell somebody, in words."""
    code, number = primary_code(error), getattr(error, "errno", None)
    if code == _FULL or number in _NO_SPACE:
        return "the disk is full"
    if code in _NOT_ALLOWED or number in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "the folder may not be written to"
    if number in (errno.ENOTDIR, errno.EEXIST):
        return "there is a file where the folder should be"
    return "another program holds the file locked" if code == sqlite3.SQLITE_BUSY else f"{error}"


def primary_code(error: BaseException) -> int | None:
    """The primary code; None where the error is not SQLite's own."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF
