"""A part of a run that one of our writers wrote: its SQLite file, read while it grows."""

from __future__ import annotations

import sqlite3
import time
import zlib
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple, TypeVar, cast, get_args

import msgspec
import numpy
from numpy.typing import NDArray

from torcheer.run.part_storage import LOCK_ENDING, THINNED_STEPS, is_locked
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
from torcheer.run.read.part_rows import (
    TOO_SHORT,
    Block,
    HeadRow,
    NotYet,
    SessionRow,
    Slice,
    Tables,
    Unreadable,
    note_damage,
    whole_number,
)
from torcheer.run.read.snapshot import Look, SnapshotFile, is_damage, is_passing
from torcheer.run.records import FIGURE_BYTES, STEP_BYTES, Kind, StatisticsHead, WatchHead

T = TypeVar("T")

# Of the JSON of a pass: so much in any case, and so many times what it takes packed.
_FREE_DOCUMENT_BYTES: Final = 16 << 20
_MOST_PACKED: Final = 24
_CUT_OFF: Final = "it was killed, or the machine went down"
_QUIET_SECONDS: Final = 600  # a writer that wrote nothing for so long is gone, where there are no locks
_DATA: Final = "SELECT r.num_bytes, d.bytes FROM records r JOIN data d ON d.record = r.id WHERE r.id = ?"
_DOCUMENT: Final = "SELECT num_bytes, json FROM documents WHERE hash = ?"
_HEADS: Final = "SELECT id, name, step, time, num_bytes, head FROM records "
_KINDS: Final = frozenset(get_args(Kind))
_WATCH: Final = "watch"  # the name of plans and of statistics
_Origin = tuple[int, float | None]  # how often something was taken back, and when the file was begun


@dataclass(slots=True, eq=False)
class _Series:
    """A series as far as it is known. Filled while reading; `entry` is what others see."""

    id: int  # in the file
    key: SeriesKey
    description: str
    blocks: BlockList = field(default_factory=lambda: BlockList())
    count: int = 0
    last: tuple[int, float, float | None] = (0, 0.0, None)  # step, time, value
    last_record: int = 0
    first_bad: int | None = None  # its step

    def entry(self) -> SeriesEntry:
        step, time, value = self.last
        return SeriesEntry(
            kind=self.key.kind,
            name=self.key.name,
            count=self.count,
            last_step=step,
            last_time=time,
            last_value=value,
            num_bad=self.blocks.num_bad,
            first_bad_step=self.first_bad,
            description=self.description,
        )


