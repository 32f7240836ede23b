"""Read the SQLite file of a part while another process writes it, and leave nothing behind in its folder.

A file that nobody writes is opened as one that cannot change, since SQLite would put two files beside it;
that it did not change is looked at afterwards. A file with a journal is opened under SQLite's locks, which do
not hold up the writer. Where SQLite would have to write (a folder that is read-only, a journal to roll back),
a copy is read.

Each reading opens the file and closes it. That takes a tenth of a millisecond, and no lock outlives it: the
writer's journal can go when the writer closes, and hundreds of runs need no open files. Only SQLite opens the
file: closing it in another way would drop the locks of a writer in this process.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from torcheer.run.part_storage import primary_code

T = TypeVar("T")

JOURNALS: Final = ("-wal", "-journal")
_ATTEMPTS: Final = 5
_BUSY_SECONDS: Final = 0.25
CLOCK_SECONDS: Final = 0.05  # two changes within the tick of a file system's clock look like one
_PASSING: Final = (
    None,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_SCHEMA,
    sqlite3.SQLITE_INTERRUPT,
)
_DAMAGE: Final = (
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_TOOBIG,
    sqlite3.SQLITE_ERROR,
)
_WANTS_TO_WRITE: Final = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
_COPIED: Final = "read from a copy, since its folder cannot be written to"


class FileState(NamedTuple):
    """What the file system says of a file: where it is the same, nothing was written."""

    size: int
    modified_ns: int
    inode: int


class Look(NamedTuple):
    """A part and its journals; None for a file that is not there, or is empty."""

    part: FileState | None
    journals: tuple[FileState | None, ...]

    @property
    def num_bytes(self) -> int:
        return sum(state.size for state in (self.part, *self.journals) if state is not None)

    @property
    def modified(self) -> float:
        """When something was last written, in seconds since 1970."""
        states = [state for state in (self.part, *self.journals) if state is not None]
        return max((state.modified_ns for state in states), default=0) / 1e9

    def is_settled(self, now: float) -> bool:
        """True if a change after `now` would be seen."""
        return self.modified < now - CLOCK_SECONDS


class SnapshotFile:
    """A SQLite file that somebody else may be writing. `note` says how it had to be read."""

    def __init__(self, path: Path, is_locked: Callable[[], bool | None]) -> None:
        self.path = path
        self.note = ""
        self._is_locked = is_locked
        self._journals = [f"{path}{ending}" for ending in JOURNALS]
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        self._copied: Look | None = None
        self._num_holding = 0
        self._held: sqlite3.Connection | None = None

    def look(self) -> Look:
        return Look(state_of(self.path), tuple(map(state_of, self._journals)))

    def read(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """What the job gives for one moment of the file. It is called again where the file changed."""
        for _ in range(_ATTEMPTS):
            before = self.look()
            if before.part is None:
                raise sqlite3.OperationalError("it is not there, or empty")
            # Closing a file that "cannot change" drops the locks that a writer in this process has on it.
            if any(before.journals) or self._is_locked():
                break
            try:
                result = _read(self.path.absolute().as_uri() + "?mode=ro&immutable=1", job)
            except sqlite3.DatabaseError:
                if self.look() == before:
                    raise
            else:
                if self.look() == before:
                    return result
        try:
            return self._read_shared(job)
        except sqlite3.OperationalError as error:
            if primary_code(error) not in _WANTS_TO_WRITE or self._is_locked():
                raise
        return self._read_copy(job)

    @contextmanager
    def holding(self) -> Iterator[None]:
        """A few readings in a row, for which a file that is being written is opened once."""
        self._num_holding += 1
        try:
            yield
        finally:
            self._num_holding -= 1
            if not self._num_holding and self._held is not None:
                self._held.close()
                self._held = None

    def _read_shared(self, job: Callable[[sqlite3.Connection], T]) -> T:
        # SQLite would wait for a pipe in the place of a journal.
        for path in (*self._journals, f"{self.path}-shm"):
            if os.path.exists(path) and not os.path.isfile(path):
                raise damage_error(f"{Path(path).name} is no ordinary file")
        uri = self.path.absolute().as_uri() + "?mode=ro"
        if not self._num_holding:
            return _read(uri, job)
        if self._held is None:
            self._held = _connected(uri)
        return _at_one_moment(self._held, job)

    def _read_copy(self, job: Callable[[sqlite3.Connection], T]) -> T:
        before = self.look()
        if self._copy is None or self._copied != before:
            self.close()
            self._copy = tempfile.TemporaryDirectory(prefix="torcheer-", ignore_cleanup_errors=True)
            for source in (str(self.path), *self._journals):
                if state_of(source) is not None:
                    shutil.copyfile(source, Path(self._copy.name, Path(source).name))
            if self.look() != before:
                raise sqlite3.OperationalError("it changed while it was copied")
            self._copied = before
            self.note = _COPIED
        return _read(Path(self._copy.name, self.path.name).as_uri(), job)

    def close(self) -> None:
        if self._copy is not None:
            self._copy.cleanup()
        self._copy = self._copied = None


def is_passing(error: sqlite3.Error) -> bool:
    """True if it may work the next time: somebody holds the file, or is creating it."""
    return primary_code(error) in _PASSING


def is_damage(error: sqlite3.Error) -> bool:
    return primary_code(error) in _DAMAGE


def damage_error(message: str) -> sqlite3.DatabaseError:
    error = sqlite3.DatabaseError(message)
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


def state_of(path: str | Path, *, is_file: bool = True) -> FileState | None:
    """None for what is not there; of a file also where it is empty, or no ordinary one."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    if is_file and not (found.st_size and stat.S_ISREG(found.st_mode)):
        return None
    return FileState(found.st_size, found.st_mtime_ns, found.st_ino)


def _read(uri: str, job: Callable[[sqlite3.Connection], T]) -> T:
    with closing(_connected(uri)) as connection:
        return _at_one_moment(connection, job)


def _connected(uri: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        uri, uri=True, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    # Whatever a text holds, it is no reason to stop reading.
    connection.text_factory = lambda data: data.decode("utf-8", errors="replace")
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA query_only = ON")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _at_one_moment(connection: sqlite3.Connection, job: Callable[[sqlite3.Connection], T]) -> T:
    try:
        connection.execute("BEGIN")
        return job(connection)
    except UnicodeDecodeError:  # in the words of an error, which may hold what stands in a damaged file
        raise damage_error("database disk image is malformed") from None
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
