"""Records in the tables of a part, within a budget of bytes."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter

from torcheer.run.batches import Record
from torcheer.run.names import Names
from torcheer.run.records import encode_head
from torcheer.run.tables import Row, delete, insert, next_id
from torcheer.run.thinning import KEPT_KINDS, Candidate, choose

_FREED_SHARE = 0.1  # of the budget at once, so that it is done seldom


class RecordWriter:
    """Appends records, and takes old ones away. Within the transaction of the caller."""

    def __init__(self, connection: sqlite3.Connection, names: Names, max_bytes: int) -> None:
        self._connection = connection
        self._names = names
        self._max_bytes = max_bytes
        self._next_id = next_id(connection, "records")
        self._documents = {digest for (digest,) in connection.execute("SELECT hash FROM documents")}
        (self._num_bytes,) = connection.execute("SELECT coalesce(sum(num_bytes), 0) FROM records").fetchone()
        self._thin_above = max_bytes

    def add(self, records: Sequence[Record]) -> int:
        """How many older ones had to go."""
        rows: list[Row] = []
        data: list[Row] = []
        for observation, encoded in records:
            name = self._names.id_of(observation.kind, observation.name)
            self._names.describe(name, observation.description)
            head, num_bytes = encode_head(encoded.head), len(encoded.data)
            rows.append((self._next_id, name, observation.step, observation.time, head, num_bytes))
            data.append((self._next_id, encoded.data))
            self._next_id += 1
            self._num_bytes += num_bytes
            if encoded.document is not None and encoded.document.hash not in self._documents:
                self._add_document(encoded.document.hash, encoded.document.json)
        insert(self._connection, "records", "id, name, step, time, head, num_bytes", rows)
        insert(self._connection, "data", "record, bytes", data)
        return self._thin() if self._num_bytes > self._thin_above else 0

    def _add_document(self, digest: str, text: bytes) -> None:
        packed = zlib.compress(text)
        insert(self._connection, "documents", "hash, num_bytes, json", [(digest, len(text), packed)])
        self._documents.add(digest)

    def _thin(self) -> int:
        kinds = ", ".join("?" * len(KEPT_KINDS))
        found = self._connection.execute(
            "SELECT name, id, step, time, num_bytes FROM records WHERE num_bytes > 0 AND name IN "
            f"(SELECT id FROM names WHERE kind NOT IN ({kinds})) ORDER BY name, id",
            KEPT_KINDS,
        ).fetchall()
        series = [[Candidate(*row[1:]) for row in rows] for _, rows in groupby(found, key=itemgetter(0))]
        target = int(self._max_bytes * (1 - _FREED_SHARE))
        chosen = choose(series, self._num_bytes - target)
        _delete(self._connection, chosen.ids)
        self._num_bytes -= chosen.num_bytes
        # Where what must stay is above the budget, looking again at every batch would be in vain.
        self._thin_above = max(self._max_bytes, self._num_bytes + int(self._max_bytes * _FREED_SHARE))
        return len(chosen.ids)


def purge_records(connection: sqlite3.Connection, purge_step: int) -> bool:
    """Take back the records from that step on. Says whether there were any."""
    found = connection.execute("SELECT id FROM records WHERE step >= ?", (purge_step,)).fetchall()
    _delete(connection, [id for (id,) in found])
    return bool(found)


def _delete(connection: sqlite3.Connection, ids: Sequence[int]) -> None:
    delete(connection, "data", "record", ids)
    delete(connection, "records", "id", ids)
