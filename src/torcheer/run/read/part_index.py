"""What is known of a part without its numbers: its series, how long they are, how they end."""

from __future__ import annotations

import sqlite3
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, cast, get_args

import numpy

from torcheer.run.read.part_protocol import Points, RecordEntry, SeriesEntry, SeriesKey, joined
from torcheer.run.read.part_queries import (
    Block,
    Damage,
    NameRow,
    PartQueries,
    SessionRow,
    generation_in,
)
from torcheer.run.read.snapshot import is_damage
from torcheer.run.records import Kind, StatisticsHead, WatchHead

_KINDS: Final = frozenset(get_args(Kind))
_REPLACED_KINDS: Final = ("watch", "statistics")
_WATCH: Final = "watch"


class IndexedSeries:
    """A series as far as it is known. Filled while reading; `entry` is what others see."""

    __slots__ = ("blocks", "count", "description", "first_bad", "id", "key", "last", "last_record")

    def __init__(self, number: int, key: SeriesKey, description: str) -> None:
        self.id = number  # in the file
        self.key = key
        self.description = description
        self.blocks = BlockList()
        self.count = 0
        self.last: tuple[int, float, float | None] = (0, 0.0, None)  # step, time, value
        self.last_record = 0
        self.first_bad: int | None = None  # its step

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


