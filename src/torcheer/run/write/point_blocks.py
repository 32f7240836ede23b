"""Blocks of points: a new batch is a small one, and small ones become larger ones, between two batches."""

from __future__ import annotations

import itertools
import sqlite3
import sys
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from torcheer.run.part_storage import Row, delete, insert, next_id
from torcheer.run.records import plain_text
from torcheer.run.warnings_once import WarningsOnce

MOST_POINTS = 65_536  # in a block
MERGED_AT = 32  # blocks of one level
_MERGED_AT_ONCE = 512  # series whose blocks are merged in one go
_WIDTH = 8  # bytes of a number
_COLUMNS = "id, name, first, count, level, num_bad, steps, times, vals"


class Block(NamedTuple):
    """A block that is in the table."""

    id: int
    first: int
    num_points: int
    level: int


@dataclass(slots=True)
class _Series:
    """The end of a series: how many points it has, and its blocks that are not full yet, oldest first."""

    num_points: int = 0
    blocks: list[Block] = field(default_factory=list)


class BlockWriter:
    """Appends points to the series of one part. All within the transaction of the caller."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._ids = itertools.count(next_id(connection, "points"))
        self._series: dict[int, _Series] = {}
        self._untidy: dict[int, None] = {}  # names whose blocks wait to be merged, in order

    def add(self, columns_by_name: Mapping[int, Columns]) -> None:
        rows: list[Row] = []
        for name, columns in columns_by_name.items():
            series = self._series.get(name)
            if series is None:
                series = self._series[name] = self._load(name)
            self._place(name, series, columns, series.num_points, 0, rows)
            series.num_points += columns.num_points
            self._look_at(name, series)
        insert(self._connection, "points", _COLUMNS, rows)

    @property
    def is_untidy(self) -> bool:
        return bool(self._untidy)

    def tidy(self) -> None:
        """Merge blocks of some series: so many as take no time to speak of."""
        rows: list[Row] = []
        replaced: list[int] = []
        num_left = MOST_POINTS
        for name in list(self._untidy)[:_MERGED_AT_ONCE]:
            series = self._series[name]
            merged = _tail_of_one_level(series.blocks)
            num_left -= sum(block.num_points for block in merged)
            if num_left < 0 and rows:
                break
            del self._untidy[name]
            parts = self._read(name, merged)
            if parts is None:  # somebody else wrote into the file: leave as it is what we do not understand
                series.blocks.clear()
                continue
            del series.blocks[-len(merged) :]
            self._place(name, series, _join(parts), merged[0].first, merged[0].level + 1, rows)
            replaced += [block.id for block in merged]
            self._look_at(name, series)
        delete(self._connection, "points", "id", replaced)
        insert(self._connection, "points", _COLUMNS, rows)

    def _place(
        self, name: int, series: _Series, columns: Columns, first: int, level: int, rows: list[Row]
    ) -> None:
        """As many full blocks as it makes, and the rest as one that may still grow."""
        for start in range(0, columns.num_points, MOST_POINTS):
            is_rest = columns.num_points - start < MOST_POINTS
            piece = columns if start == 0 and is_rest else _cut(columns, start, start + MOST_POINTS)
            level = level - 1 if start and is_rest and level else level
            id = next(self._ids)
            rows.append((id, name, first + start, piece.num_points, level, piece.num_bad, *piece[:3]))
            if is_rest:
                series.blocks.append(Block(id, first + start, piece.num_points, level))
            else:
                series.blocks.clear()  # nothing can be merged across a full one

    def _look_at(self, name: int, series: _Series) -> None:
        tail = _tail_of_one_level(series.blocks)
        if len(tail) >= MERGED_AT or (
            len(tail) > 1 and sum(block.num_points for block in tail) >= MOST_POINTS
        ):
            self._untidy[name] = None

    def _load(self, name: int) -> _Series:
        """What an earlier session left."""
        series = _Series()
        found = self._connection.execute(
            "SELECT id, first, count, level FROM points WHERE name = ? ORDER BY first", (name,)
        ).fetchall()
        for id, first, count, level in found:
            if first != series.num_points or count >= MOST_POINTS:
                series.blocks.clear()
            if count < MOST_POINTS:
                series.blocks.append(Block(id, first, count, level))
            series.num_points = first + count
        return series

    def _read(self, name: int, blocks: Sequence[Block]) -> list[Columns] | None:
        """None where they are not what was written."""
        found = self._connection.execute(
            "SELECT steps, times, vals, count, num_bad FROM points "
            "WHERE name = ? AND first BETWEEN ? AND ? ORDER BY first",
            (name, blocks[0].first, blocks[-1].first),
        ).fetchall()
        parts = [Columns(*row) for row in found]
        if [part.num_points for part in parts] != [block.num_points for block in blocks]:
            return None
        sizes = [{len(column) for column in part[:3]} for part in parts]
        return parts if sizes == [{part.num_points * _WIDTH} for part in parts] else None


def _tail_of_one_level(blocks: Sequence[Block]) -> Sequence[Block]:
    start = len(blocks)
    while start > 0 and blocks[start - 1].level == blocks[-1].level:
        start -= 1
    return blocks[start:]


def _join(parts: Sequence[Columns]) -> Columns:
    if len(parts) == 1:
        return parts[0]
    return Columns(
        b"".join(part.steps for part in parts),
        b"".join(part.times for part in parts),
        b"".join(part.values for part in parts),
        sum(part.num_points for part in parts),
        sum(part.num_bad for part in parts),
    )


def _cut(columns: Columns, start: int, stop: int) -> Columns:
    within = slice(start * _WIDTH, stop * _WIDTH)
    values = columns.values[within]
    numbers = numpy.frombuffer(values, dtype="<f8")
    num_bad = count_bad(numbers) if columns.num_bad else 0
    return Columns(columns.steps[within], columns.times[within], values, len(numbers), num_bad)


def purge_points(connection: sqlite3.Connection, purge_step: int) -> None:
    """Take back the points from that step on; those behind move up."""
    for (name,) in connection.execute("SELECT DISTINCT name FROM points").fetchall():
        num_kept = 0
        blocks = connection.execute(
            "SELECT id, first FROM points WHERE name = ? ORDER BY first", (name,)
        ).fetchall()
        for id, first in blocks:
            row = connection.execute(
                "SELECT steps, times, vals, count, num_bad FROM points WHERE id = ?", (id,)
            )
            columns = Columns(*row.fetchone())
            kept = _before(columns, purge_step)
            if kept.num_points == 0:
                connection.execute("DELETE FROM points WHERE id = ?", (id,))
            elif kept.num_points != columns.num_points:
                connection.execute(
                    "UPDATE points SET first = ?, steps = ?, times = ?, vals = ?, count = ?, num_bad = ? "
                    "WHERE id = ?",
                    (num_kept, *kept, id),
                )
            elif first != num_kept:
                connection.execute("UPDATE points SET first = ? WHERE id = ?", (num_kept, id))
            num_kept += kept.num_points


def _before(columns: Columns, purge_step: int) -> Columns:
    if {len(column) for column in columns[:3]} != {columns.num_points * _WIDTH}:
        return columns  # not of our making
    steps = numpy.frombuffer(columns.steps, dtype="<i8")
    kept = steps < purge_step
    if kept.all():
        return columns
    times, values = (
        numpy.frombuffer(column, dtype="<f8")[kept] for column in (columns.times, columns.values)
    )
    return Columns(steps[kept].tobytes(), times.tobytes(), values.tobytes(), len(values), count_bad(values))


_FIRST_STEP, _LAST_STEP = -(2**63), 2**63 - 1


class Columns(NamedTuple):
    """Points of one series, in the order in which they were logged: raw columns, as they are stored."""

    steps: bytes
    times: bytes
    values: bytes
    num_points: int
    num_bad: int


Call = tuple[int, float, Mapping[str, Any]]  # step, time, and what float() makes a number of


class _Piece(NamedTuple):
    """Points of one name, out of calls that logged the same names; and which of all calls they were."""

    orders: list[int]
    steps: NDArray[numpy.int64]
    times: NDArray[numpy.float64]
    values: NDArray[numpy.float64]


def columns_of(calls: Sequence[Call], teller: WarningsOnce) -> dict[str, Columns]:
    """By name. What is no number after all is told and counted."""
    try:
        return _columns_of(calls)
    except Exception:  # some step or value does not fit: which, is found out one by one
        return _columns_of([_without_misfits(call, teller) for call in calls])


def _columns_of(calls: Sequence[Call]) -> dict[str, Columns]:
    pieces: dict[str, list[_Piece]] = {}
    for names, (orders, alike) in _tables(calls).items():
        steps = numpy.asarray(array("q", [call[0] for call in alike]))
        times = numpy.asarray(array("d", [call[1] for call in alike]))
        rows = [call[2] for call in alike]
        for name in names:
            values = numpy.asarray(array("d", [row[name] for row in rows]))
            pieces.setdefault(plain_text(name), []).append(_Piece(orders, steps, times, values))
    return {name: _joined_pieces(found) for name, found in pieces.items()}


def _without_misfits(call: Call, teller: WarningsOnce) -> Call:
    step, time, values = call
    if not _FIRST_STEP <= step <= _LAST_STEP:
        teller.tell(
            f"a step of '{', '.join(values)[:80]}' takes more than 64 bits: count from 0.",
            cause="steps of more than 64 bits",
            num_dropped=len(values),
        )
        return 0, time, {}
    numbers = {}
    for name, value in values.items():
        try:
            numbers[name] = float(value)
        except Exception as error:
            teller.tell(
                f"a value of '{name}' cannot be kept as a number: {error}",
                cause="values of scalars",
                series=name,
                num_dropped=1,
            )
    return step, time, numbers


def _tables(calls: Sequence[Call]) -> dict[tuple[str, ...], tuple[list[int], list[Call]]]:
    """Calls by the names that they logged, and which of all calls they were.

    Those that are alike become columns in one go; this loop is the one that goes over all of them.
    """
    tables: dict[tuple[str, ...], tuple[list[int], list[Call]]] = {(): ([], [])}
    names: tuple[str, ...] = ()
    orders, alike = tables[names]
    for order, call in enumerate(calls):
        names_before, names = names, tuple(call[2])
        if names != names_before:
            orders, alike = tables.setdefault(names, ([], []))
        orders.append(order)
        alike.append(call)
    return tables


def count_bad(values: NDArray[numpy.float64]) -> int:
    """How many are NaN or infinite."""
    return len(values) - int(numpy.count_nonzero(numpy.isfinite(values)))


def _joined_pieces(pieces: list[_Piece]) -> Columns:
    """Where a name was logged in calls of different kinds, its points are put back into their order."""
    _, steps, times, values = pieces[0]
    if len(pieces) > 1:
        order = numpy.argsort(numpy.concatenate([piece.orders for piece in pieces]), kind="stable")
        steps = numpy.concatenate([piece.steps for piece in pieces])[order]
        times = numpy.concatenate([piece.times for piece in pieces])[order]
        values = numpy.concatenate([piece.values for piece in pieces])[order]
    return Columns(_raw(steps), _raw(times), _raw(values), len(values), count_bad(values))


def _raw(numbers: NDArray[Any]) -> bytes:
    return (numbers.byteswap() if sys.byteorder == "big" else numbers).tobytes()
