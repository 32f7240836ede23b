"""Take back what was logged from a step on, in every part of a rank that nobody writes."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Collection, Iterator
from contextlib import closing
from pathlib import Path

from torcheer.run.blocks import purge_points
from torcheer.run.faults import is_full, words_for
from torcheer.run.locking import take_lock
from torcheer.run.opening import NotOursError, open_database
from torcheer.run.recordrows import purge_records
from torcheer.run.schema import LOCK_ENDING, PART_ENDING
from torcheer.run.statisticsblocks import purge_statistics
from torcheer.run.watchrows import purge_watches


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