class PartIndex:
    """Grows by what is new in the file when it gathers; begins again where points were taken back."""

    def __init__(self, part: str, damage: Damage) -> None:
        self._part = part
        self._damage = damage
        self._unreadable: set[int] = set()  # blocks; their ids are not used again
        self.num_restarts = 0
        self.clear()

    def clear(self) -> None:
        self.num_restarts += bool(getattr(self, "entries", None))  # else nobody has seen anything
        self.entries: Mapping[SeriesKey, SeriesEntry] = {}
        self.meta: dict[str, str] = {}
        self.sessions: list[SessionRow] = []
        self.is_sure = True
        self._generation: int | None = None
        self._of_number: dict[int, IndexedSeries] = {}
        self._of_key: dict[SeriesKey, IndexedSeries] = {}
        self.watches: Sequence[RecordEntry] = ()  # the last of each plan, in the order in which they came
        self.statistics: Sequence[RecordEntry] = ()  # blocks in their order
        self._last_block = self._last_record = 0
        self._num_thinned = 0

    def find(self, kind: Kind, name: str) -> IndexedSeries | None:
        return self._of_key.get(SeriesKey(kind, name))

    def key_of(self, name: int, record: int) -> SeriesKey | None:
        """The series of a record, by its number in the file; None for what was written since."""
        series = self._of_number.get(name)
        return series.key if series is not None and record <= series.last_record else None

    def gather(self, queries: PartQueries) -> None:
        """Take in what is new. The caller says `is_sure` once all of it was read at one moment."""
        queries.check_tables()
        meta = queries.meta()
        generation = generation_in(meta)
        sessions = queries.sessions()
        if not self.is_sure or generation != self._generation:
            self.clear()
        elif _origin(sessions) != _origin(self.sessions):  # another file that was put in its place
            self.clear()
            self._unreadable.clear()
        self.is_sure = False
        self._generation = generation
        self.meta = meta
        self.sessions = sessions
        changed = self._take_names(queries)
        changed |= self._take_blocks(queries)
        changed |= self._take_records(queries)
        if changed:
            self.entries = {
                key: series.entry() if series in changed else self.entries[key]
                for key, series in self._of_key.items()
                if series.count
            }

    def read_points(self, queries: PartQueries, series: IndexedSeries, start: int) -> Points:
        """Points from the `start`-th on, as many as its entry counts."""
        if queries.generation() != self._generation:
            return joined([])  # the next gathering begins again
        most = series.count - start
        found = self._read_pieces(queries, series.blocks.pieces(start), most)
        if found is None:  # merged since
            blocks = BlockList()
            known = queries.blocks_of(series.id)
            blocks.add(block for block in known if block.id not in self._unreadable)
            found = self._read_pieces(queries, blocks.pieces(start), most)
        return joined(found or [])

    def _read_pieces(self, queries: PartQueries, pieces: Sequence[Piece], most: int) -> list[Points] | None:
        """None where one of them is gone."""
        found = []
        for piece in pieces:
            take = min(piece.num_points, most)
            if take <= 0:
                continue
            points = self._columns(queries, piece.block)
            if points is None and piece.block.id not in self._unreadable:
                return None
            if points is None:
                self.is_sure = False  # its points were counted: begin again without them
            else:
                part = slice(piece.skip, piece.skip + take)
                found.append(Points(points.steps[part], points.times[part], points.values[part]))
            most -= take
        return found

    def _columns(self, queries: PartQueries, block: Block) -> Points | None:
        """The points of a block, None where it is gone or cannot be read."""
        try:
            return queries.columns(block)
        except ValueError:
            self._damage.add("some points are not what they should be")
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            self._damage.add(str(error))
        self._unreadable.add(block.id)
        return None

    def _take_names(self, queries: PartQueries) -> set[IndexedSeries]:
        """All of them each time: descriptions change. Gives those whose description did."""
        changed = set()
        for row in queries.names():
            series = self._of_number.get(row.id)
            if series is None:
                self._add_name(row)
            elif series.description != row.description:
                series.description = row.description
                changed.add(series)
        return changed

    def _add_name(self, row: NameRow) -> None:
        if row.kind not in _KINDS:
            self._damage.add("some of it is of a kind that this version of torcheer does not know")
            return
        key = SeriesKey(cast(Kind, row.kind), row.name)
        if key in self._of_key:
            self._damage.add("some names stand there twice")
            return
        self._of_key[key] = self._of_number[row.id] = IndexedSeries(row.id, key, row.description)

    def _take_blocks(self, queries: PartQueries) -> set[IndexedSeries]:
        new: dict[IndexedSeries, list[Block]] = {}
        for name, block in queries.blocks(self._last_block):
            self._last_block = max(self._last_block, block.id)
            series = self._of_number.get(name)
            if series is None or series.key.kind != "scalar":
                self._damage.add("some points belong to no scalar")
            elif block.id not in self._unreadable:
                new.setdefault(series, []).append(block)
        for series, blocks in new.items():
            self._add_blocks(queries, series, blocks)
        return set(new)

    def _add_blocks(self, queries: PartQueries, series: IndexedSeries, blocks: list[Block]) -> None:
        series.blocks.add(blocks)
        if series.blocks.has_gap:
            self._damage.add("some points are missing")
        while series.blocks.count > series.count:
            last = self._last_point(queries, series.blocks.last_block)
            if last is not None:
                series.last = last
                break
            series.blocks.drop_last()
        if series.first_bad is None and series.blocks.num_bad:
            series.first_bad = self._first_bad(queries, series)
        series.count = series.blocks.count

    def _last_point(self, queries: PartQueries, block: Block) -> tuple[int, float, float] | None:
        if block.last is not None:
            return block.last
        points = self._columns(queries, block)
        if points is None:
            self._unreadable.add(block.id)
            return None
        return int(points.steps[-1]), float(points.times[-1]), float(points.values[-1])

    def _first_bad(self, queries: PartQueries, series: IndexedSeries) -> int | None:
        """In what is new, the first step whose value is no number."""
        for block in series.blocks.with_bad(series.count):
            points = self._columns(queries, block)
            if points is None:
                continue
            bad = numpy.flatnonzero(~numpy.isfinite(points.values))
            if len(bad):
                return int(points.steps[bad[0]])
        return None

    def _take_records(self, queries: PartQueries) -> set[IndexedSeries]:
        found = set()
        num_thinned = sum(session.num_thinned for session in self.sessions)
        if num_thinned != self._num_thinned:  # some are gone: count anew
            self._num_thinned, self._last_record = num_thinned, 0
            found = {series for series in self._of_number.values() if series.key.kind != "scalar"}
            for series in found:
                series.count = 0
        for mark in queries.record_marks(self._last_record):
            self._last_record = max(self._last_record, mark.id)
            its = self._of_number.get(mark.name)
            if its is None or its.key.kind == "scalar":
                self._damage.add("some records belong to no series")
                continue
            its.count += 1
            its.last_record, its.last = mark.id, (mark.step, mark.time, None)
            found.add(its)
        if any(series.key.kind in _REPLACED_KINDS for series in found):
            found |= self._list_watched(queries)
        return found

    def _list_watched(self, queries: PartQueries) -> set[IndexedSeries]:
        """Their records take the place of others, so all of them are listed anew: there are few."""
        watches: dict[str, RecordEntry] = {}
        entries = self._entries_of(queries, "watch")
        for entry in entries:
            if isinstance(entry.head, WatchHead):
                watches.pop(entry.head.digest, None)
                watches[entry.head.digest] = entry
        blocks = self.list_statistics(queries)
        self.watches, self.statistics = tuple(watches.values()), tuple(blocks)
        of_series = {series for series in self._of_key.values() if series.key.kind in _REPLACED_KINDS}
        for series in of_series:
            if series.key.kind == "watch":
                series.count = len(entries) if series.key.name == _WATCH else series.count
            else:
                series.count = sum(_num_steps(block) for block in blocks)
                last = blocks[-1].head if blocks else None
                if isinstance(last, StatisticsHead):
                    series.last = (last.last_step, last.last_time, None)
        return of_series

    def list_statistics(self, queries: PartQueries) -> list[RecordEntry]:
        """The blocks of statistics that there are now, in their order."""
        return sorted(self._entries_of(queries, "statistics"), key=lambda entry: entry.time)

    def _entries_of(self, queries: PartQueries, kind: Kind) -> list[RecordEntry]:
        # The writer has one name for all of them; another is none of its own.
        series = self.find(kind, _WATCH)
        return [] if series is None else queries.records_of(kind, series.id, 0)


