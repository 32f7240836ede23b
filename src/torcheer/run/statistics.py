"""Figures of all watched rows over some steps: as arrays, and as the head and the bytes of a record."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeVar

import numpy
from numpy.typing import NDArray

from torcheer.errors import InputError
from torcheer.run.part_storage import delete_records, insert
from torcheer.run.records import (
    MOST_SECONDS,
    STEP_BYTES,
    EncodedRecord,
    Head,
    StatisticsHead,
    decode_head,
    encode_head,
    head_or_none,
)

H = TypeVar("H", bound=Head)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FigureTable:
    """A block of statistics. `digest` names its rows, `stride` says how thin it is."""

    digest: str
    steps: NDArray[numpy.int64]
    times: NDArray[numpy.float64]  # seconds since 1970
    values: NDArray[numpy.float32]  # [column][row][step]
    stride: int = 1

    @property
    def num_steps(self) -> int:
        return len(self.steps)

    def head(self) -> StatisticsHead:
        num_columns, num_rows, num_steps = self.values.shape
        return StatisticsHead(
            digest=self.digest,
            num_columns=num_columns,
            num_rows=num_rows,
            num_steps=num_steps,
            last_step=int(self.steps[-1]),
            last_time=float(self.times[-1]),
            stride=self.stride,
        )

    def data(self) -> bytes:
        columns = ((self.steps, "<i8"), (self.times, "<f8"), (self.values, "<f4"))
        return b"".join(numpy.ascontiguousarray(column, kind).tobytes() for column, kind in columns)

    def every_second(self, *, keeps_last: bool) -> FigureTable:
        """Half of the steps, with the first, and with the last where that is wished."""
        chosen = numpy.arange(0, self.num_steps, 2)
        if keeps_last and chosen[-1] != self.num_steps - 1:
            chosen = numpy.append(chosen, self.num_steps - 1)
        return self.only(chosen, stride=2 * self.stride)

    def only(self, chosen: NDArray[Any], stride: int) -> FigureTable:
        """Some of the steps, by their places or as truths."""
        return FigureTable(
            digest=self.digest,
            steps=self.steps[chosen],
            times=self.times[chosen],
            values=self.values[:, :, chosen],
            stride=stride,
        )


def checked_table(digest: Any, steps: Any, times: Any, values: Any) -> FigureTable:
    """Raises InputError where these do not go together. They are not copied where they are right already."""
    given_steps = numpy.asarray(steps)
    if given_steps.dtype.kind not in "iu" and given_steps.size:
        raise InputError(f"the steps are {given_steps.dtype}, and steps are whole numbers.")
    table = FigureTable(
        digest=str(digest),
        steps=numpy.ascontiguousarray(given_steps, numpy.int64),
        times=numpy.ascontiguousarray(times, numpy.float64),
        values=numpy.ascontiguousarray(values, numpy.float32),
    )
    shape, num_steps = table.values.shape, len(table.steps)
    if table.steps.ndim != 1 or table.times.shape != table.steps.shape or not num_steps:
        raise InputError(
            f"{given_steps.shape} steps and {table.times.shape} times: give as many of one as of the other, "
            "and at least one."
        )
    if len(shape) != 3 or shape[2] != num_steps:
        raise InputError(
            f"the figures have the shape {shape}: give [column][row][step], here with {num_steps} steps."
        )
    if not has_times(table):
        raise InputError("some times cannot be: give seconds since 1970, as time.time() does.")
    return table


def has_times(table: FigureTable) -> bool:
    """True if all its times are of a century that there is a calendar for."""
    return bool((numpy.abs(table.times) < MOST_SECONDS).all())  # False for NaN, too


def table_of(head: StatisticsHead, data: bytes) -> FigureTable:
    """What a record holds, not copied. Raises ValueError where the bytes are not what the head says."""
    num_steps, shape = head.num_steps, (head.num_columns, head.num_rows, head.num_steps)
    if not head.fits(len(data)):
        raise ValueError("a block of statistics is not as long as it should be")
    return FigureTable(
        digest=head.digest,
        steps=numpy.frombuffer(data, "<i8", num_steps),
        times=numpy.frombuffer(data, "<f8", num_steps, 8 * num_steps),
        values=numpy.frombuffer(data, "<f4", -1, STEP_BYTES * num_steps).reshape(shape),
        stride=head.stride,
    )


def joined_tables(tables: Sequence[FigureTable]) -> FigureTable:
    """One after the other. They are of the same rows, and as thin as the thinnest of them."""
    if len(tables) == 1:
        return tables[0]
    return FigureTable(
        digest=tables[0].digest,
        steps=numpy.concatenate([table.steps for table in tables]),
        times=numpy.concatenate([table.times for table in tables]),
        values=numpy.concatenate([table.values for table in tables], axis=2),
        stride=max(table.stride for table in tables),
    )


# Which figures of a watched tensor are those of the whole, and which are estimates from a sample.
#
# Two columns of the statistics say so at each step and row: `ESTIMATES` is the sum of the bits of the
# groups whose figures are estimates, `NUM_VALUES` the number of values that these come from. Runs of
# earlier versions have no such columns: there, every figure of a tensor that did not fit into a sample may
# be an estimate.

ESTIMATES: Final = "estimates"
NUM_VALUES: Final = "num_values"
BOOKKEEPING: Final = (ESTIMATES, NUM_VALUES)  # columns that are no figures themselves

MOMENTS, NORM, ORDER, UNITS = 1, 2, 4, 8  # the groups: figures of one are exact together
_GROUPS: Final = {
    "mean": MOMENTS,
    "std": MOMENTS,
    "min": MOMENTS,
    "max": MOMENTS,
    "norm": NORM,
    "nan": NORM,
    "inf": NORM,
    "ratio": NORM,
    "dead": UNITS,
}
_EARLIER_SAMPLE: Final = 512  # values of a tensor that earlier versions looked at


def group_of(column: str) -> int:
    """The bit of a figure; shares and quantiles need all values in order."""
    return _GROUPS.get(column, ORDER)


def estimated(
    column: str, values: NDArray[Any], estimates: NDArray[Any], shape: Sequence[int] | None
) -> NDArray[numpy.bool_]:
    """Where a figure of a row is an estimate: `estimates` are those of its column `ESTIMATES`.

    `shape` is that of the tensor, by which it is told for steps that an earlier version watched.
    """
    is_unknown = numpy.isnan(estimates)
    groups = numpy.where(is_unknown, 0, estimates).astype(numpy.int64)
    found: NDArray[numpy.bool_] = (groups & group_of(column)) != 0
    if shape is None or math.prod(shape) > _EARLIER_SAMPLE:
        found |= is_unknown
    found &= ~numpy.isnan(values)
    return found


def figures_of(columns: Sequence[str]) -> tuple[str, ...]:
    """The columns that are figures."""
    return tuple(column for column in columns if column not in BOOKKEEPING)


# Small blocks become larger ones, and old ones thinner.
#
# The time of such a record is where the block stands among the others. It is that of its first step, or,
# where the clock was set back, the smallest that comes after the block before.

BUDGET_BYTES: Final = 256 << 20  # of a part
_BUDGET_SHARE: Final = 4  # of max_bytes, where that is less: one part in so many
_MOST_BLOCK_BYTES: Final = 1 << 20
_LEAST_BLOCK_BYTES: Final = 4096
_BLOCKS_IN_BUDGET: Final = 32
_MERGED_AT: Final = 8  # neighbours of about one size


class StatisticsBlock(NamedTuple):
    """A block that is in the table."""

    id: int
    place: float  # blocks stand in this order
    head: StatisticsHead
    num_bytes: int

    @property
    def size_class(self) -> int:
        """The same for blocks of which none is eight times as large as another, or nearly so."""
        return self.num_bytes.bit_length() // 3

    def is_like(self, other: StatisticsBlock) -> bool:
        """True if both can be one block."""
        of_both = {
            (head.digest, head.num_columns, head.num_rows, head.stride) for head in (self.head, other.head)
        }
        return len(of_both) == 1


class StatisticsWriter:
    """Appends blocks, and keeps them few and within their budget. Within the transaction of the caller."""

    def __init__(self, connection: sqlite3.Connection, max_bytes: int, ids: Iterator[int]) -> None:
        self._connection = connection
        self._ids = ids
        self.budget = min(BUDGET_BYTES, max_bytes // _BUDGET_SHARE)
        wanted = self.budget // _BLOCKS_IN_BUDGET
        self._most_bytes = max(_LEAST_BLOCK_BYTES, min(_MOST_BLOCK_BYTES, wanted))
        self._blocks = blocks_in(connection)
        self._name = 0

    @property
    def num_bytes(self) -> int:
        return sum(block.num_bytes for block in self._blocks)

    def add(self, name: int, records: Sequence[EncodedRecord]) -> int:
        """How many steps had to go. Raises ValueError for a record that is no block."""
        self._name = name
        for record in records:
            head = decode_head(record.head) if isinstance(record.head, bytes) else record.head
            if not isinstance(head, StatisticsHead):
                raise ValueError("a record of statistics has the head of something else")
            table = table_of(head, record.data)
            if not has_times(table):
                raise ValueError("some times of statistics cannot be")
            after = math.nextafter(self._blocks[-1].place, math.inf) if self._blocks else -math.inf
            self._blocks.append(self._insert(table, max(float(table.times[0]), after)))
            while (start := self._first_to_merge()) is not None:
                self._put_in_place(start, len(self._blocks), self._read(self._blocks[start:]))
        num_thinned = 0
        while self.num_bytes > self.budget and (num_gone := self._thin_once()):
            num_thinned += num_gone
        return num_thinned

    def remove_rows(self, digests: Iterable[str]) -> int:
        """Take away all of some rows. How many steps that were."""
        digests = set(digests)
        gone = [block for block in self._blocks if block.head.digest in digests]
        self._blocks = [block for block in self._blocks if block.head.digest not in digests]
        delete_records(self._connection, [block.id for block in gone])
        return sum(block.head.num_steps for block in gone)

    def _first_to_merge(self) -> int | None:
        """Where the last blocks begin that are to be one; None where there are not enough of them."""
        last, start, num_bytes = self._blocks[-1], len(self._blocks), 0
        while start and self._blocks[start - 1].is_like(last):
            before = self._blocks[start - 1]
            if before.size_class > last.size_class or before.num_bytes >= self._most_bytes:
                break
            start -= 1
            num_bytes += before.num_bytes
        count = len(self._blocks) - start
        return start if count >= _MERGED_AT or (count > 1 and num_bytes >= self._most_bytes) else None

    def _thin_once(self) -> int:
        """Leave out every second step of the block that is densest for its age. How many steps that were."""
        at = block_to_thin(self._blocks)
        if at is None:
            return 0
        is_last, block = at == len(self._blocks) - 1, self._blocks[at]
        table = self._read([block])
        if table is None or block.head.num_steps == 1:
            self._put_in_place(at, at + 1, None)
            return block.head.num_steps
        left = table.every_second(keeps_last=is_last)
        self._put_in_place(at, at + 1, left)
        # Together with the block before it where both have room in one: so blocks do not become small.
        before, thinned = self._blocks[at - 1], self._blocks[at]
        if at and before.is_like(thinned) and before.num_bytes + thinned.num_bytes <= self._most_bytes:
            self._put_in_place(at - 1, at + 1, self._read([before, thinned]))
        return block.head.num_steps - left.num_steps

    def _put_in_place(self, start: int, stop: int, table: FigureTable | None) -> None:
        """Put one block, or none, in the place of some neighbours."""
        gone = self._blocks[start:stop]
        delete_records(self._connection, [block.id for block in gone])
        self._blocks[start:stop] = [] if table is None else [self._insert(table, gone[0].place)]

    def _insert(self, table: FigureTable, place: float) -> StatisticsBlock:
        head, data = table.head(), table.data()
        block = StatisticsBlock(next(self._ids), place, head, len(data))
        row = (block.id, self._name, int(table.steps[0]), place, encode_head(head), block.num_bytes)
        insert(self._connection, "records", "id, name, step, time, head, num_bytes", [row])
        insert(self._connection, "data", "record, bytes", [(block.id, data)])
        return block

    def _read(self, blocks: Sequence[StatisticsBlock]) -> FigureTable | None:
        """All of them as one, but for those that somebody else wrote and that make no sense."""
        tables = [_table_in(self._connection, block) for block in blocks]
        found = [table for table in tables if table is not None]
        return joined_tables(found) if found else None


def block_to_thin(blocks: Sequence[StatisticsBlock]) -> int | None:
    """The place of the block that is densest for its age; None where no more can be left out.

    How dense a block is says its stride, how old it is the number of watched steps behind it. Both are
    counted in watched steps, so neither a pause between two sessions nor a training that goes back to an
    earlier step makes a difference. The first and the last step of all stay. A block of one step goes as a
    whole where no other can be thinner, and steps of the newest block go when there is nothing else.
    """
    best: tuple[bool, float, int] | None = None
    age = 0
    for at in range(len(blocks) - 1, -1, -1):
        head = blocks[at].head
        if age and (at > 0 or head.num_steps > 1):
            score = (head.num_steps == 1, head.stride / age, at)
            best = score if best is None else min(best, score)
        age += head.num_steps * head.stride
    if best is not None:
        return best[2]
    return len(blocks) - 1 if blocks and blocks[-1].head.num_steps > 2 else None


def blocks_in(connection: sqlite3.Connection) -> list[StatisticsBlock]:
    """The blocks of a part in their order, as far as they make sense."""
    found = [
        StatisticsBlock(id, place, head, num_bytes)
        for id, _, place, num_bytes, head in heads_in(connection, StatisticsHead)
        if isinstance(place, float) and isinstance(num_bytes, int) and head.fits(num_bytes)
    ]
    return sorted(found, key=lambda block: block.place)


def heads_in(connection: sqlite3.Connection, kind: type[H]) -> list[tuple[int, Any, Any, Any, H]]:
    """Id, step, time, size and head of the records of a kind, in the order in which they were written."""
    rows = connection.execute(
        "SELECT id, step, time, num_bytes, head FROM records WHERE name IN "
        "(SELECT id FROM names WHERE kind = ?) ORDER BY id",
        (kind.__struct_config__.tag,),
    )
    found = [(*row[:4], head_or_none(row[4])) for row in rows]
    return [row for row in found if isinstance(row[4], kind)]


def purge_statistics(connection: sqlite3.Connection, purge_step: int) -> None:
    """Take back the steps from that one on."""
    for block in blocks_in(connection):
        table = _table_in(connection, block)
        if table is None:
            continue  # not of our making
        kept = table.steps < purge_step
        if kept.all():
            continue
        if not kept.any():
            delete_records(connection, [block.id])
            continue
        left = table.only(kept, stride=table.stride)
        data = left.data()
        connection.execute("UPDATE data SET bytes = ? WHERE record = ?", (data, block.id))
        connection.execute(
            "UPDATE records SET step = ?, head = ?, num_bytes = ? WHERE id = ?",
            (int(left.steps[0]), encode_head(left.head()), len(data), block.id),
        )


def _table_in(connection: sqlite3.Connection, block: StatisticsBlock) -> FigureTable | None:
    """None where the bytes are not what the head says."""
    row = connection.execute("SELECT bytes FROM data WHERE record = ?", (block.id,)).fetchone()
    try:
        return table_of(block.head, row[0])
    except (TypeError, ValueError):
        return None
