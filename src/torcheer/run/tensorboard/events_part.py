"""A folder of event files as a part of a run: gone through once, then only what is new."""

from __future__ import annotations

import math
import os
import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from heapq import nsmallest
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy

from torcheer.run.read.part_protocol import (
    PartStatus,
    Points,
    RecordEntry,
    SeriesEntry,
    SeriesKey,
    check_cancelled,
    is_moment,
    pause_point,
)
from torcheer.run.read.run_folders import LinkRule, links_within
from torcheer.run.records import Kind
from torcheer.run.tensorboard import protobuf as pb
from torcheer.run.tensorboard.event_file import (
    COPY_WORK,
    FRAME_BYTES,
    LOOKED_AT,
    MOST_FILES,
    POINT_BYTES,
    POINT_WORK,
    POINTS_COPIED,
    RECORD_BYTES,
    RECORD_SERIES_WORK,
    RECORD_WORK,
    SERIES_BYTES,
    SERIES_WORK,
    TEXT_BYTES,
    Event,
    Frame,
    FrameFile,
    PlacedValue,
    Room,
    TooLargeError,
    read_again,
    read_event,
    room_for_one,
    simple_point,
    simple_value,
    values_of_event,
)
from torcheer.run.tensorboard.event_values import FoundPoint, FoundRecord, Plugins, read_value
from torcheer.run.tensorboard.projector import ProjectorFolder

EVENT_FILES: Final = "tfevents"
_FRAMES_BETWEEN_PAUSES: Final = 256
_LARGE_FRAME_BYTES: Final = 1 << 16
_VALUES_BETWEEN_CHECKS: Final = 1024
_LEAST_VALUE_BYTES: Final = 4
_BEFORE_ALL: Final = -(1 << 63)
_MOST_FAULTS: Final = 3
# events.out.tfevents.<seconds>.<host>.<pid>.<more>
_FILE_NAME: Final = re.compile(r"tfevents\.\d+\.(?P<host>.+?)(?:\.\d+(?:\.\d+)?)?(?:\.v2)?$")

_DIGITS: Final = re.compile(r"(\d+)")


def event_files(folder: Path) -> list[Path]:
    """Those that stand in the folder itself, the oldest first."""
    return _event_files(folder, links_within(folder, follow_links=True))[0]


def _age(name: str) -> list[str | int]:
    """Names begin with the second and end with a count: within a second, `.10` comes after `.9`."""
    return [int(part) if at % 2 else part for at, part in enumerate(_DIGITS.split(name))]


def _event_files(folder: Path, links: LinkRule) -> tuple[list[Path], int]:
    """The first of them, and how many more there are."""
    num_found = 0

    def names() -> Iterator[str]:
        nonlocal num_found
        with suppress(FileNotFoundError, NotADirectoryError, PermissionError), os.scandir(folder) as entries:
            for entry in entries:
                if EVENT_FILES in entry.name and entry.is_file() and links.allows_entry(entry):
                    num_found += 1
                    yield entry.name

    first = nsmallest(MOST_FILES, names(), key=_age)
    return [folder / name for name in first], num_found - len(first)


@dataclass(slots=True, kw_only=True)
class _Column:
    """The points of a scalar so far. A plain record: it grows."""

    steps: array[int] = field(default_factory=lambda: array("q"))
    times: array[float] = field(default_factory=lambda: array("d"))
    values: array[float] = field(default_factory=lambda: array("d"))
    highest: int = _BEFORE_ALL  # of its steps
    is_rising: bool = True
    num_bad: int = 0
    first_bad_step: int | None = None

    def add(self, step: int, time: float, value: float) -> None:
        self.steps.append(step)
        self.times.append(time)
        self.values.append(value)
        if step >= self.highest:
            self.highest = step
        else:
            self.is_rising = False
        if not math.isfinite(value):
            self.num_bad += 1
            if self.first_bad_step is None:
                self.first_bad_step = step

    def take_back(self, from_step: int) -> None:
        """Drop the points from that step on, of which there is one at least."""
        if self.is_rising:
            place = bisect_left(self.steps, from_step)
            for column in (self.steps, self.times, self.values):
                del column[place:]
        else:
            kept = numpy.array(self.steps) < from_step
            self.steps = array("q", numpy.array(self.steps)[kept].tobytes())
            self.times = array("d", numpy.array(self.times)[kept].tobytes())
            self.values = array("d", numpy.array(self.values)[kept].tobytes())
        self.highest = max(self.steps[-1:] if self.is_rising else self.steps, default=_BEFORE_ALL)
        if self.num_bad:
            bad = numpy.flatnonzero(~numpy.isfinite(numpy.array(self.values)))
            self.num_bad = len(bad)
            self.first_bad_step = self.steps[int(bad[0])] if len(bad) else None