class SqlitePart:
    """A `rank-*.sqlite` of a run.

    What is known of it without its numbers grows by what is new in the file, and begins again where something
    was taken back.
    """

    def __init__(self, path: Path) -> None:
        self.name = path.stem
        self._lock = path.with_suffix(LOCK_ENDING)
        self._file = SnapshotFile(path, lambda: is_locked(self._lock))
        self._look = self._file.look()
        self._seen: Look | None = None  # what was read; None where it must be read again
        self._damage: dict[str, None] = {}
        self._unreadable: set[int] = set()  # blocks; their ids are not used again
        self._is_written = False
        self._refusal = ""  # why nothing of it can be read
        self._num_restarts = 0
        self._entries: Mapping[SeriesKey, SeriesEntry] = {}
        self._clear()

    def _clear(self) -> None:
        self._num_restarts += bool(self._entries)  # else nobody has seen anything
        self._entries = {}
        self._meta: dict[str, str] = {}
        self._sessions: list[SessionRow] = []
        self._is_sure = True  # all that is known was read at one moment
        self._origin: _Origin = (0, None)
        self._of_number: dict[int, _Series] = {}
        self._of_key: dict[SeriesKey, _Series] = {}
        self._watches: Sequence[RecordEntry] = ()
        self._statistics: Sequence[RecordEntry] = ()
        self._last_block = self._last_record = 0
        self._num_thinned = 0

    def refresh(self) -> int:
        moment = time.time()
        self._look = look = self._file.look()
        if look != self._seen:
            # What is written in the same tick of the file system's clock would look as if it had been there.
            self._seen = look if self._read_on() and look.is_settled(moment) else None
        # A writer that was killed leaves no other sign than its lock, which is free.
        is_open = not self._sessions or self._sessions[-1].ended is None
        is_held = is_locked(self._lock) if is_open else False
        # Where there are no locks, a writer that wrote a moment ago is still there.
        self._is_written = look.modified > moment - _QUIET_SECONDS if is_held is None else is_held
        return self._num_restarts

    def status(self) -> PartStatus:
        meta, sessions = self._meta, self._sessions
        last = sessions[-1] if sessions else None
        state, reason = self._state()
        notes = ("" if last is None else last.note, self._refusal, self._file.note, *self._damage)
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
            note="; ".join(dict.fromkeys(note for note in notes if note)),
        )

    def series(self) -> Mapping[SeriesKey, SeriesEntry]:
        return self._entries

    def points(self, name: str, start: int = 0) -> Points:
        series = self._of_key.get(SeriesKey("scalar", name))
        if series is None or start >= series.count:
            return joined([])
        found = self._attempt(lambda tables: self._read_points(tables, series, max(start, 0)))
        return joined([]) if found is None else found

    def records(self, kind: Kind, name: str, after: int = 0) -> Sequence[RecordEntry]:
        series = self._of_key.get(SeriesKey(kind, name))
        if series is None or kind == "scalar" or after >= series.last_record:
            return []
        entries = self._attempt(lambda tables: tables.records_of(kind, series.id, after))
        return [entry for entry in entries or [] if entry.id <= series.last_record]

    def record(self, record: int) -> RecordEntry | None:
        return self._attempt(lambda tables: tables.record(record))

    def data(self, record: int) -> bytes | None:
        for num_bytes, data in self._attempt(lambda tables: tables.rows(_DATA, record)) or ():
            if isinstance(data, bytes) and len(data) == num_bytes:
                return data
            self.note_damage(TOO_SHORT)
        return None

    def heads(self, after: int = 0) -> list[HeadRow]:
        """Records of all kinds with ids above `after`, in the order in which they were logged, undecoded."""
        found = []
        for number, name, step, moment, num_bytes, head in (
            self._attempt(lambda tables: tables.scan(_HEADS, after)) or ()
        ):
            series = self._of_number.get(name)
            is_known = series is not None and number <= series.last_record  # and not written since
            if series is not None and is_known and type(step) is int and is_moment(moment):
                size = num_bytes if type(num_bytes) is int else -1
                found.append(HeadRow(number, series.key, step, float(moment), size, head))
        return found

    def slices(self, wanted: Sequence[Slice]) -> list[bytes | None]:
        """Pieces of the bytes of records; None for those that are gone or damaged."""
        found = self._attempt(lambda tables: [tables.slice(one) for one in wanted])
        return [None] * len(wanted) if found is None else found

    def watches(self) -> Sequence[RecordEntry]:
        """What is watched, the last record of each plan in the order in which they came."""
        return self._watches

    def statistics(self) -> Sequence[RecordEntry]:
        """The blocks of statistics in their order, as of the last refresh."""
        return self._statistics

    def figures(self, wanted: Wanted) -> BlocksRead:
        """What is wanted of each block that there is now, in their order."""

        def read(tables: Tables) -> BlocksRead | None:
            found = _figures_of(tables, self._statistics, wanted)
            # None: some were merged since they were listed.
            return _figures_of(tables, self._list_statistics(tables), wanted) if found is None else found

        return self._attempt(read) or []

    def note_damage(self, reason: str) -> None:
        """For whoever reads on: what a record holds is not what it should be."""
        note_damage(self._damage, reason)

    def document(self, digest: str) -> bytes | None:
        for num_bytes, packed in self._attempt(lambda tables: tables.rows(_DOCUMENT, digest)) or ():
            most = _FREE_DOCUMENT_BYTES + _MOST_PACKED * len(packed) if isinstance(packed, bytes) else 0
            if type(num_bytes) is int and 0 < num_bytes <= most:
                try:
                    # One more than there should be, and it stops: it cannot grow into anything.
                    json = zlib.decompressobj().decompress(packed, num_bytes + 1)
                except zlib.error:
                    json = b""
                if len(json) == num_bytes:
                    return json
            self.note_damage("the document of a pass is not what it should be")
        return None

    def holding(self) -> AbstractContextManager[None]:
        """For a few readings in a row the file is opened once."""
        return self._file.holding()

    def close(self) -> None:
        self._file.close()

    def _read_on(self) -> bool:
        """False where it must be tried again, whether the file changes or not."""
        self._refusal = ""
        try:
            if self._look.part is None:  # gone, or made this instant
                raise NotYet
            self._read(self._gather)
            self._is_sure = True
        except NotYet:
            self._clear()
        except Unreadable as reason:
            self._clear()
            self._refusal = str(reason)
        except (sqlite3.Error, OSError) as error:
            return self._tell(error)
        return True

    def _attempt(self, job: Callable[[Tables], T]) -> T | None:
        """None where the file could not be read this time."""
        try:
            return self._read(job)
        except (NotYet, Unreadable):
            pass
        except (sqlite3.Error, OSError) as error:
            self._tell(error)
        self._seen = None
        return None

    def _read(self, job: Callable[[Tables], T]) -> T:
        num_bytes = self._look.num_bytes
        return self._file.read(lambda connection: job(Tables(connection, self.name, num_bytes, self._damage)))

    def _tell(self, error: sqlite3.Error | OSError) -> bool:
        """Put an error into the note. False where it may be gone the next time."""
        if isinstance(error, sqlite3.Error) and is_passing(error):
            return False
        reason = error.strerror if isinstance(error, OSError) else error
        self.note_damage(f"it cannot be read ({reason})")
        return True

    def _updated(self) -> float:
        """The file's own time only while it is written: the folder may be a copy, with times of its own."""
        last = self._sessions[-1] if self._sessions else None
        if last is None or self._is_written:
            return self._look.modified
        logged = max((entry.last_time for entry in self._entries.values()), default=0.0)
        return max(last.started, logged) if last.ended is None else last.ended

    def _state(self) -> tuple[State, str]:
        if self._is_written:
            return "running", ""
        if not self._sessions:
            return "unknown", ""
        last = self._sessions[-1]
        if last.ended is None:
            return "died", _CUT_OFF
        return ("died", last.reason) if last.outcome == "died" else ("finished", "")

    def _gather(self, tables: Tables) -> None:
        """Take in what is new."""
        tables.check()
        meta, sessions = tables.meta(), tables.sessions()
        origin = _generation_in(meta), sessions[0].started if sessions else None
        if not self._is_sure or origin != self._origin:
            if origin[1] != self._origin[1]:  # another file that was put in its place
                self._unreadable.clear()
            self._clear()
        self._is_sure = False
        self._origin, self._meta, self._sessions = origin, meta, sessions
        changed = self._take_names(tables) | self._take_blocks(tables) | self._take_records(tables)
        if changed:
            entries = {
                key: series.entry() if series in changed else self._entries[key]
                for key, series in self._of_key.items()
                if series.count
            }
            if entries != self._entries:  # blocks that were merged change nothing
                self._entries = entries

    def _take_names(self, tables: Tables) -> set[_Series]:
        """All of them each time: descriptions change. Gives those whose description did."""
        changed = set()
        for row in tables.names():
            series, key = self._of_number.get(row.id), SeriesKey(cast(Kind, row.kind), row.name)
            if series is not None:
                if series.description != row.description:
                    series.description = row.description
                    changed.add(series)
            elif key.kind not in _KINDS:
                self.note_damage("some of it is of a kind that this version of torcheer does not know")
            elif key in self._of_key:
                self.note_damage("some names stand there twice")
            else:
                self._of_key[key] = self._of_number[row.id] = _Series(row.id, key, row.description)
        return changed

    def _take_blocks(self, tables: Tables) -> set[_Series]:
        new: dict[_Series, list[Block]] = {}
        for block in tables.blocks(self._last_block):
            self._last_block = max(self._last_block, block.id)
            series = self._of_number.get(block.name)
            if series is None or series.key.kind != "scalar":
                self.note_damage("some points belong to no scalar")
            elif block.id not in self._unreadable:
                new.setdefault(series, []).append(block)
        for series, blocks in new.items():
            self._add_blocks(tables, series, blocks)
        return set(new)

    def _add_blocks(self, tables: Tables, series: _Series, blocks: list[Block]) -> None:
        series.blocks.add(blocks)
        if series.blocks.has_gap:
            self.note_damage("some points are missing")
        while series.blocks.count > series.count:
            block = series.blocks.pieces[-1].block
            points = self._columns(tables, block)
            if points is not None:
                series.last = int(points.steps[-1]), float(points.times[-1]), float(points.values[-1])
                break
            self._unreadable.add(block.id)
            series.blocks.drop_last()
        if series.first_bad is None and series.blocks.num_bad:
            series.first_bad = self._first_bad(tables, series)
        series.count = series.blocks.count

    def _first_bad(self, tables: Tables, series: _Series) -> int | None:
        """In what is new, the first step whose value is no number."""
        for piece in series.blocks.pieces_from(series.count):
            points = self._columns(tables, piece.block) if piece.block.num_bad else None
            if points is not None and not numpy.isfinite(points.values).all():
                return int(points.steps[numpy.argmin(numpy.isfinite(points.values))])
        return None

    def _take_records(self, tables: Tables) -> set[_Series]:
        found = set()
        num_thinned = sum(session.num_thinned for session in self._sessions)
        if num_thinned != self._num_thinned:  # some are gone: count anew
            self._num_thinned, self._last_record = num_thinned, 0
            found = {series for series in self._of_number.values() if series.key.kind != "scalar"}
            for series in found:
                series.count = 0
        for mark in tables.record_marks(self._last_record):
            self._last_record = max(self._last_record, mark.id)
            its = self._of_number.get(mark.name)
            if its is None or its.key.kind == "scalar":
                self.note_damage("some records belong to no series")
                continue
            its.count += 1
            its.last_record, its.last = mark.id, (mark.step, mark.time, None)
            found.add(its)
        if any(series.key.kind in ("watch", "statistics") for series in found):
            found |= self._list_watched(tables)
        return found

    def _list_watched(self, tables: Tables) -> set[_Series]:
        """Plans and statistics take the place of others, so all are listed anew: there are few."""
        watches: dict[str, RecordEntry] = {}
        entries = self._watch_entries(tables, "watch")
        for entry in entries:
            if isinstance(entry.head, WatchHead):
                watches.pop(entry.head.digest, None)
                watches[entry.head.digest] = entry
        self._watches = tuple(watches.values())
        self._statistics = self._list_statistics(tables)
        changed = set()
        if (series := self._of_key.get(SeriesKey("watch", _WATCH))) is not None:
            series.count = len(entries)
            changed.add(series)
        heads = [entry.head for entry in self._statistics if isinstance(entry.head, StatisticsHead)]
        for series in self._of_key.values():
            if series.key.kind == "statistics":
                series.count = sum(head.num_steps for head in heads)
                series.last = (heads[-1].last_step, heads[-1].last_time, None) if heads else series.last
                changed.add(series)
        return changed

    def _list_statistics(self, tables: Tables) -> Sequence[RecordEntry]:
        return sorted(self._watch_entries(tables, "statistics"), key=lambda entry: entry.time)

    def _watch_entries(self, tables: Tables, kind: Kind) -> list[RecordEntry]:
        # The writer has one name for all of them; another is none of its own.
        series = self._of_key.get(SeriesKey(kind, _WATCH))
        return [] if series is None else tables.records_of(kind, series.id, 0)

    def _read_points(self, tables: Tables, series: _Series, start: int) -> Points:
        """Points from the `start`-th on, as many as its entry counts."""
        if _generation_in(tables.meta()) != self._origin[0]:
            return joined([])  # the next gathering begins again
        most = series.count - start
        found = self._read_pieces(tables, series.blocks.pieces_from(start), most)
        if found is None:  # merged since
            blocks = BlockList()
            blocks.add([block for block in tables.blocks_of(series.id) if block.id not in self._unreadable])
            found = self._read_pieces(tables, blocks.pieces_from(start), most)
        return joined(found or [])

    def _read_pieces(self, tables: Tables, pieces: Sequence[Piece], most: int) -> list[Points] | None:
        """None where one of them is gone."""
        found = []
        for piece in pieces:
            take = min(piece.num_points, most)
            if take <= 0:
                continue
            points = self._columns(tables, piece.block)
            if points is not None:
                found.append(points.taken(slice(piece.skip, piece.skip + take)))
            elif piece.block.id in self._unreadable:
                self._is_sure = False  # its points were counted: begin again without them
            else:
                return None
            most -= take
        return found

    def _columns(self, tables: Tables, block: Block) -> Points | None:
        """The points of a block, None where it is gone or cannot be read."""
        try:
            return tables.columns(block)
        except sqlite3.DatabaseError as error:
            tables.note_error(error)
        self._unreadable.add(block.id)
        return None


