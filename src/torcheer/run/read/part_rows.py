"""Rows of the tables of a part, checked: of the right types, within bounds, and as long as they say."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeVar

import msgspec
import numpy
from msgspec import Meta

from torcheer.run.part_storage import APPLICATION_ID, FORMAT
from torcheer.run.read.part_protocol import Points, RecordEntry, SeriesKey
from torcheer.run.read.snapshot import damage_error, is_damage
from torcheer.run.records import MOST_SECONDS, Kind, head_or_none

T = TypeVar("T")
Row = tuple[Any, ...]
Moment = Annotated[float, Meta(gt=-MOST_SECONDS, lt=MOST_SECONDS)]

TOO_SHORT: Final = "some records are not as long as they should be"
_TABLES: Final = ("meta", "sessions", "names", "points", "records", "data", "documents")
_ROW_BYTES: Final = 4  # a row takes more than that in the file
_MOST_TEXT: Final = 10_000  # characters of a comment, a description, a reason
_MOST_REASONS: Final = 8

_BLOCKS: Final = (
    "SELECT id, name, first, count, num_bad, "
    "first BETWEEN 0 AND 1 << 62 AND count > 0 AND num_bad BETWEEN 0 AND count "
    "AND typeof(steps) || typeof(times) || typeof(vals) = 'blobblobblob' "
    "AND length(steps) = 8 * count AND length(times) = 8 * count AND length(vals) = 8 * count FROM points "
)
_SESSIONS: Final = (
    f"SELECT id, started, ended, outcome, substr(reason, 1, {_MOST_TEXT}), substr(host, 1, {_MOST_TEXT}), "
    f"pid, num_dropped, num_thinned, substr(note, 1, {_MOST_TEXT}) "
    "FROM sessions ORDER BY id DESC LIMIT 10000"
)
_RECORDS: Final = (
    "SELECT r.id, r.step, r.time, r.num_bytes, r.head, length(d.bytes) "
    "FROM records r LEFT JOIN data d ON d.record = r.id "
)
_NAMES_OF_RECORDS: Final = "SELECT id, name FROM records "


class NotYet(Exception):  # noqa: N818  # no error: it is tried again
    """The tables are not there yet."""


class Unreadable(Exception):  # noqa: N818  # becomes the note of a part
    """The file is no part of a run, or not one that this version reads."""


class Block(NamedTuple):
    """A row of `points` but for its numbers."""

    id: int
    name: int
    first: int
    num_points: int
    num_bad: int
    is_fit: Literal[1] = 1

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
    started: Moment
    ended: Moment | None
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
    time: Moment


class HeadRow(NamedTuple):
    """A record as the table has it. Its head is what somebody wrote: it is not decoded, nor believed."""

    id: int
    key: SeriesKey
    step: int
    time: float
    num_bytes: int  # -1 where it says none
    head: object


class _RecordRow(NamedTuple):
    id: int
    step: int
    time: Moment
    num_bytes: int
    head: Any
    length: int | None  # of its bytes; None where they are gone


class Slice(NamedTuple):
    """A piece of the bytes of a record."""

    record: int
    num_bytes: int  # of all of it: where it has others, it is damaged
    start: int
    size: int


class Tables:
    """The tables of a part at one moment. `damage` takes the reasons for which something is left out."""

    def __init__(
        self, connection: sqlite3.Connection, part: str, num_bytes: int, damage: dict[str, None]
    ) -> None:
        self._connection = connection
        self._part = part
        self._num_bytes = num_bytes  # of the file
        self._damage = damage

    def check(self) -> None:
        """Are these the tables of a part? A view of that name could ask for anything."""
        marks = ", ".join("?" * len(_TABLES))
        ((found,),) = self.rows(
            f"SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 AND name IN ({marks})",
            *_TABLES,
        )
        if found == len(_TABLES):
            return
        ((application,),) = self.rows("PRAGMA application_id")
        ((num_any,),) = self.rows("SELECT count(*) FROM sqlite_schema")
        if num_any and application != APPLICATION_ID:
            raise Unreadable("this is a SQLite file, but not one of a run")
        raise NotYet

    def meta(self) -> dict[str, str]:
        rows = self.rows(f"SELECT key, substr(value, 1, {_MOST_TEXT}) FROM meta LIMIT 1000")
        meta = {key: value for key, value in rows if type(key) is type(value) is str}
        number = whole_number(meta.get("format"))
        if number is None:
            raise NotYet
        if number > FORMAT:
            raise Unreadable(
                f"it was written by a newer torcheer (format {number}, and this one reads {FORMAT}): "
                "pip install --upgrade torcheer"
            )
        return meta

    def sessions(self) -> list[SessionRow]:
        return self._checked(self.rows(_SESSIONS)[::-1], SessionRow, "")

    def names(self) -> list[NameRow]:
        sql = f"SELECT id, kind, name, substr(description, 1, {_MOST_TEXT}) FROM names "
        return self._checked(self.scan(sql, -1), NameRow, "some names are no text")

    def blocks(self, after: int) -> list[Block]:
        return self._blocks_in(self.scan(_BLOCKS, after))

    def blocks_of(self, name: int) -> list[Block]:
        return self._blocks_in(self.rows(_BLOCKS + "WHERE name = ?", name))

    def _blocks_in(self, rows: Sequence[Row]) -> list[Block]:
        reason = "some points are not what they should be"
        blocks = self._checked(rows, Block, reason)
        fitting = [block for block in blocks if block.num_points <= self._num_bytes]
        if len(fitting) < len(blocks):
            self.note(reason)
        return fitting

    def columns(self, block: Block) -> Points | None:
        """The points of a block; None where it is gone."""
        rows = self.rows("SELECT steps, times, vals FROM points WHERE id = ?", block.id)
        if not rows:
            return None
        if not all(isinstance(column, bytes) and len(column) == 8 * block.num_points for column in rows[0]):
            raise damage_error("some points are not what they should be")
        steps, times, values = map(numpy.frombuffer, rows[0], ("<i8", "<f8", "<f8"))
        return Points(steps, times, values)

    def record_marks(self, after: int) -> list[RecordMark]:
        rows = self.scan("SELECT id, name, step, time FROM records ", after)
        return self._checked(rows, RecordMark, "some records are not what they should be")

    def records_of(self, kind: Kind, name: int, after: int) -> list[RecordEntry]:
        """The records of one series, as far as they are what they should be."""
        try:
            rows = self.rows(_RECORDS + "WHERE r.name = ? AND r.id > ? ORDER BY r.id", name, after)
        except sqlite3.DatabaseError as error:
            self.note_error(error)
            # The index may be what is damaged: the table is gone through, and each record read by itself.
            ids = [id for id, its_name in self.scan(_NAMES_OF_RECORDS, after) if its_name == name]
            rows = [row for id in ids for row in self._rows_of(id)]
        return [entry for entry in self._entries(rows) if entry.head.__struct_config__.tag == kind]

    def record(self, record: int) -> RecordEntry | None:
        return next(iter(self._entries(self._rows_of(record))), None)

    def _rows_of(self, record: int) -> list[Row]:
        try:
            return self.rows(_RECORDS + "WHERE r.id = ?", record)
        except sqlite3.DatabaseError as error:
            self.note_error(error)
            return []

    def _entries(self, rows: Sequence[Row]) -> list[RecordEntry]:
        checked = self._checked(rows, _RecordRow, "some records are not what they should be")
        entries = map(self._entry_of, checked)
        return [entry for entry in entries if entry is not None]

    def _entry_of(self, row: _RecordRow) -> RecordEntry | None:
        head = head_or_none(row.head)
        if head is None:
            self.note("some records do not say what they are")
            return None
        if row.length not in (row.num_bytes, None) or not head.fits(row.num_bytes):
            self.note(TOO_SHORT)
            return None
        return RecordEntry(
            id=row.id, part=self._part, step=row.step, time=row.time, num_bytes=row.num_bytes, head=head
        )

    def pieces(self, record: int, num_bytes: int, places: Sequence[tuple[int, int]]) -> list[bytes]:
        """Stretches of the bytes of a record, by start and size.

        Raises sqlite3.DatabaseError where the record is gone, or is not as long as it says.
        """
        with self._connection.blobopen("data", "bytes", record, readonly=True) as blob:
            # Before anything is made room for: the length that there is.
            if len(blob) != num_bytes:
                self.note(TOO_SHORT)
                raise damage_error(TOO_SHORT)
            found = []
            for start, size in places:
                blob.seek(start)
                found.append(blob.read(size))
            return found

    def slice(self, wanted: Slice) -> bytes | None:
        """None for what is gone, or is not as long as it should be."""
        if not 0 <= wanted.start <= wanted.start + wanted.size <= wanted.num_bytes:
            return None
        try:
            return self.pieces(wanted.record, wanted.num_bytes, [(wanted.start, wanted.size)])[0]
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            return None

    def scan(self, sql: str, after: int) -> list[Row]:
        """Rows with ids above `after`, rising. Of a damaged file, those before and behind the damage."""
        rows: list[Row] = []
        try:
            self.rows(sql + "WHERE id > ? ORDER BY id", after, into=rows)
        except sqlite3.DatabaseError as error:
            self.note_error(error)
            behind: list[Row] = []
            last = rows[-1][0] if rows else after
            with suppress(sqlite3.DatabaseError):
                self.rows(sql + "WHERE id > ? ORDER BY id DESC", last, into=behind)
            rows += behind[::-1]
        return [row for row in rows if type(row[0]) is int]

    def rows(self, sql: str, *values: object, into: list[Row] | None = None) -> list[Row]:
        """All rows. More than the file has room for are damage: a broken tree can lead round in circles."""
        rows: list[Row] = [] if into is None else into
        most = self._num_bytes // _ROW_BYTES + 1
        for row in self._connection.execute(sql, values):
            rows.append(row)
            if len(rows) > most:
                raise damage_error("its tables lead round in circles")
        return rows

    def note(self, reason: str) -> None:
        note_damage(self._damage, reason)

    def note_error(self, error: sqlite3.DatabaseError) -> None:
        """Go on without what is damaged; any other error is raised."""
        if not is_damage(error):
            raise error
        self.note(str(error))

    def _checked(self, rows: Sequence[Row], kind: type[T], reason: str) -> list[T]:
        """The rows that are of these types and within these bounds."""
        try:
            return msgspec.convert(rows, list[kind])  # type: ignore[valid-type]
        except msgspec.ValidationError:
            if reason:
                self.note(reason)
        found = []
        for row in rows:
            with suppress(msgspec.ValidationError):
                found.append(msgspec.convert(row, kind))
        return found


def note_damage(damage: dict[str, None], reason: str) -> None:
    if len(damage) < _MOST_REASONS:
        damage.setdefault(reason)


def whole_number(text: str | None) -> int | None:
    if text is None or len(text) > 20:
        return None
    try:
        return int(text)
    except ValueError:
        return None
