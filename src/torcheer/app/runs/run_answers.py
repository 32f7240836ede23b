"""Answer what a page asks about runs: in threads, one at a time for each run."""

from __future__ import annotations

import hashlib
import math
import re
import string
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from enum import Enum
from functools import partial
from re import _parser  # type: ignore[attr-defined]
from typing import Any, Final

import anyio
import msgspec
import numpy
from numpy.typing import NDArray

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
from torcheer.app.passes.saved import NewerDocumentError, decode_document, without_values
from torcheer.app.passes.source import PassListing
from torcheer.app.runs import run_messages as messages
from torcheer.app.runs.feeds import follow_events, follow_index, follow_runs, follow_series
from torcheer.app.runs.open_run import OpenRun
from torcheer.app.runs.run_messages import (
    LayoutAnswer,
    LayoutQuestion,
    OpSeriesAnswer,
    OpSeriesQuestion,
    ShownLayoutChart,
    ShownLayoutGroup,
)
from torcheer.app.runs.run_news import Watch
from torcheer.app.runs.run_records import Distributions, RunTensors, affordable, answer_record, answer_records
from torcheer.app.runs.run_shelf import RunShelf, Summary
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
from torcheer.app.wire import Followed, Frame, Question, Single, as_json, as_text, clipped, countable, finite
from torcheer.errors import FileFormatError, InputError
from torcheer.graph import PassDocument
from torcheer.run import LayoutChart, LayoutGroup, LayoutHead, PassHead, RecordEntry, record_id
from torcheer.tensorfile import TensorKind, TensorView, Window

# --- Passes that were put into runs, on the shelf beside those that were saved ------------------------


_MAX_LISTED: Final = 2000
_MAX_PASSES: Final = 2000  # that the figures of an op are collected from
_MAX_FIGURES: Final = 64
_NOT_KEPT: Final = "values of a pass in a run are not kept: history.save keeps them."
_NO_FIGURE: Final = "a pass in a run has no figure {name!r} for its ops: 'zeros' is there."
_NO_ZEROS: Final = (
    "the values of this pass were not there when it was put into the run, so nothing is known of them."
)
_PASS_GONE: Final = "this pass is not in its run any more. Choose one from the list of passes."