def _generation_in(meta: dict[str, str]) -> int:
    return whole_number(meta.get("generation")) or 0


def _tags_in(text: str) -> tuple[str, ...]:
    try:
        return tuple(msgspec.json.decode(text, type=list[str]))
    except (msgspec.MsgspecError, RecursionError):
        return ()


class Piece(NamedTuple):
    """What is taken of a block: all of it, but for what earlier ones hold already."""

    block: Block
    skip: int
    place: int  # how many points of the series were taken before

    @property
    def num_points(self) -> int:
        return self.block.num_points - self.skip


class BlockList:
    """The blocks of one series in their order, as far as they are needed."""

    __slots__ = ("_end", "count", "has_gap", "num_bad", "pieces")

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self.pieces: list[Piece] = []
        self._end = 0  # of the last block
        self.count = 0  # of points; with a gap there are fewer than where the last block ends
        self.num_bad = 0
        self.has_gap = False

    def add(self, blocks: Sequence[Block]) -> None:
        """Blocks that are new. Those that they were merged from are forgotten."""
        if any(block.first < self._end for block in blocks):
            blocks = [*(piece.block for piece in self.pieces), *blocks]
            self._clear()
        # Of those that begin at one place, the newest was merged last and reaches furthest.
        for block in sorted(blocks, key=lambda block: (block.first, -block.id)):
            if block.end > self._end:
                self.has_gap |= block.first > self._end
                piece = Piece(block, max(0, self._end - block.first), self.count)
                self.pieces.append(piece)
                self._end = block.end
                self.count += piece.num_points
                self.num_bad += min(block.num_bad, piece.num_points)

    def drop_last(self) -> None:
        blocks = [piece.block for piece in self.pieces[:-1]]
        self._clear()
        self.add(blocks)

    def pieces_from(self, start: int) -> list[Piece]:
        """Those that hold points from the `start`-th on."""
        begin = bisect_right(self.pieces, start, key=lambda piece: piece.place)
        found = self.pieces[max(begin - 1, 0) :]
        if found and found[0].place < start:
            head = found[0]
            found[0] = Piece(head.block, head.skip + min(start - head.place, head.num_points), start)
        return found


