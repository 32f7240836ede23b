"""The queue between the training and the writer's thread: appending costs next to nothing, and it has an end.

Numbers are by far the most, so a call of `log` is one tuple in a deque: no lock, no object of ours. How much
there is in it is known only roughly (`weight`), which is enough to keep it short. Above a soft limit the
caller waits a moment for the writer, so that little is lost when the process is killed; above a hard one,
what is logged is dropped and counted.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

from torcheer.run.records import Bulk, EncodedRecord, Observation
from torcheer.run.warnings_once import WarningsOnce
from torcheer.run.write.point_blocks import Call, Columns

CALL_WEIGHT = 2  # what a call weighs beside its numbers
WAKE_WEIGHT = 32_768
_CHUNK_ITEMS = 16_384
_WAIT_SECONDS = 0.1


class Limits(NamedTuple):
    """How much may wait: numbers, all else, and the bytes of all else."""

    weight: int
    num_records: int
    num_bytes: int


_SHORT = Limits(WAKE_WEIGHT, 128, 16 << 20)  # the writer comes by itself, in a fraction of a second
_SOFT = Limits(65_536, 256, 32 << 20)  # the caller waits a moment
_HARD = Limits(1_000_000, 65_536, 256 << 20)  # there is no room


class Mark:
    """A place in the queue, settled when what was logged before it is on disk, or never will be."""

    __slots__ = ("is_done", "is_settled")

    def __init__(self) -> None:
        self.is_done = False
        self.is_settled = False

    def settle(self, *, is_done: bool) -> None:
        self.is_done = is_done
        self.is_settled = True


Item = Call | Observation | Bulk | Mark


class Queue:
    """What is logged and not yet taken by the writer."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Empty, with locks that nobody holds: at the beginning, and in a forked child."""
        self.items: deque[Item] = deque()
        self.last_described: dict[str, str] = {}  # by name, so that it is not said again at every step
        self.weight = 0  # of the numbers that nobody has taken
        self.num_records = 0  # to be, until they are written
        self.num_bytes = 0  # that these hold
        self.is_running = False  # whether there is a thread that takes
        self.is_forced = False  # somebody waits for it: try now, also where it failed a moment ago
        self.is_stuck = False  # the disk refuses, and waking the writer does not help
        self.is_short_of_room = False  # the same for what is to be a record; numbers are still written
        self.wake = threading.Event()
        self.news = threading.Condition()  # something was taken, written, or could not be
        self.progress = 0  # rises as long as somebody is at work: to wait is worth while
        self._waited_at = -1

    def press(self, num_bytes: int | None = None) -> bool:
        """Wake the writer where there is much, wait a moment where there is more. False: there is no room.

        `num_bytes` of what is to be a record; None for numbers.
        """
        if self._is_within(_SHORT, num_bytes):
            return True
        # Room on the disk takes longer than a moment.
        if num_bytes is None or not self.is_short_of_room:
            if not self.is_stuck and not self.wake.is_set():
                self.wake.set()
            if not self._is_within(_SOFT, num_bytes) and self._waited_at != self.progress:
                with self.news:
                    progress = self.progress
                    self.news.wait_for(lambda: self._is_within(_SHORT, num_bytes), _WAIT_SECONDS)
                    if self.progress == progress:  # a writer that stands still is waited for once
                        self._waited_at = progress
        return self._is_within(_HARD, num_bytes)

    def _is_within(self, limits: Limits, num_bytes: int | None) -> bool:
        if num_bytes is None:
            return self.weight <= limits.weight
        # One record has room, however large, where no other waits: else it never could be written.
        is_light = not self.num_bytes or self.num_bytes + num_bytes <= limits.num_bytes
        return is_light and self.num_records <= limits.num_records

    def add(self, item: Call | Observation | Bulk) -> None:
        if isinstance(item, tuple):
            self.items.append(item)
            self.weight += len(item[2]) + CALL_WEIGHT
            return
        with self.news:
            self.num_records += item.weight
            self.num_bytes += item.num_bytes
        self.items.append(item)

    def force(self) -> None:
        self.is_forced = True
        self.wake.set()

    def tell_news(self) -> None:
        """Those who wait for a mark, or for room, look again."""
        with self.news:
            self.news.notify_all()

    def give_back(self, num_records: int = 0, num_bytes: int = 0) -> None:
        """So much of what was taken is written, or given up."""
        with self.news:
            self.num_records -= num_records
            self.num_bytes -= num_bytes
            self.progress += 1
            self.news.notify_all()

    def take(self) -> list[Item]:
        """The oldest items, a part of them where they are many; for the writer's thread alone."""
        items = self.items
        # Others append while this runs, so it takes only what is there now.
        taken = [items.popleft() for _ in range(min(len(items), _CHUNK_ITEMS))]
        if items:
            self.weight -= sum(CALL_WEIGHT + len(item[2]) for item in taken if type(item) is tuple)
        else:
            # Threads that append at the same instant make it wrong by a little; here it is set right.
            self.weight = 0
        if taken:
            self.give_back()
        return taken

    def take_all(self) -> list[Item]:
        """When nobody appends any more."""
        taken = list(self.items)
        self.items.clear()
        self.weight = self.num_records = self.num_bytes = 0
        return taken


MOST_RECORD_BYTES = 512 << 20


@dataclass(slots=True, kw_only=True)
class Batch:
    """Taken together, written together. Kept as it is until it is on disk."""

    columns: dict[str, Columns] = field(default_factory=dict)
    records: list[EncodedRecord] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    num_taken: int = 0  # records that the queue counts, of which some may have come to nothing
    num_bytes: int = 0  # that it counts for them

    @property
    def num_events(self) -> int:
        return sum(columns.num_points for columns in self.columns.values()) + len(self.records)

    @property
    def is_empty(self) -> bool:
        return not (self.columns or self.records)

    def pieces(self) -> list[Batch]:
        """The same in as many batches as there are things to write."""
        return [
            *(Batch(columns={name: columns}) for name, columns in self.columns.items()),
            *(Batch(records=[record]) for record in self.records),
        ]

    def remove(self, piece: Batch) -> None:
        self.columns = {name: found for name, found in self.columns.items() if name not in piece.columns}
        written = set(map(id, piece.records))
        self.records = [record for record in self.records if id(record) not in written]

    def named(self) -> str:
        """What is in it, as somebody would say it."""
        scalars = [f"scalar '{name}'" for name in self.columns]
        records = [f"{record.kind} '{record.name}'" for record in self.records[:3]]
        return ", ".join([*scalars, *records][:3])


def num_events_in(item: Item) -> int:
    """Points of a call; an observation is one."""
    if isinstance(item, Bulk):
        return len(item.records)
    return len(item[2]) if type(item) is tuple else int(isinstance(item, Observation))


def tell_too_large(teller: WarningsOnce, observation: Observation | EncodedRecord, num_bytes: int) -> None:
    teller.tell(
        f"{observation.kind} '{observation.name}' has {num_bytes:,} bytes, and a record at most "
        f"{MOST_RECORD_BYTES:,}: log a part of it.",
        cause=f"size of {observation.kind}",
        series=observation.name,
        num_dropped=1,
    )
