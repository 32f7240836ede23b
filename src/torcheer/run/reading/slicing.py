"""Read pieces of the bytes of records, and not the rest of them; and what records say of themselves."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Final, NamedTuple

from torcheer.run.parts import SeriesKey
from torcheer.run.reading.queries import Damage
from torcheer.run.reading.snapshots import is_damage

TOO_SHORT: Final = "some records are not as long as they should be"
HEADS: Final = "SELECT id, name, step, time, num_bytes, head FROM records "


class HeadRow(NamedTuple):
    """A record as the table has it. Its head is what somebody wrote: it is not decoded, nor believed."""

    id: int
    key: SeriesKey
    step: int
    time: float
    num_bytes: int  # -1 where it says none
    head: object


class Slice(NamedTuple):
    """A piece of the bytes of a record."""

    record: int
    num_bytes: int  # of all of it: where it has others, it is damaged
    start: int
    size: int


def read_slices(
    connection: sqlite3.Connection, wanted: Sequence[Slice], damage: Damage
) -> list[bytes | None]:
    """None for what is gone, or is not as long as it should be."""
    return [_read(connection, one, damage) for one in wanted]


def _read(connection: sqlite3.Connection, wanted: Slice, damage: Damage) -> bytes | None:
    if not 0 <= wanted.start <= wanted.start + wanted.size <= wanted.num_bytes:
        return None
    try:
        with connection.blobopen("data", "bytes", wanted.record, readonly=True) as blob:
            # Before anything is made room for: the length that there is.
            if len(blob) != wanted.num_bytes:
                damage.add(TOO_SHORT)
                return None
            blob.seek(wanted.start)
            data = blob.read(wanted.size)
            return data if len(data) == wanted.size else None
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        return None  # gone, or it cannot be read
