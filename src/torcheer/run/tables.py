"""Rows into the tables of a part, many in one statement.

Each statement lets the training's thread run, and in a busy training the writer gets the interpreter back
only milliseconds later. So what counts is how many statements there are, not how many rows.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

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
