"""Records in the tables of a part, within a budget of bytes."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Sequence
from typing import NamedTuple

from torcheer.run.momentgroups import choose_with_moments
from torcheer.run.names import Names
from torcheer.run.observations import EncodedRecord
from torcheer.run.records import encode_head
from torcheer.run.statisticsblocks import StatisticsWriter
from torcheer.run.tables import Row, delete, insert, next_id
from torcheer.run.thinning import KEPT_KINDS
from torcheer.run.watchrows import FewRecords, WatchWriter

_FREED_SHARE = 0.1  # of the budget at once, so that it is done seldom
_RECORDS_SHARE = 0.96  # of the budget: a file has pages of its own, and what is new comes before the old goes


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
        self._watches = WatchWriter(connection)
        self._few = FewRecords(connection)
        (num_bytes,) = connection.execute("SELECT coalesce(sum(num_bytes), 0) FROM records").fetchone()
        self._num_bytes = num_bytes - self._statistics.num_bytes
        self._thin_above = self._max_bytes

    def add(self, records: Sequence[EncodedRecord]) -> Thinned:
        """How much of what is older had to go."""
        rows: list[Row] = []
        data: list[Row] = []
        statistics: dict[int, list[EncodedRecord]] = {}
        watched: list[tuple[int, EncodedRecord]] = []
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
            if kind == "watch":
                watched.append((id, record))
            elif kind in self._few.most:
                self._few.note(kind)
            if document is not None and document.hash not in self._documents:
                self._add_document(document.hash, document.json)
        insert(self._connection, "records", "id, name, step, time, head, num_bytes", rows)
        insert(self._connection, "data", "record, bytes", data)
        return self._within_bounds(statistics, watched)

    def _within_bounds(
        self, statistics: dict[int, list[EncodedRecord]], watched: Sequence[tuple[int, EncodedRecord]]
    ) -> Thinned:
        num_steps = sum(self._statistics.add(name, blocks) for name, blocks in statistics.items())
        if watched:
            gone = self._watches.note(watched)
            self._num_bytes -= gone.num_bytes
            num_steps += self._statistics.remove_rows(gone.digests) if gone.digests else 0
        num_records = self._few.thin()
        if self._num_bytes + self._statistics.num_bytes > self._thin_above:
            num_records += self._thin()
        return Thinned(num_records, num_steps)

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
        _delete(self._connection, chosen.ids)
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
    _delete(connection, [id for (id,) in found])
    return bool(found)


def _delete(connection: sqlite3.Connection, ids: Sequence[int]) -> None:
    delete(connection, "data", "record", ids)
    delete(connection, "records", "id", ids)
