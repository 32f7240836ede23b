"""Records in the tables of a part, within a budget of bytes."""

from __future__ import annotations

import sqlite3
import zlib
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec
import numpy
from numpy.typing import NDArray

from torcheer.run.part_storage import Row, delete_records, insert, next_id
from torcheer.run.records import (
    EncodedRecord,
    Kind,
    NetScene,
    WatchHead,
    encode_head,
    head_or_none,
    plain_text,
)
from torcheer.run.statistics import StatisticsWriter, blocks_in

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


class Thinned(NamedTuple):
    """What had to go: whole records, and steps of statistics."""

    num_records: int
    num_steps: int


class RecordWriter:
    """Appends records, and takes old ones away. Within the transaction of the caller."""

    def __init__(self, connection: sqlite3.Connection, names: Names, max_bytes: int) -> None:
        self._connection = connection
        self._names = names
        self._max_bytes = int(max_bytes * _RECORDS_SHARE)
        self._next_id = next_id(connection, "records")
        self._documents = {digest for (digest,) in connection.execute("SELECT hash FROM documents")}
        self._statistics = StatisticsWriter(connection, max_bytes, self._take_id)
        self._counts = Counter(dict(connection.execute(_COUNTS).fetchall()))
        (num_bytes,) = connection.execute("SELECT coalesce(sum(num_bytes), 0) FROM records").fetchone()
        self._num_bytes = num_bytes - self._statistics.num_bytes
        self._thin_above = self._max_bytes

    def add(self, records: Sequence[EncodedRecord]) -> Thinned:
        """How much of what is older had to go."""
        rows: list[Row] = []
        data: list[Row] = []
        statistics: dict[int, list[EncodedRecord]] = {}
        for record in records:
            kind, name, step, time, head, its_data, description, document = record
            name_id = self._names.id_of(kind, name)
            if description:
                self._names.describe(name_id, description)
            if kind == "statistics":
                statistics.setdefault(name_id, []).append(record)
                continue
            id, self._next_id = self._next_id, self._next_id + 1
            encoded = head if type(head) is bytes else encode_head(head)  # type: ignore[arg-type]
            rows.append((id, name_id, step, time, encoded, len(its_data)))
            data.append((id, its_data))
            self._num_bytes += len(its_data)
            self._counts[kind] += 1
            if document is not None and document.hash not in self._documents:
                self._add_document(document.hash, document.json)
        insert(self._connection, "records", "id, name, step, time, head, num_bytes", rows)
        insert(self._connection, "data", "record, bytes", data)
        num_steps = sum(self._statistics.add(name, blocks) for name, blocks in statistics.items())
        if any(record.kind == "watch" for record in records):
            gone = forget_plans(self._connection)
            self._num_bytes -= gone.num_bytes
            num_steps += self._statistics.remove_rows(gone.digests) if gone.digests else 0
        num_records = sum(
            self._thin_kind(kind, most) for kind, most in MOST_RECORDS.items() if self._counts[kind] > most
        )
        if self._num_bytes + self._statistics.num_bytes > self._thin_above:
            num_records += self._thin()
        return Thinned(num_records, num_steps)

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

    def _take_id(self) -> int:
        id, self._next_id = self._next_id, self._next_id + 1
        return id

    def _add_document(self, digest: str, text: bytes) -> None:
        packed = zlib.compress(text)
        insert(self._connection, "documents", "hash, num_bytes, json", [(digest, len(text), packed)])
        self._documents.add(digest)

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
        chosen = choose_with_moments(self._connection, found, num_bytes - target)
        delete_records(self._connection, chosen.ids)
        self._num_bytes -= chosen.num_bytes
        # Where what must stay is above the budget, looking again at every batch would be in vain.
        left = num_bytes - chosen.num_bytes
        self._thin_above = max(self._max_bytes, left + int(self._max_bytes * _FREED_SHARE))
        return len(chosen.ids)


def purge_records(connection: sqlite3.Connection, purge_step: int) -> bool:
    """Take back the records from that step on. Says whether there were any."""
    found = connection.execute(
        "SELECT id FROM records WHERE step >= ? AND name NOT IN "
        "(SELECT id FROM names WHERE kind IN ('statistics', 'watch'))",
        (purge_step,),
    ).fetchall()
    delete_records(connection, [id for (id,) in found])
    return bool(found)


# --- plans, alarms and gaps -----------------------------------------------------------------------------

