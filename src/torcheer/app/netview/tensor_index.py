"""What a run has for a NetView, but for its bytes: tensors by rank and name, moments, the scene.

It grows with the run: only what is new is read. Where something was thinned or taken back, it begins anew.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

import msgspec
import numpy
from numpy.typing import NDArray

from torcheer.run import (
    ITEM_BYTES,
    HeadRow,
    Kind,
    MomentHead,
    Part,
    RunReader,
    SqlitePart,
    TensorHead,
    rank_in,
)
from torcheer.tensorfile import MAX_DIMS

_KINDS: Final[tuple[Kind, ...]] = ("tensor", "moment", "netview")
_MAX_COUNTERS: Final = 32
_MAX_COUNTER_TEXT: Final = 200
_FAULTS: Final = (msgspec.MsgspecError, TypeError, RecursionError, UnicodeDecodeError)

Head = TypeVar("Head")


class Outline(NamedTuple):
    """What a tensor is. Its bytes are as many as that takes."""

    shape: tuple[int, ...]
    dtype: str
    element_bytes: int


class Mark(NamedTuple):
    """A record of a tensor."""

    step: int
    time: float
    id: int
    part: str
    outline: Outline


class _Head(msgspec.Struct, tag_field="kind", tag="tensor", gc=False):
    """As much of a TensorHead as is needed here: there may be very many of them."""

    shape: list[int]
    dtype: str
    min: float | None
    max: float | None


_HEADS: Final = msgspec.json.Decoder(_Head)
_MOMENTS: Final = msgspec.json.Decoder(MomentHead)


class TensorSeries:
    """All records of a tensor, by step. Filled while reading."""

    __slots__ = ("_is_in_order", "_marks", "_steps", "_times", "extent", "high", "low")

    def __init__(self) -> None:
        self.low, self.high = math.inf, -math.inf  # of all values that are known
        self.extent: tuple[int, ...] = ()  # the largest shape: sequences are not always of one length
        self._marks: list[Mark] = []
        self._steps = array("q")
        self._times = array("d")
        self._is_in_order = True

    def add(self, mark: Mark, low: float | None, high: float | None) -> bool:
        """Whether it is larger than those before."""
        is_larger = self._is_larger(mark.outline)
        if self._marks and mark < self._marks[-1]:
            self._is_in_order = False
        self._marks.append(mark)
        self._steps.append(mark.step)
        self._times.append(mark.time)
        # NaN is neither, and JSON has no infinities.
        if low is not None and low < self.low:
            self.low = low
        if high is not None and high > self.high:
            self.high = high
        return is_larger

    def _is_larger(self, outline: Outline) -> bool:
        if self._marks and self._marks[-1].outline is outline:
            return False
        extent = outline.shape
        if self._marks and len(extent) == len(self.extent):
            extent = tuple(map(max, extent, self.extent))
        is_larger = not self._marks or extent != self.extent
        self.extent = extent
        return is_larger

    @property
    def marks(self) -> Sequence[Mark]:
        if not self._is_in_order:
            self._marks.sort()
            self._steps = array("q", [mark.step for mark in self._marks])
            self._times = array("d", [mark.time for mark in self._marks])
            self._is_in_order = True
        return self._marks

    def columns(self) -> tuple[NDArray[numpy.int64], NDArray[numpy.float64]]:
        """Their steps and times, in no order that could be relied upon."""
        return numpy.array(self._steps, numpy.int64), numpy.array(self._times, numpy.float64)

    def last_up_to(self, step: int) -> Mark | None:
        marks = self.marks
        place = bisect_right(self._steps, step)
        return marks[place - 1] if place else None

    def between(self, low: int | None, high: int | None) -> Sequence[Mark]:
        """One for each step, the last; both ends belong to it."""
        marks = self.marks
        first = 0 if low is None else bisect_left(self._steps, low)
        end = len(marks) if high is None else bisect_right(self._steps, high)
        return list({mark.step: mark for mark in marks[first:end]}.values())


class RankIndex:
    """What one rank wrote. Names are without the rank, which a watched training puts before them."""

    def __init__(self) -> None:
        self.series: dict[str, TensorSeries] = {}
        self.counters: dict[int, Mapping[str, str]] = {}  # by step
        self.scene: tuple[str, int, int] | None = None  # part, number and bytes of the last one
        self.num_outlines = 0  # rises where there is a new name, a larger shape or a new scene

    def add(self, name: str, mark: Mark, head: _Head | TensorHead) -> None:
        series = self.series.get(name)
        if series is None:
            series = self.series[name] = TensorSeries()
        self.num_outlines += series.add(mark, head.min, head.max)


class NetIndex:
    """For one thread at a time, as the reader that it reads on with."""

    def __init__(self) -> None:
        self.generation = 0  # rises when what was known became void
        self._clear()

    def _clear(self) -> None:
        self.generation += 1
        self._ranks: dict[int, RankIndex] = {}
        self._places: dict[str, tuple[int, int, int]] = {}  # by part: restarts, last record, how many
        self._outlines: dict[tuple[tuple[int, ...], str], Outline | None] = {}

    def rank(self, rank: int) -> RankIndex:
        return self._ranks.get(rank) or RankIndex()

    def ranks(self) -> list[int]:
        """Those of which there is something to see."""
        return sorted(rank for rank, index in self._ranks.items() if index.series or index.scene)

    def read_on(self, reader: RunReader) -> None:
        parts = reader.parts()
        if any(
            part not in parts or reader.restarts(part) != restarts
            for part, (restarts, _, _) in self._places.items()
        ):
            self._clear()
        if not self._take_all(reader):
            # Some of what was known is gone since.
            self._clear()
            self._take_all(reader)

    def _take_all(self, reader: RunReader) -> bool:
        """False where a part has fewer records than are known of it."""
        is_right = True
        for name, part in reader.parts().items():
            _, after, count = self._places.get(name, (0, 0, 0))
            wanted = sum(entry.count for key, entry in part.series().items() if key.kind in _KINDS)
            rank = rank_in(name)
            index = self._ranks.setdefault(rank, RankIndex())
            for row in _rows(part, after):
                after = max(after, row.id)
                if row.key.kind in _KINDS:
                    count += 1
                    self._take(index, name, f"rank {rank}/", row)
            is_right &= count <= wanted
            self._places[name] = reader.restarts(name), after, count
        return is_right

    def _take(self, index: RankIndex, part: str, prefix: str, row: HeadRow) -> None:
        if row.key.kind == "netview":
            index.scene = part, row.id, row.num_bytes
            index.num_outlines += 1
        elif row.key.kind == "moment":
            moment = _decoded(row.head, MomentHead, _MOMENTS)
            if moment is not None:
                few = list(moment.counters.items())[:_MAX_COUNTERS]
                index.counters[row.step] = {
                    name[:_MAX_COUNTER_TEXT]: text[:_MAX_COUNTER_TEXT] for name, text in few
                }
        else:
            tensor = row.head if isinstance(row.head, TensorHead) else _decoded(row.head, _Head, _HEADS)
            outline = None if tensor is None else self._outline(tensor, row.num_bytes)
            if tensor is not None and outline is not None:
                name = row.key.name.removeprefix(prefix)
                index.add(name, Mark(row.step, row.time, row.id, part, outline), tensor)

    def _outline(self, head: _Head | TensorHead, num_bytes: int) -> Outline | None:
        """None where the bytes cannot be such a tensor."""
        key = tuple(head.shape), head.dtype
        if key not in self._outlines:
            size = ITEM_BYTES.get(head.dtype)
            is_shape = len(head.shape) <= MAX_DIMS and min(head.shape, default=0) >= 0
            self._outlines[key] = Outline(*key, size) if size is not None and is_shape else None
        outline = self._outlines[key]
        is_fit = outline is not None and math.prod(outline.shape) * outline.element_bytes == num_bytes
        return outline if is_fit else None


def _rows(part: Part, after: int) -> Iterator[HeadRow]:
    if isinstance(part, SqlitePart):
        yield from part.heads(after)
        return
    for key in part.series():
        if key.kind in _KINDS:
            for entry in part.records(key.kind, key.name, after):
                yield HeadRow(entry.id, key, entry.step, entry.time, entry.num_bytes, entry.head)


def _decoded(head: object, kind: type[Head], decoder: msgspec.json.Decoder[Head]) -> Head | None:
    if isinstance(head, kind):
        return head
    try:
        return decoder.decode(head) if isinstance(head, bytes | str) else None
    except _FAULTS:
        return None
