"""What a layer of a run responded to items: a row for each, read once and kept for what is asked next."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from typing import Final, Generic, NamedTuple, TypeVar

import numpy
from numpy.typing import NDArray

from torcheer.app.netanalysismessages import NetItemChoice
from torcheer.app.runs.netanalysisitems import Items, items_of, mark_at
from torcheer.app.runs.netfinding import Found, Stretch, found_in, read_stretches
from torcheer.app.runs.netindex import Mark
from torcheer.app.runs.nets import Nets, RankNet
from torcheer.app.runs.netunits import layer_with
from torcheer.app.runs.openrun import OpenRun
from torcheer.errors import InputError
from torcheer.graph import readable_bytes
from torcheer.run import NetLayer
from torcheer.tensorfile import Array

MAX_BYTES: Final = 1 << 28  # of the rows of one layer
_KEPT_BYTES: Final = 1 << 28  # of all that are kept
_AT_ONCE_BYTES: Final = 1 << 25  # between which others may read the run, too

Value = TypeVar("Value")


class LayerRows(NamedTuple):
    """Rows of real numbers, all finite, of those items of which there are such."""

    points: Array  # rows by units
    places: NDArray[numpy.int64]  # of the rows among the items
    note: str  # what is left out; empty where nothing is


class Kept(Generic[Value]):
    """The last ones that were asked for, up to so many bytes."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._values: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()

    def __contains__(self, key: Hashable) -> bool:
        with self._lock:
            return key in self._values

    def get(self, key: Hashable) -> Value | None:
        with self._lock:
            found = self._values.get(key)
            if found is None:
                return None
            self._values.move_to_end(key)
            return found[0]

    def put(self, key: Hashable, value: Value, num_bytes: int) -> None:
        with self._lock:
            self._values[key] = value, num_bytes
            self._values.move_to_end(key)
            total = sum(size for _, size in self._values.values())
            while total > self._most_bytes and len(self._values) > 1:
                total -= self._values.popitem(last=False)[1][1]


class _Piece(NamedTuple):
    """Rows that stand side by side in one record."""

    stretch: Stretch
    num_rows: int


class RowPlan(NamedTuple):
    """What is to be read of a layer."""

    layer: str
    pieces: tuple[_Piece, ...]
    places: NDArray[numpy.int64]  # of the rows among the items
    num_items: int
    num_units: int
    num_bytes: int
    key: Hashable  # the same for the same numbers


class RowDesk:
    """For all runs of a server."""

    def __init__(self, nets: Nets) -> None:
        self.nets = nets
        self._kept: Kept[LayerRows] = Kept(_KEPT_BYTES)

    def items(self, run: OpenRun, rank: int, choice: NetItemChoice) -> Items:
        with run.lock:
            return items_of(self.nets.look(run, rank), choice)

    def layer(self, run: OpenRun, rank: int, name: str, unit: int = 0) -> NetLayer:
        with run.lock:
            return layer_with(self.nets.look(run, rank), name, unit)

    def plan(self, run: OpenRun, rank: int, items: Items, layer: str, variable: str) -> RowPlan:
        """InputError where there are no rows, or they are too large. Nothing is read."""
        with run.lock:
            net = self.nets.look(run, rank)
            known = layer_with(net, layer, 0)
            pieces, places = _pieces(net, known, variable, items)
        if not len(places):
            raise InputError(
                f"{layer[:80]}.{variable[:80]} was not recorded of these items: choose another layer, or "
                "another moment."
            )
        num_units = known.grid.num_units
        element = max(piece.stretch.mark.outline.element_bytes for piece in pieces)
        num_bytes = len(places) * num_units * max(4, element)
        if num_bytes > MAX_BYTES:
            raise InputError(
                f"{len(places):,} items of {layer[:80]!r}, with {num_units:,} units each, take "
                f"{readable_bytes(num_bytes)}, and {readable_bytes(MAX_BYTES)} is the most: choose fewer "
                "items, or a smaller layer."
            )
        key = (run.place.id, rank, layer, len(items), tuple(places.tolist()), tuple(pieces))
        return RowPlan(layer, tuple(pieces), places, len(items), num_units, num_bytes, key)

    def rows(self, run: OpenRun, rank: int, plan: RowPlan) -> LayerRows:
        """InputError where none is left that could be used."""
        rows = self._kept.get(plan.key)
        if rows is None:
            rows = _sound(plan, self._read(run, rank, plan))
            self._kept.put(plan.key, rows, rows.points.nbytes)
        return rows

    def _read(self, run: OpenRun, rank: int, plan: RowPlan) -> list[Array | None]:
        """An array for each row; None for what is gone."""
        found: list[Array | None] = []
        for some in _by_bytes(plan.pieces):
            with run.lock:
                reader = self.nets.look(run, rank).reader
                read = read_stretches(reader, [piece.stretch for piece in some])
            for piece, numbers in zip(some, read, strict=True):
                if numbers is None:
                    found += [None] * piece.num_rows
                else:
                    found += list(numbers.reshape(piece.num_rows, plan.num_units))
        return found


