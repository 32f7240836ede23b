"""The SQLite file of one writing process, while it is written: sessions, batches, what is taken back."""

from __future__ import annotations

import ctypes
import json
import os
import re
import shutil
import socket
import sqlite3
import time
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from torcheer.run.part_storage import (
    FORMAT,
    LOCK_ENDING,
    PART_ENDING,
    THINNED_STEPS,
    Fault,
    NotOursError,
    PartLock,
    fault_of,
    is_full,
    make_tables,
    open_database,
    take_lock,
    words_for,
)
from torcheer.run.records import plain_text
from torcheer.run.statistics import purge_statistics
from torcheer.run.write.point_blocks import BlockWriter, purge_points
from torcheer.run.write.queue import Batch
from torcheer.run.write.record_rows import Names, RecordWriter, Thinned, purge_records, purge_watches

_VACUUM_PAGES = 4096  # given back to the system when the part is closed: as many as take no time
_MOST_REASON = 500  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the user said of a run when it was opened."""

    comment: str = ""
    tags: tuple[str, ...] = ()
    total_steps: int | None = None
    max_bytes: int = 2 << 30


class PartFile:
    """Open for writing. Any method may raise sqlite3.Error; what was committed before stays as it is."""

    def __init__(self, path: Path, settings: Settings, note: str = "") -> None:
        """Raises NotOursError, sqlite3.Error or OSError."""
        self._num_thinned_records = 0  # in this session
        self._num_thinned_steps = 0
        self._path = path
        self._max_bytes = settings.max_bytes
        self._connection, journal_note, is_remote = open_database(path)
        self._note = "; ".join(filter(None, (note, journal_note)))
        try:
            with self._transaction(is_first=True):
                make_tables(self._connection)
                self._write_meta(settings)
                self._session = self._begin_session()
                self._load()
            self._is_local = not is_remote
            # A network file system may number its files anew at any time.
            self._identity = _identity_of(path) if self._is_local else None
        except BaseException:
            self._connection.close()
            raise

    @property
    def name(self) -> str:
        return self._path.stem

    @property
    def num_thinned(self) -> int:
        """Records, and steps of statistics, that made way in this session."""
        return self._num_thinned_records + self._num_thinned_steps

    def reconnect(self) -> None:
        """After an I/O error the old connection may never work again. The session goes on."""
        self.close()
        self._connection = open_database(self._path).connection
        self._is_stale = True

    def write(self, batch: Batch, num_dropped: int) -> None:
        """One transaction. An empty batch writes a little, too: so it can be seen whether writing works."""
        with self._transaction():
            self._blocks.add(
                {self._names.id_of("scalar", name): found for name, found in batch.columns.items()}
            )
            for described in batch.descriptions:
                name = self._names.id_of(described.kind, described.name)
                self._names.describe(name, described.description)
            thinned = self._records.add(batch.records) if batch.records else Thinned(0, 0)
            num_thinned = self._num_thinned_records + thinned.num_records
            self._update_session(num_dropped, num_thinned, is_forced=batch.is_empty)
            if thinned.num_steps:
                self._note_thinned_steps(thinned.num_steps)
        self._num_thinned_records = num_thinned
        self._num_thinned_steps += thinned.num_steps

    def has_room_for(self, num_bytes: int) -> bool:
        """Whether records of so many bytes leave enough for numbers."""
        if has_room(self._path, num_bytes, log_is_empty=not self._is_local):
            return True
        if self._is_local:
            self.empty_log()
        return has_room(self._path, num_bytes, log_is_empty=True)

    def empty_log(self) -> None:
        """Put what is in the write-ahead log where it belongs, so that the log need not grow."""
        with suppress(sqlite3.Error):
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def tidy(self) -> bool:
        """A little housekeeping. False: there was nothing to do."""
        if not self._blocks.is_untidy:
            return False
        with self._transaction():
            self._blocks.tidy()
        return True

    def purge(self, purge_step: int) -> None:
        """Take back what was logged from that step on, as if it had never been."""
        with self._transaction():
            take_back(self._connection, purge_step)
        self._is_stale = True

    def end(self, outcome: str, reason: str, num_dropped: int) -> None:
        reason = plain_text(reason.strip().split("\n")[0][:_MOST_REASON])
        with self._transaction():
            self._update_session(num_dropped, self._num_thinned_records)
            self._connection.execute(
                "UPDATE sessions SET ended = ?, outcome = ?, reason = ? WHERE id = ?",
                (time.time(), outcome, reason, self._session),
            )
        self._connection.execute(f"PRAGMA incremental_vacuum({_VACUUM_PAGES})").fetchall()

    def close(self) -> None:
        with suppress(sqlite3.Error):
            self._connection.close()

    def abandon_after_fork(self) -> None:
        """A connection does not survive a fork, and closing it here could harm the parent: it is leaked."""
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._connection))

    def is_in_place(self) -> bool:
        """Whether the file that is written is still the one that stands there. Raises OSError."""
        try:
            identity = _identity_of(self._path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return self._identity is None or identity == self._identity

    def _load(self) -> None:
        """What the tables hold, as far as the writing needs it: at the beginning, and after a failure."""
        self._names = Names(self._connection)
        self._blocks = BlockWriter(self._connection)
        self._records = RecordWriter(self._connection, self._names, self._max_bytes)
        self._noted = (0, 0)
        self._is_stale = False

    @contextmanager
    def _transaction(self, *, is_first: bool = False) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            if not is_first and self._is_stale:
                self._load()
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            self._is_stale = True
            with suppress(sqlite3.Error):
                self._connection.rollback()
            raise

    def _write_meta(self, settings: Settings) -> None:
        self._connection.executemany(
            "INSERT OR IGNORE INTO meta (key, value) VALUES (?, ?)",
            [("format", str(FORMAT)), ("generation", "0")],
        )
        # A run that is resumed keeps what it is not told anew.
        given = {
            "comment": plain_text(settings.comment),
            "tags": json.dumps(settings.tags) if settings.tags else "",
            "total_steps": "" if settings.total_steps is None else str(settings.total_steps),
        }
        self._connection.executemany(
            "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)",
            [item for item in given.items() if item[1]],
        )

    def _begin_session(self) -> int:
        cursor = self._connection.execute(
            "INSERT INTO sessions (started, host, pid, note) VALUES (?, ?, ?, ?)",
            (time.time(), plain_text(socket.gethostname()), os.getpid(), plain_text(self._note)),
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def _update_session(self, num_dropped: int, num_thinned: int, *, is_forced: bool = False) -> None:
        if is_forced or (num_dropped, num_thinned) != self._noted:
            self._connection.execute(
                "UPDATE sessions SET num_dropped = ?, num_thinned = ? WHERE id = ?",
                (num_dropped, num_thinned, self._session),
            )
            self._noted = (num_dropped, num_thinned)

    def _note_thinned_steps(self, num_steps: int) -> None:
        # Not in the session: there, a change says to readers that they must count all records anew.
        self._connection.execute(
            "INSERT INTO meta (key, value) VALUES (?, ?) "
            "ON CONFLICT (key) DO UPDATE SET value = CAST(value AS INTEGER) + excluded.value",
            (THINNED_STEPS, str(num_steps)),
        )


def _identity_of(path: Path) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_dev, status.st_ino


# --- which file a writer takes --------------------------------------------------------------------------

_MOST_PARTS = 10_000  # of one rank


class Taken(NamedTuple):
    """A part, open, with the right to write it."""

    part: PartFile
    lock: PartLock
    passed_over: list[str]  # what was wrong with the files before it


def take_part(folder: Path, rank: int, settings: Settings, damaged: set[str]) -> Taken:
    """Raises OSError or sqlite3.Error where the disk does not allow it. `damaged`: files not to take."""
    passed_over: list[str] = []
    for number in range(_MOST_PARTS):
        stem = f"rank-{rank}.{number}" if number else f"rank-{rank}"
        lock_path, part_path = folder / (stem + LOCK_ENDING), folder / (stem + PART_ENDING)
        if stem in damaged:
            continue
        if not (_may_write(lock_path) and _may_write(part_path)):
            passed_over.append(f"{part_path.name} may not be written to")
            continue
        lock = take_lock(lock_path)
        if lock is None:
            continue
        try:
            part = _open(part_path, settings, "; ".join(passed_over))
        except NotOursError as error:
            passed_over.append(str(error))
            damaged.add(stem)
            lock.release()
        except BaseException:
            lock.release()
            raise
        else:
            return Taken(part, lock, passed_over)
    raise FileExistsError(f"{folder} has {_MOST_PARTS:,} parts of rank {rank} that others write")


def _may_write(path: Path) -> bool:
    """A file of somebody else, in a folder that several share, is not ours to wait for."""
    return not path.exists() or os.access(path, os.R_OK | os.W_OK)


def _open(path: Path, settings: Settings, note: str) -> PartFile:
    if path.is_dir():
        raise NotOursError(f"{path.name} is a folder")
    try:
        return PartFile(path, settings, note)
    except sqlite3.Error as error:
        if fault_of(error) is Fault.PASSING:
            raise
        raise NotOursError(f"{path.name} is damaged, or no database ({error})") from error


# --- taking back ----------------------------------------------------------------------------------------


def take_back(connection: sqlite3.Connection, purge_step: int) -> None:
    """Within the transaction of the caller."""
    found_points = purge_points(connection, purge_step)
    found_records = purge_records(connection, purge_step)
    found_statistics = purge_statistics(connection, purge_step)
    found_watches = purge_watches(connection, purge_step)
    if found_points or found_records or found_statistics or found_watches:
        connection.execute("UPDATE meta SET value = CAST(value AS INTEGER) + 1 WHERE key = 'generation'")


def take_back_elsewhere(
    folder: Path, rank: int, purge_step: int, left_alone: Collection[str]
) -> Iterator[tuple[str, str]]:
    """In all parts of a rank but those left alone. Gives those in which it cannot be done, and why.

    Raises OSError or sqlite3.Error where the disk is full: later it may work, and then all is done again.
    """
    pattern = re.compile(rf"(rank-{rank}(?:\.[0-9]+)?){re.escape(PART_ENDING)}")
    for name in sorted(os.listdir(folder)):
        found = pattern.fullmatch(name)
        if found is None or found[1] in left_alone:
            continue
        reason = _take_back_in(folder / name, purge_step)
        if reason:
            yield name, reason


def _take_back_in(path: Path, purge_step: int) -> str:
    """Why it cannot be done; empty where it was."""
    try:
        lock = take_lock(path.with_suffix(LOCK_ENDING))
        if lock is None:
            return "somebody writes it. If that process should be gone, end it and resume again"
        try:
            _purge_file(path, purge_step)
        finally:
            lock.release()
    except NotOursError as error:
        return str(error)
    except (sqlite3.Error, OSError, ValueError) as error:
        if is_full(error):
            raise
        return words_for(error)
    return ""


def _purge_file(path: Path, purge_step: int) -> None:
    with closing(open_database(path).connection) as connection:
        connection.execute("BEGIN IMMEDIATE")
        try:
            # Where its maker was killed at once, there are no tables yet.
            if connection.execute("SELECT 1 FROM sqlite_master").fetchone() is not None:
                take_back(connection, purge_step)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.rollback()
            raise


# --- room on the disk -----------------------------------------------------------------------------------

_KEPT_BYTES = 16 << 20
_KEPT_SHARE = 8  # of a small disk: one part in so many


def has_room(path: Path, num_bytes: int, *, log_is_empty: bool) -> bool:
    """Whether records of so many bytes leave enough. Each byte stands in the log first, then in the file."""
    waiting = 0
    try:
        total, _, free = shutil.disk_usage(path.parent)
        if not log_is_empty:
            waiting = os.stat(f"{path}-wal").st_size
    except FileNotFoundError:
        pass  # no log
    except OSError:
        return True  # it will be seen
    return free >= 2 * num_bytes + waiting + min(_KEPT_BYTES, total // _KEPT_SHARE)
