"""Alarms and gaps of a run, and what is new among them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from torcheer.run.parts import Part, RecordEntry, SeriesKey
from torcheer.run.reading.merging import rank_in
from torcheer.run.records import AlarmHead, GapHead


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """Something of a training that a person should look at."""

    alarm: str  # its kind: nan, exploding_gradient…
    layer: str
    variable: str
    step: int
    time: float  # seconds since 1970
    value: float | None  # None where it was NaN or infinite, or there is none
    threshold: float | None
    message: str
    rank: int
    record: str  # by which the run finds it again: rank-0:17

    @property
    def row(self) -> str:
        """The name of what is wrong: `features.0.weight.Grad`."""
        return ".".join(filter(None, (self.layer, self.variable)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """Something that was to be observed, and was not."""

    reason: Literal["full", "killed", "budget", "error"]
    counts: Mapping[str, int]  # records that are missing, by name
    first_step: int
    last_step: int
    time: float  # seconds since 1970
    message: str
    rank: int
    record: str

    @property
    def num_missing(self) -> int:
        return sum(self.counts.values())


class _Place(NamedTuple):
    """How far a series was read in one part."""

    last_record: int
    num_records: int


_Places = Mapping[tuple[str, SeriesKey], _Place]  # by part and series


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsCursor:
    """How far they were read."""

    restarts: Mapping[str, int]  # by part
    places: _Places


class EventsTail(NamedTuple):
    """What came after a cursor, by time; all that there is where `is_fresh`."""

    alarms: list[Alarm]
    gaps: list[Gap]
    cursor: EventsCursor
    is_fresh: bool


def events_after(
    parts: Mapping[str, Part], restarts: Mapping[str, int], cursor: EventsCursor | None
) -> EventsTail:
    """As of the last refresh of the parts."""
    if cursor is not None and not _is_void(cursor, parts, restarts):
        tail = _read(parts, restarts, cursor.places)
        if tail is not None:
            return tail
    tail = _read(parts, restarts, {})
    assert tail is not None  # of what was not read before, nothing can be missing
    return tail._replace(is_fresh=True)


def _read(parts: Mapping[str, Part], restarts: Mapping[str, int], places: _Places) -> EventsTail | None:
    """What came after these places; None where some of what was read before is gone since."""
    reached: dict[tuple[str, SeriesKey], _Place] = {}
    alarms: list[Alarm] = []
    gaps: list[Gap] = []
    for part_name, part in parts.items():
        for key, entry in part.series().items():
            if key.kind not in ("alarm", "gap"):
                continue
            place = places.get((part_name, key), _Place(0, 0))
            found = part.records(key.kind, key.name, place.last_record)
            if place.num_records and entry.count < place.num_records + len(found):
                return None
            alarms += [_alarm(key.name, one, one.head) for one in found if isinstance(one.head, AlarmHead)]
            gaps += [_gap(one, one.head) for one in found if isinstance(one.head, GapHead)]
            reached[part_name, key] = _Place(found[-1].id if found else place.last_record, entry.count)
    alarms.sort(key=lambda alarm: alarm.time)
    gaps.sort(key=lambda gap: gap.time)
    return EventsTail(alarms, gaps, EventsCursor(restarts=dict(restarts), places=reached), False)


def _is_void(cursor: EventsCursor, parts: Mapping[str, Part], restarts: Mapping[str, int]) -> bool:
    """Whether a part began anew, or a series is not there any more."""
    return any(restarts.get(part) != number for part, number in cursor.restarts.items()) or any(
        key not in parts[part].series() for part, key in cursor.places
    )


def _alarm(name: str, entry: RecordEntry, head: AlarmHead) -> Alarm:
    return Alarm(
        alarm=name,
        layer=head.layer,
        variable=head.variable,
        step=entry.step,
        time=entry.time,
        value=head.value,
        threshold=head.threshold,
        message=head.message,
        rank=rank_in(entry.part),
        record=f"{entry.part}:{entry.id}",
    )


def _gap(entry: RecordEntry, head: GapHead) -> Gap:
    return Gap(
        reason=head.reason,
        counts=head.counts,
        first_step=entry.step,
        last_step=head.last_step,
        time=entry.time,
        message=head.message,
        rank=rank_in(entry.part),
        record=f"{entry.part}:{entry.id}",
    )
