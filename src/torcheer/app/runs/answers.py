"""Answer what a page asks about runs: in threads, one at a time for each run."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from functools import partial
from typing import Any, Final

import anyio

from torcheer.app.net.analysis import Analyses
from torcheer.app.net.follow import follow_moments, follow_net
from torcheer.app.net.messages import (
    AnyNetAnalysisQuestion,
    NetMomentsQuestion,
    NetRasterQuestion,
    NetSceneQuestion,
    NetUnitQuestion,
    NetUnitSeriesQuestion,
    NetValuesQuestion,
    NetWeightsQuestion,
)
from torcheer.app.net.reader import Nets
from torcheer.app.net.values import answer_raster, answer_unit, answer_unit_series, answer_values
from torcheer.app.net.weights import answer_weights
from torcheer.app.passes.source import PassListing
from torcheer.app.runs.feeds import SeriesFeed, follow_events, follow_index, follow_runs
from torcheer.app.runs.layouts import answer_layout
from torcheer.app.runs.messages import (
    EventsQuestion,
    HistogramsQuestion,
    HparamsAnswer,
    HparamsQuestion,
    IndexQuestion,
    LayoutQuestion,
    OpSeriesQuestion,
    RecordQuestion,
    RecordsQuestion,
    ReduceQuestion,
    RunsQuestion,
    RunTensorQuestion,
    SeriesQuestion,
    TableCellsQuestion,
    TableQuestion,
    TableStatisticsQuestion,
    TableTextQuestion,
    WatchedQuestion,
    WatchedRowQuestion,
)
from torcheer.app.runs.open_run import OpenRun
from torcheer.app.runs.passes import RunPass, answer_op_series, find_pass, listings
from torcheer.app.runs.projection import Reductions
from torcheer.app.runs.records import Distributions, RunTensors, answer_record, answer_records
from torcheer.app.runs.shelf import RunShelf
from torcheer.app.runs.tables import (
    MOST_FOR_STATISTICS,
    MOST_FOR_TEXT,
    LoadedRecord,
    Most,
    TableFeed,
    TableTensors,
    load_records,
    statistics_answer,
    text_answer,
)
from torcheer.app.runs.watch import Watch
from torcheer.app.runs.watched import follow_row, follow_watched
from torcheer.app.threads import Turns, in_thread
from torcheer.app.wire import as_json
from torcheer.errors import InputError

Frame = str | bytes  # for a text frame and for a binary one
FollowedQuestion = (
    RunsQuestion
    | IndexQuestion
    | SeriesQuestion
    | ReduceQuestion
    | WatchedQuestion
    | WatchedRowQuestion
    | EventsQuestion
    | NetSceneQuestion
    | NetMomentsQuestion
    | TableQuestion
)
NetQuestion = (
    NetValuesQuestion | NetUnitQuestion | NetUnitSeriesQuestion | NetRasterQuestion | NetWeightsQuestion
)
OneRunQuestion = (
    RecordsQuestion
    | LayoutQuestion
    | RecordQuestion
    | RunTensorQuestion
    | HistogramsQuestion
    | NetQuestion
    | TableCellsQuestion
)
WholeTableQuestion = TableStatisticsQuestion | TableTextQuestion
RunQuestion = (
    OneRunQuestion | WholeTableQuestion | HparamsQuestion | OpSeriesQuestion | AnyNetAnalysisQuestion
)

_GONE: Final = "this run is no longer in the folder. Choose one from the list of runs."
_NO_PASS: Final = "this pass is in no run of the folder: only those have figures over time."
_PASSES_SECONDS: Final = 0.4
_LISTED_SECONDS: Final = 10.0  # for all runs to be looked at


class RunAnswers:
    """Answers about the runs of a shelf, for all pages of a server."""

    def __init__(self, shelf: RunShelf) -> None:
        self.shelf = shelf
        self.watch = Watch(shelf)
        self._reductions = Reductions()
        self._nets = nets = Nets()
        self._analyses = Analyses(nets)
        self._analysis_turns = Turns()  # one at a time for all runs: each takes much memory
        self._of_one_run: dict[type, Callable[[OpenRun, Any], Frame]] = {
            RecordsQuestion: answer_records,
            LayoutQuestion: answer_layout,
            RecordQuestion: answer_record,
            RunTensorQuestion: RunTensors().answer,
            HistogramsQuestion: Distributions().answer,
            NetValuesQuestion: partial(answer_values, nets),
            NetUnitQuestion: partial(answer_unit, nets),
            NetUnitSeriesQuestion: partial(answer_unit_series, nets),
            NetRasterQuestion: partial(answer_raster, nets),
            NetWeightsQuestion: partial(answer_weights, nets),
            TableCellsQuestion: TableTensors().answer,
        }
        watch = self.watch
        self._followed: dict[type, Callable[[Any], AsyncGenerator[Frame, None]]] = {
            RunsQuestion: partial(follow_runs, watch),
            IndexQuestion: partial(follow_index, watch),
            SeriesQuestion: lambda question: SeriesFeed(watch, question).frames(),
            WatchedQuestion: partial(follow_watched, watch),
            WatchedRowQuestion: partial(follow_row, watch),
            EventsQuestion: partial(follow_events, watch),
            NetSceneQuestion: partial(follow_net, nets, watch),
            NetMomentsQuestion: partial(follow_moments, nets, watch),
            TableQuestion: lambda question: TableFeed(watch, question).frames(),
        }

    async def answer(self, question: RunQuestion) -> Frame:
        """The one answer to a question. Errors of ours are for the page."""
        if isinstance(question, HparamsQuestion):
            return await self._hparams(question)
        if isinstance(question, OpSeriesQuestion):
            return await self._op_series(question)
        if isinstance(question, WholeTableQuestion):
            return await self._whole_table(question)
        run = await self._run(question.run_id)
        if isinstance(question, AnyNetAnalysisQuestion):
            # Beside other questions of the run: what is scrubbed does not wait for an analysis.
            return await self._analysis_turns.take(self._analyses.answer, run, question)
        return await run.slow_turns.take(self._of_one_run[type(question)], run, question)

    async def _run(self, run_id: str) -> OpenRun:
        run = self.shelf.known(run_id)
        if run is None:
            run = await in_thread(self.shelf.run, run_id)
        if run is None:
            raise InputError(_GONE)
        return run

    async def _hparams(self, question: HparamsQuestion) -> str:
        await self.watch.listed(_LISTED_SECONDS)
        rows = [one.hparams for one in self.shelf.summaries() if one.hparams is not None]
        return as_json(HparamsAnswer(id=question.id, rows=rows)).decode()

    async def _op_series(self, question: OpSeriesQuestion) -> str:
        source = await self.pass_source(question.pass_id)
        if source is None:
            raise InputError(_NO_PASS)
        return await source.run.slow_turns.take(answer_op_series, source, question)

    async def _whole_table(self, question: WholeTableQuestion) -> str:
        if isinstance(question, TableStatisticsQuestion):
            records = await self._table_records(question, MOST_FOR_STATISTICS, only_last=False)
            return await in_thread(statistics_answer, question, records)
        records = await self._table_records(question, MOST_FOR_TEXT, only_last=question.only_last)
        return await in_thread(text_answer, question, records)

    async def _table_records(
        self, question: WholeTableQuestion, most: Most, *, only_last: bool
    ) -> list[LoadedRecord]:
        """Of all runs, in their order. Those that have no such table have no rows."""
        with_tensors = isinstance(question, TableTextQuestion)
        records: list[LoadedRecord] = []
        for run_id in dict.fromkeys(question.run_ids):
            run = await self._run(run_id)
            load = partial(load_records, only_last=only_last, with_tensors=with_tensors)
            records += await run.slow_turns.take(load, run, question.name, most.less(records))
        return records

    async def passes(self, seconds: float = _PASSES_SECONDS) -> Sequence[PassListing]:
        """The passes in all runs, as far as they can be found in so long."""
        with anyio.move_on_after(seconds):
            await self.watch.listed(seconds)
        return listings(self.shelf.summaries())

    async def pass_source(self, pass_id: str) -> RunPass | None:
        """The pass of a run; None where there is none."""
        run_id = pass_id.partition("-")[0]
        run = self.shelf.known(run_id) or await in_thread(self.shelf.run, run_id)
        return None if run is None else await run.slow_turns.take(find_pass, run, pass_id)

    def follow(self, question: FollowedQuestion, page: object) -> AsyncGenerator[Frame, None]:
        """All answers to a question of a page that goes on."""
        if isinstance(question, ReduceQuestion):
            return self._reduce(question, page)
        return self._followed[type(question)](question)

    async def _reduce(self, question: ReduceQuestion, page: object) -> AsyncGenerator[Frame, None]:
        run = await self._run(question.run_id)
        async with aclosing(self._reductions.follow(run, question, page)) as frames:
            async for frame in frames:
                yield frame

    def close(self) -> None:
        self.watch.close()
        self.shelf.close()
