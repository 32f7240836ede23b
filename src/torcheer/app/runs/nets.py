"""What is known of runs for a NetView: kept as long as their readers, and read on when there is news."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Final
from weakref import WeakKeyDictionary

from torcheer.app.runs.netfinding import Stretch, read_stretches
from torcheer.app.runs.netindex import Mark, NetIndex, RankIndex
from torcheer.app.runs.netscenes import RunScene, scene_of
from torcheer.app.runs.openrun import OpenRun
from torcheer.run import RunReader
from torcheer.tensorfile import Array

_HELD_BYTES: Final = 1 << 28  # of weights that were asked for last
_MAX_RANKS: Final = 64  # of which the scenes are kept


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RankNet:
    """One rank of a run as of now. For whoever holds the lock of the run."""

    reader: RunReader
    index: RankIndex
    net: RunScene


class _Known:
    """What is known of one run."""

    def __init__(self) -> None:
        self.index = NetIndex()
        self.version = -1
        self.scenes: dict[int, tuple[object, RunScene]] = {}  # by rank, with what they depend on
        self.held: OrderedDict[Mark, Array] = OrderedDict()


class Nets:
    """Of all runs of a server."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # of the table: several runs may be read at a time
        self._known: WeakKeyDictionary[RunReader, _Known] = WeakKeyDictionary()

    def look(self, run: OpenRun, rank: int) -> RankNet:
        """The lock of the run is held by whoever asks."""
        reader = run.look()
        known = self._of(reader)
        if known.version != run.version:
            known.index.read_on(reader)
            known.version = run.version
        index = known.index.rank(rank)
        # Of a watched training the rows may change without any new tensor.
        depends = (known.index.generation, index.num_outlines, index.scene or reader.watched.plan(rank).rows)
        kept = known.scenes.get(rank)
        if kept is None or kept[0] != depends:
            if len(known.scenes) >= _MAX_RANKS:
                known.scenes.clear()
            kept = known.scenes[rank] = depends, scene_of(reader, rank, index)
        return RankNet(reader=reader, index=index, net=kept[1])

    def ranks(self, reader: RunReader) -> list[int]:
        """Those of which something was recorded or watched, as of the last look."""
        return sorted({*self._of(reader).index.ranks(), *reader.watched.ranks()})

    def whole(self, reader: RunReader, mark: Mark, stretch: Stretch) -> Array | None:
        """The numbers of a stretch that is asked for again and again, such as all of a weight."""
        held = self._of(reader).held
        key = mark._replace(step=stretch.start)
        numbers = held.pop(key, None)
        if numbers is None or len(numbers) != stretch.size:
            (numbers,) = read_stretches(reader, [stretch])
        if numbers is not None:
            held[key] = numbers
            num_bytes = sum(one.nbytes for one in held.values())
            while num_bytes > _HELD_BYTES and len(held) > 1:
                num_bytes -= held.popitem(last=False)[1].nbytes
        return numbers

    def _of(self, reader: RunReader) -> _Known:
        with self._lock:
            known = self._known.get(reader)
            if known is None:
                known = self._known[reader] = _Known()
            return known