_MOST_PLANS: Final = 1024
# These have no bytes to speak of, so it is their number that has an end.
MOST_RECORDS: Final[dict[Kind, int]] = {"alarm": 100_000, "gap": 10_000, "netview": 1000, "moment": 100_000}
_ONE_IN: Final = 10  # one record in so many goes at once, so that it is done seldom
_COUNTS: Final = (
    "SELECT n.kind, count(*) FROM names n JOIN records r ON r.name = n.id "
    "WHERE n.kind IN ('alarm', 'gap', 'netview', 'moment') GROUP BY n.kind"
)


class Gone(NamedTuple):
    """Plans that are forgotten, and the bytes of records that went."""

    digests: Sequence[str]
    num_bytes: int


def forget_plans(connection: sqlite3.Connection) -> Gone:
    """Of records that say what is watched, the last of each plan stays, and of plans the latest."""
    plans: dict[str, tuple[int, int]] = {}
    gone, digests = [], []
    for id, digest, num_bytes in _plans_in(connection):
        if digest in plans:
            gone.append(plans.pop(digest))
        plans[digest] = id, num_bytes
    while len(plans) > _MOST_PLANS:
        digest = next(iter(plans))
        digests.append(digest)
        gone.append(plans.pop(digest))
    delete_records(connection, [id for id, _ in gone])
    return Gone(digests, sum(num_bytes for _, num_bytes in gone))


def purge_watches(connection: sqlite3.Connection, purge_step: int) -> bool:
    """Take back plans from that step on of which no statistics are left. After those were taken back."""
    used = {block.head.digest for block in blocks_in(connection)}
    found = connection.execute(
        "SELECT id FROM records WHERE step >= ? AND name IN (SELECT id FROM names WHERE kind = 'watch')",
        (purge_step,),
    ).fetchall()
    later = {id for (id,) in found}
    gone = [id for id, digest, _ in _plans_in(connection) if id in later and digest not in used]
    delete_records(connection, gone)
    return bool(gone)


def _plans_in(connection: sqlite3.Connection) -> list[tuple[int, str, int]]:
    """Ids, digests and sizes of what is watched, as far as it makes sense."""
    found = []
    rows = connection.execute(
        "SELECT id, head, num_bytes FROM records WHERE name IN "
        "(SELECT id FROM names WHERE kind = 'watch') ORDER BY id"
    )
    for id, head, num_bytes in rows:
        decoded = head_or_none(head)
        if isinstance(decoded, WatchHead):
            found.append((id, decoded.digest, num_bytes))
    return found


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


class Chosen(NamedTuple):
    """Records that go, and what that frees."""

    ids: list[int]
    num_bytes: int


def choose(candidates: Sequence[Candidate], num_bytes: int) -> Chosen:
    """Enough records to free so many bytes, or all that may go; those first that are missed least.

    There may be hundreds of thousands of them, of which a tenth goes. So all are put in order at once, and
    again when those that are missed least are gone: gaps have grown since.
    """
    chosen = Chosen([], 0)
    if not candidates:
        return chosen
    ids, steps, times, sizes, series = map(numpy.array, zip(*candidates, strict=True))
    left = numpy.lexsort((ids, times, steps, series))
    while chosen.num_bytes < num_bytes:
        scores = _scores(steps[left], sizes[left], series[left])
        order = numpy.argsort(scores, kind="stable")[: numpy.count_nonzero(~numpy.isnan(scores))]
        if not len(order):
            break
        gone: set[int] = set()
        for at in order[scores[order] <= 2 * scores[order[0]]].tolist():
            if chosen.num_bytes >= num_bytes:
                break
            if at - 1 not in gone and at + 1 not in gone:  # else its gap has grown
                gone.add(at)
                chosen.ids.append(int(ids[left[at]]))
                chosen = chosen._replace(num_bytes=chosen.num_bytes + int(sizes[left[at]]))
        left = numpy.delete(left, list(gone))
    return chosen


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


# --- moments of a NetView -------------------------------------------------------------------------------

# The layers of a network at one moment belong together: they stay together, or go together.
#
# Thinned one by one, the large layers would lose more moments than the small ones, and what a NetView draws
# would never have been one pass. Weights are recorded when they change, and are no part of it.

_MOMENTS = -1  # the series that moments make, beside those that have a number in the table of names
_SCENES = msgspec.json.Decoder(NetScene)


def choose_with_moments(
    connection: sqlite3.Connection, rows: Sequence[tuple[int, int, float, int, int]], num_bytes: int
) -> Chosen:
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
    chosen = choose([*single, *whole], num_bytes)
    by_first = {members[0].id: [one.id for one in members] for members in moments.values()}
    return Chosen([id for first in chosen.ids for id in by_first.get(first, [first])], chosen.num_bytes)


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
