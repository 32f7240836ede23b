"""Alarms and gaps of runs: all of them first, then those that are new."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from torcheer.app.frames import as_json
from torcheer.app.runmessages import AlarmListing, EventsAnswer, EventsQuestion, GapListing
from torcheer.app.runs import pacing
from torcheer.app.runs.listing import clipped, countable, finite
from torcheer.app.runs.openrun import OpenRun
from torcheer.app.runs.watching import Watch
from torcheer.errors import TorcheerError
from torcheer.run import Alarm, EventsCursor, Gap

_LOG: Final = logging.getLogger("torcheer.app")
MAX_EVENTS: Final = 10_000  # of each kind in one answer
_MAX_COUNTS: Final = 64  # names that a gap says
_MAX_TEXT: Final = 500
_MAX_NAME: Final = 200

Event = TypeVar("Event", AlarmListing, GapListing)


class _Looked(NamedTuple):
    """How far the events of a run were read, and what came since."""

    run: OpenRun
    version: int
    cursor: EventsCursor
    is_fresh: bool
    alarms: Sequence[AlarmListing]
    gaps: Sequence[GapListing]


async def follow_events(watch: Watch, question: EventsQuestion) -> AsyncGenerator[str, None]:
    """All events of runs, then those that are new; all again where a run takes some back."""
    run_ids = list(dict.fromkeys(question.run_ids))
    known: dict[str, _Looked] = {}
    is_first = True
    with watch.following(run_ids):
        await watch.find(run_ids)
        while True:
            news, began = watch.news, time.monotonic()
            found = await _new_of(watch, run_ids, known)
            is_all = is_first or any(one.is_fresh and one.run.place.id in known for one in found)
            if is_all and not is_first:
                known.clear()
                found = await _new_of(watch, run_ids, known)
            known |= {one.run.place.id: one._replace(alarms=(), gaps=()) for one in found}
            alarms = _in_order([alarm for one in found for alarm in one.alarms])
            gaps = _in_order([gap for one in found for gap in one.gaps])
            if alarms or gaps or is_all:
                for frame in _frames(question.id, is_all, alarms, gaps):
                    yield frame
            is_first = False
            await pacing.rest_after(began)
            await pacing.next_news(news, watch.lacks(run_ids, known))


async def _new_of(watch: Watch, run_ids: Sequence[str], known: dict[str, _Looked]) -> list[_Looked]:
    found = []
    for run_id in run_ids:
        run, former = watch.shelf.known(run_id), known.get(run_id)
        if run is None or (former is not None and (former.run, former.version) == (run, run.version)):
            continue
        look = run.turns.take if len(run_ids) == 1 else run.turns.glance
        looked = await look(_look, run, former)
        if looked is not None:
            found.append(looked)
    return found


def _look(run: OpenRun, former: _Looked | None) -> _Looked | None:
    """What is new of a run; None where it cannot be read: the list of runs says why."""
    cursor = None if former is None or former.run is not run else former.cursor
    with run.lock:
        try:
            reader = run.look()
            version = run.version
            tail = reader.events(cursor)
        except (TorcheerError, OSError):
            return None
        except Exception:
            _LOG.exception("alarms of %r could not be read", run.place.name)
            return None
    run_id = run.place.id
    return _Looked(
        run=run,
        version=version,
        cursor=tail.cursor,
        is_fresh=tail.is_fresh,
        alarms=[_alarm(run_id, alarm) for alarm in _ends(tail.alarms)],
        gaps=[_gap(run_id, gap) for gap in _ends(tail.gaps)],
    )


def _alarm(run_id: str, alarm: Alarm) -> AlarmListing:
    return AlarmListing(
        run_id=run_id,
        record=alarm.record,
        rank=countable(alarm.rank) or 0,
        alarm=clipped(alarm.alarm, _MAX_NAME),
        step=countable(alarm.step) or 0,
        time=finite(alarm.time) or 0.0,
        layer=clipped(alarm.layer, _MAX_TEXT),
        variable=clipped(alarm.variable, _MAX_TEXT),
        row=clipped(alarm.row, 2 * _MAX_TEXT),
        value=finite(alarm.value),
        threshold=finite(alarm.threshold),
        message=clipped(alarm.message, _MAX_TEXT),
    )


def _gap(run_id: str, gap: Gap) -> GapListing:
    counts = list(gap.counts.items())[:_MAX_COUNTS]
    return GapListing(
        run_id=run_id,
        record=gap.record,
        rank=countable(gap.rank) or 0,
        reason=gap.reason,
        first_step=countable(gap.first_step) or 0,
        last_step=countable(gap.last_step) or 0,
        time=finite(gap.time) or 0.0,
        num_missing=countable(gap.num_missing) or 0,
        counts={clipped(name, _MAX_TEXT): countable(count) or 0 for name, count in counts},
        message=clipped(gap.message, _MAX_TEXT),
    )


def _ends(events: Sequence[Any]) -> Sequence[Any]:
    """Of very many the first, with which it began, and the last."""
    if len(events) <= MAX_EVENTS:
        return events
    return [*events[: MAX_EVENTS // 2], *events[-MAX_EVENTS // 2 :]]


def _in_order(events: Sequence[Event]) -> Sequence[Event]:
    return _ends(sorted(events, key=lambda event: event.time))


def _frames(
    question: int, is_all: bool, alarms: Sequence[AlarmListing], gaps: Sequence[GapListing]
) -> Iterator[str]:
    """As many at a time as fit into an answer; at least one, which may be empty."""
    of_alarms, of_gaps = _chunks(alarms), _chunks(gaps)
    for number in range(max(1, len(of_alarms), len(of_gaps))):
        answer = EventsAnswer(
            id=question,
            is_all=is_all and number == 0,
            alarms=of_alarms[number] if number < len(of_alarms) else (),
            gaps=of_gaps[number] if number < len(of_gaps) else (),
        )
        yield as_json(answer).decode()


def _chunks(events: Sequence[Event]) -> list[list[Event]]:
    chunks: list[list[Event]] = []
    num_bytes = pacing.CHUNK_BYTES
    for event in events:
        if num_bytes >= pacing.CHUNK_BYTES:
            chunks.append([])
            num_bytes = 0
        chunks[-1].append(event)
        num_bytes += _size_of(event)
    return chunks


def _size_of(event: AlarmListing | GapListing) -> int:
    """About as many bytes as it takes."""
    if isinstance(event, GapListing):
        return 250 + len(event.message) + sum(20 + len(name) for name in event.counts)
    return 300 + len(event.message) + 2 * len(event.row)
