"""Open the SQLite file of a part for writing, or make it; and know a file that is not one of ours."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import NamedTuple

from torcheer.run.mounts import remote_kind
from torcheer.run.schema import APPLICATION_ID, FORMAT, PAGE_BYTES, TABLES

_BUSY_SECONDS = 1.0
_LOG_BYTES = 64 << 20  # to which the write-ahead log is cut down when it has grown
_STATEMENTS = tuple(filter(str.strip, re.sub(r"--[^\n]*", "", TABLES).split(";")))
_TABLE_NAMES = frozenset(re.findall(r"CREATE TABLE IF NOT EXISTS (\w+)", TABLES))


class NotOursError(Exception):
    """The file is no part that can be appended to; the message says why."""


class Opened(NamedTuple):
    """A connection in which nothing has begun yet, and what readers should know about it."""

    connection: sqlite3.Connection
    note: str
    is_remote: bool


def open_database(path: Path) -> Opened:
    """Raises NotOursError, or sqlite3.Error where the disk does not allow it."""
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        _check(connection, path)
        remote = remote_kind(path.parent)
        return Opened(connection, _choose_journal(connection, remote), bool(remote))
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
