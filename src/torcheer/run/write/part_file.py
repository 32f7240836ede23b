"""The SQLite file of one writing process, while it is written: sessions, batches, what is taken back."""

from __future__ import annotations

import ctypes
import itertools
import json
import os
import re
import shutil
import socket
import sqlite3
import time
import zlib
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import numpy
from numpy.typing import NDArray

from torcheer.run.part_storage import (
    FORMAT,
    LOCK_ENDING,
    PART_ENDING,
    THINNED_STEPS,
    Fault,
    NotOursError,
    PartLock,
    Row,
    delete_records,
    fault_of,
    insert,
    is_full,
    make_tables,
    next_id,
    open_database,
    take_lock,
    words_for,
)
from torcheer.run.records import (
    EncodedRecord,
    Kind,
    NetScene,
    WatchHead,
    encode_head,
    plain_text,
)
from torcheer.run.statistics import StatisticsWriter, blocks_in, heads_in, purge_statistics
from torcheer.run.write.point_blocks import BlockWriter, purge_points
from torcheer.run.write.queue import Batch

_FREED_SHARE = 0.1  # of the budget at once, so that it is done seldom
_RECORDS_SHARE = 0.96  # of the budget: a file has pages of its own, and what is new comes before the old goes


class Names:
    """Within the transaction of the caller."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        found = connection.execute("SELECT kind, name, id, description FROM names").fetchall()
        self._ids: dict[tuple[str, str], int] = {(kind, name): id for kind, name, id, _ in found}
        self._descriptions: dict[int, str] = {id: text for _, _, id, text in found if text}

    def id_of(self, kind: Kind, name: str) -> int:
        name = plain_text(name)
        id = self._ids.get((kind, name))
        if id is None:
            cursor = self._connection.execute("INSERT INTO names (kind, name) VALUES (?, ?)", (kind, name))
            assert cursor.lastrowid is not None
            id = self._ids[kind, name] = cursor.lastrowid
        return id

    def describe(self, id: int, description: str) -> None:
        """The last description holds."""
        if description and self._descriptions.get(id) != description:
            self._connection.execute(
                "UPDATE names SET description = ? WHERE id = ?", (plain_text(description), id)
            )
            self._descriptions[id] = description


class RecordWriter:
    """Appends records, and takes old ones away. Within the transaction of the caller."""

    def __init__(self, connection: sqlite3.Connection, names: Names, max_bytes: int) -> None:
        self._connection = connection
        self._names = names
        self._max_bytes = int(max_bytes * _RECORDS_SHARE)
        self._ids = itertools.count(next_id(connection, "records"))
        self._documents = {digest for (digest,) in connection.execute("SELECT hash FROM documents")}
        self._statistics = StatisticsWriter(connection, max_bytes, self._ids)
        self._counts = Counter(dict(connection.execute(_COUNTS).fetchall()))
        (num_bytes,) = connection.execute("SELECT coalesce(sum(num_bytes), 0) FROM records").fetchone()
        self._num_bytes = num_bytes - self._statistics.num_bytes
        self._thin_above = self._max_bytes

    def add(self, records: Sequence[EncodedRecord]) -> tuple[int, int]:
        """How much of what is older had to go: whole records, and steps of statistics."""
        rows: list[Row] = []
        data: list[Row] = []
        statistics: dict[int, list[EncodedRecord]] = {}
        for record in records:
            kind, name, step, time, head, its_data, description, document = record
            name_id = self._names.id_of(kind, name)
            if description:
                self._names.describe(name_id, description)
            if kind == "scalar":  # nothing but these words: its points stand elsewhere
                continue
            if kind == "statistics":
                statistics.setdefault(name_id, []).append(record)
                continue
            id = next(self._ids)
            encoded = head if type(head) is bytes else encode_head(head)  # type: ignore[arg-type]
            rows.append((id, name_id, step, time, encoded, len(its_data)))
            data.append((id, its_data))
            self._num_bytes += len(its_data)
            self._counts[kind] += 1
            if document is not None and document.hash not in self._documents:
                packed = (document.hash, len(document.json), zlib.compress(document.json))
                insert(self._connection, "documents", "hash, num_bytes, json", [packed])
                self._documents.add(document.hash)
        insert(self._connection, "records", "id, name, step, time, head, num_bytes", rows)
        insert(self._connection, "data", "record, bytes", data)
        num_steps = sum(self._statistics.add(name, blocks) for name, blocks in statistics.items())
        if any(record.kind == "watch" for record in records):
            digests, num_bytes = forget_plans(self._connection)
            self._num_bytes -= num_bytes
            num_steps += self._statistics.remove_rows(digests) if digests else 0
        num_records = sum(
            self._thin_kind(kind, most) for kind, most in MOST_RECORDS.items() if self._counts[kind] > most
        )
        if self._num_bytes + self._statistics.num_bytes > self._thin_above:
            num_records += self._thin()
        return num_records, num_steps

    def _thin_kind(self, kind: Kind, most: int) -> int:
        """Those in the middle go: how it began and how it is now stays. How many went."""
        found = self._connection.execute(
            "SELECT id FROM records WHERE name IN (SELECT id FROM names WHERE kind = ?) ORDER BY id", (kind,)
        )
        ids = [id for (id,) in found]
        num_less = len(ids) - most + most // _ONE_IN
        gone = ids[most // 2 : most // 2 + num_less]
        delete_records(self._connection, gone)
        self._counts[kind] = len(ids) - len(gone)
        return len(gone)

    def _thin(self) -> int:
        kinds = ", ".join("?" * len(KEPT_KINDS))
        found = self._connection.execute(
            "SELECT id, step, time, num_bytes, name FROM records NOT INDEXED WHERE num_bytes > 0 AND name IN "
            # In the order of the table: by name, each row would have to be looked for.
            f"(SELECT id FROM names WHERE kind NOT IN ({kinds})) ORDER BY id",
            KEPT_KINDS,
        ).fetchall()
        num_bytes = self._num_bytes + self._statistics.num_bytes
        target = int(self._max_bytes * (1 - _FREED_SHARE))
        ids, num_freed = choose_with_moments(self._connection, found, num_bytes - target)
        delete_records(self._connection, ids)
        self._num_bytes -= num_freed
        # Where what must stay is above the budget, looking again at every batch would be in vain.
        left = num_bytes - num_freed
        self._thin_above = max(self._max_bytes, left + int(self._max_bytes * _FREED_SHARE))
        return len(ids)


def purge_records(connection: sqlite3.Connection, purge_step: int) -> None:
    """Take back the records from that step on."""
    found = connection.execute(
        "SELECT id FROM records WHERE step >= ? AND name NOT IN "
        "(SELECT id FROM names WHERE kind IN ('statistics', 'watch'))",
        (purge_step,),
    )
    delete_records(connection, [id for (id,) in found])


_MOST_PLANS: Final = 1024
# These have no bytes to speak of, so it is their number that has an end.
MOST_RECORDS: Final[dict[Kind, int]] = {"alarm": 100_000, "gap": 10_000, "netview": 1000, "moment": 100_000}
_ONE_IN: Final = 10  # one record in so many goes at once, so that it is done seldom
_COUNTS: Final = (
    "SELECT n.kind, count(*) FROM names n JOIN records r ON r.name = n.id "
    "WHERE n.kind IN ('alarm', 'gap', 'netview', 'moment') GROUP BY n.kind"
)


def forget_plans(connection: sqlite3.Connection) -> tuple[list[str], int]:
    """Of records that say what is watched, the last of each plan stays, and of plans the latest.

    The digests of plans that are forgotten, and the bytes of records that went.
    """
    plans: dict[str, tuple[int, int]] = {}
    gone, digests = [], []
    for id, _, _, num_bytes, head in heads_in(connection, WatchHead):
        if head.digest in plans:
            gone.append(plans.pop(head.digest))
        plans[head.digest] = id, num_bytes
    while len(plans) > _MOST_PLANS:
        digest = next(iter(plans))
        digests.append(digest)
        gone.append(plans.pop(digest))
    delete_records(connection, [id for id, _ in gone])
    return digests, sum(num_bytes for _, num_bytes in gone)


def purge_watches(connection: sqlite3.Connection, purge_step: int) -> None:
    """Take back plans from that step on of which no statistics are left. After those were taken back."""
    used = {block.head.digest for block in blocks_in(connection)}
    gone = [
        id
        for id, step, _, _, head in heads_in(connection, WatchHead)
        if head.digest not in used and isinstance(step, int) and step >= purge_step
    ]
    delete_records(connection, gone)


# --- thinning -------------------------------------------------------------------------------------------

# Which old records make way when a run is above its budget: those that stand densest for their age.
#
# A record's age is how far it lies behind the newest of its series; the gap, how far apart its neighbours
# are. So records grow sparser the further back they lie. The first and the last of a series stay. A series
# of large records is thinned before one of small ones: each comes to have about the same share of the
# budget.

# Small, and not one of many; statistics have a budget of their own.
KEPT_KINDS = ("text", "hparams", "layout", "pass", "watch", "statistics", "alarm", "gap", "netview", "moment")


class Candidate(NamedTuple):
    """A record that could go."""

    id: int
    step: int
    time: float
    num_bytes: int
    series: int


def choose(candidates: Sequence[Candidate], num_bytes: int) -> tuple[list[int], int]:
    """Enough records to free so many bytes, or all that may go; those first that are missed least.

    Their ids, and how many bytes that frees.

    There may be hundreds of thousands of them, of which a tenth goes. So all are put in order at once, and
    again when those that are missed least are gone: gaps have grown since.
    """
    chosen: list[int] = []
    num_freed = 0
    if not candidates:
        return chosen, num_freed
    ids, steps, times, sizes, series = map(numpy.array, zip(*candidates, strict=True))
    left = numpy.lexsort((ids, times, steps, series))
    while num_freed < num_bytes:
        scores = _scores(steps[left], sizes[left], series[left])
        order = numpy.argsort(scores, kind="stable")[: numpy.count_nonzero(~numpy.isnan(scores))]
        if not len(order):
            break
        gone: set[int] = set()
        for at in order[scores[order] <= 2 * scores[order[0]]].tolist():
            if num_freed >= num_bytes:
                break
            if at - 1 not in gone and at + 1 not in gone:  # else its gap has grown
                gone.add(at)
                chosen.append(int(ids[left[at]]))
                num_freed += int(sizes[left[at]])
        left = numpy.delete(left, list(gone))
    return chosen, num_freed


def _scores(
    steps: NDArray[numpy.int64], sizes: NDArray[numpy.int64], series: NDArray[numpy.int64]
) -> NDArray[numpy.float64]:
    """How much each is missed: its gap, by its age and the mean size of its series. NaN: it stays."""
    _, starts, lengths = numpy.unique(series, return_index=True, return_counts=True)
    ends = starts + lengths - 1
    # Records stand by step; by order where those of a series are all of one step.
    has_steps = numpy.repeat(steps[starts] < steps[ends], lengths)
    places = numpy.where(has_steps, steps, numpy.arange(len(steps))).astype(numpy.float64)
    gaps = numpy.zeros(len(places))
    gaps[1:-1] = places[2:] - places[:-2]
    means = numpy.maximum(numpy.add.reduceat(sizes.astype(numpy.float64), starts) / lengths, 1.0)
    scales = (numpy.repeat(places[ends], lengths) - places) * numpy.repeat(means, lengths)
    with numpy.errstate(divide="ignore", invalid="ignore"):
        # Several at one step: the last of them is not older than the newest.
        scores = numpy.where((scales > 0) | (gaps > 0), gaps / scales, 0.0)
    scores[starts] = scores[ends] = numpy.nan
    return scores


# The layers of a network at one moment belong together: they stay together, or go together.
#
# Thinned one by one, the large layers would lose more moments than the small ones, and what a NetView draws
# would never have been one pass. Weights are recorded when they change, and are no part of it.

_MOMENTS = -1  # the series that moments make, beside those that have a number in the table of names
_SCENES = msgspec.json.Decoder(NetScene)


def choose_with_moments(
    connection: sqlite3.Connection, rows: Sequence[tuple[int, int, float, int, int]], num_bytes: int
) -> tuple[list[int], int]:
    """As `choose`; rows are id, step, time, bytes and series."""
    series = _series_of_layers(connection)
    single = [Candidate(*row) for row in rows if row[4] not in series]
    moments: dict[int, list[Candidate]] = {}
    for row in rows:
        if row[4] in series:
            moments.setdefault(row[1], []).append(Candidate(*row))
    whole = [
        members[0]._replace(num_bytes=sum(one.num_bytes for one in members), series=_MOMENTS)
        for members in moments.values()
    ]
    chosen, num_freed = choose([*single, *whole], num_bytes)
    by_first = {members[0].id: [one.id for one in members] for members in moments.values()}
    return [id for first in chosen for id in by_first.get(first, [first])], num_freed


def _series_of_layers(connection: sqlite3.Connection) -> frozenset[int]:
    """The numbers of the series that the last scene names; none where there is no network."""
    found = connection.execute(
        "SELECT d.bytes FROM records r JOIN data d ON d.record = r.id WHERE r.name IN "
        "(SELECT id FROM names WHERE kind = 'netview') ORDER BY r.id DESC LIMIT 1"
    ).fetchone()
    if found is None:
        return frozenset()
    try:
        scene = _SCENES.decode(found[0])
    except (msgspec.MsgspecError, TypeError, UnicodeDecodeError, RecursionError):
        return frozenset()
    wanted = {f"{layer.name}.{variable}" for layer in scene.layers for variable in layer.variables}
    names = connection.execute("SELECT id, name FROM names WHERE kind = 'tensor'")
    return frozenset(id for id, name in names if name in wanted)


_VACUUM_PAGES = 4096  # given back to the system when the part is closed: as many as take no time
_MOST_REASON = 500  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the user said of a run when it was opened."""

    comment: str = ""
    tags: tuple[str, ...] = ()
    total_steps: int | None = None
    max_bytes: int = 2 << 30


