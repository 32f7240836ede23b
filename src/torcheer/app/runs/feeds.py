"""Answers that go on: the list of runs, the series of runs, their points, alarms and gaps.

Each answer is made when the one before has been sent, of what there is by then: a slow page gets fewer and
larger ones.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from torcheer.app.runs import messages
from torcheer.app.runs.open_run import OpenRun
from torcheer.app.runs.run_news import News, Watch, changed_runs, follow_many, look_at, next_news, rest_after
from torcheer.app.runs.scalar_buckets import NOTHING, SeriesArrays, Shown, Window, is_rising
from torcheer.app.wire import as_text, binary_frame, clipped, countable, finite
from torcheer.run import Alarm, Gap, RunReader, SeriesEntry, SeriesKey

_LOG: Final = logging.getLogger("torcheer.app")
CHUNK_BYTES: Final = 1 << 20  # of one answer, about
AHEAD_SECONDS: Final = 0.15  # what is ready after so long goes ahead of what takes longer
_LIST_SECONDS: Final = 0.25  # between two answers about the list of runs
_FIRST_SECONDS: Final = 0.4  # for runs to be summed up before the first answer

Series = Mapping[SeriesKey, SeriesEntry]


# --- runs --------------------------------------------------------------------------------------


async def follow_runs(watch: Watch, question: messages.RunsQuestion) -> AsyncGenerator[str, None]:
    """All runs, then those that have changed."""
    shelf = watch.shelf
    sent: Mapping[str, messages.RunListing] = {}
    is_first, note = True, ""
    with watch.following():
        await watch.listed(_FIRST_SECONDS)
        while True:
            news = watch.news
            listings = shelf.listings()
            changed = [one for run_id, one in listings.items() if one is not sent.get(run_id)]
            changed = [one for one in changed if one != sent.get(one.id)]
            gone = [run_id for run_id in sent if run_id not in listings]
            if is_first or changed or gone or note != shelf.note:
                sent, note = listings, shelf.note
                for runs in _chunks(changed, _size_of_run):
                    answer = messages.RunsAnswer(
                        id=question.id,
                        folder=shelf.shown_folder,
                        is_all=is_first,
                        runs=runs,
                        gone=gone,
                        note=note,
                    )
                    yield as_text(answer)
                    is_first, gone = False, []
            await asyncio.sleep(_LIST_SECONDS)
            await news.wait()


def _chunks(items: Sequence[Item], size_of: Callable[[Item], int]) -> Iterator[list[Item]]:
    """As many at a time as fit into an answer; at least one, which may be empty."""
    chunk: list[Item] = []
    num_bytes = 0
    for item in items:
        chunk.append(item)
        num_bytes += size_of(item)
        if num_bytes > CHUNK_BYTES:
            yield chunk
            chunk, num_bytes = [], 0
    if chunk or not items:
        yield chunk


def _size_of_run(run: messages.RunListing) -> int:
    """About as many bytes as it takes. To encode it for that would take as long as to send it."""
    texts = (run.name, run.comment, run.reason, run.host, run.note, run.spark_name, *run.tags)
    metrics = sum(40 + len(metric.name) for metric in run.metrics)
    return 500 + sum(map(len, texts)) + 10 * len(run.spark) + metrics


# --- series ------------------------------------------------------------------------------------


async def follow_index(watch: Watch, question: messages.IndexQuestion) -> AsyncGenerator[str, None]:
    """All series of runs, then those that have changed."""
    run_ids = list(dict.fromkeys(question.run_ids))
    known: dict[str, News] = {}
    is_first = True
    with watch.following(run_ids):
        await watch.find(run_ids)
        while True:
            news, began = watch.news, time.monotonic()
            gathered, was_late = _Gathered(question.id), False
            for run in changed_runs(watch, run_ids, known):
                looked = await look_at(run, len(run_ids), _new_series, known.get(run.place.id))
                if looked is None:
                    was_late = True
                    continue
                known[run.place.id] = looked._replace(found=())
                for frame in gathered.add(looked):
                    yield frame
                if gathered.runs and time.monotonic() - began > AHEAD_SECONDS:
                    yield gathered.take()
            if gathered.runs or is_first:
                yield gathered.take()
            is_first = False
            await rest_after(began)
            await next_news(news, was_late)


def _new_series(run: OpenRun, former: News | None) -> News | None:
    def look(reader: RunReader) -> News:
        series: Series = dict(reader.series())
        known: Series = {} if former is None else former.cursor
        is_all = former is None or not known.keys() <= series.keys()
        known = {} if is_all else known
        new = [_listing(entry) for key, entry in series.items() if known.get(key) != entry]
        return News(run, run.version, series, is_all, new)

    return run.try_look(look)


def _listing(entry: SeriesEntry) -> messages.SeriesListing:
    return messages.SeriesListing(
        kind=entry.kind,
        name=entry.name,
        count=entry.count,
        last_step=countable(entry.last_step) or 0,
        last_time=finite(entry.last_time) or 0.0,
        last_value=finite(entry.last_value),
        num_bad=entry.num_bad,
        first_bad_step=countable(entry.first_bad_step),
        description=clipped(entry.description),
    )


class _Gathered:
    """Indexes of runs until they fill an answer."""

    def __init__(self, question: int) -> None:
        self._question = question
        self._num_bytes = 0
        self.runs: list[messages.RunIndex] = []

    def add(self, looked: News) -> Iterator[str]:
        """Add what is new of a run, and yield answers that are full."""
        run_id, is_all = looked.run.place.id, looked.is_fresh
        chunk: list[messages.SeriesListing] = []
        for listing in looked.found:
            chunk.append(listing)
            self._num_bytes += 200 + len(listing.name) + len(listing.description)
            if self._num_bytes > CHUNK_BYTES:
                self.runs.append(messages.RunIndex(run_id=run_id, is_all=is_all, series=chunk))
                yield self.take()
                chunk, is_all = [], False
        if chunk or is_all:
            self.runs.append(messages.RunIndex(run_id=run_id, is_all=is_all, series=chunk))

    def take(self) -> str:
        runs, self.runs, self._num_bytes = self.runs, [], 0
        return as_text(messages.IndexAnswer(id=self._question, runs=runs))


# --- alarms and gaps ------------------------------------------------------------------------------


MAX_EVENTS: Final = 10_000  # of each kind in one answer
_MAX_COUNTS: Final = 64  # names that a gap says
_MAX_TEXT: Final = 500
_MAX_NAME: Final = 200

Event = TypeVar("Event", messages.AlarmListing, messages.GapListing)
Item = TypeVar("Item")


async def follow_events(watch: Watch, question: messages.EventsQuestion) -> AsyncGenerator[str, None]:
    """All events of runs, then those that are new; all again where a run takes some back."""
    run_ids = list(dict.fromkeys(question.run_ids))
    async with aclosing(follow_many(watch, run_ids, _new_events)) as rounds:
        async for news, is_all in rounds:
            events: list[messages.AlarmListing | messages.GapListing] = [
                event for one in news for event in one.found
            ]
            alarms = _in_order([event for event in events if isinstance(event, messages.AlarmListing)])
            gaps = _in_order([event for event in events if isinstance(event, messages.GapListing)])
            if not (alarms or gaps or is_all):
                continue
            events = [*alarms, *gaps]
            for chunk in _chunks(events, _size_of_event):
                answer = messages.EventsAnswer(
                    id=question.id,
                    is_all=is_all,
                    alarms=[event for event in chunk if isinstance(event, messages.AlarmListing)],
                    gaps=[event for event in chunk if isinstance(event, messages.GapListing)],
                )
                yield as_text(answer)
                is_all = False


def _new_events(run: OpenRun, former: News | None) -> News | None:
    def look(reader: RunReader) -> News:
        tail = reader.events(None if former is None else former.cursor)
        alarms = [_alarm(run.place.id, alarm) for alarm in _ends(tail.alarms)]
        gaps = [_gap(run.place.id, gap) for gap in _ends(tail.gaps)]
        return News(run, run.version, tail.cursor, tail.is_fresh, [*alarms, *gaps])

    return run.try_look(look)


def _alarm(run_id: str, alarm: Alarm) -> messages.AlarmListing:
    return messages.AlarmListing(
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


def _gap(run_id: str, gap: Gap) -> messages.GapListing:
    counts = list(gap.counts.items())[:_MAX_COUNTS]
    return messages.GapListing(
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


def _size_of_event(event: messages.AlarmListing | messages.GapListing) -> int:
    """About as many bytes as it takes."""
    if isinstance(event, messages.GapListing):
        return 250 + len(event.message) + sum(20 + len(name) for name in event.counts)
    return 300 + len(event.message) + 2 * len(event.row)


# --- points of scalars ----------------------------------------------------------------------------


Block = tuple[messages.SeriesBlock, bytes]

_AT_A_TIME: Final = 8


@dataclass(slots=True)
class _Sent:
    """How much of a series the page has. A plain record that changes with each answer."""

    arrays: SeriesArrays
    generation: int
    count: int
    num_new: int  # points that came one by one since the last block
    furthest: float  # place on the axis
    began: float
    seen: tuple[object, ...]


class SeriesFeed:
    """The answers to one question about scalars."""

    def __init__(self, watch: Watch, question: messages.SeriesQuestion) -> None:
        self._watch = watch
        self._question = question
        self._names: defaultdict[str, list[str]] = defaultdict(list)
        for wanted in question.wanted:
            if wanted.name not in self._names[wanted.run_id]:
                self._names[wanted.run_id].append(wanted.name)
        self._versions: dict[str, tuple[OpenRun, int]] = {}
        self._sent: dict[tuple[str, str], _Sent] = {}

    async def frames(self) -> AsyncGenerator[bytes, None]:
        is_first = True
        with self._watch.following(self._names):
            await self._watch.find(self._names)
            while True:
                news, began = self._watch.news, time.monotonic()
                blocks: list[Block] = []
                comes_again = was_late = False
                for run, names in self._changed():
                    look = run.turns.take if len(self._names) == 1 else run.turns.glance
                    found = await look(self._look, run, names)
                    if found is None:
                        self._versions.pop(run.place.id, None)
                        was_late = True
                        continue
                    blocks += found
                    comes_again |= not is_first and any(block.is_fresh for block, _ in found)
                    is_late = time.monotonic() - began > AHEAD_SECONDS
                    if blocks and (is_late or _num_bytes(blocks) > CHUNK_BYTES):
                        yield self._frame(blocks)
                        blocks, is_first = [], False
                if blocks or is_first:
                    is_first = False
                    yield self._frame(blocks)
                if comes_again:  # which takes its time; new points do not
                    await rest_after(began)
                await next_news(news, was_late)

    def _changed(self) -> Iterator[tuple[OpenRun, Sequence[str]]]:
        """Runs with news and a few of their series at a time: others may want to know of a run, too."""
        for run_id, names in self._names.items():
            run = self._watch.shelf.known(run_id)
            if run is None or self._versions.get(run_id) == (run, run.version):
                continue
            # As of now: what comes while they are looked at is news again.
            self._versions[run_id] = (run, run.version)
            for first in range(0, len(names), _AT_A_TIME):
                yield run, names[first : first + _AT_A_TIME]

    def _frame(self, blocks: Sequence[Block]) -> bytes:
        answer = messages.SeriesAnswer(id=self._question.id, blocks=[block for block, _ in blocks])
        return binary_frame(answer, b"".join(columns for _, columns in blocks))

    # --- in a thread ----------------------------------------------------------------------------

    def _look(self, run: OpenRun, names: Sequence[str]) -> Sequence[Block]:
        """Blocks of the series that have changed; none where the run cannot be read: the list says why."""

        def look(reader: RunReader) -> list[Block]:
            series = reader.series()
            began = finite(reader.status().started) or 0.0
            with reader.holding():
                changes = [
                    self._changes(run, name, series.get(SeriesKey("scalar", name)), began) for name in names
                ]
            return [change for change in changes if change is not None]

        return run.try_look(look) or []

    def _changes(self, run: OpenRun, name: str, entry: SeriesEntry | None, began: float) -> Block | None:
        key = (run.place.id, name)
        sent = self._sent.get(key)
        if entry is None:
            if sent is None:
                return None
            del self._sent[key]  # it was taken back
            return self._block(run, name, Shown("points", NOTHING), True, 0, began)
        seen = (run, entry.count, entry.last_step, entry.last_time, began)
        if sent is not None and sent.seen == seen:
            return None
        arrays = run.arrays(name)
        shown = None if sent is None else self._tail(sent, arrays, began)
        if sent is not None and shown is not None:
            sent.seen = seen
            if not shown.num_items:
                return None
            return self._block(run, name, shown, False, arrays.count, began)
        shown = arrays.show(self._question.axis, self._window(began), self._question.num_buckets)
        furthest = arrays.furthest(self._question.axis)
        self._sent[key] = _Sent(arrays, arrays.generation, arrays.count, 0, furthest, began, seen)
        return self._block(run, name, shown, True, arrays.count, began)

    def _tail(self, sent: _Sent, arrays: SeriesArrays, began: float) -> Shown | None:
        """The points that are new; None where the series has to come anew."""
        if arrays is not sent.arrays or arrays.generation != sent.generation or began != sent.began:
            return None
        points = arrays.points(sent.count)
        num_new = sent.num_new + len(points.values)
        if num_new > self._question.num_buckets:
            return None
        places = points.steps if self._question.axis == "step" else points.times
        if not is_rising(places) or (len(places) and places[0] < sent.furthest):
            return None  # a run that was resumed goes back: the page would have to sort
        sent.num_new, sent.count = num_new, arrays.count
        sent.furthest = float(places[-1]) if len(places) else sent.furthest
        return Shown("points", points)

    def _window(self, began: float) -> Window:
        """The window in steps or in seconds since 1970."""
        low, high = self._question.low, self._question.high
        if self._question.axis != "relative":
            return low, high
        return None if low is None else low + began, None if high is None else high + began

    def _block(
        self, run: OpenRun, name: str, shown: Shown, is_fresh: bool, num_points: int, began: float
    ) -> Block:
        block = messages.SeriesBlock(
            run_id=run.place.id,
            name=name,
            form=shown.form,
            is_fresh=is_fresh,
            num_items=shown.num_items,
            num_points=num_points,
            started=began,
        )
        # Copied while the arrays cannot change.
        return block, b"".join(column.astype("<f8").tobytes() for column in shown.columns)


def _num_bytes(blocks: Sequence[Block]) -> int:
    return sum(len(columns) for _, columns in blocks)