def pass_id(run_id: str, record: str) -> str:
    """It begins with the run's own id, so that only that run has to be looked through."""
    digest = hashlib.blake2s(record.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"{run_id}-{digest}"


def listings(summaries: Sequence[Summary]) -> Sequence[PassListing]:
    found: list[PassListing] = []
    for summary in summaries:
        run = summary.run.place
        for name, entry in reversed(summary.passes):
            if len(found) >= _MAX_LISTED:
                return found
            head = entry.head
            assert isinstance(head, PassHead)
            detail = f"{clipped(head.model_name, 80)}, {head.num_ops:,} ops, step {entry.step} of {run.name}"
            listed = PassListing(
                id=pass_id(run.id, record_id(entry)),
                name=clipped(name, 200),
                detail=detail,
                run_id=run.id,
                step=countable(entry.step),
            )
            found.append(listed)
    return found


def find_pass(run: OpenRun, wanted: str) -> RunPass | None:
    for name, entry in _passes_of(run):
        if pass_id(run.place.id, record_id(entry)) == wanted:
            return RunPass(run, name, entry)
    return None


def _passes_of(run: OpenRun) -> Iterator[tuple[str, RecordEntry]]:
    with run.lock:
        reader = run.look()
        names = [key.name for key in reader.series() if key.kind == "pass"]
        found = [(name, entry) for name in names for entry in reader.records("pass", name)]
    yield from ((name, entry) for name, entry in found if isinstance(entry.head, PassHead))


class RunPass:
    """A pass of a run as a source for the page: its structure, and the figures that were kept of its ops."""

    def __init__(self, run: OpenRun, series: str, entry: RecordEntry) -> None:
        assert isinstance(entry.head, PassHead)
        self.run = run
        self.series = series
        self.head = entry.head
        self._entry = entry
        self._document: PassDocument | None = None
        self.id = pass_id(run.place.id, record_id(entry))

    @property
    def name(self) -> str:
        return self.series

    @property
    def detail(self) -> str:
        return f"{self.head.model_name}, {self.head.num_ops:,} ops, step {self._entry.step}"

    def document(self) -> PassDocument:
        if self._document is None:
            self._document = self._with_own_facts(_document_of(self.run, self.head))
        return self._document

    def _with_own_facts(self, document: PassDocument) -> PassDocument:
        """Passes that differ in nothing but times and seed share a document: it has those of the first."""
        if self.head.random_seed is not None:
            document = msgspec.structs.replace(document, random_seed=self.head.random_seed)
        columns = figures_of(self.run, self._entry) if "seconds" in self.head.figures else None
        if columns is None or len(columns) != len(document.ops):
            return document
        seconds = columns[:, self.head.figures.index("seconds")].tolist()
        replace = msgspec.structs.replace
        ops = [
            replace(op, seconds=took) if 0 <= took < math.inf else op
            for op, took in zip(document.ops, seconds, strict=True)
        ]
        return replace(document, ops=ops, elapsed_seconds=sum(op.seconds for op in ops))

    def tensor(self, kind: TensorKind, index: int, window: Window | None) -> tuple[TensorView, bytes] | str:
        return _NOT_KEPT

    def figures(self, name: str) -> Sequence[float | None] | str:
        if name != "zeros":
            return _NO_FIGURE.format(name=name[:20])
        columns = figures_of(self.run, self._entry)
        if "zeros" not in self.head.figures or columns is None:
            return _NO_ZEROS
        column = columns[:, self.head.figures.index("zeros")]
        num_ops = len(self.document().ops)
        return [_known(value) for value in column[:num_ops]] + [None] * (num_ops - len(column))


def _known(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _document_of(run: OpenRun, head: PassHead) -> PassDocument:
    with run.lock:
        text = run.look().document(head.document)
    if text is None:
        raise InputError(_PASS_GONE)
    try:
        return without_values(decode_document(text))
    except NewerDocumentError as error:
        raise FileFormatError(
            f"this pass is in version {error} of the format, of a newer torcheer. "
            "Update torcheer: pip install --upgrade torcheer."
        ) from error
    except ValueError as error:
        raise FileFormatError(f"this pass is damaged in the run: {error}.") from error


def figures_of(run: OpenRun, entry: RecordEntry) -> NDArray[numpy.float64] | None:
    """A row for each op, a column for each figure; None where the bytes do not fit."""
    head = entry.head
    assert isinstance(head, PassHead)
    if not head.figures or head.num_ops < 0 or entry.num_bytes != 8 * head.num_ops * len(head.figures):
        return None
    with run.lock:
        data = run.look().data(record_id(entry))
    if data is None or len(data) != entry.num_bytes:
        return None
    return numpy.frombuffer(data, dtype="<f8").reshape(head.num_ops, len(head.figures))


# --- an op over the run ----------------------------------------------------------------------------------


def answer_op_series(source: RunPass, question: OpSeriesQuestion) -> str:
    """The figures of an op in all passes of its run: by its label, as the model may have changed."""
    ops = source.document().ops
    if question.op >= len(ops):
        raise InputError(f"there is no op number {question.op}: {len(ops)} is their number.")
    label = ops[question.op].label
    passes = affordable(_alike(source), _MAX_PASSES)
    names = list(dict.fromkeys(name for entry in passes for name in _head(entry).figures))[:_MAX_FIGURES]
    places: dict[str, int | None] = {source.head.document: question.op}
    steps, times, rows = [], [], []
    for entry in passes:
        place = _place_of(source.run, _head(entry), label, places)
        columns = None if place is None else figures_of(source.run, entry)
        if place is None or columns is None or place >= len(columns):
            continue
        known = dict(zip(_head(entry).figures, map(_known, columns[place]), strict=True))
        steps.append(countable(entry.step) or 0)
        times.append(finite(entry.time) or 0.0)
        rows.append([known.get(name) for name in names])
    answer = OpSeriesAnswer(id=question.id, steps=steps, times=times, figures=names, rows=rows)
    return as_text(answer)


def _alike(source: RunPass) -> Sequence[RecordEntry]:
    """The passes of the same series; where it has no other, those of the same model."""
    entries = list(_passes_of(source.run))
    series = [entry for name, entry in entries if name == source.series]
    if len(series) <= 1:
        series = [entry for _, entry in entries if _head(entry).model_name == source.head.model_name]
    return sorted(series, key=lambda entry: (entry.step, entry.time))


def _head(entry: RecordEntry) -> PassHead:
    assert isinstance(entry.head, PassHead)
    return entry.head


def _place_of(run: OpenRun, head: PassHead, label: str, places: dict[str, int | None]) -> int | None:
    """Where an op of that label stands in a pass; looked up once for all passes that share a document."""
    if head.document not in places:
        try:
            labels = [op.label for op in _document_of(run, head).ops]
        except (FileFormatError, InputError):
            labels = []
        places[head.document] = labels.index(label) if label in labels else None
    return places[head.document]


# --- run answers --------------------------------------------------------------------------------------


# --- The charts that a run asks for, with plain globs in place of its regular expressions -------------
#
# A layout comes with the data, and TensorBoard defines its tags as regular expressions that match from
# the beginning of a name. An expression can be made to take for ever, so none is ever compiled or
# matched. It is parsed, and one that means a few globs is translated here; of any other its text is sent,
# for the page to say so.
#
# In a glob `*` is any text, `?` any one character, and a backslash takes the next character as it is.


_MAX_PATTERN: Final = 500  # characters
_MAX_GLOBS: Final = 100  # of one pattern
_MAX_ALL_GLOBS: Final = 2000  # of a layout: each is held against every name
_MAX_ANSWER_BYTES: Final = 4 << 20


def answer_layout(run: OpenRun, question: LayoutQuestion) -> str:
    with run.lock:
        entries = run.look().records("layout", question.name)
    head = entries[-1].head if entries else None  # the last one holds
    groups = shown_layout(head.groups) if isinstance(head, LayoutHead) else []
    answer = as_json(LayoutAnswer(id=question.id, groups=groups))
    if len(answer) > _MAX_ANSWER_BYTES:
        raise InputError("this layout is too large to be shown. The charts by name are there all the same.")
    return answer.decode()


def shown_layout(groups: Iterable[LayoutGroup]) -> list[ShownLayoutGroup]:
    translation = _Translation()
    return [
        ShownLayoutGroup(
            title=group.title, charts=[_shown_chart(chart, translation) for chart in group.charts]
        )
        for group in groups
    ]


def _shown_chart(chart: LayoutChart, translation: _Translation) -> ShownLayoutChart:
    names, globs, not_supported = list(chart.names), list[str](), list[str]()
    for pattern in chart.names if chart.form == "lines" else ():
        try:
            sequences = translation.sequences(pattern)
        except _NotSupportedError:
            not_supported.append(pattern)
            continue
        names += [_name(one) for one in sequences if _is_name(one)]
        globs += [_glob(one) for one in sequences if not _is_name(one)]
    return ShownLayoutChart(
        title=chart.title,
        form=chart.form,
        names=names if chart.form == "margin" else list(dict.fromkeys(names)),
        globs=list(dict.fromkeys(globs)),
        not_supported=list(dict.fromkeys(not_supported)),
    )


# --- regular expressions as globs ------------------------------------------------------------------------


class _Mark(Enum):
    """What may stand in a sequence besides characters."""

    ONE = "any one character"
    MANY = "any text"
    START = "the beginning of the name"
    END = "the end of the name"


_Sequence = tuple[str | _Mark, ...]
_PLACES: Final = {"AT_BEGINNING": _Mark.START, "AT_END": _Mark.END, "AT_END_STRING": _Mark.END}


class _NotSupportedError(Exception):
    """This expression means no few globs, or nothing at all."""


class _Translation:
    """Of all the expressions of a layout, which together have a limit."""

    def __init__(self) -> None:
        self._left = _MAX_ALL_GLOBS

    def sequences(self, pattern: str) -> list[_Sequence]:
        """All that an expression can match, from the beginning of a name to its end."""
        if len(pattern) > _MAX_PATTERN:
            raise _NotSupportedError
        try:
            tree = _parser.parse(pattern)  # which takes no time; to match is what may take for ever
        except (re.error, RecursionError, OverflowError, Warning):
            raise _NotSupportedError from None
        if tree.state.flags & ~re.UNICODE:
            raise _NotSupportedError
        found = [_bounded(one) for one in _sequences(tree, min(_MAX_GLOBS, self._left))]
        self._left -= len(found)
        return found


def _sequences(tree: Any, most: int) -> list[_Sequence]:
    """What a row of pieces can match, multiplied out."""
    rows: list[_Sequence] = [()]
    for piece, argument in tree:
        ways = _ways(piece.name, argument, most)
        if len(rows) * len(ways) > most:
            raise _NotSupportedError
        rows = [row + way for row in rows for way in ways]
    return rows


def _ways(piece: str, argument: Any, most: int) -> list[_Sequence]:
    """What one piece of a parsed expression can match. Of what is repeated, only any text is a glob."""
    match piece, argument:
        case "LITERAL", code:
            return [(chr(code),)]
        case "ANY", _:
            return [(_Mark.ONE,)]
        case "AT", where if where.name in _PLACES:
            return [(_PLACES[where.name],)]
        case "IN", members:
            return [(one,) for one in dict.fromkeys(_characters(members, most))]
        case "BRANCH", (_, trees):
            return [one for tree in trees for one in _sequences(tree, most)]
        case "SUBPATTERN", (_, 0, 0, tree):
            return _sequences(tree, most)
        case "MAX_REPEAT" | "MIN_REPEAT", (0, 1, tree):
            return [*_sequences(tree, most), ()]
        case "MAX_REPEAT" | "MIN_REPEAT", (0 | 1 as least, _parser.MAXREPEAT, tree):
            if [inner.name for inner, _ in tree] == ["ANY"]:
                return [(*[_Mark.ONE] * least, _Mark.MANY)]
    raise _NotSupportedError


def _characters(members: Any, most: int) -> Iterator[str]:
    """Those of `[a-c_]`."""
    for member, argument in members:
        if member.name == "LITERAL":
            yield chr(argument)
        elif member.name == "RANGE" and argument[1] - argument[0] < most:
            yield from map(chr, range(argument[0], argument[1] + 1))
        elif member.name == "CATEGORY" and argument.name == "CATEGORY_DIGIT":
            yield from string.digits
        else:
            raise _NotSupportedError


def _bounded(sequence: _Sequence) -> _Sequence:
    """Without the marks of beginning and end: what has none at its end may go on."""
    inner = list(sequence)
    while inner and inner[0] is _Mark.START:
        inner.pop(0)
    is_ended = bool(inner) and inner[-1] is _Mark.END
    while inner and inner[-1] is _Mark.END:
        inner.pop()
    if _Mark.START in inner or _Mark.END in inner:
        raise _NotSupportedError
    return tuple(inner if is_ended else [*inner, _Mark.MANY])


def _is_name(sequence: _Sequence) -> bool:
    return not any(isinstance(one, _Mark) for one in sequence)


def _name(sequence: _Sequence) -> str:
    return "".join(one for one in sequence if isinstance(one, str))


def _glob(sequence: _Sequence) -> str:
    written: list[str] = []
    for one in sequence:
        if one is _Mark.MANY:
            if written[-1:] != ["*"]:
                written.append("*")
        elif isinstance(one, str):
            written.append(f"\\{one}" if one in "*?\\" else one)
        else:
            written.append("?")
    return "".join(written)


# --- run answers --------------------------------------------------------------------------------------


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
