"""Numbers of many calls as columns, one set for each name: what the table of points holds."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy
from numpy.typing import NDArray

from torcheer.run.observing.plaintext import plain_text
from torcheer.run.telling import Teller

_FIRST_STEP, _LAST_STEP = -(2**63), 2**63 - 1


class Columns(NamedTuple):
    """Points of one series, in the order in which they were logged: raw columns, as they are stored."""

    steps: bytes
    times: bytes
    values: bytes
    num_points: int
    num_bad: int


Call = tuple[int, float, Mapping[str, Any]]  # step, time, and what float() makes a number of


class _Table(NamedTuple):
    """Calls that logged the same names, and which of all calls they were."""

    orders: list[int]
    calls: list[Call]


class _Piece(NamedTuple):
    """Points of one name, out of one table."""

    orders: list[int]
    steps: NDArray[numpy.int64]
    times: NDArray[numpy.float64]
    values: NDArray[numpy.float64]


def columns_of(calls: Iterable[Call], teller: Teller) -> dict[str, Columns]:
    """By name. What is no number after all is told and counted."""
    pieces: dict[str, list[_Piece]] = {}
    for names, table in _tables(calls).items():
        table, steps = _with_steps(names, table, teller)
        times = numpy.asarray(array("d", [call[1] for call in table.calls]))
        rows = [call[2] for call in table.calls]
        for name in names:
            piece = _piece(name, table.orders, steps, times, [row[name] for row in rows], teller)
            if len(piece.values):
                pieces.setdefault(plain_text(name), []).append(piece)
    return {name: _join(found) for name, found in pieces.items()}


def _tables(calls: Iterable[Call]) -> dict[tuple[str, ...], _Table]:
    """Those that are alike become columns in one go; this loop is the one that goes over all of them."""
    tables: dict[tuple[str, ...], _Table] = {}
    names: tuple[str, ...] = ()
    orders, alike = tables[names] = _Table([], [])
    for order, call in enumerate(calls):
        names_before, names = names, tuple(call[2])
        if names != names_before:
            orders, alike = tables.setdefault(names, _Table([], []))
        orders.append(order)
        alike.append(call)
    return tables


def count_bad(values: NDArray[numpy.float64]) -> int:
    """How many are NaN or infinite."""
    return len(values) - int(numpy.count_nonzero(numpy.isfinite(values)))


def _with_steps(names: tuple[str, ...], table: _Table, teller: Teller) -> tuple[_Table, NDArray[numpy.int64]]:
    try:
        return table, numpy.asarray(array("q", [call[0] for call in table.calls]))
    except OverflowError:
        pass
    kept = [index for index, call in enumerate(table.calls) if _FIRST_STEP <= call[0] <= _LAST_STEP]
    teller.tell(
        f"a step of '{', '.join(names)[:80]}' takes more than 64 bits: count from 0.",
        cause="steps of more than 64 bits",
        num_dropped=(len(table.calls) - len(kept)) * len(names),
    )
    table = _Table([table.orders[index] for index in kept], [table.calls[index] for index in kept])
    return table, numpy.asarray(array("q", [call[0] for call in table.calls]))


def _piece(
    name: str,
    orders: list[int],
    steps: NDArray[numpy.int64],
    times: NDArray[numpy.float64],
    values: list[Any],
    teller: Teller,
) -> _Piece:
    try:
        return _Piece(orders, steps, times, numpy.asarray(array("d", values)))
    except Exception:  # one of them is no float after all: which, is found out one by one
        pass
    kept, numbers = [], array("d")
    for index, value in enumerate(values):
        try:
            numbers.append(value)
            kept.append(index)
        except Exception as error:
            teller.tell(
                f"a value of '{name}' cannot be kept as a number: {error}",
                cause="values of scalars",
                series=name,
                num_dropped=1,
            )
    return _Piece([orders[index] for index in kept], steps[kept], times[kept], numpy.asarray(numbers))


def _join(pieces: list[_Piece]) -> Columns:
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
