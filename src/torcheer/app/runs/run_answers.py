"""Answer what a page asks about runs: in threads, one at a time for each run.

Here are the answers that go on, about the list of runs, their series, points, alarms and gaps. Each is made
when the one before has been sent, of what there is by then: a slow page gets fewer and larger ones.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from itertools import islice
from typing import Any, Final, NamedTuple, TypeVar

import anyio

from torcheer.app.background_threads import Turns, in_thread
from torcheer.app.netview import net_messages, net_values
from torcheer.app.netview.net_analysis import Analyses
from torcheer.app.netview.net_reader import Nets
from torcheer.app.passes.source import PassListing
from torcheer.app.runs import run_messages as messages
from torcheer.app.runs import table_feed
from torcheer.app.runs.layouts import answer_layout
from torcheer.app.runs.open_run import OpenRun
from torcheer.app.runs.run_news import GOES_ON, RUN_GONE, News, Watch, follow_anew, follow_many
from torcheer.app.runs.run_passes import RunPass, answer_op_series, find_pass, listings
from torcheer.app.runs.run_records import Distributions, RunTensors, answer_record, answer_records
from torcheer.app.runs.run_shelf import RunShelf
from torcheer.app.runs.scalar_buckets import NOTHING, SeriesArrays, Shown, is_rising, show_tail
from torcheer.app.runs.watched_figures import follow_figures, look_at_row, look_at_watched
from torcheer.app.shared_analyses import Reductions
from torcheer.app.wire import (
    CHUNK_BYTES,
    Followed,
    Frame,
    Question,
    Single,
    as_text,
    binary_frame,
    chunks,
    copied,
    countable,
    finite,
    plain,
)
from torcheer.errors import InputError
from torcheer.run import Alarm, RunReader, SeriesEntry, SeriesKey

_LOOK_SECONDS: Final = 0.1  # at the series of one run
_LIST_SECONDS: Final = 0.25  # between two answers about the list of runs
_FIRST_SECONDS: Final = 0.4  # for runs to be summed up before the first answer

Series = Mapping[SeriesKey, SeriesEntry]


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
                        folder=shelf.folders.shown,
                        is_all=is_first,
                        runs=runs,
                        gone=gone,
                        note=note,
                    )
                    yield as_text(answer)
                    is_first, gone = False, []
            await asyncio.sleep(_LIST_SECONDS)
            await news.wait()


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
        new = [
            copied(messages.SeriesListing, entry, name=entry.name, last_time=finite(entry.last_time) or 0.0)
            for key, entry in series.items()
            if known.get(key) != entry
        ]
        indexes = [
            messages.RunIndex(run_id=run.place.id, is_all=is_all and not number, series=some)
            for number, some in enumerate(chunks(new) if new or is_all else ())
        ]
        return News(run, run.version, series, is_all, indexes)

    return run.try_look(look)


MAX_EVENTS: Final = 10_000  # of each kind in one answer
_MAX_COUNTS: Final = 64  # names that a gap says
_MAX_TEXT: Final = 500

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
        gaps = []
        for gap in _ends(tail.gaps):
            few = islice(gap.counts.items(), _MAX_COUNTS)
            counts = {plain(name, _MAX_TEXT): plain(count) for name, count in few}
            own = {"run_id": run.place.id, "time": finite(gap.time) or 0.0, "counts": counts}
            gaps.append(copied(messages.GapListing, gap, _MAX_TEXT, **own))
        return News(run, run.version, tail.cursor, tail.is_fresh, [*alarms, *gaps])

    return run.try_look(look)


def _alarm(run_id: str, alarm: Alarm) -> messages.AlarmListing:
    return copied(
        messages.AlarmListing,
        alarm,
        _MAX_TEXT,
        run_id=run_id,
        time=finite(alarm.time) or 0.0,
        alarm=plain(alarm.alarm, 200),
        row=plain(alarm.row, 2 * _MAX_TEXT),
    )


def _ends(events: Sequence[Any]) -> Sequence[Any]:
    """Of very many the first, with which it began, and the last."""
    if len(events) <= MAX_EVENTS:
        return events
    return [*events[: MAX_EVENTS // 2], *events[-MAX_EVENTS // 2 :]]


def _in_order(events: Sequence[Event]) -> Sequence[Event]:
    return _ends(sorted(events, key=lambda event: event.time))


Block = tuple[messages.SeriesBlock, bytes]


class _Sent(NamedTuple):
    """How much of a series the page has."""

    arrays: SeriesArrays
    generation: int
    num_sent: int
    last: int  # the first point of the last bucket, which grows; as num_sent where there is none
    num_new: int  # items that came since it was sent as a whole
    head: float  # how far on the axis it went then
    furthest: float  # place on the axis
    width: float  # of its buckets; nought for points
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
            return self._block(name, None, Shown("points", NOTHING), 0)
        seen = (entry.count, entry.last_step, entry.last_time, self._began)
        if sent is not None and sent.seen == seen:
            return None
        arrays = self._run.arrays(name)
        tail = None if sent is None else self._tail(name, sent._replace(seen=seen), arrays)
        if tail is not None:
            shown, num_replaced = tail
            return self._block(name, entry, shown, arrays.count, num_replaced) if shown.num_items else None
        since = self._began if axis == "relative" else 0.0
        low, high = self._question.low, self._question.high
        window = None if low is None else low + since, None if high is None else high + since
        shown = arrays.show(axis, window, self._question.num_buckets)
        furthest = arrays.furthest(axis)
        self._sent[name] = _Sent(
            arrays=arrays,
            generation=arrays.generation,
            num_sent=arrays.count,
            last=arrays.count,
            num_new=0,
            head=furthest,
            furthest=furthest,
            width=shown.width,
            began=self._began,
            seen=seen,
        )
        return self._block(name, entry, shown, arrays.count)

    def _tail(self, name: str, sent: _Sent, arrays: SeriesArrays) -> tuple[Shown, int] | None:
        """What is new, and how many items it replaces; None where the series has to come anew."""
        if (arrays, arrays.generation, self._began) != (sent.arrays, sent.generation, sent.began):
            return None
        start = sent.last if sent.width else sent.num_sent
        points, num_known = arrays.points(start), sent.num_sent - start
        places = points.steps if self._question.axis == "step" else points.times
        new = places[num_known:]
        # A run that was resumed goes back: the page would have to sort.
        if not is_rising(new) or (len(new) and new[0] < sent.furthest):
            return None
        if not len(new):
            self._sent[name] = sent
            return Shown("points", NOTHING), 0
        shown, last = Shown("points", points), arrays.count
        if sent.width:
            shown, first = show_tail(points, places, sent.head, sent.width)
            last = start + first
        num_replaced = int(num_known > 0)
        num_new = sent.num_new + shown.num_items - num_replaced
        if num_new > self._question.num_buckets:
            return None
        self._sent[name] = sent._replace(
            num_sent=arrays.count, last=last, num_new=num_new, furthest=float(new[-1])
        )
        return shown, num_replaced

    def _block(
        self,
        name: str,
        entry: SeriesEntry | None,
        shown: Shown,
        num_points: int,
        num_replaced: int | None = None,
    ) -> Block:
        block = messages.SeriesBlock(
            run_id=self._run.place.id,
            name=name,
            form=shown.form,
            is_fresh=num_replaced is None,
            num_replaced=num_replaced or 0,
            num_items=shown.num_items,
            num_points=num_points,
            last_step=0 if entry is None else countable(entry.last_step) or 0,
            last_time=0.0 if entry is None else finite(entry.last_time) or 0.0,
            last_value=None if entry is None else finite(entry.last_value),
            started=self._began,
        )
        # Copied while the arrays cannot change.
        return block, b"".join(column.astype("<f8").tobytes() for column in shown.columns)


def _size_of_block(block: Block) -> int:
    return len(block[1])


_PASSES_SECONDS: Final = 0.4
_LISTED_SECONDS: Final = 10.0  # for all runs to be looked at


class RunAnswers:
    def __init__(self, shelf: RunShelf) -> None:
        self.shelf = shelf
        self.watch = Watch(shelf)
        reductions = Reductions()
        nets = Nets()
        analyses = Analyses(nets)
        of_run = self._of_run
        one_at_a_time = Turns()  # for all runs: each takes much memory
        self.single: dict[type[Question], Single] = {
            messages.RecordsQuestion: of_run(answer_records),
            messages.LayoutQuestion: of_run(answer_layout),
            messages.RecordQuestion: of_run(answer_record),
            messages.RunTensorQuestion: of_run(RunTensors().answer),
            messages.HistogramsQuestion: of_run(Distributions().answer),
            table_feed.TableCellsQuestion: of_run(table_feed.TableTensors().answer),
            net_messages.NetValuesQuestion: of_run(partial(net_values.answer_values, nets)),
            net_messages.NetUnitQuestion: of_run(partial(net_values.answer_unit, nets)),
            net_messages.NetUnitSeriesQuestion: of_run(partial(net_values.answer_unit_series, nets)),
            net_messages.NetRasterQuestion: of_run(partial(net_values.answer_raster, nets)),
            net_messages.NetWeightsQuestion: of_run(partial(net_values.answer_weights, nets)),
            # Beside other questions of the run: what is scrubbed does not wait for an analysis.
            **{kind: of_run(answer, one_at_a_time) for kind, answer in analyses.answers.items()},
            messages.HparamsQuestion: self._hparams,
            messages.OpSeriesQuestion: self._op_series,
            table_feed.TableStatisticsQuestion: self._of_tables(table_feed.statistics_answer),
            table_feed.TableTextQuestion: self._of_tables(table_feed.text_answer),
        }
        watch = self.watch
        feeds: dict[type[Question], Callable[[Any], AsyncGenerator[Frame, None]]] = {
            messages.RunsQuestion: partial(follow_runs, watch),
            messages.IndexQuestion: partial(follow_index, watch),
            messages.SeriesQuestion: partial(follow_series, watch),
            messages.WatchedQuestion: partial(follow_figures, watch, look_at_watched),
            messages.WatchedRowQuestion: partial(follow_figures, watch, look_at_row),
            messages.EventsQuestion: partial(follow_events, watch),
            net_messages.NetSceneQuestion: partial(net_values.follow_net, nets, watch),
            net_messages.NetMomentsQuestion: partial(net_values.follow_moments, nets, watch),
            table_feed.TableQuestion: partial(table_feed.follow_table, watch),
        }
        self.followed: dict[type[Question], Followed] = {
            **{
                kind: partial(lambda feed, question, page: feed(question), one) for kind, one in feeds.items()
            },
            messages.ReduceQuestion: partial(self._reduce, reductions),
        }

    def _of_run(self, answer: Callable[[OpenRun, Any], Frame], turns: Turns | None = None) -> Single:
        async def handler(question: Any) -> Frame:
            run = await self._run(question.run_id)
            return await (turns or run.slow_turns).take(answer, run, question)

        return handler

    async def _run(self, run_id: str) -> OpenRun:
        run = self.shelf.known(run_id)
        if run is None:
            run = await in_thread(self.shelf.run, run_id)
        if run is None:
            raise InputError(RUN_GONE)
        return run

    async def _hparams(self, question: messages.HparamsQuestion) -> str:
        await self.watch.listed(_LISTED_SECONDS)
        rows = [one.hparams for one in self.shelf.summaries() if one.hparams is not None]
        return as_text(messages.HparamsAnswer(id=question.id, rows=rows))

    async def _op_series(self, question: messages.OpSeriesQuestion) -> str:
        source = await self.pass_source(question.pass_id)
        if source is None:
            raise InputError("this pass is in no run of the folder: only those have figures over time.")
        return await source.run.slow_turns.take(answer_op_series, source, question)

    def _of_tables(self, answer: Callable[[Any, Sequence[table_feed.LoadedRecord]], Frame]) -> Single:
        """Of all runs, in their order. Those that have no such table have no rows."""

        async def handler(question: Any) -> Frame:
            records: list[table_feed.LoadedRecord] = []
            for run_id in dict.fromkeys(question.run_ids):
                run = await self._run(run_id)
                records += await run.slow_turns.take(table_feed.load_records, run, question, records)
            return await in_thread(answer, question, records)

        return handler

    async def passes(self, seconds: float = _PASSES_SECONDS) -> Sequence[PassListing]:
        """The passes in all runs, as far as they can be found in so long."""
        with anyio.move_on_after(seconds):
            await self.watch.listed(seconds)
        return listings(self.shelf.summaries())

    async def pass_source(self, pass_id: str) -> RunPass | None:
        run_id = pass_id.partition("-")[0]
        run = self.shelf.known(run_id) or await in_thread(self.shelf.run, run_id)
        return None if run is None else await run.slow_turns.take(find_pass, run, pass_id)

    async def _reduce(
        self, reductions: Reductions, question: messages.ReduceQuestion, page: object
    ) -> AsyncGenerator[Frame, None]:
        run = await self._run(question.run_id)
        async with aclosing(reductions.follow(run, question, page)) as frames:
            async for frame in frames:
                yield frame

    def close(self) -> None:
        self.watch.close()
        self.shelf.close()
