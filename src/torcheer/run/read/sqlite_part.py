"""A part of a run that one of our writers wrote: its SQLite file, read while it grows."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import msgspec
import numpy
from numpy.typing import NDArray

from torcheer.run.part_storage import LOCK_ENDING, THINNED_STEPS, is_locked
from torcheer.run.read.part_index import PartIndex
from torcheer.run.read.part_protocol import (
    PartStatus,
    Points,
    RecordEntry,
    SeriesEntry,
    SeriesKey,
    State,
    is_moment,
    joined,
)
from torcheer.run.read.part_queries import (
    HEADS,
    TOO_SHORT,
    Damage,
    HeadRow,
    NotYet,
    PartQueries,
    Slice,
    Unreadable,
    whole_number,
)
from torcheer.run.read.snapshot import Look, SnapshotFile, is_damage, is_passing, now
from torcheer.run.records import Kind, StatisticsHead
from torcheer.run.statistics import FIGURE_BYTES, STEP_BYTES

T = TypeVar("T")

# Of the JSON of a pass: so much in any case, and so many times what it takes packed.
_FREE_DOCUMENT_BYTES: Final = 16 << 20
_MOST_PACKED: Final = 24
_CUT_OFF: Final = "it was killed, or the machine went down"
_QUIET_SECONDS: Final = 600  # a writer that wrote nothing for so long is gone, where there are no locks
_DATA: Final = "SELECT r.num_bytes, d.bytes FROM records r JOIN data d ON d.record = r.id WHERE r.id = ?"
_DOCUMENT: Final = "SELECT num_bytes, json FROM documents WHERE hash = ?"


class SqlitePart:
    """A `rank-*.sqlite` of a run."""

    def __init__(self, path: Path) -> None:
        self.name = path.stem
        self._lock = path.with_suffix(LOCK_ENDING)
        self._file = SnapshotFile(path, lambda: is_locked(self._lock))
        self._look = self._file.look()
        self._seen: Look | None = None  # what was read; None where it must be read again
        self._damage = Damage()
        self._index = PartIndex(self.name, self._damage)
        self._is_written = False
        self._refusal = ""  # why nothing of it can be read

    def refresh(self) -> int:
        moment = now()
        self._look = look = self._file.look()
        if look != self._seen:
            # What is written in the same tick of the file system's clock would look as if it had been there.
            self._seen = look if self._gather() and look.is_settled(moment) else None
        # A writer that was killed leaves no other sign than its lock, which is free.
        sessions = self._index.sessions
        self._is_written = (not sessions or sessions[-1].ended is None) and self._has_writer(moment)
        return self._index.num_restarts

    def status(self) -> PartStatus:
        meta, sessions = self._index.meta, self._index.sessions
        last = sessions[-1] if sessions else None
        state, reason = self._state()
        return PartStatus(
            state=state,
            reason=reason,
            died_of_an_error=state == "died" and last is not None and last.ended is not None,
            started=sessions[0].started if sessions else 0.0,
            sessions=tuple(session.started for session in sessions),
            updated=self._updated(),
            host=last.host if last is not None else "",
            pid=last.pid if last is not None else 0,
            comment=meta.get("comment", ""),
            tags=_tags_in(meta.get("tags", "[]")),
            total_steps=whole_number(meta.get("total_steps")),
            num_dropped=sum(session.num_dropped for session in sessions),
            num_thinned=sum(session.num_thinned for session in sessions)
            + (whole_number(meta.get(THINNED_STEPS)) or 0),
            num_bytes=self._look.num_bytes,
            note="; ".join(self._notes()),
        )

    def series(self) -> Mapping[SeriesKey, SeriesEntry]:
        return self._index.entries

    def points(self, name: str, start: int = 0) -> Points:
        series = self._index.find("scalar", name)
        if series is None or start >= series.count:
            return joined([])
        found = self._attempt(lambda queries: self._index.read_points(queries, series, max(start, 0)))
        return joined([]) if found is None else found

    def records(self, kind: Kind, name: str, after: int = 0) -> Sequence[RecordEntry]:
        series = self._index.find(kind, name)
        if series is None or kind == "scalar" or after >= series.last_record:
            return []
        entries = self._attempt(lambda queries: queries.records_of(kind, series.id, after))
        return [entry for entry in entries or [] if entry.id <= series.last_record]

    def record(self, record: int) -> RecordEntry | None:
        """A record by its number alone."""
        return self._attempt(lambda queries: queries.record(record))

    def data(self, record: int) -> bytes | None:
        row = self._attempt(lambda queries: queries.connection.execute(_DATA, (record,)).fetchone())
        if row is None:
            return None
        num_bytes, data = row
        if not isinstance(data, bytes) or len(data) != num_bytes:
            self._damage.add(TOO_SHORT)
            return None
        return data

    def heads(self, after: int = 0) -> list[HeadRow]:
        """Records of all kinds with ids above `after`, in the order in which they were logged, undecoded."""
        rows = self._attempt(lambda queries: queries.scan(HEADS, after))
        found = []
        for number, name, step, time, num_bytes, head in rows or ():
            key = self._index.key_of(name, number)
            if key is not None and type(step) is int and is_moment(time):
                size = num_bytes if type(num_bytes) is int else -1
                found.append(HeadRow(number, key, step, float(time), size, head))
        return found

    def slices(self, wanted: Sequence[Slice]) -> list[bytes | None]:
        """Pieces of the bytes of records; None for those that are gone or damaged."""
        found = self._attempt(lambda queries: queries.slices(wanted))
        return [None] * len(wanted) if found is None else found

    def watches(self) -> Sequence[RecordEntry]:
        """What is watched, a record for each plan, as of the last refresh."""
        return self._index.watches

    def statistics(self) -> Sequence[RecordEntry]:
        """The blocks of statistics in their order, as of the last refresh."""
        return self._index.statistics

    def figures(self, wanted: Wanted, known: Mapping[int, BlockFigures]) -> Found:
        """What is wanted of each block that there is now; of those that are known already, what is known."""
        found = self._attempt(lambda queries: read_figures(queries, self._index, wanted, known))
        return Found([], {}) if found is None else found

    def note_damage(self, reason: str) -> None:
        """For whoever reads on: what a record holds is not what it should be."""
        self._damage.add(reason)

    def document(self, digest: str) -> bytes | None:
        row = self._attempt(lambda queries: queries.connection.execute(_DOCUMENT, (digest,)).fetchone())
        if row is None:
            return None
        num_bytes, packed = row
        json = b""
        most = _FREE_DOCUMENT_BYTES + _MOST_PACKED * len(packed) if isinstance(packed, bytes) else 0
        if type(num_bytes) is int and 0 < num_bytes <= most:
            try:
                # One more than there should be, and it stops: it cannot grow into anything.
                json = zlib.decompressobj().decompress(packed, num_bytes + 1)
            except zlib.error:
                json = b""
        if not json or len(json) != num_bytes:
            self._damage.add("the document of a pass is not what it should be")
            return None
        return json

    def holding(self) -> AbstractContextManager[None]:
        """For a few readings in a row the file is opened once."""
        return self._file.holding()

    def close(self) -> None:
        self._file.close()

    def _gather(self) -> bool:
        """False where it must be tried again, whether the file changes or not."""
        index = self._index
        self._refusal = ""
        try:
            if self._look.part is None:  # gone, or made this instant
                raise NotYet
            self._read(index.gather)
            index.is_sure = True
        except NotYet:
            index.clear()
        except Unreadable as reason:
            index.clear()
            self._refusal = str(reason)
        except (sqlite3.Error, OSError) as error:
            return self._tell(error)
        return True

    def _attempt(self, job: Callable[[PartQueries], T]) -> T | None:
        """None where the file could not be read this time."""
        try:
            return self._read(job)
        except (NotYet, Unreadable):
            pass
        except (sqlite3.Error, OSError) as error:
            self._tell(error)
        self._seen = None
        return None

    def _read(self, job: Callable[[PartQueries], T]) -> T:
        num_bytes, damage = self._look.num_bytes, self._damage
        return self._file.read(lambda connection: job(PartQueries(connection, self.name, num_bytes, damage)))

    def _tell(self, error: sqlite3.Error | OSError) -> bool:
        """Put an error into the note. False where it may be gone the next time."""
        if isinstance(error, sqlite3.Error) and is_passing(error):
            return False
        reason = error.strerror if isinstance(error, OSError) else error
        self._damage.add(f"it cannot be read ({reason})")
        return True

    def _updated(self) -> float:
        """The file's own time only while it is written: the folder may be a copy, with times of its own."""
        last = self._index.sessions[-1] if self._index.sessions else None
        if last is None or self._is_written:
            return self._look.modified
        logged = max((entry.last_time for entry in self._index.entries.values()), default=0.0)
        return max(last.started, logged) if last.ended is None else last.ended

    def _state(self) -> tuple[State, str]:
        sessions = self._index.sessions
        if self._is_written:
            return "running", ""
        if not sessions:
            return "unknown", ""
        last = sessions[-1]
        if last.ended is None:
            return "died", _CUT_OFF
        return ("died", last.reason) if last.outcome == "died" else ("finished", "")

    def _has_writer(self, moment: float) -> bool:
        answer = is_locked(self._lock)
        if answer is None:  # no locks on this system
            return self._look.modified > moment - _QUIET_SECONDS
        return answer

    def _notes(self) -> list[str]:
        of_writer = self._index.sessions[-1].note if self._index.sessions else ""
        notes = (of_writer, self._refusal, self._file.note, *self._damage.reasons)
        return [note for note in dict.fromkeys(notes) if note]


