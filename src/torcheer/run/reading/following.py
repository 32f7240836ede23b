"""Follow a run: what any process writes into it, as it comes, until the run ends."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy
from numpy.typing import NDArray

from torcheer.run.parts import Part, Points, RecordEntry, SeriesEntry, SeriesKey
from torcheer.run.reading.links import LinkRule
from torcheer.run.reading.reader import RunReader
from torcheer.run.reading.recordkinds import (
    AudioRecord,
    ConfusionRecord,
    EmbeddingRecord,
    HistogramRecord,
    ImageRecord,
    PassRecord,
    PrCurveRecord,
    TextRecord,
    VideoRecord,
)
from torcheer.run.reading.savedrecords import SavedRecord
from torcheer.run.reading.tablereading import TableRecord
from torcheer.run.reading.tensorrecord import TensorRecord
from torcheer.run.records import Kind

_PAUSE_SECONDS: Final = 0.1
_CHUNK: Final = 10_000
_MIXER: Final = numpy.uint64(0x9E3779B97F4A7C15)
_RECORD_TYPES: Final[dict[Kind, type[SavedRecord[Any]]]] = {
    "tensor": TensorRecord,
    "histogram": HistogramRecord,
    "image": ImageRecord,
    "video": VideoRecord,
    "audio": AudioRecord,
    "text": TextRecord,
    "embedding": EmbeddingRecord,
    "pr_curve": PrCurveRecord,
    "confusion": ConfusionRecord,
    "pass": PassRecord,
    "table": TableRecord,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Something that was logged: the value of a scalar, or a record."""

    kind: Kind
    name: str
    step: int
    time: float  # seconds since 1970
    value: float | None = None
    record: SavedRecord[Any] | None = None


