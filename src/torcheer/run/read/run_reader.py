"""A run as its folder holds it: the parts of all its writers, as one."""

from __future__ import annotations

import operator
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, NamedTuple

from torcheer.run.part_storage import PART_ENDING
from torcheer.run.read.part_protocol import (
    Part,
    PartStatus,
    Points,
    RecordEntry,
    SeriesEntry,
    SeriesKey,
    State,
    is_superseded,
    merged_points,
    merged_series,
    merged_state,
)
from torcheer.run.read.run_folders import LinkRule, links_note, links_within, look_into
from torcheer.run.read.snapshot import CLOCK_SECONDS, FileState, state_of
from torcheer.run.read.sqlite_part import SqlitePart
from torcheer.run.read.watched import EventsCursor, EventsTail, WatchedReader, events_after
from torcheer.run.records import Kind

Source = Literal["torcheer", "tensorboard"]

_EVENTS: Final = "events"  # the name of the part that all event files make


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStatus:
    """How a run goes, over all of its parts. Times are seconds since 1970, 0 where nothing was written."""

    source: Source
    state: State
    reason: str  # what it died of
    started: float
    updated: float
    last_step: int | None
    total_steps: int | None
    comment: str
    tags: tuple[str, ...]
    host: str
    num_parts: int
    num_series: int
    num_points: int
    num_records: int
    num_dropped: int
    num_thinned: int
    num_bytes: int  # on disk
    note: str


def losses_of(num_dropped: int, num_thinned: int) -> list[str]:
    """What is said of events that are not in a run."""
    losses = []
    if num_dropped:
        values = "1 value was" if num_dropped == 1 else f"{num_dropped:,} values were"
        losses.append(f"{values} dropped: what could not be kept was told when it happened")
    if num_thinned:
        records = "1 old record was" if num_thinned == 1 else f"{num_thinned:,} old records were"
        losses.append(f"{records} thinned out to keep to the byte budget")
    return losses


class Place(NamedTuple):
    """How far a scalar was read in one part."""

    restarts: int
    num_points: int


Cursor = Mapping[str, Place]  # how far a scalar was read, by the name of the part


class Tail(NamedTuple):
    """What came after a cursor; the whole series where `is_fresh`."""

    points: Points
    cursor: Cursor
    is_fresh: bool


def record_id(entry: RecordEntry) -> str:
    """`rank-0:17`: the name by which a run finds the record again."""
    return f"{entry.part}:{entry.id}"


