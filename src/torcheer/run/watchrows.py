"""What is kept beside statistics: what is watched, once for each plan; alarms and gaps, not without end."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from torcheer.run.observations import EncodedRecord
from torcheer.run.records import Kind, WatchHead, decode_head
from torcheer.run.statisticsblocks import blocks_in
from torcheer.run.tables import delete

_MOST_PLANS: Final = 1024
_FREED_SHARE: Final = 10  # one record in so many goes at once, so that it is done seldom


class Gone(NamedTuple):
    """Plans that are forgotten, and the bytes of records that went."""

    digests: Sequence[str]
    num_bytes: int


class WatchWriter:
    """Of records that say what is watched, the last of each plan stays. Within the caller's transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._plans: dict[str, tuple[int, int]] | None = None  # by digest: id and bytes, the latest last

    def note(self, added: Sequence[tuple[int, EncodedRecord]]) -> Gone:
        """After they were put into the table."""
        if self._plans is None:
            first = added[0][0]
            self._plans = {digest: (id, size) for id, digest, size in _plans_in(self._connection, first)}
        gone, digests = [], []
        for id, record in added:
            head = decode_head(record.head) if isinstance(record.head, bytes) else record.head
            if isinstance(head, WatchHead):
                before = self._plans.pop(head.digest, None)
                gone += [] if before is None else [before]
                self._plans[head.digest] = id, record.num_bytes
        while len(self._plans) > _MOST_PLANS:
            digest = next(iter(self._plans))
            digests.append(digest)
            gone.append(self._plans.pop(digest))
        ids = [id for id, _ in gone]
        delete(self._connection, "data", "record", ids)
        delete(self._connection, "records", "id", ids)
        return Gone(digests, sum(num_bytes for _, num_bytes in gone))


class FewRecords:
    """Alarms, gaps and moments have no bytes to speak of, so it is their number that has an end."""

    most: Final[Mapping[Kind, int]] = {"alarm": 100_000, "gap": 10_000, "netview": 1000, "moment": 100_000}

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._counts = dict.fromkeys(self.most, 0)
        found = connection.execute(
            "SELECT n.kind, count(*) FROM names n JOIN records r ON r.name = n.id "
            "WHERE n.kind IN ('alarm', 'gap', 'netview', 'moment') GROUP BY n.kind"
        )
        self._counts.update(found.fetchall())

    def note(self, kind: Kind) -> None:
        self._counts[kind] += 1

    def thin(self) -> int:
        """Those in the middle go: how it began and how it is now stays. How many went."""
        num_gone = 0
        for kind, most in self.most.items():
            if self._counts[kind] <= most:
                continue
            found = self._connection.execute(
                "SELECT id FROM records WHERE name IN (SELECT id FROM names WHERE kind = ?) ORDER BY id",
                (kind,),
            )
            ids = [id for (id,) in found]
            num_less = len(ids) - most + most // _FREED_SHARE
            gone = ids[most // 2 : most // 2 + num_less]
            delete(self._connection, "data", "record", gone)
            delete(self._connection, "records", "id", gone)
            self._counts[kind] = len(ids) - len(gone)
            num_gone += len(gone)
        return num_gone


def purge_watches(connection: sqlite3.Connection, purge_step: int) -> bool:
    """Take back plans from that step on of which no statistics are left. After those were taken back."""
    used = {block.digest for block in blocks_in(connection)}
    found = connection.execute(
        "SELECT id FROM records WHERE step >= ? AND name IN (SELECT id FROM names WHERE kind = 'watch')",
        (purge_step,),
    ).fetchall()
    later = {id for (id,) in found}
    gone = [id for id, digest, _ in _plans_in(connection) if id in later and digest not in used]
    delete(connection, "data", "record", gone)
    delete(connection, "records", "id", gone)
    return bool(gone)


def _plans_in(connection: sqlite3.Connection, before: int = 2**63 - 1) -> list[tuple[int, str, int]]:
    """Ids, digests and sizes of what is watched, as far as it makes sense."""
    found = []
    rows = connection.execute(
        "SELECT id, head, num_bytes FROM records WHERE id < ? AND name IN "
        "(SELECT id FROM names WHERE kind = 'watch') ORDER BY id",
        (before,),
    )
    for id, head, num_bytes in rows:
        try:
            decoded = decode_head(head)
        except (msgspec.MsgspecError, TypeError, RecursionError, UnicodeDecodeError):
            continue
        if isinstance(decoded, WatchHead):
            found.append((id, decoded.digest, num_bytes))
    return found
