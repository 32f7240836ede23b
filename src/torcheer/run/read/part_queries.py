"""What is asked of the file of a part. Nothing in it is believed before its type was looked at."""

from __future__ import annotations

import math
import sqlite3
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import msgspec
import numpy

from torcheer.run.part_storage import APPLICATION_ID, FORMAT
from torcheer.run.read.parts import Points, RecordEntry, SeriesKey, is_moment
from torcheer.run.read.snapshot import damage_error, is_damage
from torcheer.run.records import (
    AlarmHead,
    AnyHead,
    ConfusionHead,
    EmbeddingHead,
    GapHead,
    HistogramHead,
    HparamsHead,
    LayoutHead,
    PassHead,
    PrCurveHead,
    StatisticsHead,
    TensorHead,
    VideoHead,
    WatchHead,
    decode_head,
)
from torcheer.run.statistics import is_fitting
from torcheer.tensorfile import RAW_TYPES

_POINT: Final = struct.Struct("<qdd")
_TABLES: Final = ("meta", "sessions", "names", "points", "records", "data", "documents")
_ROW_BYTES: Final = 4  # a row takes more than that in the file
_MOST_TEXT: Final = 10_000  # characters of a comment, a description, a reason
_MOST_REASONS: Final = 8

# The last point is taken along where the block is small: it lies in the page that is read anyway.
_POINTS: Final = (
    "SELECT id, name, first, count, num_bad, length(steps), length(times), length(vals), "
    "CASE WHEN count <= 128 THEN substr(steps, -8) END, CASE WHEN count <= 128 THEN substr(times, -8) END, "
    "CASE WHEN count <= 128 THEN substr(vals, -8) END FROM points "
)
_RECORDS: Final = (
    "SELECT r.id, r.step, r.time, r.num_bytes, r.head, length(d.bytes) "
    "FROM records r LEFT JOIN data d ON d.record = r.id "
)

Row = tuple[Any, ...]


class NotYet(Exception):  # noqa: N818  # no error: it is tried again
    """The tables are not there yet."""


class Unreadable(Exception):  # noqa: N818  # becomes the note of a part
    """The file is no part of a run, or not one that this version reads."""


class Block(NamedTuple):
    """A row of `points` but for its numbers."""

    id: int
    first: int
    num_points: int
    num_bad: int
    last: tuple[int, float, float] | None = None  # step, time and value of its last point, where it is known

    @property
    def end(self) -> int:
        return self.first + self.num_points


class NameRow(NamedTuple):
    """A row of `names`."""

    id: int
    kind: str
    name: str
    description: str


class SessionRow(NamedTuple):
    """A row of `sessions`."""

    id: int
    started: float
    ended: float | None
    outcome: str
    reason: str
    host: str
    pid: int
    num_dropped: int
    num_thinned: int
    note: str


class RecordMark(NamedTuple):
    """A row of `records` without its head."""

    id: int
    name: int
    step: int
    time: float


@dataclass(slots=True)
class Damage:
    """What could not be read. Filled while reading, said once."""

    reasons: dict[str, None] = field(default_factory=dict)

    def add(self, reason: str) -> None:
        if len(self.reasons) < _MOST_REASONS:
            self.reasons.setdefault(reason)