class PartFile:
    """Open for writing. Any method may raise sqlite3.Error; what was committed before stays as it is."""

    def __init__(self, path: Path, settings: Settings, note: str = "") -> None:
        """Raises NotOursError, sqlite3.Error or OSError."""
        self._num_thinned_records = 0  # in this session
        self._num_thinned_steps = 0
        self._path = path
        self._max_bytes = settings.max_bytes
        self._connection, journal_note, is_remote = open_database(path)
        self._note = "; ".join(filter(None, (note, journal_note)))
        try:
            with self._transaction(is_first=True):
                make_tables(self._connection)
                self._write_meta(settings)
                begun = self._connection.execute(
                    "INSERT INTO sessions (started, host, pid, note) VALUES (?, ?, ?, ?)",
                    (time.time(), plain_text(socket.gethostname()), os.getpid(), plain_text(self._note)),
                )
                self._session = begun.lastrowid
                self._load()
            self._is_local = not is_remote
            # A network file system may number its files anew at any time.
            self._identity = _identity_of(path) if self._is_local else None
        except BaseException:
            self._connection.close()
            raise

    @property
    def name(self) -> str:
        return self._path.stem

    @property
    def num_thinned(self) -> int:
        """Records, and steps of statistics, that made way in this session."""
        return self._num_thinned_records + self._num_thinned_steps

    def reconnect(self) -> None:
        """After an I/O error the old connection may never work again. The session goes on."""
        self.close()
        self._connection = open_database(self._path)[0]
        self._is_stale = True

    def write(self, batch: Batch, num_dropped: int) -> None:
        """One transaction. An empty batch writes a little, too: so it can be seen whether writing works."""
        with self._transaction():
            self._blocks.add(
                {self._names.id_of("scalar", name): found for name, found in batch.columns.items()}
            )
            num_records, num_steps = self._records.add(batch.records) if batch.records else (0, 0)
            num_thinned = self._num_thinned_records + num_records
            self._update_session(num_dropped, num_thinned, is_forced=batch.is_empty)
            if num_steps:
                # Not in the session: there, a change says to readers that they must count all records anew.
                self._connection.execute(
                    "INSERT INTO meta (key, value) VALUES (?, ?) "
                    "ON CONFLICT (key) DO UPDATE SET value = CAST(value AS INTEGER) + excluded.value",
                    (THINNED_STEPS, str(num_steps)),
                )
        self._num_thinned_records = num_thinned
        self._num_thinned_steps += num_steps

    def has_room_for(self, num_bytes: int) -> bool:
        """True if records of so many bytes leave enough room for numbers."""
        if has_room(self._path, num_bytes, log_is_empty=not self._is_local):
            return True
        if self._is_local:
            self.empty_log()
        return has_room(self._path, num_bytes, log_is_empty=True)

    def empty_log(self) -> None:
        """Put what is in the write-ahead log where it belongs, so that the log need not grow."""
        with suppress(sqlite3.Error):
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def tidy(self) -> None:
        """A little housekeeping."""
        if self._blocks.is_untidy:
            with self._transaction():
                self._blocks.tidy()

    def purge(self, purge_step: int) -> None:
        """Take back what was logged from that step on, as if it had never been."""
        with self._transaction():
            take_back(self._connection, purge_step)
        self._is_stale = True

    def end(self, outcome: str, reason: str, num_dropped: int) -> None:
        reason = plain_text(reason.strip().split("\n")[0][:_MOST_REASON])
        with self._transaction():
            self._update_session(num_dropped, self._num_thinned_records)
            self._connection.execute(
                "UPDATE sessions SET ended = ?, outcome = ?, reason = ? WHERE id = ?",
                (time.time(), outcome, reason, self._session),
            )
        self._connection.execute(f"PRAGMA incremental_vacuum({_VACUUM_PAGES})").fetchall()

    def close(self) -> None:
        with suppress(sqlite3.Error):
            self._connection.close()

    def abandon_after_fork(self) -> None:
        """A connection does not survive a fork, and closing it here could harm the parent: it is leaked."""
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._connection))

    def is_in_place(self) -> bool:
        """True if the path still names the file that is open. Raises OSError."""
        try:
            identity = _identity_of(self._path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return self._identity is None or identity == self._identity

    def _load(self) -> None:
        """What the tables hold, as far as the writing needs it: at the beginning, and after a failure."""
        self._names = Names(self._connection)
        self._blocks = BlockWriter(self._connection)
        self._records = RecordWriter(self._connection, self._names, self._max_bytes)
        self._noted = (0, 0)
        self._is_stale = False

    @contextmanager
    def _transaction(self, *, is_first: bool = False) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            if not is_first and self._is_stale:
                self._load()
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            self._is_stale = True
            with suppress(sqlite3.Error):
                self._connection.rollback()
            raise

    def _write_meta(self, settings: Settings) -> None:
        self._connection.executemany(
            "INSERT OR IGNORE INTO meta (key, value) VALUES (?, ?)",
            [("format", str(FORMAT)), ("generation", "0")],
        )
        # A run that is resumed keeps what it is not told anew.
        given = {
            "comment": plain_text(settings.comment),
            "tags": json.dumps(settings.tags) if settings.tags else "",
            "total_steps": "" if settings.total_steps is None else str(settings.total_steps),
        }
        self._connection.executemany(
            "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)",
            [item for item in given.items() if item[1]],
        )

    def _update_session(self, num_dropped: int, num_thinned: int, *, is_forced: bool = False) -> None:
        if is_forced or (num_dropped, num_thinned) != self._noted:
            self._connection.execute(
                "UPDATE sessions SET num_dropped = ?, num_thinned = ? WHERE id = ?",
                (num_dropped, num_thinned, self._session),
            )
            self._noted = (num_dropped, num_thinned)


def _identity_of(path: Path) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_dev, status.st_ino


_MOST_PARTS = 10_000  # of one rank


def take_part(
    folder: Path, rank: int, settings: Settings, damaged: set[str]
) -> tuple[PartFile, PartLock, list[str]]:
    """A part, open, with the right to write it; and what was wrong with the files before it.

    `damaged`: files not to take. Raises OSError or sqlite3.Error where the disk does not allow it.
    """
    passed_over: list[str] = []
    for number in range(_MOST_PARTS):
        stem = f"rank-{rank}.{number}" if number else f"rank-{rank}"
        lock_path, part_path = folder / (stem + LOCK_ENDING), folder / (stem + PART_ENDING)
        if stem in damaged:
            continue
        if not (_may_write(lock_path) and _may_write(part_path)):
            passed_over.append(f"{part_path.name} may not be written to")
            continue
        lock = take_lock(lock_path)
        if lock is None:
            continue
        try:
            part = _open(part_path, settings, "; ".join(passed_over))
        except NotOursError as error:
            passed_over.append(str(error))
            damaged.add(stem)
            lock.release()
        except BaseException:
            lock.release()
            raise
        else:
            return part, lock, passed_over
    raise FileExistsError(f"{folder} has {_MOST_PARTS:,} parts of rank {rank} that others write")


def _may_write(path: Path) -> bool:
    """A file of somebody else, in a folder that several share, is not ours to wait for."""
    return not path.exists() or os.access(path, os.R_OK | os.W_OK)


def _open(path: Path, settings: Settings, note: str) -> PartFile:
    if path.is_dir():
        raise NotOursError(f"{path.name} is a folder")
    try:
        return PartFile(path, settings, note)
    except sqlite3.Error as error:
        if fault_of(error) is Fault.PASSING:
            raise
        raise NotOursError(f"{path.name} is damaged, or no database ({error})") from error


def take_back(connection: sqlite3.Connection, purge_step: int) -> None:
    """Within the transaction of the caller."""
    num_changes = connection.total_changes
    for purge in (purge_points, purge_records, purge_statistics, purge_watches):
        purge(connection, purge_step)
    if connection.total_changes != num_changes:
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
            # The inner context begins nothing; it ends what is begun here.
            with closing(open_database(path)[0]) as connection, connection:
                connection.execute("BEGIN IMMEDIATE")
                # Where its maker was killed at once, there are no tables yet.
                if connection.execute("SELECT 1 FROM sqlite_master").fetchone() is not None:
                    take_back(connection, purge_step)
        finally:
            lock.release()
    except NotOursError as error:
        return str(error)
    except (sqlite3.Error, OSError, ValueError) as error:
        if is_full(error):
            raise
        return words_for(error)
    return ""


_KEPT_BYTES = 16 << 20
_KEPT_SHARE = 8  # of a small disk: one part in so many


def has_room(path: Path, num_bytes: int, *, log_is_empty: bool) -> bool:
    """True if records of so many bytes leave enough room. A byte is written to the log, then to the file."""
    waiting = 0
    try:
        total, _, free = shutil.disk_usage(path.parent)
        if not log_is_empty:
            waiting = os.stat(f"{path}-wal").st_size
    except FileNotFoundError:
        pass  # no log
    except OSError:
        return True  # it will be seen
    return free >= 2 * num_bytes + waiting + min(_KEPT_BYTES, total // _KEPT_SHARE)