def _by_bytes(pieces: Sequence[_Piece]) -> list[list[_Piece]]:
    groups: list[list[_Piece]] = [[]]
    room = _AT_ONCE_BYTES
    for piece in pieces:
        room -= piece.stretch.size * piece.stretch.mark.outline.element_bytes
        if room < 0 and groups[-1]:
            groups.append([])
            room = _AT_ONCE_BYTES
        groups[-1].append(piece)
    return groups


def _pieces(
    net: RankNet, layer: NetLayer, variable: str, items: Items
) -> tuple[list[_Piece], NDArray[numpy.int64]]:
    """What is to be read, neighbours together: SQLite goes through all that stands before a piece."""
    pieces: list[_Piece] = []
    places: list[int] = []
    marks: dict[int, Mark | None] = {}
    for place, (step, item) in enumerate(zip(items.steps, items.items, strict=True)):
        if step not in marks:
            marks[step] = mark_at(net, layer.name, variable, step)
        found = _found(
            net, layer, variable, marks[step], item, is_first=place == 0 or items.steps[place - 1] != step
        )
        if found is None:
            continue
        stretch = found.stretch
        before = pieces[-1] if pieces else None
        if (
            before is not None
            and before.stretch.mark is stretch.mark
            and before.stretch.start + before.stretch.size == stretch.start
        ):
            whole = before.stretch._replace(size=before.stretch.size + stretch.size)
            pieces[-1] = before._replace(stretch=whole, num_rows=before.num_rows + 1)
        else:
            pieces.append(_Piece(stretch, 1))
        places.append(place)
    return pieces, numpy.array(places, numpy.int64)


def _found(
    net: RankNet, layer: NetLayer, variable: str, mark: Mark | None, item: int, *, is_first: bool
) -> Found | None:
    """None where a response would have other units, or would be one that was taken already."""
    if mark is None or (not layer.has_items and not is_first):
        return None
    found = found_in(net.net, layer, variable, mark, item)
    return found if isinstance(found, Found) and found.is_whole and found.stretch.size else None


def _sound(plan: RowPlan, read: Sequence[Array | None]) -> LayerRows:
    """Without what is missing, and what holds NaN or infinities."""
    is_sound = [numbers is not None and bool(numpy.isfinite(numbers).all()) for numbers in read]
    kept = [one for one, is_kept in zip(read, is_sound, strict=True) if is_kept and one is not None]
    num_odd = sum(numbers is not None for numbers in read) - len(kept)
    num_missing = plan.num_items - len(kept) - num_odd
    notes = []
    if num_missing:
        notes.append(f"{num_missing:,} of {plan.num_items:,} items were not recorded of this layer")
    if num_odd:
        notes.append(f"{num_odd:,} of {plan.num_items:,} items hold NaN or infinities and are left out")
    if not kept:
        raise InputError(f"no item of {plan.layer[:80]!r} is left: {'; '.join(notes)}.")
    return LayerRows(numpy.stack(kept), plan.places[numpy.array(is_sound)], "; ".join(notes))