def _tags_in(text: str) -> tuple[str, ...]:
    try:
        return tuple(msgspec.json.decode(text, type=list[str]))
    except (msgspec.MsgspecError, RecursionError):
        return ()


# --- blocks of statistics -------------------------------------------------------------------------------


class ByteRanges(NamedTuple):
    """What is wanted of a block: so many lines of figures, a step each, and where in the bytes they stand."""

    num_lines: int
    places: Sequence[tuple[int, int]]  # where each stretch begins, and how many bytes it has


Wanted = Callable[[StatisticsHead], ByteRanges | None]  # None: nothing of this block


class BlockFigures(NamedTuple):
    """What was read of a block."""

    steps: NDArray[numpy.int64]
    times: NDArray[numpy.float64]
    values: NDArray[numpy.float32]  # [line][step]

    @property
    def num_bytes(self) -> int:
        return self.steps.nbytes + self.times.nbytes + self.values.nbytes


class Found(NamedTuple):
    """Blocks in their order, and by id what was read of them where something was wanted."""

    blocks: Sequence[RecordEntry]
    figures: Mapping[int, BlockFigures]


def column_of(head: StatisticsHead, column: int) -> ByteRanges:
    """One figure of all rows."""
    size = FIGURE_BYTES * head.num_rows * head.num_steps
    return ByteRanges(head.num_rows, [(STEP_BYTES * head.num_steps + column * size, size)])


