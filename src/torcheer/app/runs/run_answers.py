"""Answer what a page asks about runs: in threads, one at a time for each run."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any, Final

import anyio

from torcheer.app.background_threads import Turns, in_thread
from torcheer.app.netview import net_messages
from torcheer.app.netview.net_analysis import Analyses
from torcheer.app.netview.net_moments import follow_moments, follow_net
from torcheer.app.netview.net_reader import Nets
from torcheer.app.netview.net_values import (
    answer_raster,
    answer_unit,
    answer_unit_series,
    answer_values,
    answer_weights,
)
from torcheer.app.passes.source import PassListing
from torcheer.app.runs import run_messages as messages
from torcheer.app.runs.feeds import follow_events, follow_index, follow_runs, follow_series
from torcheer.app.runs.layouts import answer_layout
from torcheer.app.runs.open_run import OpenRun
from torcheer.app.runs.run_news import Watch
from torcheer.app.runs.run_passes import RunPass, answer_op_series, find_pass, listings
from torcheer.app.runs.run_records import Distributions, RunTensors, answer_record, answer_records
from torcheer.app.runs.run_shelf import RunShelf
from torcheer.app.runs.table_feed import (
    LoadedRecord,
    TableCellsQuestion,
    TableQuestion,
    TableStatisticsQuestion,
    TableTensors,
    TableTextQuestion,
    follow_table,
    load_records,
    statistics_answer,
    text_answer,
)
from torcheer.app.runs.watched_figures import follow_row, follow_watched
from torcheer.app.shared_analyses import Reductions
from torcheer.app.wire import Followed, Frame, Question, Single, as_text
from torcheer.errors import InputError

_GONE: Final = "this run is no longer in the folder. Choose one from the list of runs."
_NO_PASS: Final = "this pass is in no run of the folder: only those have figures over time."
_PASSES_SECONDS: Final = 0.4
_LISTED_SECONDS: Final = 10.0  # for all runs to be looked at


class RunAnswers:
    def __init__(self, shelf: RunShelf) -> None:
        self.shelf = shelf
        self.watch = Watch(shelf)
        self._analysis_turns = Turns()  # one at a time for all runs: each takes much memory
        reductions = Reductions()
        nets = Nets()
        analyses = Analyses(nets)
        of_run, of_net = self._of_run, self._of_net
        self.single: dict[type[Question], Single] = {
            messages.RecordsQuestion: of_run(answer_records),
            messages.LayoutQuestion: of_run(answer_layout),
            messages.RecordQuestion: of_run(answer_record),
            messages.RunTensorQuestion: of_run(RunTensors().answer),
            messages.HistogramsQuestion: of_run(Distributions().answer),
            TableCellsQuestion: of_run(TableTensors().answer),
            net_messages.NetValuesQuestion: of_run(partial(answer_values, nets)),
            net_messages.NetUnitQuestion: of_run(partial(answer_unit, nets)),
            net_messages.NetUnitSeriesQuestion: of_run(partial(answer_unit_series, nets)),
            net_messages.NetRasterQuestion: of_run(partial(answer_raster, nets)),
            net_messages.NetWeightsQuestion: of_run(partial(answer_weights, nets)),
            **{kind: of_net(answer) for kind, answer in analyses.answers.items()},
            messages.HparamsQuestion: self._hparams,
            messages.OpSeriesQuestion: self._op_series,
            TableStatisticsQuestion: self._of_tables(statistics_answer),
            TableTextQuestion: self._of_tables(text_answer),
        }
        watch = self.watch
        feeds: dict[type[Question], Callable[[Any], AsyncGenerator[Frame, None]]] = {
            messages.RunsQuestion: partial(follow_runs, watch),
            messages.IndexQuestion: partial(follow_index, watch),
            messages.SeriesQuestion: partial(follow_series, watch),
            messages.WatchedQuestion: partial(follow_watched, watch),
            messages.WatchedRowQuestion: partial(follow_row, watch),
            messages.EventsQuestion: partial(follow_events, watch),
            net_messages.NetSceneQuestion: partial(follow_net, nets, watch),
            net_messages.NetMomentsQuestion: partial(follow_moments, nets, watch),
            TableQuestion: partial(follow_table, watch),
        }
        self.followed: dict[type[Question], Followed] = {
            **{kind: _for_any_page(feed) for kind, feed in feeds.items()},
            messages.ReduceQuestion: partial(self._reduce, reductions),
        }

    def _of_run(self, answer: Callable[[OpenRun, Any], Frame]) -> Single:
        async def handler(question: Any) -> Frame:
            run = await self._run(question.run_id)
            return await run.slow_turns.take(answer, run, question)

        return handler

    def _of_net(self, answer: Callable[[OpenRun, Any], Frame]) -> Single:
        """Beside other questions of the run: what is scrubbed does not wait for an analysis."""

        async def handler(question: Any) -> Frame:
            return await self._analysis_turns.take(answer, await self._run(question.run_id), question)

        return handler

    async def _run(self, run_id: str) -> OpenRun:
        run = self.shelf.known(run_id)
        if run is None:
            run = await in_thread(self.shelf.run, run_id)
        if run is None:
            raise InputError(_GONE)
        return run

    async def _hparams(self, question: messages.HparamsQuestion) -> str:
        await self.watch.listed(_LISTED_SECONDS)
        rows = [one.hparams for one in self.shelf.summaries() if one.hparams is not None]
        return as_text(messages.HparamsAnswer(id=question.id, rows=rows))

    async def _op_series(self, question: messages.OpSeriesQuestion) -> str:
        source = await self.pass_source(question.pass_id)
        if source is None:
            raise InputError(_NO_PASS)
        return await source.run.slow_turns.take(answer_op_series, source, question)

    def _of_tables(self, answer: Callable[[Any, Sequence[LoadedRecord]], Frame]) -> Single:
        """Of all runs, in their order. Those that have no such table have no rows."""

        async def handler(question: Any) -> Frame:
            records: list[LoadedRecord] = []
            for run_id in dict.fromkeys(question.run_ids):
                run = await self._run(run_id)
                records += await run.slow_turns.take(load_records, run, question, records)
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


def _for_any_page(feed: Callable[[Any], AsyncGenerator[Frame, None]]) -> Followed:
    return lambda question, page: feed(question)