ByteRanges = Sequence[tuple[int, int]]  # where each stretch of a block begins, and how many bytes it has
Wanted = Callable[[StatisticsHead], ByteRanges | None]  # whole lines of figures; None: nothing of this block


class BlockFigures(NamedTuple):
    """What was read of a block."""

    steps: NDArray[numpy.int64]
    times: NDArray[numpy.float64]
    values: NDArray[numpy.float32]  # [line][step]


BlocksRead = list[tuple[RecordEntry, BlockFigures]]


def column_of(head: StatisticsHead, column: int) -> ByteRanges:
    """One figure of all rows."""
    size = FIGURE_BYTES * head.num_rows * head.num_steps
    return [(STEP_BYTES * head.num_steps + column * size, size)]


def row_of(head: StatisticsHead, row: int) -> ByteRanges:
    """All figures of one row."""
    start, size = STEP_BYTES * head.num_steps, FIGURE_BYTES * head.num_steps
    return [(start + (column * head.num_rows + row) * size, size) for column in range(head.num_columns)]


def _figures_of(tables: Tables, blocks: Sequence[RecordEntry], wanted: Wanted) -> BlocksRead | None:
    """None where one of them is gone."""
    figures = []
    for block in blocks:
        if not isinstance(block.head, StatisticsHead) or (ranges := wanted(block.head)) is None:
            continue
        num_steps = block.head.num_steps
        try:
            places = [(0, STEP_BYTES * num_steps), *ranges]
            start, *found = tables.pieces(block.id, block.num_bytes, places)
        except sqlite3.Error as error:
            if not tables.rows("SELECT 1 FROM records WHERE id = ?", block.id):
                return None
            if not is_damage(error):
                raise
            tables.note("some statistics cannot be read")
            continue
        its_figures = BlockFigures(
            numpy.frombuffer(start, "<i8", num_steps),
            numpy.frombuffer(start, "<f8", num_steps, 8 * num_steps),
            numpy.frombuffer(b"".join(found), "<f4").reshape(-1, num_steps),
        )
        figures.append((block, its_figures))
    return figures