def row_of(head: StatisticsHead, row: int) -> ByteRanges:
    """All figures of one row."""
    start, size = STEP_BYTES * head.num_steps, FIGURE_BYTES * head.num_steps
    places = [(start + (column * head.num_rows + row) * size, size) for column in range(head.num_columns)]
    return ByteRanges(head.num_columns, places)


def read_figures(
    queries: PartQueries, index: PartIndex, wanted: Wanted, known: Mapping[int, BlockFigures]
) -> Found:
    """Of the blocks that there are at this moment: some may have been merged since they were listed."""
    blocks = index.statistics
    figures = _read_all(queries, blocks, wanted, known)
    if figures is None:
        blocks = index.list_statistics(queries)
        figures = _read_all(queries, blocks, wanted, known) or {}
    return Found(blocks, figures)


def _read_all(
    queries: PartQueries,
    blocks: Sequence[RecordEntry],
    wanted: Wanted,
    known: Mapping[int, BlockFigures],
) -> dict[int, BlockFigures] | None:
    """None where one of them is gone."""
    figures: dict[int, BlockFigures] = {}
    for block in blocks:
        if not isinstance(block.head, StatisticsHead):
            continue
        if block.id in known:
            figures[block.id] = known[block.id]
            continue
        stretches = wanted(block.head)
        if stretches is None:
            continue
        try:
            figures[block.id] = _read(queries.connection, block, block.head, stretches)
        except ValueError as error:
            queries.damage.add(str(error))
        except sqlite3.Error as error:
            if not queries.has_record(block.id):
                return None
            if not is_damage(error):
                raise
            queries.damage.add("some statistics cannot be read")
    return figures


def _read(
    connection: sqlite3.Connection, block: RecordEntry, head: StatisticsHead, stretches: ByteRanges
) -> BlockFigures:
    num_steps = head.num_steps
    with connection.blobopen("data", "bytes", block.id, readonly=True) as blob:
        # The head fits the length that the record names; here it must be the length that there is.
        if len(blob) != block.num_bytes:
            raise ValueError("some records are not as long as they should be")
        start = blob.read(STEP_BYTES * num_steps)
        pieces = []
        for place, size in stretches.places:
            blob.seek(place)
            pieces.append(blob.read(size))
    values = numpy.frombuffer(b"".join(pieces), "<f4").reshape(stretches.num_lines, num_steps)
    return BlockFigures(
        numpy.frombuffer(start, "<i8", num_steps),
        numpy.frombuffer(start, "<f8", num_steps, 8 * num_steps),
        values,
    )
