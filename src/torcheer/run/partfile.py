"""The SQLite file of one writing process, while it is written: sessions, batches, what is taken back."""

from __future__ import annotations

import ctypes
import json
import os
import socket
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from torcheer.run.batches import Batch
from torcheer.run.blocks import BlockWriter
from torcheer.run.names import Names
from torcheer.run.observing.plaintext import plain_text
from torcheer.run.opening import make_tables, open_database
from torcheer.run.purging import take_back
from torcheer.run.recordrows import RecordWriter, Thinned
from torcheer.run.room import has_room, is_low
from torcheer.run.schema import FORMAT, THINNED_STEPS

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
        if self._is_local and is_low(self._path):
            self.empty_log()

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