class RunReader:
    """Reads a run, for one thread at a time. What it gives is as of the last `refresh`."""

    def __init__(
        self, path: str | os.PathLike[str], *, reads_now: bool = True, links: LinkRule | None = None
    ) -> None:
        self.path = Path(path)
        self.links = links or links_within(path)
        self._num_links_out = 0
        self._parts: dict[str, Part] = {}  # by name, in that order
        self._restarts: dict[str, int] = {}
        self._restarts_before: dict[str, int] = {}  # of parts that were there under these names, and went
        self._folder: FileState | None = None
        self._snapshot: object = None
        self._all_series: list[Mapping[SeriesKey, SeriesEntry]] = []  # by part, as of the last refresh
        self._series: dict[SeriesKey, SeriesEntry] | None = None
        self.watched = WatchedReader(self.parts, self.restarts)
        if reads_now:
            self.refresh()

    def refresh(self) -> bool:
        """Look for what was written since. Is there anything new, or has the state changed?

        A long reading may be interrupted (see `interruption`): then the next call goes on with it.
        """
        self._find_parts()
        for name, part in self._parts.items():
            self._restarts[name] = part.refresh() + self._restarts_before.get(name, 0)
        # A part gives the same series again where nothing is new in them.
        before, self._all_series = self._all_series, [part.series() for part in self._parts.values()]
        snapshot = dict(self._restarts), [part.status() for part in self._parts.values()]
        if snapshot == self._snapshot and all(map(operator.is_, before, self._all_series)):
            return False
        self._snapshot = snapshot
        self._series = None
        return True

    def status(self) -> RunStatus:
        by_name = {name: part.status() for name, part in self._parts.items()}
        statuses = list(by_name.values())
        entries = self.series().values()
        scalars = [entry for entry in entries if entry.kind == "scalar"]
        state, reason = merged_state(by_name)
        return RunStatus(
            source="torcheer" if self._parts.keys() - {_EVENTS} else "tensorboard",
            state=state,
            reason=reason,
            started=min((status.started for status in statuses if status.started), default=0.0),
            updated=max((status.updated for status in statuses), default=0.0),
            last_step=max((entry.last_step for entry in entries), default=None),
            total_steps=next((s.total_steps for s in statuses if s.total_steps is not None), None),
            comment=next((status.comment for status in statuses if status.comment), ""),
            tags=tuple(dict.fromkeys(tag for status in statuses for tag in status.tags)),
            host=", ".join(dict.fromkeys(status.host for status in statuses if status.host)),
            num_parts=len(statuses),
            num_series=len(entries),
            num_points=sum(entry.count for entry in scalars),
            num_records=sum(entry.count for entry in entries) - sum(entry.count for entry in scalars),
            num_dropped=sum(status.num_dropped for status in statuses),
            num_thinned=sum(status.num_thinned for status in statuses),
            num_bytes=sum(status.num_bytes for status in statuses),
            note="; ".join(self._notes(by_name)),
        )

    def resumptions(self) -> tuple[float, ...]:
        """When the run was opened again; of a run of several parts, which overlap anyway, nothing is said."""
        statuses = [part.status() for part in self._parts.values()]
        return statuses[0].sessions[1:] if len(statuses) == 1 else ()

    def series(self) -> Mapping[SeriesKey, SeriesEntry]:
        """All series that hold something. Until the next refresh, this is the same object."""
        if self._series is None:
            self._series = merged_series(part.series() for part in self._parts.values())
        return self._series

    def points(self, name: str) -> Points:
        """A scalar in whole: as it was logged, or by time where several parts have it."""
        return merged_points([part.points(name) for part in self._parts.values()])

    def tail(self, name: str, cursor: Cursor | None = None) -> Tail:
        """What a scalar has that it had not when this cursor was given.

        Where points were taken back, or a part has gone, all of it comes again.
        """
        places = cursor or {}
        is_fresh = cursor is None or any(
            self._restarts.get(part) != place.restarts for part, place in places.items()
        )
        found, reached = [], {}
        for part_name, part in self._parts.items():
            before = places.get(part_name)
            start = 0 if is_fresh or before is None else before.num_points
            points = part.points(name, start)
            found.append(points)
            reached[part_name] = Place(self._restarts[part_name], start + len(points.steps))
        return Tail(merged_points(found), reached, is_fresh)

    def records(self, kind: Kind, name: str) -> list[RecordEntry]:
        """The records of a series, by step and time."""
        found = [entry for part in self._parts.values() for entry in part.records(kind, name)]
        return sorted(found, key=lambda entry: (entry.step, entry.time))

    def events(self, cursor: EventsCursor | None = None) -> EventsTail:
        """Alarms and gaps, those that came after the cursor; where some were taken back, all of them."""
        return events_after(self._parts, self._restarts, cursor)

    def record(self, identity: str) -> RecordEntry | None:
        """A record by its `record_id`; None where it is gone."""
        part, number = self._part_of(identity)
        return None if part is None else part.record(number)

    def data(self, identity: str) -> bytes | None:
        """The bytes of a record by its `record_id`; None where they are gone."""
        part, number = self._part_of(identity)
        return None if part is None else part.data(number)

    def document(self, digest: str) -> bytes | None:
        """The JSON of a pass without its tensors."""
        found = (part.document(digest) for part in self._parts.values())
        return next((json for json in found if json is not None), None)

    @contextmanager
    def holding(self) -> Iterator[None]:
        """For several readings in a row: files are opened once. Not for long, since they stay open."""
        with ExitStack() as stack:
            for part in self._parts.values():
                if isinstance(part, SqlitePart):
                    stack.enter_context(part.holding())
            yield

    def parts(self) -> Mapping[str, Part]:
        """The parts by name, for those who must tell them apart."""
        return self._parts

    def restarts(self, part: str) -> int:
        """Where this number differs from an earlier one, what was read of the part before is void."""
        return self._restarts[part]

    def close(self) -> None:
        for part in self._parts.values():
            part.close()

    def _find_parts(self) -> None:
        moment = time.time()
        folder = state_of(self.path, is_file=False)
        if folder is not None and folder == self._folder:
            return
        # A file that appears in the same tick of the clock as this would not be seen.
        is_settled = folder is not None and folder.modified_ns < (moment - CLOCK_SECONDS) * 1e9
        self._folder = folder if is_settled else None
        found = look_into(self.path, self.links)
        self._num_links_out = found.num_links_out
        files = {file.removesuffix(PART_ENDING): file for file in found.parts}
        if found.has_events:
            files[_EVENTS] = ""
        for gone in self._parts.keys() - files.keys():
            self._restarts_before[gone] = self._restarts.pop(gone, 0) + 1
            self._parts.pop(gone).close()
        self._parts = {name: self._parts.get(name) or self._opened(files[name]) for name in sorted(files)}

    def _opened(self, file: str) -> Part:
        if file:
            return SqlitePart(self.path / file)
        from torcheer.run.tensorboard.events_part import EventsPart

        return EventsPart(self.path, self.links)

    def _part_of(self, identity: str) -> tuple[Part | None, int]:
        name, _, number = identity.rpartition(":")
        if not number.isascii() or not number.isdigit() or len(number) > 18:
            return None, 0
        return self._parts.get(name), int(number)

    def _notes(self, statuses: Mapping[str, PartStatus]) -> list[str]:
        several = len(statuses) > 1
        notes = [
            f"{name}: {status.note}" if several else status.note
            for name, status in statuses.items()
            if status.note
        ]
        if not statuses:
            notes = ["there are no files of a run in this folder"]
        if self._num_links_out:
            notes.append(links_note(self._num_links_out))
        # Helpers that died of an error of their own, in a run that went on without them.
        return notes + [
            f"{name} died of {status.reason}"
            for name, status in statuses.items()
            if status.died_of_an_error and is_superseded(name, statuses)
        ]
