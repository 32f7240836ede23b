"""Passes that were put into runs, on the shelf beside those that were saved."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
import numpy
from numpy.typing import NDArray

from torcheer.app.passes.saved import NewerDocumentError, decode_document, without_values
from torcheer.app.passes.source import PassListing
from torcheer.app.runs.open_run import OpenRun
from torcheer.app.runs.run_messages import OpSeriesAnswer, OpSeriesQuestion
from torcheer.app.runs.run_records import affordable
from torcheer.app.runs.run_shelf import Summary
from torcheer.app.wire import as_text, clipped, countable
from torcheer.errors import FileFormatError, InputError
from torcheer.graph import PassDocument
from torcheer.run import PassHead, RecordEntry, record_id
from torcheer.tensorfile import TensorKind, TensorView, Window

_MAX_LISTED: Final = 2000
_MAX_PASSES: Final = 2000  # that the figures of an op are collected from
_MAX_FIGURES: Final = 64
_GONE: Final = "this pass is not in its run any more. Choose one from the list of passes."


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
            head = _head(entry)
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
        self.run = run
        self.name = series
        self.head = _head(entry)
        self._entry = entry
        self._document: PassDocument | None = None

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
        return "values of a pass in a run are not kept: history.save keeps them."

    def figures(self, name: str) -> Sequence[float | None] | str:
        if name != "zeros":
            return f"a pass in a run has no figure {name[:20]!r} for its ops: 'zeros' is there."
        columns = figures_of(self.run, self._entry)
        if "zeros" not in self.head.figures or columns is None:
            return (
                "the values of this pass were not there when it was put into the run, so nothing is known of "
                "them."
            )
        column = columns[:, self.head.figures.index("zeros")]
        num_ops = len(self.document().ops)
        return [_known(value) for value in column[:num_ops]] + [None] * (num_ops - len(column))


def _known(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _document_of(run: OpenRun, head: PassHead) -> PassDocument:
    with run.lock:
        text = run.look().document(head.document)
    if text is None:
        raise InputError(_GONE)
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
    head = _head(entry)
    if not head.figures or head.num_ops < 0 or entry.num_bytes != 8 * head.num_ops * len(head.figures):
        return None
    with run.lock:
        data = run.look().data(record_id(entry))
    if data is None or len(data) != entry.num_bytes:
        return None
    return numpy.frombuffer(data, dtype="<f8").reshape(head.num_ops, len(head.figures))


def answer_op_series(source: RunPass, question: OpSeriesQuestion) -> str:
    """The figures of an op in all passes of its run: by its label, as the model may have changed."""
    ops = source.document().ops
    if question.op >= len(ops):
        raise InputError(f"there is no op number {question.op}: {len(ops)} is their number.")
    label = ops[question.op].label
    passes = affordable(_alike(source), _MAX_PASSES)
    names = list(dict.fromkeys(name for entry in passes for name in _head(entry).figures))[:_MAX_FIGURES]
    places: dict[str, int | None] = {source.head.document: question.op}
    steps, rows = [], []
    for entry in passes:
        place = _place_of(source.run, _head(entry), label, places)
        columns = None if place is None else figures_of(source.run, entry)
        if place is None or columns is None or place >= len(columns):
            continue
        known = dict(zip(_head(entry).figures, map(_known, columns[place]), strict=True))
        steps.append(countable(entry.step) or 0)
        rows.append([known.get(name) for name in names])
    answer = OpSeriesAnswer(id=question.id, steps=steps, figures=names, rows=rows)
    return as_text(answer)


def _alike(source: RunPass) -> Sequence[RecordEntry]:
    """The passes of the same series; where it has no other, those of the same model."""
    entries = list(_passes_of(source.run))
    series = [entry for name, entry in entries if name == source.name]
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
