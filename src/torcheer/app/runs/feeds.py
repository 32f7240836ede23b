"""Answers that go on: the list of runs, the series of runs, their points, alarms and gaps.

Each answer is made when the one before has been sent, of what there is by then: a slow page gets fewer and
larger ones.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Final, NamedTuple, TypeVar

from torcheer.app.runs import run_messages as messages
from torcheer.app.runs.open_run import OpenRun
from torcheer.app.runs.run_news import GOES_ON, News, Watch, follow_anew, follow_many
from torcheer.app.runs.scalar_buckets import NOTHING, SeriesArrays, Shown, Window, is_rising
from torcheer.app.wire import CHUNK_BYTES, as_text, binary_frame, chunks, clipped, countable, finite
from torcheer.run import Alarm, Gap, RunReader, SeriesEntry, SeriesKey

_LOOK_SECONDS: Final = 0.1  # at the series of one run
_LIST_SECONDS: Final = 0.25  # between two answers about the list of runs
_FIRST_SECONDS: Final = 0.4  # for runs to be summed up before the first answer

Series = Mapping[SeriesKey, SeriesEntry]


# --- runs --------------------------------------------------------------------------------------


async def follow_runs(watch: Watch, question: messages.RunsQuestion) -> AsyncGenerator[str, None]:
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
                for runs in chunks(changed):
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


# --- series ------------------------------------------------------------------------------------


async def follow_index(watch: Watch, question: messages.IndexQuestion) -> AsyncGenerator[str, None]:
    run_ids = list(dict.fromkeys(question.run_ids))
    is_first = True
    async with aclosing(follow_many(watch, run_ids, _new_series)) as rounds:
        async for news in rounds:
            indexes = [index for one in news for index in one.found]
            if indexes or is_first:
                for runs in chunks(indexes):
                    yield as_text(messages.IndexAnswer(id=question.id, runs=runs))
            is_first = False


def _new_series(run: OpenRun, former: News | None) -> News | None:
    def look(reader: RunReader) -> News:
        series: Series = dict(reader.series())
        known: Series = {} if former is None else former.cursor
        is_all = former is None or not known.keys() <= series.keys()
        known = {} if is_all else known
        new = [_listing(entry) for key, entry in series.items() if known.get(key) != entry]
        indexes = [
            messages.RunIndex(run_id=run.place.id, is_all=is_all and not number, series=some)
            for number, some in enumerate(chunks(new) if new or is_all else ())
        ]
        return News(run, run.version, series, is_all, indexes)

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


# --- alarms and gaps ------------------------------------------------------------------------------


MAX_EVENTS: Final = 10_000  # of each kind in one answer
_MAX_COUNTS: Final = 64  # names that a gap says
_MAX_TEXT: Final = 500
_MAX_NAME: Final = 200

Event = TypeVar("Event", messages.AlarmListing, messages.GapListing)


async def follow_events(watch: Watch, question: messages.EventsQuestion) -> AsyncGenerator[str, None]:
    """All events of runs, then those that are new; all again where a run takes some back."""
    run_ids = list(dict.fromkeys(question.run_ids))
    async with aclosing(follow_anew(watch, run_ids, _new_events)) as rounds:
        async for news, is_all in rounds:
            events: list[messages.AlarmListing | messages.GapListing] = [
                event for one in news for event in one.found
            ]
            alarms = _in_order([event for event in events if isinstance(event, messages.AlarmListing)])
            gaps = _in_order([event for event in events if isinstance(event, messages.GapListing)])
            if not (alarms or gaps or is_all):
                continue
            events = [*alarms, *gaps]
            for chunk in chunks(events):
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


# --- points of scalars ----------------------------------------------------------------------------


Block = tuple[messages.SeriesBlock, bytes]


class _Sent(NamedTuple):
    """How much of a series the page has."""

    arrays: SeriesArrays
    generation: int
    num_sent: int
    num_new: int  # points that came one by one since the last block
    furthest: float  # place on the axis
    began: float
    seen: tuple[object, ...]


async def follow_series(watch: Watch, question: messages.SeriesQuestion) -> AsyncGenerator[bytes, None]:
    names: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for wanted in question.wanted:
        names[wanted.run_id][wanted.name] = None

    def look(run: OpenRun, former: News | None) -> News | None:
        return run.try_look(
            lambda reader: _SeriesLook(question, run, reader, former).news(names[run.place.id])
        )

    is_first = True
    async with aclosing(follow_many(watch, list(names), look)) as rounds:
        async for news in rounds:
            blocks: list[Block] = [block for one in news for block in one.found]
            if blocks or is_first:
                for some in chunks(blocks, _size_of_block):
                    answer = messages.SeriesAnswer(id=question.id, blocks=[block for block, _ in some])
                    yield binary_frame(answer, b"".join(columns for _, columns in some))
            is_first = False


class _SeriesLook:
    """A look at series of one run, in a thread."""

    def __init__(
        self, question: messages.SeriesQuestion, run: OpenRun, reader: RunReader, former: News | None
    ) -> None:
        self._question = question
        self._run = run
        self._reader = reader
        self._sent: dict[str, _Sent] = {} if former is None else dict(former.cursor)
        self._began = finite(reader.status().started) or 0.0

    def news(self, names: Iterable[str]) -> News:
        """Blocks of the series that have changed; where that takes long, of some: the next look goes on."""
        blocks: list[Block] = []
        version, end = self._run.version, time.monotonic() + _LOOK_SECONDS
        series = self._reader.series()
        with self._reader.holding():
            for name in names:
                if blocks and (time.monotonic() > end or sum(map(_size_of_block, blocks)) > CHUNK_BYTES):
                    version = GOES_ON
                    break
                block = self._changes(name, series.get(SeriesKey("scalar", name)))
                blocks += [] if block is None else [block]
        return News(self._run, version, self._sent, False, blocks)

    def _changes(self, name: str, entry: SeriesEntry | None) -> Block | None:
        sent, axis = self._sent.get(name), self._question.axis
        if entry is None:
            if sent is None:
                return None
            del self._sent[name]  # it was taken back
            return self._block(name, Shown("points", NOTHING), True, 0)
        seen = (entry.count, entry.last_step, entry.last_time, self._began)
        if sent is not None and sent.seen == seen:
            return None
        arrays = self._run.arrays(name)
        shown = None if sent is None else self._tail(name, sent._replace(seen=seen), arrays)
        if shown is not None:
            return self._block(name, shown, False, arrays.count) if shown.num_items else None
        shown = arrays.show(axis, self._window(), self._question.num_buckets)
        self._sent[name] = _Sent(
            arrays, arrays.generation, arrays.count, 0, arrays.furthest(axis), self._began, seen
        )
        return self._block(name, shown, True, arrays.count)

    def _tail(self, name: str, sent: _Sent, arrays: SeriesArrays) -> Shown | None:
        """The points that are new; None where the series has to come anew."""
        if (arrays, arrays.generation, self._began) != (sent.arrays, sent.generation, sent.began):
            return None
        points = arrays.points(sent.num_sent)
        num_new = sent.num_new + len(points.values)
        places = points.steps if self._question.axis == "step" else points.times
        # A run that was resumed goes back: the page would have to sort.
        is_back = not is_rising(places) or (len(places) and places[0] < sent.furthest)
        if num_new > self._question.num_buckets or is_back:
            return None
        furthest = float(places[-1]) if len(places) else sent.furthest
        self._sent[name] = sent._replace(num_new=num_new, num_sent=arrays.count, furthest=furthest)
        return Shown("points", points)

    def _window(self) -> Window:
        low, high = self._question.low, self._question.high
        if self._question.axis != "relative":
            return low, high
        return None if low is None else low + self._began, None if high is None else high + self._began

    def _block(self, name: str, shown: Shown, is_fresh: bool, num_points: int) -> Block:
        block = messages.SeriesBlock(
            run_id=self._run.place.id,
            name=name,
            form=shown.form,
            is_fresh=is_fresh,
            num_items=shown.num_items,
            num_points=num_points,
            started=self._began,
        )
        # Copied while the arrays cannot change.
        return block, b"".join(column.astype("<f8").tobytes() for column in shown.columns)


def _size_of_block(block: Block) -> int:
    return len(block[1])
