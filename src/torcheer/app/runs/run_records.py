"""Records of runs: lists of them, one with its bytes, a tensor as a page shows it, histograms over time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final, TypeVar

import numpy
from numpy.typing import NDArray

from torcheer.app.cache import Cache
from torcheer.app.passes.pass_values import NUMPY_TYPES
from torcheer.app.passes.source import MAX_DIMS, TensorAnswer
from torcheer.app.runs import run_messages as messages
from torcheer.app.runs.open_run import OpenRun
from torcheer.app.runs.scalar_buckets import Floats
from torcheer.app.wire import as_json, binary_frame, copied, countable, finite
from torcheer.errors import FileFormatError, InputError
from torcheer.graph import readable_bytes
from torcheer.run import HistogramHead, RecordEntry, TensorHead, record_id
from torcheer.tensorfile import Array, Figures, as_numbers, as_real, figures_of, look_at, pieces_of

MAX_RECORD_BYTES: Final = 128 << 20  # that are sent
MAX_TENSOR_BYTES: Final = 1 << 30  # that are read to be looked at
MAX_READ_BYTES: Final = 1 << 28  # of all records for one answer
_MAX_LIST_BYTES: Final = 4 << 20
_HELD_BYTES: Final = 1 << 28
_GONE: Final = (
    "this record is not in the run any more: it was thinned out or taken back. Choose another step."
)

Item = TypeVar("Item")


def record_listing(entry: RecordEntry) -> messages.RecordListing:
    return copied(messages.RecordListing, entry, record=record_id(entry), time=finite(entry.time) or 0.0)


def evenly(items: Sequence[Item], most: int) -> Sequence[Item]:
    """So many of them, evenly chosen, the first and the last among them."""
    if len(items) <= most:
        return items
    if most == 1:
        return items[-1:]
    return [items[round(index * (len(items) - 1) / (most - 1))] for index in range(most)]


def affordable(entries: Sequence[RecordEntry], most: int) -> Sequence[RecordEntry]:
    """So many of them, and fewer where they are large: those of one answer are all read."""
    chosen = evenly(entries, most)
    while len(chosen) > 1 and sum(entry.num_bytes for entry in chosen) > MAX_READ_BYTES:
        chosen = evenly(entries, len(chosen) // 2)
    return chosen


def answer_records(run: OpenRun, question: messages.RecordsQuestion) -> str:
    with run.lock:
        entries = run.look().records(question.kind, question.name)
    most = question.most
    while True:
        records = [record_listing(entry) for entry in evenly(entries, most)]
        answer = as_json(messages.RecordsAnswer(id=question.id, num_all=len(entries), records=records))
        # Heads are small; those of somebody else's making need not be.
        if len(answer) <= _MAX_LIST_BYTES or most == 1:
            return answer.decode()
        most = max(1, min(most, len(entries)) // 2)


def entry_of(run: OpenRun, record: str) -> RecordEntry:
    with run.lock:
        entry = run.look().record(record)
    if entry is None:
        raise InputError(_GONE)
    return entry


def data_of(run: OpenRun, record: str, most: int) -> bytes:
    """The bytes of a record. InputError where they are gone, or more than may be read."""
    entry = entry_of(run, record)
    if entry.num_bytes > most:
        raise InputError(_too_large(entry.num_bytes, most))
    with run.lock:
        data = run.look().data(record)
    if data is None:
        raise InputError(_GONE)
    if len(data) > most:
        raise InputError(_too_large(len(data), most))
    return data


def _too_large(num_bytes: int, most: int) -> str:
    return (
        f"this record has {readable_bytes(num_bytes)}, and a page is sent {readable_bytes(most)} at most: "
        "read it in Python with tl.open_run."
    )


def answer_record(run: OpenRun, question: messages.RecordQuestion) -> bytes:
    entry = entry_of(run, question.record)
    data = data_of(run, question.record, MAX_RECORD_BYTES)
    return binary_frame(messages.RecordAnswer(id=question.id, entry=record_listing(entry)), data)


def array_of(head: TensorHead, data: bytes) -> Array:
    """The tensor that a record holds. FileFormatError where its bytes do not fit its shape."""
    dtype = NUMPY_TYPES.get(head.dtype)
    if dtype is None:
        raise FileFormatError(f"the tensor is of type {head.dtype[:40]!r}, which cannot be shown.")
    if len(head.shape) > MAX_DIMS or min(head.shape, default=0) < 0:
        raise FileFormatError("the record says a shape that no tensor has.")
    if math.prod(head.shape) * dtype.itemsize != len(data):
        raise FileFormatError(
            f"the record is damaged: its {len(data):,} bytes are no {head.dtype} of shape {head.shape}."
        )
    array = numpy.frombuffer(data, dtype=dtype.newbyteorder("<")).reshape(head.shape)
    return array != 0 if head.dtype == "bool" else array


class RunTensors:
    """Tensors of runs for the page. Those that were looked at last are at hand, with their figures."""

    def __init__(self) -> None:
        self._held: Cache[tuple[Array, Figures]] = Cache(_HELD_BYTES)

    def answer(self, run: OpenRun, question: messages.RunTensorQuestion) -> bytes:
        entry = entry_of(run, question.record)
        head = entry.head
        if not isinstance(head, TensorHead):
            raise InputError("this record is no tensor: its own view shows it.")
        key = (run, question.record, entry.time)
        held = self._held.get(key)
        if held is None:
            array = array_of(head, data_of(run, question.record, MAX_TENSOR_BYTES))
            held = array, figures_of(array, head.dtype)
            self._held.put(key, held, array.nbytes)
        array, figures = held
        view, values = look_at(array, head.dtype, question.window, figures=figures)
        return binary_frame(TensorAnswer(id=question.id, view=view), values)


_AT_A_TIME: Final = 32  # records that are read while others wait for the run
_MAX_KEPT_ROWS: Final = 8192
_MAX_BINS: Final = 1 << 20  # of a histogram that somebody wrote
_NONE: Final = "there is no histogram that can be read in this series."

_LARGEST: Final = float(numpy.finfo(numpy.float64).max)

Span = tuple[float, float]
Source = tuple[Floats, Floats]  # edges, one more than counts; counts


class Distributions:
    """Histograms for the page. Rows that were made last are at hand: most of them stay as they are."""

    def __init__(self) -> None:
        self._rows: Cache[Floats] = Cache(_MAX_KEPT_ROWS)

    def answer(self, run: OpenRun, question: messages.HistogramsQuestion) -> bytes:
        with run.lock:
            entries = run.look().records(question.kind, question.name)
        chosen = affordable(entries, question.num_steps)
        sources = list(_histograms(run, chosen))
        spans = [_span(entry, source) for entry, source in zip(chosen, sources, strict=True)]
        low, high = span = _widened([one for one in spans if one is not None])
        rows = [
            None if its_span is None else self._row(run, entry, source, span, question.num_bins)
            for entry, source, its_span in zip(chosen, sources, spans, strict=True)
        ]
        kept = [(entry, row) for entry, row in zip(chosen, rows, strict=True) if row is not None]
        if not kept:
            raise InputError(_NONE)
        answer = messages.HistogramsAnswer(
            id=question.id,
            steps=[countable(entry.step) or 0 for entry, _ in kept],
            low=low,
            high=high,
            num_bins=question.num_bins,
            num_all=len(entries),
        )
        return binary_frame(answer, b"".join(row.astype("<f8").tobytes() for _, row in kept))

    def _row(
        self, run: OpenRun, entry: RecordEntry, source: Source | None, span: Span, num_bins: int
    ) -> Floats | None:
        if source is not None:
            return resampled(source, span, num_bins)
        key = (run, record_id(entry), entry.time, span, num_bins)
        row = self._rows.get(key)
        if row is None:
            row = _counted(run, entry, span, num_bins)
            if row is not None:
                self._rows.put(key, row)
        return row


def _span(entry: RecordEntry, source: Source | None) -> Span | None:
    """From the lowest to the highest value of a record; None where it has none or cannot be read."""
    head = entry.head
    if isinstance(head, TensorHead):
        low, high = finite(head.min), finite(head.max)
        return None if low is None or high is None or low > high else (low, high)
    if source is None:
        return None
    edges, counts = source
    filled = numpy.flatnonzero(counts)
    return (float(edges[filled[0]]), float(edges[filled[-1] + 1])) if len(filled) else None


def _widened(spans: Sequence[Span]) -> Span:
    """A span that holds all of them, and is not empty."""
    if not spans:
        return 0.0, 1.0
    low, high = min(low for low, _ in spans), max(high for _, high in spans)
    if low == high:
        half = max(0.5, abs(low) * 2.0**-40)  # so that a large number has room on both sides, too
        low, high = max(low - half, -_LARGEST), min(high + half, _LARGEST)
    return low, high


def _histograms(run: OpenRun, entries: Sequence[RecordEntry]) -> Iterator[Source | None]:
    """Histograms as they were logged; None for those that cannot be read, and for tensors."""
    for first in range(0, len(entries), _AT_A_TIME):
        some = entries[first : first + _AT_A_TIME]
        with run.lock:
            reader = run.look()
            with reader.holding():
                data = [
                    reader.data(record_id(entry)) if isinstance(entry.head, HistogramHead) else None
                    for entry in some
                ]
        yield from map(_histogram, some, data)


def _histogram(entry: RecordEntry, data: bytes | None) -> Source | None:
    """Its edges and counts, its ends drawn in to its lowest and highest value."""
    head = entry.head
    if not isinstance(head, HistogramHead) or data is None or not 0 < head.num_bins <= _MAX_BINS:
        return None
    if len(data) != 8 * (2 * head.num_bins + 1):
        return None
    numbers = numpy.frombuffer(data, dtype="<f8")
    edges, counts = numbers[: head.num_bins + 1], numbers[head.num_bins + 1 :]
    if numpy.isnan(edges).any() or (edges[1:] < edges[:-1]).any():
        return None
    if not numpy.isfinite(counts).all() or (counts < 0).any():
        return None
    low, high = finite(head.min), finite(head.max)
    low, high = -_LARGEST if low is None else low, _LARGEST if high is None else high
    return numpy.clip(edges, min(low, high), max(low, high)), counts


def resampled(source: Source, span: Span, num_bins: int) -> Floats:
    """Counts on equal bins. What a bin holds is shared out by how much of it lies in each of the new ones."""
    edges, counts = source
    is_point = edges[1:] == edges[:-1]  # all of its values are alike
    low, high = span
    part = numpy.linspace(0.0, 1.0, num_bins + 1)
    new_edges = low * (1.0 - part) + high * part
    wide = numpy.where(is_point, 0.0, counts)
    below = numpy.concatenate(([0.0], numpy.cumsum(wide)))
    # Halved: the distance between the ends of what somebody wrote may be no number.
    shares = numpy.interp(new_edges / 2, edges / 2, below, left=0.0, right=float(below[-1]))
    row: Floats = numpy.diff(shares)
    points = numpy.flatnonzero(is_point & (counts > 0))
    places = numpy.searchsorted(new_edges, edges[points], "right") - 1
    numpy.add.at(row, numpy.clip(places, 0, num_bins - 1), counts[points])
    return row


def _counted(run: OpenRun, entry: RecordEntry, span: Span, num_bins: int) -> Floats | None:
    """The values of a tensor, counted into equal bins; None where they cannot be read."""
    if not isinstance(entry.head, TensorHead) or entry.num_bytes > MAX_READ_BYTES:
        return None
    with run.lock:
        data = run.look().data(record_id(entry))
    if data is None or len(data) > MAX_READ_BYTES:
        return None
    try:
        array = array_of(entry.head, data)
    except FileFormatError:
        return None
    row: NDArray[numpy.float64] = numpy.zeros(num_bins)
    for piece, times in pieces_of(array):
        # Halved: the distance from the lowest to the highest value may be no number.
        values = as_real(as_numbers(piece, entry.head.dtype)).astype(numpy.float64) / 2
        values = values[numpy.isfinite(values)]
        row += times * numpy.histogram(values, bins=num_bins, range=(span[0] / 2, span[1] / 2))[0]
    return row