def check_tables(connection: sqlite3.Connection) -> None:
    """Are these the tables of a part? A view of that name could ask for anything."""
    marks = ", ".join("?" * len(_TABLES))
    found = connection.execute(
        f"SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 AND name IN ({marks})",
        _TABLES,
    ).fetchone()[0]
    if found == len(_TABLES):
        return
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (num_any,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if num_any and application != APPLICATION_ID:
        raise Unreadable("this is a SQLite file, but not one of a run")
    raise NotYet


def read_meta(connection: sqlite3.Connection) -> dict[str, str]:
    rows = connection.execute("SELECT key, value FROM meta LIMIT 1000").fetchall()
    meta = {key: _clipped(value) for key, value in rows if isinstance(key, str) and isinstance(value, str)}
    number = whole_number(meta.get("format"))
    if number is None:
        raise NotYet
    if number > FORMAT:
        raise Unreadable(
            f"it was written by a newer torcheer (format {number}, and this one reads {FORMAT}): "
            "pip install --upgrade torcheer"
        )
    return meta


def generation_in(meta: dict[str, str]) -> int:
    return whole_number(meta.get("generation")) or 0


def whole_number(text: str | None) -> int | None:
    if text is None or len(text) > 20:
        return None
    try:
        return int(text)
    except ValueError:
        return None


def read_sessions(connection: sqlite3.Connection) -> list[SessionRow]:
    rows = connection.execute(
        "SELECT id, started, ended, outcome, reason, host, pid, num_dropped, num_thinned, note "
        "FROM sessions ORDER BY id DESC LIMIT 10000"
    ).fetchall()
    clipped = (tuple(map(_clipped, row)) for row in reversed(rows))
    return [SessionRow(*row) for row in clipped if _is_session(row)]


def _is_session(row: Row) -> bool:
    number, started, ended, outcome, reason, host, pid, num_dropped, num_thinned, note = row
    return (
        _are_whole(number, pid, num_dropped, num_thinned)
        and is_moment(started)
        and (ended is None or is_moment(ended))
        and all(isinstance(text, str) for text in (outcome, reason, host, note))
    )


def read_names(connection: sqlite3.Connection, num_bytes: int, damage: Damage) -> list[NameRow]:
    rows = scan(connection, "SELECT id, kind, name, description FROM names ", -1, num_bytes, damage)
    found = []
    for row in rows:
        number, kind, name, description = row
        if isinstance(kind, str) and isinstance(name, str) and isinstance(description, str):
            found.append(NameRow(number, kind, name, _clipped(description)))
        else:
            damage.add("some names are no text")
    return found


def read_blocks(
    connection: sqlite3.Connection, after: int, num_bytes: int, damage: Damage
) -> list[tuple[int, Block]]:
    """New blocks and the numbers of their names, once the lengths of their columns fit their counts."""
    found: list[tuple[int, Block]] = []
    for row in scan(connection, _POINTS, after, num_bytes, damage):
        block = _block_of(row, num_bytes)
        if block is None:
            damage.add("some points are not what they should be")
        else:
            found.append((row[1], block))
    return found


def read_blocks_of(connection: sqlite3.Connection, name: int, num_bytes: int) -> list[Block]:
    """All blocks of one series."""
    rows = connection.execute(_POINTS + "WHERE name = ? ORDER BY first", (name,))
    blocks = (_block_of(row, num_bytes) for row in _fill([], rows, num_bytes))
    return [block for block in blocks if block is not None]


def _block_of(row: Row, num_bytes: int) -> Block | None:
    number, name, first, count, num_bad, of_steps, of_times, of_values, *last = row
    if not (type(name) is type(first) is type(count) is type(num_bad) is int):
        return None
    # No more points than there is room for, wherever in the series they say that they stand.
    if not (0 < count <= num_bytes and 0 <= first < 2**62 and 0 <= num_bad <= count):
        return None
    if not of_steps == of_times == of_values == 8 * count:
        return None
    if last[0] is None:
        return Block(number, first, count, num_bad)
    try:
        return Block(number, first, count, num_bad, _POINT.unpack(b"".join(last)))
    except (TypeError, struct.error):  # they are not bytes
        return None


def read_columns(connection: sqlite3.Connection, block: Block) -> Points | None:
    """The points of a block; None where it is gone. ValueError where its bytes are not what was said."""
    row = connection.execute("SELECT steps, times, vals FROM points WHERE id = ?", (block.id,)).fetchone()
    if row is None:
        return None
    if not all(isinstance(column, bytes) and len(column) == 8 * block.num_points for column in row):
        raise ValueError
    steps, times, values = row
    return Points(
        numpy.frombuffer(steps, "<i8"), numpy.frombuffer(times, "<f8"), numpy.frombuffer(values, "<f8")
    )


def read_record_marks(
    connection: sqlite3.Connection, after: int, num_bytes: int, damage: Damage
) -> list[RecordMark]:
    found = []
    for row in scan(connection, "SELECT id, name, step, time FROM records ", after, num_bytes, damage):
        number, name, step, time = row
        if _are_whole(number, name, step) and is_moment(time):
            found.append(RecordMark(number, name, step, float(time)))
        else:
            damage.add("some records are not what they should be")
    return found


def read_records_of(
    connection: sqlite3.Connection, name: int, after: int, num_bytes: int, damage: Damage
) -> list[Row]:
    """id, step, time, num_bytes, head and the length of the data of the records of one series."""
    sql = _RECORDS + "WHERE r.name = ? AND r.id > ? ORDER BY r.id"
    try:
        return _fill([], connection.execute(sql, (name, after)), num_bytes)
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        damage.add(str(error))
    # The index may be what is damaged.
    rows = scan(connection, "SELECT id, name FROM records ", after, num_bytes, damage)
    found = (read_record(connection, number, damage) for number, its_name in rows if its_name == name)
    return [row for row in found if row is not None]


def read_record(connection: sqlite3.Connection, record: int, damage: Damage) -> Row | None:
    try:
        row: Row | None = connection.execute(_RECORDS + "WHERE r.id = ?", (record,)).fetchone()
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        damage.add(str(error))
        return None
    return row


def scan(connection: sqlite3.Connection, sql: str, after: int, num_bytes: int, damage: Damage) -> list[Row]:
    """Rows with ids above `after`, rising. Where the file is damaged, those before and those behind it."""
    rows: list[Row] = []
    try:
        _fill(rows, connection.execute(sql + "WHERE id > ? ORDER BY id", (after,)), num_bytes)
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        damage.add(str(error))
        last = rows[-1][0] if rows else after
        behind: list[Row] = []
        with suppress(sqlite3.DatabaseError):
            _fill(behind, connection.execute(sql + "WHERE id > ? ORDER BY id DESC", (last,)), num_bytes)
        rows += behind[::-1]
    return [row for row in rows if type(row[0]) is int]


def _fill(rows: list[Row], cursor: sqlite3.Cursor, num_bytes: int) -> list[Row]:
    """All rows. More than the file has room for are an error: a damaged tree can lead round in circles."""
    most = num_bytes // _ROW_BYTES + 1
    for row in cursor:
        rows.append(row)
        if len(rows) > most:
            raise damage_error("its tables lead round in circles")
    return rows


def _are_whole(*values: object) -> bool:
    return all(type(value) is int for value in values)


def _clipped(value: object) -> Any:
    return value[:_MOST_TEXT] if isinstance(value, str) else value


# --- pieces of records ----------------------------------------------------------------------------------

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


# --- entries --------------------------------------------------------------------------------------------


def entry_of(part: str, row: Row, damage: Damage) -> RecordEntry | None:
    """None for what is no record; the damage says why."""
    number, step, time, num_bytes, head, length = row
    try:
        if type(step) is not int or type(num_bytes) is not int or not is_moment(time):
            raise ValueError("some records are not what they should be")
        decoded = decode_head(head)
        if length not in (num_bytes, None) or not fits(decoded, num_bytes):
            raise ValueError("some records are not as long as they should be")
    except (msgspec.MsgspecError, TypeError, RecursionError, UnicodeDecodeError):
        damage.add("some records do not say what they are")
        return None
    except ValueError as error:
        damage.add(str(error))
        return None
    return RecordEntry(id=number, part=part, step=step, time=float(time), num_bytes=num_bytes, head=decoded)


def kind_of(entry: RecordEntry) -> str:
    return str(entry.head.__struct_config__.tag)


# --- heads that fit their bytes -------------------------------------------------------------------------

MAX_DIMS: Final = 64  # torch's own

# Bytes of one element, by torch's names.
ITEM_BYTES: Final = {
    **RAW_TYPES,
    **dict.fromkeys(("bool", "uint8", "int8"), 1),
    **dict.fromkeys(("uint16", "int16", "float16"), 2),
    **dict.fromkeys(("uint32", "int32", "float32"), 4),
    **dict.fromkeys(("uint64", "int64", "float64", "complex64"), 8),
    "complex128": 16,
    "complex32": 4,
}


def fits(head: AnyHead, num_bytes: int) -> bool:
    """False where the bytes cannot be what the head says. Nothing is read, or made room for, before."""
    rule = _RULES.get(type(head))
    return num_bytes >= 0 and (rule is None or rule(head, num_bytes))


def _tensor_fits(head: TensorHead, num_bytes: int) -> bool:
    size = ITEM_BYTES.get(head.dtype)
    if size is None or len(head.shape) > MAX_DIMS or min(head.shape, default=0) < 0:
        return False
    return size * math.prod(head.shape) == num_bytes


def _embedding_fits(head: EmbeddingHead, num_bytes: int) -> bool:
    parts = (head.matrix_bytes, head.label_bytes, head.sprite_bytes)
    if min(*parts, head.num_points, head.num_dims) < 0:
        return False
    return head.matrix_bytes == 4 * head.num_points * head.num_dims and sum(parts) == num_bytes


def _is_empty(head: AnyHead, num_bytes: int) -> bool:
    return num_bytes == 0


_RULES: Final[dict[type, Callable[[Any, int], bool]]] = {
    TensorHead: _tensor_fits,
    HistogramHead: lambda head, size: head.num_bins >= 0 and 8 * (2 * head.num_bins + 1) == size,
    VideoHead: lambda head, size: min(head.frame_bytes, default=0) >= 0 and sum(head.frame_bytes) == size,
    EmbeddingHead: _embedding_fits,
    PrCurveHead: lambda head, size: head.num_thresholds >= 0 and 8 * 6 * head.num_thresholds == size,
    ConfusionHead: lambda head, size: 8 * len(head.labels) ** 2 == size,
    PassHead: lambda head, size: head.num_ops >= 0 and 8 * head.num_ops * len(head.figures) == size,
    WatchHead: lambda head, size: 0 <= head.num_rows <= size,  # a row takes more than a byte
    StatisticsHead: is_fitting,
    HparamsHead: _is_empty,
    LayoutHead: _is_empty,
    AlarmHead: _is_empty,
    GapHead: _is_empty,
}