def _num_steps(block: RecordEntry) -> int:
    return block.head.num_steps if isinstance(block.head, StatisticsHead) else 0


def _origin(sessions: Sequence[SessionRow]) -> float | None:
    """When the part was begun: no two have this in common."""
    return sessions[0].started if sessions else None


# --- blocks of points -----------------------------------------------------------------------------------


class Piece(NamedTuple):
    """What is taken of a block: all of it, but for what earlier ones hold already."""

    block: Block
    skip: int
    place: int  # how many points of the series were taken before

    @property
    def num_points(self) -> int:
        return self.block.num_points - self.skip


class BlockList:
    """The blocks of one series, as far as they are needed."""

    __slots__ = ("_covered", "_pieces", "count", "has_gap", "num_bad")

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._pieces: list[Piece] = []
        self._covered = 0  # where the last block ends
        self.count = 0  # of points; with a gap there are fewer than where the last block ends
        self.num_bad = 0
        self.has_gap = False

    @property
    def last_block(self) -> Block:
        return self._pieces[-1].block

    def with_bad(self, start: int) -> Iterator[Block]:
        """Blocks with values that are NaN or infinite, from the `start`-th point on."""
        return (piece.block for piece in self.pieces(start) if piece.block.num_bad)

    def drop_last(self) -> None:
        self._arrange([piece.block for piece in self._pieces[:-1]])

    def add(self, blocks: Iterable[Block]) -> None:
        """Blocks that are new. Those that they were merged from are forgotten."""
        others: list[Block] = []
        for block in blocks:
            if not others and block.first == self._covered:
                self._append(block)
            else:
                others.append(block)
        if others:
            self._arrange([piece.block for piece in self._pieces] + others)

    def _arrange(self, blocks: list[Block]) -> None:
        # Of those that begin at one place, the newest was merged last and reaches furthest.
        blocks.sort(key=lambda block: (block.first, -block.id))
        self._clear()
        for block in blocks:
            if block.first + block.num_points > self._covered:
                self._append(block)

    def _append(self, block: Block) -> None:
        """A block that reaches further than those before."""
        skip = self._covered - block.first
        if skip < 0:
            self.has_gap = True
            skip = 0
        self._pieces.append(Piece(block, skip, self.count))
        self._covered = block.first + block.num_points
        self.count += block.num_points - skip
        self.num_bad += min(block.num_bad, block.num_points - skip)

    def pieces(self, start: int) -> list[Piece]:
        """Those that hold points from the `start`-th on."""
        begin = bisect_right(self._pieces, start, key=lambda piece: piece.place)
        found = self._pieces[max(begin - 1, 0) :]
        if found and found[0].place < start:
            head = found[0]
            found[0] = Piece(head.block, head.skip + min(start - head.place, head.num_points), start)
        return found
