"""A folder of event files as a part of a run: gone through once, then only what is new."""

from __future__ import annotations

import math
import os
import re
from array import array
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy

from torcheer.run.events import protobuf as pb
from torcheer.run.events.decoding import read_event, simple_point
from torcheer.run.events.framing import Frame, FrameFile, read_again
from torcheer.run.events.projector import ProjectorFolder
from torcheer.run.events.values import FoundPoint, FoundRecord, Plugins, read_value
from torcheer.run.parts import PartStatus, Points, RecordEntry, SeriesEntry, SeriesKey
from torcheer.run.records import Kind

EVENT_FILES: Final = "tfevents"
# events.out.tfevents.<seconds>.<host>.<pid>.<more>
_FILE_NAME: Final = re.compile(r"tfevents\.\d+\.(?P<host>.+?)(?:\.(?P<pid>\d+)(?:\.\d+)?)?(?:\.v2)?$")


def event_files(folder: Path) -> list[Path]:
    """Those that stand in the folder itself, the oldest first: their names begin with the time."""
    with suppress(OSError):
        return sorted(
            Path(entry.path) for entry in os.scandir(folder) if EVENT_FILES in entry.name and entry.is_file()
        )
    return []


@dataclass(slots=True, kw_only=True)
class _Column:
    """The points of a scalar so far. A plain record: it grows."""

    steps: array[int] = field(default_factory=lambda: array("q"))
    times: array[float] = field(default_factory=lambda: array("d"))
    values: array[float] = field(default_factory=lambda: array("d"))
    num_bad: int = 0
    first_bad_step: int | None = None

    def add(self, step: int, time: float, value: float) -> None:
        self.steps.append(step)
        self.times.append(time)
        self.values.append(value)
        if not math.isfinite(value):
            self.num_bad += 1
            if self.first_bad_step is None:
                self.first_bad_step = step

    def without(self, from_step: int) -> _Column:
        kept = _Column()
        for step, time, value in zip(self.steps, self.times, self.values, strict=True):
            if step < from_step:
                kept.add(step, time, value)
        return kept


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where the bytes of a record are."""

    path: Path
    offset: int
    length: int
    value: int  # which of the event's values
    found: int  # which of the records in it


class EventsPart:
    """All event files of one folder, and the embeddings that TensorBoard keeps beside them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[Path, FrameFile] = {}
        self._columns: dict[str, _Column] = {}
        self._records: dict[SeriesKey, list[RecordEntry]] = {}
        self._places: dict[int, _Place] = {}
        self._entries: dict[int, RecordEntry] = {}
        self._plugins: Plugins = {}
        self._next_id = 1
        self._generation = 0
        self._num_unread = 0  # events that are no events
        self._num_graphs = 0  # in a form of TensorBoard's own
        self._series: Mapping[SeriesKey, SeriesEntry] | None = None  # as of the last refresh
        self._first_time = math.inf
        self._projector = ProjectorFolder(folder, self.name)

    @property
    def name(self) -> str:
        return "events"

    # --- looking for what is new ---------------------------------------------------------------------

    def refresh(self) -> int:
        paths = event_files(self._folder)
        if any(path not in paths for path in self._files) or any(map(_has_shrunk, self._files.values())):
            self._begin_again()
        for path in paths:
            file = self._files.setdefault(path, FrameFile(path))
            with suppress(OSError):
                for frame in file.new_frames():
                    self._take(path, frame)
                    self._series = None
        if self._projector.refresh():
            self._series = None
        return self._generation + self._projector.generation

    def _begin_again(self) -> None:
        self._generation += 1
        self._series = None
        self._num_unread = self._num_graphs = 0
        self._first_time = math.inf
        self._files.clear()
        self._columns.clear()
        self._records.clear()
        self._places.clear()
        self._entries.clear()
        self._plugins.clear()

    def _take(self, path: Path, frame: Frame) -> None:
        try:
            simple = simple_point(frame.data)
            if simple is None:
                self._take_event(path, frame)
                return
        except pb.DamagedMessageError:
            self._num_unread += 1
            return
        time, step, name, value = simple
        self._add_point(name.decode("utf-8", "replace"), step, time, value)

    def _take_event(self, path: Path, frame: Frame) -> None:
        event = read_event(frame.data)
        self._num_graphs += event.has_graph
        if event.restarts:
            self._take_back(event.step)
        for at, message in enumerate(event.values):
            try:
                found = list(read_value(message, self._plugins))
            except (pb.DamagedMessageError, ValueError, OverflowError):
                self._num_unread += 1
                continue
            for number, one in enumerate(found):
                if isinstance(one, FoundPoint):
                    self._add_point(one.name, event.step, event.time, one.value)
                else:
                    place = _Place(
                        path=path, offset=frame.offset, length=len(frame.data), value=at, found=number
                    )
                    self._add_record(one, event.step, event.time, place)

    def _add_point(self, name: str, step: int, time: float, value: float) -> None:
        column = self._columns.get(name)
        if column is None:
            column = self._columns[name] = _Column()
        column.add(step, time, value)
        self._first_time = min(self._first_time, time)

    def _add_record(self, found: FoundRecord, step: int, time: float, place: _Place) -> None:
        self._first_time = min(self._first_time, time)
        key = SeriesKey(found.kind, found.name)
        entry = RecordEntry(
            id=self._next_id,
            part=self.name,
            step=step,
            time=time,
            num_bytes=len(found.data),
            head=found.head,
        )
        self._records.setdefault(key, []).append(entry)
        self._places[entry.id] = place
        self._entries[entry.id] = entry
        self._next_id += 1

    def _take_back(self, from_step: int) -> None:
        """A session began anew at that step: what was logged for it and later is no longer meant."""
        if not self._columns and not self._records:
            return
        self._generation += 1
        self._columns = {name: column.without(from_step) for name, column in self._columns.items()}
        for key, entries in self._records.items():
            self._records[key] = [entry for entry in entries if entry.step < from_step]
        self._entries = {entry.id: entry for entries in self._records.values() for entry in entries}

    # --- what is known -------------------------------------------------------------------------------

    def status(self) -> PartStatus:
        host, pid = _writer_of(next(reversed(self._files), Path()))
        sizes, times = [0], [0.0]
        for path in self._files:
            with suppress(OSError):
                status = path.stat()
                sizes.append(status.st_size)
                times.append(status.st_mtime)
        started = 0.0 if math.isinf(self._first_time) else self._first_time
        return PartStatus(
            state="unknown",
            reason="",
            died_of_an_error=False,
            started=started,
            sessions=(started,),
            updated=max(times),
            host=host,
            pid=pid,
            comment="",
            tags=(),
            total_steps=None,
            num_dropped=0,
            num_thinned=0,
            num_bytes=sum(sizes),
            note=self._note(),
        )

    def _note(self) -> str:
        notes = [f"{file.path.name} is {file.fault}" for file in self._files.values() if file.fault]
        num_damaged = self._num_unread + sum(file.num_damaged for file in self._files.values())
        if num_damaged:
            notes.append(f"{num_damaged:,} events could not be read")
        if self._num_graphs:
            notes.append("its graph is in a form of TensorBoard's own, and is not shown")
        if "mesh" in self._plugins.values():
            notes.append("meshes are not shown")
        return "; ".join(filter(None, (*notes, self._projector.note)))

    def series(self) -> Mapping[SeriesKey, SeriesEntry]:
        if self._series is None:
            self._series = self._all_series()
        return self._series

    def _all_series(self) -> Mapping[SeriesKey, SeriesEntry]:
        found = {
            SeriesKey("scalar", name): _point_entry(name, column)
            for name, column in self._columns.items()
            if column.steps
        }
        records = {**self._records, **self._projector.records}
        found |= {key: _record_entry(key, entries) for key, entries in records.items() if entries}
        return found

    def points(self, name: str, start: int = 0) -> Points:
        column = self._columns.get(name) or _Column()
        return Points(
            numpy.array(column.steps[start:], dtype=numpy.int64),
            numpy.array(column.times[start:], dtype=numpy.float64),
            numpy.array(column.values[start:], dtype=numpy.float64),
        )

    def records(self, kind: Kind, name: str, after: int = 0) -> Sequence[RecordEntry]:
        key = SeriesKey(kind, name)
        entries = self._projector.records.get(key) or self._records.get(key) or []
        return [entry for entry in entries if entry.id > after]

    def record(self, record: int) -> RecordEntry | None:
        embeddings = (entry for entries in self._projector.records.values() for entry in entries)
        return self._entries.get(record) or next((one for one in embeddings if one.id == record), None)

    def data(self, record: int) -> bytes | None:
        place = self._places.get(record)
        if place is None:
            return self._projector.data(record)
        frame = read_again(place.path, place.offset, place.length)
        if frame is None:
            return None
        try:
            found = list(read_value(read_event(frame).values[place.value], dict(self._plugins)))[place.found]
        except (pb.DamagedMessageError, ValueError, IndexError):
            return None
        return found.data if isinstance(found, FoundRecord) else None

    def document(self, digest: str) -> bytes | None:
        return None

    def close(self) -> None:
        """Nothing is kept open."""


def _has_shrunk(file: FrameFile) -> bool:
    """Whether it was written anew under the same name."""
    try:
        return file.path.stat().st_size < file.position
    except OSError:
        return False


def _writer_of(path: Path) -> tuple[str, int]:
    match = _FILE_NAME.search(path.name)
    if match is None:
        return "", 0
    pid = match["pid"] or ""
    return match["host"], int(pid) if len(pid) < 10 and pid else 0


def _point_entry(name: str, column: _Column) -> SeriesEntry:
    return SeriesEntry(
        kind="scalar",
        name=name,
        count=len(column.steps),
        last_step=column.steps[-1],
        last_time=column.times[-1],
        last_value=column.values[-1],
        num_bad=column.num_bad,
        first_bad_step=column.first_bad_step,
        description="",
    )


def _record_entry(key: SeriesKey, entries: Sequence[RecordEntry]) -> SeriesEntry:
    return SeriesEntry(
        kind=key.kind,
        name=key.name,
        count=len(entries),
        last_step=entries[-1].step,
        last_time=entries[-1].time,
        last_value=None,
        num_bad=0,
        first_bad_step=None,
        description="",
    )