class Follower(Iterator[Seen]):
    """What is written into a run from now on, or from its start.

    It ends when the run has ended and all of it was seen, or when nothing came for `timeout` seconds. Event
    files do not say whether somebody writes them still: of them only the timeout is an end.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        kinds: Collection[Kind] | None = None,
        *,
        from_start: bool = False,
        timeout: float | None = None,
        links: LinkRule | None = None,
    ) -> None:
        self._reader = RunReader(path, links=links)
        self._kinds = kinds
        self._timeout = timeout
        self._marks: dict[str, _Mark] = {}
        if not from_start:
            for name, part in self._reader.parts().items():
                mark = self._marks[name] = _Mark(restarts=self._reader.restarts(name))
                self._new_in(part, mark)
        self._events = self._follow()

    def __next__(self) -> Seen:
        return next(self._events)

    def close(self) -> None:
        self._events.close()
        self._reader.close()

    def _follow(self) -> Generator[Seen, None, None]:
        last_news = time.monotonic()
        had_ended = False
        while True:
            has_news = False
            for seen in self._take():
                has_news = True
                yield seen
            has_ended = self._reader.status().state in ("finished", "died")
            if has_news:
                last_news = time.monotonic()
            # Ended, and looked at once more since: the last of it may have come between two looks.
            elif (has_ended and had_ended) or self._is_late(last_news):
                return
            if had_ended or not has_ended:
                time.sleep(_PAUSE_SECONDS)
            had_ended = has_ended
            self._reader.refresh()

    def _is_late(self, last_news: float) -> bool:
        return self._timeout is not None and time.monotonic() - last_news >= self._timeout

    def _take(self) -> Iterator[Seen]:
        for name, part in self._reader.parts().items():
            restarts = self._reader.restarts(name)
            mark = self._marks.setdefault(name, _Mark(restarts=restarts))
            if mark.restarts != restarts:
                mark = self._marks[name] = _Mark(restarts=restarts, before=mark.all_prints())
            with self._reader.holding():
                new = self._new_in(part, mark)
            yield from _in_order(new)

    def _new_in(self, part: Part, mark: _Mark) -> list[_Stretch]:
        found = []
        for key, entry in part.series().items():
            if key.kind == "statistics" or (self._kinds is not None and key.kind not in self._kinds):
                continue
            if not mark.has_new(key, entry):
                continue
            if key.kind == "scalar":
                found.append(_Stretch.of_points(key, part.points(key.name, mark.counts.get(key, 0))))
            else:
                found.append(self._stretch_of_records(part, key, mark.last_records.get(key, 0)))
            found[-1] = mark.move(key, entry, found[-1])
        return found

    def _stretch_of_records(self, part: Part, key: SeriesKey, after: int) -> _Stretch:
        entries = part.records(key.kind, key.name, after)
        kind = _RECORD_TYPES.get(key.kind, SavedRecord)
        return _Stretch.of_records(key, entries, [kind(key.name, entry, self._reader) for entry in entries])


@dataclass(slots=True, kw_only=True)
class _Mark:
    """How far a part was seen. `before` is what was seen of it until it had to be begun again."""

    restarts: int
    before: dict[SeriesKey, NDArray[numpy.uint64]] = field(default_factory=dict)
    prints: dict[SeriesKey, list[NDArray[numpy.uint64]]] = field(default_factory=dict)
    counts: dict[SeriesKey, int] = field(default_factory=dict)
    last_records: dict[SeriesKey, int] = field(default_factory=dict)
    entries: dict[SeriesKey, SeriesEntry] = field(default_factory=dict)

    def has_new(self, key: SeriesKey, entry: SeriesEntry) -> bool:
        return self.entries.get(key) != entry

    def move(self, key: SeriesKey, entry: SeriesEntry, stretch: _Stretch) -> _Stretch:
        """Note what comes, and give what of it was not seen before."""
        self.entries[key] = entry
        if key.kind == "scalar":
            self.counts[key] = self.counts.get(key, 0) + len(stretch.times)
        elif stretch.records:
            self.last_records[key] = stretch.last_id
        prints = stretch.prints()
        self.prints.setdefault(key, []).append(prints)
        before = self.before.pop(key, None)
        return stretch if before is None else stretch.from_place(_num_seen(prints, before))

    def all_prints(self) -> dict[SeriesKey, NDArray[numpy.uint64]]:
        seen = {key: numpy.concatenate(prints) for key, prints in self.prints.items()}
        return {**self.before, **seen}


def _num_seen(now: NDArray[numpy.uint64], before: NDArray[numpy.uint64]) -> int:
    """How many of them, from the first on, are what is left of those that were seen, in the same order."""
    place = 0
    left = iter(before.tolist())
    for one in now.tolist():
        if one not in left:  # which also takes all up to it from those that are left
            break
        place += 1
    return place


class _Stretch(NamedTuple):
    """What is new in a series."""

    key: SeriesKey
    steps: NDArray[numpy.int64]
    times: NDArray[numpy.float64]
    values: NDArray[numpy.float64] | None
    records: Sequence[SavedRecord[Any]]
    last_id: int

    @classmethod
    def of_points(cls, key: SeriesKey, points: Points) -> _Stretch:
        return cls(key, points.steps, points.times, points.values, (), 0)

    @classmethod
    def of_records(
        cls, key: SeriesKey, entries: Sequence[RecordEntry], records: Sequence[SavedRecord[Any]]
    ) -> _Stretch:
        steps = numpy.array([entry.step for entry in entries], dtype=numpy.int64)
        times = numpy.array([entry.time for entry in entries], dtype=numpy.float64)
        return cls(key, steps, times, None, records, entries[-1].id if entries else 0)

    def prints(self) -> NDArray[numpy.uint64]:
        """A number for each, by which it is known again."""
        prints: NDArray[numpy.uint64]
        prints = self.steps.astype("<i8").view("<u8") * _MIXER ^ self.times.astype("<f8").view("<u8")
        if self.values is not None:
            prints = prints * _MIXER ^ self.values.astype("<f8").view("<u8")
        return prints

    def from_place(self, place: int) -> _Stretch:
        return self._replace(
            steps=self.steps[place:],
            times=self.times[place:],
            values=None if self.values is None else self.values[place:],
            records=self.records[place:],
        )

    def seen(self, place: int) -> Seen:
        return Seen(
            kind=self.key.kind,
            name=self.key.name,
            step=int(self.steps[place]),
            time=float(self.times[place]),
            value=None if self.values is None else float(self.values[place]),
            record=self.records[place] if self.records else None,
        )


def _in_order(stretches: Sequence[_Stretch]) -> Iterator[Seen]:
    """By time over all series, but never out of the order in which a series was logged."""
    if not stretches:
        return
    times = numpy.concatenate([numpy.maximum.accumulate(stretch.times) for stretch in stretches])
    which = numpy.repeat(numpy.arange(len(stretches)), [len(stretch.times) for stretch in stretches])
    place = numpy.concatenate([numpy.arange(len(stretch.times)) for stretch in stretches])
    order = numpy.argsort(times, kind="stable")
    for start in range(0, len(order), _CHUNK):
        chunk = order[start : start + _CHUNK]
        for number, item in zip(which[chunk].tolist(), place[chunk].tolist(), strict=True):
            yield stretches[number].seen(item)
