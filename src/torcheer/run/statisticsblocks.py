"""Blocks of statistics in the tables of a part: small ones become larger ones, and old ones thinner.

The time of such a record is where the block stands among the others. It is that of its first step, or, where
the clock was set back, the smallest that comes after the block before.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from torcheer.run.figuretables import FigureTable, has_times, is_fitting, joined_tables, table_of
from torcheer.run.observations import EncodedRecord
from torcheer.run.records import StatisticsHead, decode_head, encode_head
from torcheer.run.statisticsthinning import StatisticsBlock, choose_blocks
from torcheer.run.tables import delete, insert

BUDGET_BYTES: Final = 256 << 20  # of a part
_BUDGET_SHARE: Final = 4  # of max_bytes, where that is less: one part in so many
_MOST_BLOCK_BYTES: Final = 1 << 20
_LEAST_BLOCK_BYTES: Final = 4096
_BLOCKS_IN_BUDGET: Final = 32
_MERGED_AT: Final = 8  # blocks of one level
_RESUMED_LEVEL: Final = 99  # it grows only when all that grow become one
_MOST_GROWING: Final = 8  # plans whose blocks are kept in memory


class _Growing(NamedTuple):
    """A block that is not full yet, in memory too: merging then reads nothing."""

    block: StatisticsBlock | None  # None: not in the table yet
    table: FigureTable
    place: float
    level: int


class StatisticsWriter:
    """Appends blocks, and keeps them few and within their budget. Within the transaction of the caller."""

    def __init__(self, connection: sqlite3.Connection, max_bytes: int, take_id: Callable[[], int]) -> None:
        self._connection = connection
        self._take_id = take_id
        self.budget = min(BUDGET_BYTES, max_bytes // _BUDGET_SHARE)
        wanted = self.budget // _BLOCKS_IN_BUDGET
        self._most_bytes = max(_LEAST_BLOCK_BYTES, min(_MOST_BLOCK_BYTES, wanted))
        self._blocks: dict[int, StatisticsBlock] = {}
        self._growing: dict[tuple[str, int, int], list[_Growing]] = {}  # by their rows, the latest last
        self._name = 0
        self.num_bytes = 0
        self._last_place = -math.inf
        self._is_loaded = False
        self._load_sizes()

    def add(self, name: int, records: Sequence[EncodedRecord]) -> int:
        """How many steps had to go. Raises ValueError for a record that is no block."""
        self._name = name
        if not self._is_loaded:
            self._load()
        for record in records:
            head = decode_head(record.head) if isinstance(record.head, bytes) else record.head
            if not isinstance(head, StatisticsHead):
                raise ValueError("a record of statistics has the head of something else")
            table = table_of(head, record.data)
            if not has_times(table):
                raise ValueError("some times of statistics cannot be")
            self._append(table)
        num_thinned = 0
        while self.num_bytes > self.budget:
            num_gone = self._thin_once()
            if not num_gone:
                break
            num_thinned += num_gone
        return num_thinned

    def remove_rows(self, digests: Iterable[str]) -> int:
        """Take away all of some rows. How many steps that were."""
        if not self._is_loaded:
            self._load()
        digests = set(digests)
        gone = [block for block in self._blocks.values() if block.digest in digests]
        self._growing = {key: tail for key, tail in self._growing.items() if key[0] not in digests}
        self._remove(gone)
        return sum(block.num_steps for block in gone)

    # --- growing -------------------------------------------------------------------------------------

    def _append(self, table: FigureTable) -> None:
        key = (table.digest, *table.values.shape[:2])
        tail = self._growing.pop(key, [])
        self._growing[key] = tail
        place = max(float(table.times[0]), math.nextafter(self._last_place, math.inf))
        self._last_place = place
        tail.append(_Growing(None, table, place, 0))
        if sum(growing.table.num_bytes for growing in tail) >= self._most_bytes:
            self._merge(tail, len(tail))
        while (num_alike := _num_of_last_level(tail)) >= _MERGED_AT:
            self._merge(tail, num_alike)
        tail[-1] = self._written(tail[-1])
        if tail[-1].table.num_bytes >= self._most_bytes:
            del self._growing[key]
        while len(self._growing) > _MOST_GROWING:
            self._finish(next(iter(self._growing)))

    def _merge(self, tail: list[_Growing], count: int) -> None:
        """Make one of the last ones."""
        merged = tail[-count:]
        self._remove([growing.block for growing in merged if growing.block is not None])
        table = joined_tables([growing.table for growing in merged])
        tail[-count:] = [_Growing(None, table, merged[0].place, merged[-1].level + 1)]

    def _finish(self, key: tuple[str, int, int]) -> None:
        """One block of all that grew: it is left as it is from here on."""
        tail = self._growing.pop(key)
        if len(tail) > 1:
            self._merge(tail, len(tail))
            self._written(tail[0])

    def _written(self, growing: _Growing) -> _Growing:
        if growing.block is not None:
            return growing
        return growing._replace(block=self._insert(growing.table, growing.place))

    # --- thinning ------------------------------------------------------------------------------------

    def _thin_once(self) -> int:
        growing = {one.block.id for tail in self._growing.values() for one in tail if one.block is not None}
        blocks = self._in_order()
        choice = choose_blocks([block for block in blocks[:-1] if block.id not in growing] + blocks[-1:])
        if choice is None or growing.intersection(block.id for block in choice.blocks):
            # What is settled is as thin as can be: what still grows has to do.
            for key in list(self._growing):
                self._finish(key)
            blocks = self._in_order()
            choice = choose_blocks(blocks)
        if choice is None:
            return 0
        chosen = list(choice.blocks)
        num_steps = sum(block.num_steps for block in chosen)
        tables = [] if choice.is_removal else [self._read(block) for block in chosen]
        self._remove(chosen)
        if None in tables or not tables:  # somebody else wrote into the file: what makes no sense goes
            return num_steps
        whole = joined_tables([table for table in tables if table is not None])
        left = whole.every_second(keeps_last=chosen[-1].id == blocks[-1].id)
        self._insert_thinned(left, chosen[0].place, blocks[: blocks.index(chosen[0])])
        return num_steps - left.num_steps

    def _insert_thinned(self, table: FigureTable, place: float, before: Sequence[StatisticsBlock]) -> None:
        """Together with the block before it where both have room in one: so blocks do not become small."""
        block = before[-1] if before else None
        if (
            block is not None
            and block.rows == (table.digest, *table.values.shape[:2])
            and block.stride == table.stride
            and block.num_bytes + table.num_bytes <= self._most_bytes
        ):
            earlier = self._read(block)
            if earlier is not None:
                self._remove([block])
                table, place = joined_tables([earlier, table]), block.place
        self._insert(table, place)

    def _in_order(self) -> list[StatisticsBlock]:
        return sorted(self._blocks.values(), key=lambda block: block.place)

    # --- the tables ----------------------------------------------------------------------------------

    def _insert(self, table: FigureTable, place: float) -> StatisticsBlock:
        head, data = table.head(), table.data()
        block = _block_of(self._take_id(), place, head, len(data))
        row = (block.id, self._name, int(table.steps[0]), place, encode_head(head), block.num_bytes)
        insert(self._connection, "records", "id, name, step, time, head, num_bytes", [row])
        insert(self._connection, "data", "record, bytes", [(block.id, data)])
        self._blocks[block.id] = block
        self.num_bytes += block.num_bytes
        return block

    def _remove(self, blocks: Sequence[StatisticsBlock]) -> None:
        ids = [block.id for block in blocks]
        delete(self._connection, "data", "record", ids)
        delete(self._connection, "records", "id", ids)
        for block in blocks:
            self.num_bytes -= self._blocks.pop(block.id).num_bytes

    def _read(self, block: StatisticsBlock) -> FigureTable | None:
        row = self._connection.execute(
            "SELECT r.head, d.bytes FROM records r JOIN data d ON d.record = r.id WHERE r.id = ?", (block.id,)
        ).fetchone()
        try:
            head = decode_head(row[0])
            return table_of(head, row[1]) if isinstance(head, StatisticsHead) else None
        except (TypeError, ValueError, RecursionError):
            return None

    def _load_sizes(self) -> None:
        """How much there is: all else is looked at when the first block comes."""
        (self.num_bytes,) = self._connection.execute(
            "SELECT coalesce(sum(num_bytes), 0) FROM records WHERE name IN "
            "(SELECT id FROM names WHERE kind = 'statistics')"
        ).fetchone()

    def _load(self) -> None:
        """What earlier sessions left. Their last blocks, which are small, become one."""
        self._is_loaded = True
        self.num_bytes = 0
        for block in blocks_in(self._connection):
            self._blocks[block.id] = block
            self.num_bytes += block.num_bytes
        blocks = self._in_order()
        if not blocks:
            return
        self._last_place = blocks[-1].place
        tail: list[_Growing] = []
        num_bytes = 0
        for block in reversed(blocks):
            num_bytes += block.num_bytes
            table = self._read(block) if block.is_like(blocks[-1]) and block.stride == 1 else None
            if table is None or num_bytes >= self._most_bytes:
                break
            tail.insert(0, _Growing(block, table, block.place, _RESUMED_LEVEL))
        if len(tail) > 1:
            self._merge(tail, len(tail))
        if tail:
            self._growing[blocks[-1].rows] = [self._written(tail[0])._replace(level=_RESUMED_LEVEL)]


def blocks_in(connection: sqlite3.Connection) -> list[StatisticsBlock]:
    """The blocks of a part, as far as they make sense."""
    found = []
    rows = connection.execute(
        "SELECT id, time, head, num_bytes FROM records WHERE name IN "
        "(SELECT id FROM names WHERE kind = 'statistics') ORDER BY id"
    )
    for id, place, head, num_bytes in rows:
        try:
            decoded = decode_head(head)
        except (msgspec.MsgspecError, TypeError, RecursionError, UnicodeDecodeError):
            continue
        is_whole = isinstance(place, float) and isinstance(num_bytes, int)
        if is_whole and isinstance(decoded, StatisticsHead) and is_fitting(decoded, num_bytes):
            found.append(_block_of(id, place, decoded, num_bytes))
    return found


def purge_statistics(connection: sqlite3.Connection, purge_step: int) -> bool:
    """Take back the steps from that one on. Says whether there were any."""
    found = False
    for block in blocks_in(connection):
        row = connection.execute("SELECT bytes FROM data WHERE record = ?", (block.id,)).fetchone()
        head = connection.execute("SELECT head FROM records WHERE id = ?", (block.id,)).fetchone()
        if row is None or not isinstance(row[0], bytes) or len(row[0]) != block.num_bytes:
            continue  # not of our making
        decoded = decode_head(head[0])
        assert isinstance(decoded, StatisticsHead)
        table = table_of(decoded, row[0])
        kept = table.steps < purge_step
        if kept.all():
            continue
        found = True
        if not kept.any():
            delete(connection, "data", "record", [block.id])
            delete(connection, "records", "id", [block.id])
            continue
        left = table.only(kept, stride=table.stride)
        connection.execute("UPDATE data SET bytes = ? WHERE record = ?", (left.data(), block.id))
        connection.execute(
            "UPDATE records SET step = ?, head = ?, num_bytes = ? WHERE id = ?",
            (int(left.steps[0]), encode_head(left.head()), left.num_bytes, block.id),
        )
    return found


def _block_of(id: int, place: float, head: StatisticsHead, num_bytes: int) -> StatisticsBlock:
    return StatisticsBlock(
        id=id,
        place=place,
        digest=head.digest,
        num_columns=head.num_columns,
        num_rows=head.num_rows,
        num_steps=head.num_steps,
        stride=head.stride,
        num_bytes=num_bytes,
    )


def _num_of_last_level(tail: Sequence[_Growing]) -> int:
    count = 0
    while count < len(tail) and tail[-1 - count].level == tail[-1].level:
        count += 1
    return count
