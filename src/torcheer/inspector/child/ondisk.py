"""Which steps of which rows are in the run, read as the files are at one moment.

A reader that follows a run may come by while another child of the same rank puts one record in the place of
another, and then leaves out what it does not find. Here that would count something as missing that is there.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

import msgspec
import numpy

from torcheer.run import (
    PART_ENDING,
    AnyHead,
    StatisticsHead,
    WatchedRow,
    WatchHead,
    decode_head,
    rank_in,
    table_of,
)

_NUM_TRIES: Final = 5
_PAUSE_SECONDS: Final = 0.1
_BUSY_SECONDS: Final = 1.0
_HEADS: Final = (
    "SELECT r.id, r.head FROM records r JOIN names n ON n.id = r.name WHERE n.kind = ? ORDER BY r.id"
)
_DATA: Final = "SELECT bytes FROM data WHERE record = ?"
_ROWS: Final = msgspec.json.Decoder(list[WatchedRow])


class Stretch(NamedTuple):
    """Steps from the first to the last, of frames that came after a time."""

    first_step: int
    last_step: int
    after: float


class There(NamedTuple):
    """What was found: how many steps of each row, and the last of all steps."""

    counts: dict[str, int]
    last_step: int


def there(folder: str, rank: int, stretch: Stretch) -> There:
    """In all files of a rank. One that cannot be read counts as empty."""
    counts: dict[str, int] = {}
    last_step = -1
    for path in _files(folder, rank):
        found = _try(path, stretch)
        for name, count in found.counts.items():
            counts[name] = counts.get(name, 0) + count
        last_step = max(last_step, found.last_step)
    return There(counts, last_step)


def _files(folder: str, rank: int) -> list[Path]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    paths = [Path(folder, name) for name in names if name.endswith(PART_ENDING)]
    return [path for path in paths if rank_in(path.stem) == rank and path.is_file()]


def _try(path: Path, stretch: Stretch) -> There:
    for number in range(_NUM_TRIES):
        if number:
            time.sleep(_PAUSE_SECONDS)
        with suppress(sqlite3.Error, OSError):
            return _read(path, stretch)
    return There({}, -1)


def _read(path: Path, stretch: Stretch) -> There:
    place = f"file:{quote(str(path.absolute()))}?mode=rw"  # which makes no file where there is none
    with closing(sqlite3.connect(place, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)) as connection:
        connection.execute("BEGIN")  # all that follows sees the same moment
        names = dict(_plans(connection))
        counts: dict[str, int] = {}
        last_step = -1
        for id, head in _heads(connection, "statistics"):
            if not isinstance(head, StatisticsHead) or head.digest not in names:
                continue
            if head.last_time <= stretch.after:
                continue
            table = table_of(head, connection.execute(_DATA, (id,)).fetchone()[0])
            is_of_it = (table.steps >= stretch.first_step) & (table.steps <= stretch.last_step)
            is_of_it &= table.times > stretch.after
            if not is_of_it.any():
                continue
            last_step = max(last_step, int(table.steps[is_of_it].max()))
            seen = ~numpy.isnan(table.values[:, :, is_of_it]).all(axis=0)
            for name, count in zip(names[head.digest], seen.sum(axis=1).tolist(), strict=False):
                counts[name] = counts.get(name, 0) + count
        connection.execute("ROLLBACK")
    return There(counts, last_step)


def _plans(connection: sqlite3.Connection) -> Iterator[tuple[str, list[str]]]:
    """The names of rows, by the digest of their plan."""
    for id, head in _heads(connection, "watch"):
        if isinstance(head, WatchHead):
            with suppress(msgspec.MsgspecError, TypeError):
                rows = _ROWS.decode(connection.execute(_DATA, (id,)).fetchone()[0])
                yield head.digest, [row.name for row in rows]


def _heads(connection: sqlite3.Connection, kind: str) -> Iterator[tuple[int, AnyHead]]:
    for id, head in connection.execute(_HEADS, (kind,)).fetchall():
        with suppress(msgspec.MsgspecError, TypeError, RecursionError, UnicodeDecodeError):
            yield id, decode_head(head)
