"""Read one column, or one row, of blocks of statistics, and not the rest of them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy
from numpy.typing import NDArray

from torcheer.run.figuretables import FIGURE_BYTES, STEP_BYTES
from torcheer.run.parts import RecordEntry
from torcheer.run.reading.queries import Damage
from torcheer.run.reading.snapshots import is_damage
from torcheer.run.records import StatisticsHead


class Stretches(NamedTuple):
    """What is wanted of a block: so many lines of figures, a step each, and where in the bytes they stand."""

    num_lines: int
    places: Sequence[tuple[int, int]]  # where each stretch begins, and how many bytes it has


Wanted = Callable[[StatisticsHead], Stretches | None]  # None: nothing of this block


class BlockFigures(NamedTuple):
    """What was read of a block."""

    steps: NDArray[numpy.int64]
    times: NDArray[numpy.float64]
    values: NDArray[numpy.float32]  # [line][step]

    @property
    def num_bytes(self) -> int:
        return self.steps.nbytes + self.times.nbytes + self.values.nbytes


class Found(NamedTuple):
    """Blocks in their order, and by id what was read of them where something was wanted."""

    blocks: Sequence[RecordEntry]
    figures: Mapping[int, BlockFigures]


class Listing(Protocol):
    """What knows the blocks of a part."""

    @property
    def statistics(self) -> Sequence[RecordEntry]: ...

    def list_statistics(self, connection: sqlite3.Connection, num_bytes: int) -> list[RecordEntry]: ...


def column_of(head: StatisticsHead, column: int) -> Stretches:
    """One figure of all rows."""
    size = FIGURE_BYTES * head.num_rows * head.num_steps
    return Stretches(head.num_rows, [(STEP_BYTES * head.num_steps + column * size, size)])


def row_of(head: StatisticsHead, row: int) -> Stretches:
    """All figures of one row."""
    start, size = STEP_BYTES * head.num_steps, FIGURE_BYTES * head.num_steps
    places = [(start + (column * head.num_rows + row) * size, size) for column in range(head.num_columns)]
    return Stretches(head.num_columns, places)


def read_figures(
    connection: sqlite3.Connection,
    listing: Listing,
    num_bytes: int,
    wanted: Wanted,
    known: Mapping[int, BlockFigures],
    damage: Damage,
) -> Found:
    """Of the blocks that there are at this moment: some may have been merged since they were listed."""
    blocks: Sequence[RecordEntry] = listing.statistics
    figures = _read_all(connection, blocks, wanted, known, damage)
    if figures is None:
        blocks = listing.list_statistics(connection, num_bytes)
        figures = _read_all(connection, blocks, wanted, known, damage) or {}
    return Found(blocks, figures)


def _read_all(
    connection: sqlite3.Connection,
    blocks: Sequence[RecordEntry],
    wanted: Wanted,
    known: Mapping[int, BlockFigures],
    damage: Damage,
) -> dict[int, BlockFigures] | None:
    """None where one of them is gone."""
    figures: dict[int, BlockFigures] = {}
    for block in blocks:
        if not isinstance(block.head, StatisticsHead):
            continue
        if block.id in known:
            figures[block.id] = known[block.id]
            continue
        stretches = wanted(block.head)
        if stretches is None:
            continue
        try:
            figures[block.id] = _read(connection, block, block.head, stretches)
        except ValueError as error:
            damage.add(str(error))
        except sqlite3.Error as error:
            if _is_gone(connection, block.id):
                return None
            if not is_damage(error):
                raise
            damage.add("some statistics cannot be read")
    return figures


def _is_gone(connection: sqlite3.Connection, record: int) -> bool:
    found = connection.execute("SELECT 1 FROM records WHERE id = ?", (record,)).fetchone()
    return found is None


def _read(
    connection: sqlite3.Connection, block: RecordEntry, head: StatisticsHead, stretches: Stretches
) -> BlockFigures:
    num_steps = head.num_steps
    with connection.blobopen("data", "bytes", block.id, readonly=True) as blob:
        # The head fits the length that the record names; here it must be the length that there is.
        if len(blob) != block.num_bytes:
            raise ValueError("some records are not as long as they should be")
        start = blob.read(STEP_BYTES * num_steps)
        pieces = []
        for place, size in stretches.places:
            blob.seek(place)
            pieces.append(blob.read(size))
    values = numpy.frombuffer(b"".join(pieces), "<f4").reshape(stretches.num_lines, num_steps)
    return BlockFigures(
        numpy.frombuffer(start, "<i8", num_steps),
        numpy.frombuffer(start, "<f8", num_steps, 8 * num_steps),
        values,
    )