class _Place(NamedTuple):
    """Where the bytes of a record are."""

    path: Path
    offset: int
    length: int
    is_value: bool  # the value of a summary stands there, and not the bytes themselves


class EventsPart:
    """All event files of one folder, and the embeddings that TensorBoard keeps beside them."""

    name: Final = "events"

    def __init__(self, folder: Path, links: LinkRule | None = None) -> None:
        self._folder = folder
        self._links = links or links_within(folder)
        self._generation = 0
        self._num_files_left_out = 0
        self._projector = ProjectorFolder(folder, self.name)
        self._begin()

    def _begin(self) -> None:
        self._files: dict[Path, FrameFile] = {}
        self._columns: dict[str, _Column] = {}
        self._records: dict[SeriesKey, list[RecordEntry]] = {}
        self._of_number: dict[int, tuple[RecordEntry, _Place]] = {}
        self._last_id = 0
        self._plugins: Plugins = {}
        self._room = Room()
        self._num_unread = 0  # events and values that are none
        self._num_too_large = 0  # values that declare more than their bytes can hold
        self._num_graphs = 0  # in a form of TensorBoard's own
        self._series: Mapping[SeriesKey, SeriesEntry] | None = None  # as of the last refresh
        self._first_time = math.inf

    def refresh(self) -> int:
        try:
            paths, self._num_files_left_out = _event_files(self._folder, self._links)
        except OSError:  # no more files can be opened: what is known stays
            paths = list(self._files)
        are_grown = [file.look() for file in self._files.values()]
        if not all(are_grown) or not self._files.keys() <= set(paths):
            self._generation += 1
            self._begin()
        for path in paths:
            file = self._files.get(path)
            if file is None:
                file = self._files[path] = FrameFile(path)
                file.look()
            self._read_on(file)
        if self._projector.refresh():
            self._series = None
        return self._generation + self._projector.generation

    def _read_on(self, file: FrameFile) -> None:
        with suppress(OSError):
            number = 0
            for number, frame in enumerate(file.new_frames(), 1):
                self._room.begin_record(len(frame.data) + FRAME_BYTES)
                self._take(file.path, frame)
                self._series = None
                if number % _FRAMES_BETWEEN_PAUSES == 0 or len(frame.data) > _LARGE_FRAME_BYTES:
                    pause_point()
            if number:
                pause_point()

    def _take(self, path: Path, frame: Frame) -> None:
        try:
            simple = simple_point(frame.data)
            if simple is None:
                self._take_event(path, frame)
                return
            time, step, name, value = simple
            self._add_point(name.decode("utf-8", "replace"), step, time, value)
        except TooLargeError:
            self._num_too_large += 1
        except pb.DamagedMessageError:
            self._num_unread += 1

    def _take_event(self, path: Path, frame: Frame) -> None:
        event = read_event(frame.data)
        self._num_graphs += event.has_graph
        if event.restarts and (self._columns or self._records):
            self._take_back(event.step)
        for number, value in enumerate(values_of_event(frame.data), 1):
            self._take_value(path, frame, event, value)
            if number % _VALUES_BETWEEN_CHECKS == 0:
                check_cancelled()

    def _take_value(self, path: Path, frame: Frame, event: Event, value: PlacedValue) -> None:
        if len(value.message) < _LEAST_VALUE_BYTES:  # nothing that says anything is so short
            self._num_unread += 1
            return
        simple = simple_value(value.message)
        if simple is not None:
            self._add_point(simple[0], event.step, event.time, simple[1])
            return
        try:
            self._room.take(0, RECORD_WORK)
            for found in read_value(value.message, self._plugins, self._room):
                if isinstance(found, FoundPoint):
                    self._add_point(found.name, event.step, event.time, found.value)
                else:
                    start = frame.offset + value.offset
                    place = (
                        _Place(path, start, len(value.message), True)
                        if found.place is None
                        else _Place(path, start + found.place, found.num_bytes, False)
                    )
                    self._add_record(found, event.step, event.time, place)
        except TooLargeError:
            self._num_too_large += 1
        except (pb.DamagedMessageError, ValueError, OverflowError):
            self._num_unread += 1

    def _add_point(self, name: str, step: int, time: float, value: float) -> None:
        column = self._columns.get(name)
        cost = POINT_BYTES if column is not None else POINT_BYTES + SERIES_BYTES + TEXT_BYTES * len(name)
        if not self._room.can_take(cost, POINT_WORK if column is not None else SERIES_WORK):
            self._num_too_large += 1
            return
        if column is None:
            column = self._columns[name] = _Column()
        column.add(step, self._checked(time), value)

    def _add_record(self, found: FoundRecord, step: int, time: float, place: _Place) -> None:
        key = SeriesKey(found.kind, found.name)
        is_new = key not in self._records
        cost = RECORD_BYTES + (SERIES_BYTES + TEXT_BYTES * len(found.name)) * is_new
        self._room.take(cost, RECORD_SERIES_WORK if is_new else POINT_WORK)
        self._last_id += 1
        entry = RecordEntry(
            id=self._last_id,
            part=self.name,
            step=step,
            time=self._checked(time),
            num_bytes=found.num_bytes,
            head=found.head,
        )
        self._records.setdefault(key, []).append(entry)
        self._of_number[entry.id] = entry, place

    def _checked(self, time: float) -> float:
        """A time that there is a calendar for; 0 for any other."""
        if not is_moment(time):
            return 0.0
        self._first_time = min(self._first_time, time)
        return time

    def _take_back(self, from_step: int) -> None:
        """A session began anew: what was logged before for this step and later is no longer meant.

        Looking at all series is paid for, and so is copying points that are not in the order of their steps.
        What is in order is cut off, which costs no more than logging it did.
        """
        affected = [column for column in self._columns.values() if column.highest >= from_step]
        work = (len(self._columns) + len(self._of_number)) // LOOKED_AT
        for column in affected:
            if column.num_bad or not column.is_rising:
                work += COPY_WORK + len(column.steps) // POINTS_COPIED
        self._room.take(0, work)
        for column in affected:
            column.take_back(from_step)
        gone = [number for number, (entry, _) in self._of_number.items() if entry.step >= from_step]
        for number in gone:
            del self._of_number[number]
        if gone:
            self._records = {
                key: [entry for entry in entries if entry.step < from_step]
                for key, entries in self._records.items()
            }
        if affected or gone:
            self._generation += 1
            self._series = None

    def status(self) -> PartStatus:
        host = _FILE_NAME.search(next(reversed(self._files), Path()).name)
        started = 0.0 if math.isinf(self._first_time) else self._first_time
        return PartStatus(
            state="unknown",
            started=started,
            sessions=(started,),
            updated=max((file.modified for file in self._files.values()), default=0.0),
            host="" if host is None else host["host"],
            pid=0,
            num_bytes=sum(file.size for file in self._files.values()),
            note=self._note(),
        )

    def _note(self) -> str:
        faults = [f"{file.path.name} is {file.fault}" for file in self._files.values() if file.fault]
        notes = faults[:_MOST_FAULTS]
        if len(faults) > _MOST_FAULTS:
            notes.append(f"{len(faults) - _MOST_FAULTS:,} more files are damaged")
        if self._num_files_left_out:
            notes.append(f"{self._num_files_left_out:,} event files beyond {MOST_FILES:,} are not read")
        num_damaged = self._num_unread + sum(file.num_damaged for file in self._files.values())
        if num_damaged:
            notes.append(f"{num_damaged:,} events could not be read")
        if self._num_too_large:
            why = "they declare far more than their bytes can hold"
            notes.append(f"{self._num_too_large:,} values are left out: {why}")
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
            SeriesKey("scalar", name): SeriesEntry(
                kind="scalar",
                name=name,
                count=len(column.steps),
                last_step=column.steps[-1],
                last_time=column.times[-1],
                last_value=column.values[-1],
                num_bad=column.num_bad,
                first_bad_step=column.first_bad_step,
            )
            for name, column in self._columns.items()
            if column.steps
        }
        for key, entries in {**self._records, **self._projector.records}.items():
            if entries:
                last: dict[str, Any] = {"last_step": entries[-1].step, "last_time": entries[-1].time}
                found[key] = SeriesEntry(kind=key.kind, name=key.name, count=len(entries), **last)
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
        found = self._of_number.get(record)
        return self._projector.entry(record) if found is None else found[0]

    def data(self, record: int) -> bytes | None:
        if record not in self._of_number:
            return self._projector.data(record)
        entry, place = self._of_number[record]
        data = read_again(place.path, place.offset, place.length)
        if data is None or not place.is_value:
            return data
        try:
            room = room_for_one(len(data), entry.num_bytes)
            found = next(read_value(data, dict(self._plugins), room), None)
            return found.data() if isinstance(found, FoundRecord) else None
        except ValueError:
            return None

    def document(self, digest: str) -> bytes | None:
        return None

    def close(self) -> None:
        """Nothing is kept open."""
