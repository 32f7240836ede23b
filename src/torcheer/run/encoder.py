"""A thread that encodes records: a large picture takes seconds, and numbers must not wait for it."""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import NamedTuple

from torcheer.errors import InputError
from torcheer.run.batches import MOST_RECORD_BYTES, Batch, tell_too_large
from torcheer.run.observations import Bulk, EncodedRecord, Observation
from torcheer.run.queueing import Mark, Queue
from torcheer.run.telling import Teller

_BATCH_BYTES = 16 << 20
_WAKING_BYTES = 4 << 20  # that are ready; less waits until the writer comes by itself
_WAKING_RECORDS = 128
_WHILE_SECONDS = 0.1  # after which it says how fast it is
_STOP_SECONDS = 1.0  # what is being encoded when the run ends is waited for


class _Ready(NamedTuple):
    """Encoded, or not to be had."""

    observation: Observation
    record: EncodedRecord | None


class Encoder:
    """Takes observations from the writer, and gives records back, in the same order.

    Marks go through it as well: when one comes out, all that was logged before it has come out, too.
    """

    def __init__(self, queue: Queue, teller: Teller) -> None:
        self._queue = queue
        self._teller = teller
        self._waiting: deque[Observation | Mark] = deque()
        self._ready: deque[_Ready | Bulk | Mark] = deque()
        # Each of the two is counted by one thread only, and so needs no lock.
        self._num_bytes_in = 0
        self._num_bytes_out = 0
        self._is_wanted = threading.Event()
        self._is_working = False  # at something that is in neither of the two
        self._item: Observation | Mark | None = None  # at which it works
        self._is_urgent = False
        self._is_stopped = False
        self._thread: threading.Thread | None = None

    @property
    def is_idle(self) -> bool:
        # In the order in which things move, so that none is missed on its way.
        return not self._waiting and not self._is_working and not self._ready

    @property
    def is_encoding(self) -> bool:
        return bool(self._waiting) or self._is_working

    def add(self, item: Observation | Mark) -> None:
        if isinstance(item, Mark) and not self._waiting and not self._is_working:
            self._ready.append(item)
            return
        self._waiting.append(item)
        if self._thread is None:
            self._start()
        self._is_wanted.set()

    def pass_on(self, bulk: Bulk) -> None:
        """Records that are encoded already do not wait for those that are not; marks wait for both."""
        self._ready.append(bulk)

    def hurry(self) -> None:
        """The run is ending: wake the writer as soon as all is encoded."""
        self._is_urgent = True
        self._is_wanted.set()

    def can_fill(self, batch: Batch) -> bool:
        return bool(self._ready) and batch.num_bytes < _BATCH_BYTES

    def fill(self, batch: Batch) -> None:
        """As many records as go into one batch."""
        while self.can_fill(batch):
            item = self._ready.popleft()
            if isinstance(item, Mark):
                batch.marks.append(item)
                continue
            if isinstance(item, Bulk):
                batch.num_taken += item.weight
                batch.num_bytes += item.num_bytes
                batch.records.extend(item.records)
                continue
            self._num_bytes_out += item.observation.num_bytes
            batch.num_taken += 1
            batch.num_bytes += item.observation.num_bytes
            if item.record is not None:
                batch.records.append(item.record)

    def stop(self) -> list[Observation | Bulk | Mark]:
        """End the thread. What it has not given back is left to the caller."""
        self._is_stopped = True
        self._is_wanted.set()
        if self._thread is not None:
            self._thread.join(_STOP_SECONDS)
        left: list[Observation | Bulk | Mark] = [item for item in (self._item,) if item is not None]
        left += [item for item in self._ready if isinstance(item, Mark | Bulk)]
        left += [item.observation for item in self._ready if isinstance(item, _Ready) and item.record]
        left += self._waiting
        self._ready.clear()
        self._waiting.clear()
        return left

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._work, name="torcheer encoder", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:  # no more threads: it is done in the writer's
            while self._waiting:
                self._encode_next()
            self._thread = None

    def _work(self) -> None:
        while not self._is_stopped:
            self._is_wanted.wait()
            self._is_wanted.clear()
            while self._waiting and not self._is_stopped:
                self._encode_a_while()
            if self._is_urgent:
                self._queue.force()

    def _encode_a_while(self) -> None:
        started, num_records, num_bytes = time.monotonic(), 0, 0
        while self._waiting and not self._is_stopped and time.monotonic() - started < _WHILE_SECONDS:
            num_bytes += self._encode_next()
            num_records += 1
            self._queue.note_progress()
        self._queue.note_pace(num_records, num_bytes, time.monotonic() - started)

    def _encode_next(self) -> int:
        """How many bytes it held before."""
        self._is_working = True
        try:
            item = self._item = self._waiting.popleft()
            if isinstance(item, Mark):
                self._ready.append(item)
                self._queue.force()
                return 0
            ready = _Ready(item, _encode(item, self._teller))
            self._num_bytes_in += item.num_bytes
            self._ready.append(ready)
        except IndexError:  # stopped at this instant
            return 0
        finally:
            self._is_working = False
            self._item = None
        is_much = self._num_bytes_in - self._num_bytes_out > _WAKING_BYTES
        if is_much or len(self._ready) > _WAKING_RECORDS:
            self._queue.wake.set()
        return item.num_bytes


def _encode(observation: Observation, teller: Teller) -> EncodedRecord | None:
    what = f"{observation.kind} '{observation.name}'"
    try:
        encoded = observation.encode()
        if not isinstance(encoded.data, bytes):
            raise TypeError(f"its data are no bytes but a {type(encoded.data).__name__}")
    except InputError as error:
        _tell(teller, observation, f"{what}: {error}")
        return None
    except Exception as error:
        _tell(teller, observation, f"{what} cannot be written: {type(error).__name__}: {error}")
        return None
    if len(encoded.data) > MOST_RECORD_BYTES:
        tell_too_large(teller, observation, len(encoded.data))
        return None
    return EncodedRecord(
        observation.kind,
        observation.name,
        observation.step,
        observation.time,
        encoded.head,
        encoded.data,
        observation.description,
        encoded.document,
    )


def _tell(teller: Teller, observation: Observation, message: str) -> None:
    teller.tell(message, cause=f"encoding of {observation.kind}", series=observation.name, num_dropped=1)
