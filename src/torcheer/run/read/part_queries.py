"""What is asked of the file of a part. Nothing in it is believed before its type was looked at."""

from __future__ import annotations

import math
import sqlite3
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy

from torcheer.run.part_storage import APPLICATION_ID, FORMAT
from torcheer.run.read.part_protocol import Points, RecordEntry, SeriesKey, is_moment
from torcheer.run.read.snapshot import damage_error, is_damage
from torcheer.run.records import (
    AlarmHead,
    AnyHead,
    ConfusionHead,
    EmbeddingHead,
    GapHead,
    HistogramHead,
    HparamsHead,
    Kind,
    LayoutHead,
    PassHead,
    PrCurveHead,
    StatisticsHead,
    TensorHead,
    VideoHead,
    WatchHead,
    head_or_none,
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


class PartQueries:
    """What is asked of the file of a part at one moment. Nothing in it is believed unchecked."""

    def __init__(self, connection: sqlite3.Connection, part: str, num_bytes: int, damage: Damage) -> None:
        self.connection = connection
        self._part = part
        self.damage = damage
        self._num_bytes = num_bytes  # of the file

    def check_tables(self) -> None:
        """Are these the tables of a part? A view of that name could ask for anything."""
        marks = ", ".join("?" * len(_TABLES))
        ((found,),) = self._rows(
            f"SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 AND name IN ({marks})",
            *_TABLES,
        )
        if found == len(_TABLES):
            return
        ((application,),) = self._rows("PRAGMA application_id")
        ((num_any,),) = self._rows("SELECT count(*) FROM sqlite_schema")
        if num_any and application != APPLICATION_ID:
            raise Unreadable("this is a SQLite file, but not one of a run")
        raise NotYet

    def meta(self) -> dict[str, str]:
        rows = self._rows("SELECT key, value FROM meta LIMIT 1000")
        meta = {key: _clipped(value) for key, value in rows if type(key) is type(value) is str}
        number = whole_number(meta.get("format"))
        if number is None:
            raise NotYet
        if number > FORMAT:
            raise Unreadable(
                f"it was written by a newer torcheer (format {number}, and this one reads {FORMAT}): "
                "pip install --upgrade torcheer"
            )
        return meta

    def generation(self) -> int:
        return generation_in(self.meta())

    def sessions(self) -> list[SessionRow]:
        rows = self._rows(
            "SELECT id, started, ended, outcome, reason, host, pid, num_dropped, num_thinned, note "
            "FROM sessions ORDER BY id DESC LIMIT 10000"
        )
        clipped = (tuple(map(_clipped, row)) for row in reversed(rows))
        return [SessionRow(*row) for row in clipped if _is_session(row)]

    def names(self) -> list[NameRow]:
        found = []
        rows = self.scan("SELECT id, kind, name, description FROM names ", -1)
        for number, kind, name, description in rows:
            if type(kind) is type(name) is type(description) is str:
                found.append(NameRow(number, kind, name, _clipped(description)))
            else:
                self.damage.add("some names are no text")
        return found

    def blocks(self, after: int) -> list[tuple[int, Block]]:
        """New blocks and the numbers of their names, once the lengths of their columns fit their counts."""
        found: list[tuple[int, Block]] = []
        for row in self.scan(_POINTS, after):
            block = self._block_of(row)
            if block is None:
                self.damage.add("some points are not what they should be")
            else:
                found.append((row[1], block))
        return found

    def blocks_of(self, name: int) -> list[Block]:
        """All blocks of one series."""
        blocks = map(self._block_of, self._rows(_POINTS + "WHERE name = ? ORDER BY first", name))
        return [block for block in blocks if block is not None]

    def _block_of(self, row: Row) -> Block | None:
        number, name, first, count, num_bad, of_steps, of_times, of_values, *last = row
        if not _are_whole(name, first, count, num_bad):
            return None
        # No more points than there is room for, wherever in the series they say that they stand.
        if not (0 < count <= self._num_bytes and 0 <= first < 2**62 and 0 <= num_bad <= count):
            return None
        if not of_steps == of_times == of_values == 8 * count:
            return None
        if last[0] is None:
            return Block(number, first, count, num_bad)
        try:
            return Block(number, first, count, num_bad, _POINT.unpack(b"".join(last)))
        except (TypeError, struct.error):  # they are not bytes
            return None

    def columns(self, block: Block) -> Points | None:
        """The points of a block; None where it is gone. ValueError where its bytes are not what was said."""
        rows = self._rows("SELECT steps, times, vals FROM points WHERE id = ?", block.id)
        if not rows:
            return None
        steps, times, values = rows[0]
        if not all(isinstance(column, bytes) and len(column) == 8 * block.num_points for column in rows[0]):
            raise ValueError
        return Points(
            numpy.frombuffer(steps, "<i8"), numpy.frombuffer(times, "<f8"), numpy.frombuffer(values, "<f8")
        )

    def record_marks(self, after: int) -> list[RecordMark]:
        found = []
        for number, name, step, time in self.scan("SELECT id, name, step, time FROM records ", after):
            if _are_whole(number, name, step) and is_moment(time):
                found.append(RecordMark(number, name, step, float(time)))
            else:
                self.damage.add("some records are not what they should be")
        return found

    def records_of(self, kind: Kind, name: int, after: int) -> list[RecordEntry]:
        """The records of one series, as far as they are what they should be."""
        entries = map(self._entry_of, self._record_rows(name, after))
        return [entry for entry in entries if entry is not None and _kind_of(entry) == kind]

    def record(self, record: int) -> RecordEntry | None:
        row = self._record_row(record)
        return None if row is None else self._entry_of(row)

    def _entry_of(self, row: Row) -> RecordEntry | None:
        number, step, time, num_bytes, head, length = row
        if not _are_whole(step, num_bytes) or not is_moment(time):
            self.damage.add("some records are not what they should be")
            return None
        decoded = head_or_none(head)
        if decoded is None:
            self.damage.add("some records do not say what they are")
            return None
        if length not in (num_bytes, None) or not fits(decoded, num_bytes):
            self.damage.add(TOO_SHORT)
            return None
        return RecordEntry(
            id=number, part=self._part, step=step, time=float(time), num_bytes=num_bytes, head=decoded
        )

    def _record_rows(self, name: int, after: int) -> list[Row]:
        try:
            return self._rows(_RECORDS + "WHERE r.name = ? AND r.id > ? ORDER BY r.id", name, after)
        except sqlite3.DatabaseError as error:
            self._note(error)
        # The index may be what is damaged.
        rows = self.scan("SELECT id, name FROM records ", after)
        found = (self._record_row(number) for number, its_name in rows if its_name == name)
        return [row for row in found if row is not None]

    def has_record(self, record: int) -> bool:
        return bool(self._rows("SELECT 1 FROM records WHERE id = ?", record))

    def _record_row(self, record: int) -> Row | None:
        try:
            return next(iter(self._rows(_RECORDS + "WHERE r.id = ?", record)), None)
        except sqlite3.DatabaseError as error:
            self._note(error)
            return None

    def scan(self, sql: str, after: int) -> list[Row]:
        """Rows with ids above `after`, rising. Of a damaged file, those before and behind the damage."""
        rows: list[Row] = []
        try:
            self._rows(sql + "WHERE id > ? ORDER BY id", after, into=rows)
        except sqlite3.DatabaseError as error:
            self._note(error)
            behind: list[Row] = []
            last = rows[-1][0] if rows else after
            with suppress(sqlite3.DatabaseError):
                self._rows(sql + "WHERE id > ? ORDER BY id DESC", last, into=behind)
            rows += behind[::-1]
        return [row for row in rows if type(row[0]) is int]

    def slices(self, wanted: Sequence[Slice]) -> list[bytes | None]:
        """None for what is gone, or is not as long as it should be."""
        return [self._slice(one) for one in wanted]

    def _slice(self, wanted: Slice) -> bytes | None:
        if not 0 <= wanted.start <= wanted.start + wanted.size <= wanted.num_bytes:
            return None
        try:
            with self.connection.blobopen("data", "bytes", wanted.record, readonly=True) as blob:
                # Before anything is made room for: the length that there is.
                if len(blob) != wanted.num_bytes:
                    self.damage.add(TOO_SHORT)
                    return None
                blob.seek(wanted.start)
                data = blob.read(wanted.size)
                return data if len(data) == wanted.size else None
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            return None  # gone, or it cannot be read

    def _note(self, error: sqlite3.DatabaseError) -> None:
        """Go on without what is damaged; any other error is raised."""
        if not is_damage(error):
            raise error
        self.damage.add(str(error))

    def _rows(self, sql: str, *values: object, into: list[Row] | None = None) -> list[Row]:
        """All rows. More than the file has room for are damage: a broken tree can lead round in circles."""
        rows: list[Row] = [] if into is None else into
        most = self._num_bytes // _ROW_BYTES + 1
        for row in self.connection.execute(sql, values):
            rows.append(row)
            if len(rows) > most:
                raise damage_error("its tables lead round in circles")
        return rows


def generation_in(meta: dict[str, str]) -> int:
    return whole_number(meta.get("generation")) or 0


def whole_number(text: str | None) -> int | None:
    if text is None or len(text) > 20:
        return None
    try:
        return int(text)
    except ValueError:
        return None


def _is_session(row: Row) -> bool:
    number, started, ended, outcome, reason, host, pid, num_dropped, num_thinned, note = row
    return (
        _are_whole(number, pid, num_dropped, num_thinned)
        and is_moment(started)
        and (ended is None or is_moment(ended))
        and all(isinstance(text, str) for text in (outcome, reason, host, note))
    )


def _kind_of(entry: RecordEntry) -> str:
    return str(entry.head.__struct_config__.tag)


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
