"""Figures of all watched rows over some steps: as arrays, and as the head and the bytes of a record."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy
from numpy.typing import NDArray

from torcheer.errors import InputError
from torcheer.run.part_storage import delete_records, insert
from torcheer.run.records import EncodedRecord, StatisticsHead, decode_head, encode_head, head_or_none

STEP_BYTES: Final = 16  # of a step and its time
FIGURE_BYTES: Final = 4
_MOST_SECONDS: Final = 2e11


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

    @property
    def num_bytes(self) -> int:
        return STEP_BYTES * self.num_steps + FIGURE_BYTES * self.values.size

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
    """Whether its times are of any century that there is a calendar for."""
    return bool((numpy.abs(table.times) < _MOST_SECONDS).all())  # False for NaN, too


def table_of(head: StatisticsHead, data: bytes) -> FigureTable:
    """What a record holds, not copied. Raises ValueError where the bytes are not what the head says."""
    num_steps, shape = head.num_steps, (head.num_columns, head.num_rows, head.num_steps)
    if not is_fitting(head, len(data)):
        raise ValueError("a block of statistics is not as long as it should be")
    return FigureTable(
        digest=head.digest,
        steps=numpy.frombuffer(data, "<i8", num_steps),
        times=numpy.frombuffer(data, "<f8", num_steps, 8 * num_steps),
        values=numpy.frombuffer(data, "<f4", -1, STEP_BYTES * num_steps).reshape(shape),
        stride=head.stride,
    )


def is_fitting(head: StatisticsHead, num_bytes: int) -> bool:
    """Whether so many bytes can be what the head says."""
    if min(head.num_columns, head.num_rows) < 0 or min(head.num_steps, head.stride) < 1:
        return False
    of_step = STEP_BYTES + FIGURE_BYTES * head.num_columns * head.num_rows
    return head.num_steps * of_step == num_bytes


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


# --- which figures are estimates ------------------------------------------------------------------------

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


# --- blocks in the tables of a part ---------------------------------------------------------------------

# Blocks of statistics in the tables of a part: small ones become larger ones, and old ones thinner.
#
# The time of such a record is where the block stands among the others. It is that of its first step, or,
# where the clock was set back, the smallest that comes after the block before.

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
        gone = [block for block in self._blocks.values() if block.head.digest in digests]
        self._growing = {key: tail for key, tail in self._growing.items() if key[0] not in digests}
        self._remove(gone)
        return sum(block.head.num_steps for block in gone)

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
        num_steps = sum(block.head.num_steps for block in chosen)
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
            and block.head.stride == table.stride
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
        block = StatisticsBlock(self._take_id(), place, head, len(data))
        row = (block.id, self._name, int(table.steps[0]), place, encode_head(head), block.num_bytes)
        insert(self._connection, "records", "id, name, step, time, head, num_bytes", [row])
        insert(self._connection, "data", "record, bytes", [(block.id, data)])
        self._blocks[block.id] = block
        self.num_bytes += block.num_bytes
        return block

    def _remove(self, blocks: Sequence[StatisticsBlock]) -> None:
        ids = [block.id for block in blocks]
        delete_records(self._connection, ids)
        for block in blocks:
            self.num_bytes -= self._blocks.pop(block.id).num_bytes

    def _read(self, block: StatisticsBlock) -> FigureTable | None:
        return _table_in(self._connection, block)

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
            table = self._read(block) if block.is_like(blocks[-1]) and block.head.stride == 1 else None
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
        decoded = head_or_none(head)
        is_whole = isinstance(place, float) and isinstance(num_bytes, int)
        if is_whole and isinstance(decoded, StatisticsHead) and is_fitting(decoded, num_bytes):
            found.append(StatisticsBlock(id, place, decoded, num_bytes))
    return found


def purge_statistics(connection: sqlite3.Connection, purge_step: int) -> bool:
    """Take back the steps from that one on. Says whether there were any."""
    found = False
    for block in blocks_in(connection):
        table = _table_in(connection, block)
        if table is None:
            continue  # not of our making
        kept = table.steps < purge_step
        if kept.all():
            continue
        found = True
        if not kept.any():
            delete_records(connection, [block.id])
            continue
        left = table.only(kept, stride=table.stride)
        connection.execute("UPDATE data SET bytes = ? WHERE record = ?", (left.data(), block.id))
        connection.execute(
            "UPDATE records SET step = ?, head = ?, num_bytes = ? WHERE id = ?",
            (int(left.steps[0]), encode_head(left.head()), left.num_bytes, block.id),
        )
    return found


def _table_in(connection: sqlite3.Connection, block: StatisticsBlock) -> FigureTable | None:
    """None where the bytes are not what the head says."""
    row = connection.execute("SELECT bytes FROM data WHERE record = ?", (block.id,)).fetchone()
    try:
        return table_of(block.head, row[0])
    except (TypeError, ValueError):
        return None


def _num_of_last_level(tail: Sequence[_Growing]) -> int:
    count = 0
    while count < len(tail) and tail[-1 - count].level == tail[-1].level:
        count += 1
    return count


# --- which blocks become thinner ------------------------------------------------------------------------

# Which blocks of statistics make way when they are above their budget: those that are densest for their
# age.
#
# How dense a block is says its stride, how old it is the number of watched steps behind it. Both are
# counted in watched steps, so neither a pause between two sessions nor a training that goes back to an
# earlier step makes a difference. Two neighbours of one stride go together, so that blocks do not become
# small.

_NEVER: Final = float("inf")


class StatisticsBlock(NamedTuple):
    """A block that is in the table."""

    id: int
    place: float  # blocks stand in this order
    head: StatisticsHead
    num_bytes: int

    @property
    def rows(self) -> tuple[str, int, int]:
        """Blocks can be joined where this is the same."""
        return self.head.digest, self.head.num_columns, self.head.num_rows

    @property
    def num_watched(self) -> int:
        """Steps that it stands for."""
        return self.head.num_steps * self.head.stride

    def is_like(self, other: StatisticsBlock) -> bool:
        return self.rows == other.rows and self.head.stride == other.head.stride


class Choice(NamedTuple):
    """Neighbours that are to be one block with half of the steps; `is_removal`: with none."""

    blocks: Sequence[StatisticsBlock]
    is_removal: bool = False


def choose_blocks(blocks: Sequence[StatisticsBlock]) -> Choice | None:
    """Of blocks in their order, of which the first and the last step stay. None: there is nothing to take.

    Steps of the newest block go when there is nothing else. A block of one step goes as a whole before that.
    """
    ages = _ages(blocks)
    best: tuple[tuple[int, float], Choice] | None = None
    at = 0
    while at < len(blocks) - 1:
        has_next = at + 2 < len(blocks) and blocks[at].is_like(blocks[at + 1])
        size = 2 if has_next else 1
        choice = Choice(blocks[at : at + size])
        score = blocks[at].head.stride / ages[at + size - 1]
        rank = 0
        if size == 1 and blocks[at].head.num_steps == 1:
            # Its one step is the first of all, or all that is left of its rows for a while.
            choice, rank = Choice(choice.blocks, is_removal=True), 1
            score = _NEVER if at == 0 else score
        if score < _NEVER and (best is None or (rank, score) < best[0]):
            best = (rank, score), choice
        at += 1
    if best is not None:
        return best[1]
    return Choice(blocks[-1:]) if blocks and blocks[-1].head.num_steps > 2 else None


def _ages(blocks: Sequence[StatisticsBlock]) -> list[int]:
    """For each block, how many steps were watched after it."""
    ages, age = [], 0
    for block in reversed(blocks):
        ages.append(age)
        age += block.num_watched
    return ages[::-1]
