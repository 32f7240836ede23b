"""Records of runs: what there is of a series, one with its bytes, and a tensor as a page looks at it."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final, TypeVar

import numpy

from torcheer.app.frames import as_json, binary_frame
from torcheer.app.messages import MAX_DIMS, TensorAnswer
from torcheer.app.runmessages import (
    RecordAnswer,
    RecordListing,
    RecordQuestion,
    RecordsAnswer,
    RecordsQuestion,
    RunTensorQuestion,
)
from torcheer.app.runs.listing import countable, finite
from torcheer.app.runs.openrun import OpenRun
from torcheer.app.storedarrays import NUMPY_TYPES
from torcheer.errors import FileFormatError, InputError
from torcheer.graph import readable_bytes
from torcheer.run import RecordEntry, TensorHead, record_id
from torcheer.tensorfile import Array, Figures, figures_of, look_at

MAX_RECORD_BYTES: Final = 128 << 20  # that are sent
MAX_TENSOR_BYTES: Final = 1 << 30  # that are read to be looked at
MAX_READ_BYTES: Final = 1 << 28  # of all records for one answer
_MAX_LIST_BYTES: Final = 4 << 20
_HELD_BYTES: Final = 1 << 28
_HELD_FIGURES: Final = 512
_GONE: Final = (
    "this record is not in the run any more: it was thinned out or taken back. Choose another step."
)

_Key = tuple[OpenRun, str, float]
Item = TypeVar("Item")


def record_listing(entry: RecordEntry) -> RecordListing:
    return RecordListing(
        record=record_id(entry),
        step=countable(entry.step) or 0,
        time=finite(entry.time) or 0.0,
        num_bytes=entry.num_bytes,
        head=entry.head,
    )


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


def answer_records(run: OpenRun, question: RecordsQuestion) -> str:
    with run.lock:
        entries = run.look().records(question.kind, question.name)
    most = question.most
    while True:
        records = [record_listing(entry) for entry in evenly(entries, most)]
        answer = as_json(RecordsAnswer(id=question.id, num_all=len(entries), records=records))
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


def answer_record(run: OpenRun, question: RecordQuestion) -> bytes:
    entry = entry_of(run, question.record)
    data = data_of(run, question.record, MAX_RECORD_BYTES)
    return binary_frame(RecordAnswer(id=question.id, entry=record_listing(entry)), data)


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
        self._lock = threading.Lock()  # of the tables: several runs may be read at a time
        self._held: OrderedDict[_Key, Array] = OrderedDict()
        self._figures: OrderedDict[_Key, Figures] = OrderedDict()

    def answer(self, run: OpenRun, question: RunTensorQuestion) -> bytes:
        entry = entry_of(run, question.record)
        head = entry.head
        if not isinstance(head, TensorHead):
            raise InputError("this record is no tensor: its own view shows it.")
        key = (run, question.record, entry.time)
        with self._lock:
            array, figures = self._held.get(key), self._figures.get(key)
        if array is None:
            array = array_of(head, data_of(run, question.record, MAX_TENSOR_BYTES))
        if figures is None:
            figures = figures_of(array, head.dtype)
        self._keep(key, array, figures)
        view, values = look_at(array, head.dtype, question.window, figures=figures)
        return binary_frame(TensorAnswer(id=question.id, view=view), values)

    def _keep(self, key: _Key, array: Array, figures: Figures) -> None:
        with self._lock:
            self._held[key], self._figures[key] = array, figures
            self._held.move_to_end(key)
            self._figures.move_to_end(key)
            num_bytes = sum(one.nbytes for one in self._held.values())
            while num_bytes > _HELD_BYTES and len(self._held) > 1:
                num_bytes -= self._held.popitem(last=False)[1].nbytes
            while len(self._figures) > _HELD_FIGURES:
                self._figures.popitem(last=False)
