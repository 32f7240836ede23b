"""The writer: a thread that takes what was logged and puts it on disk, a batch at a time."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from torcheer.errors import InputError
from torcheer.run.records import Bulk, EncodedRecord, Observation
from torcheer.run.warnings_once import WarningsOnce
from torcheer.run.write.disk import Disk
from torcheer.run.write.point_blocks import Call, columns_of
from torcheer.run.write.process_end import Ending
from torcheer.run.write.queue import (
    MOST_RECORD_BYTES,
    Batch,
    Mark,
    Queue,
    num_events_in,
    tell_too_large,
)

_INTERVAL_SECONDS = 0.2
_LOOK_SECONDS = 0.5


class Writer:
    """The queue of a run, and the thread that empties it."""

    def __init__(self, disk: Disk, teller: WarningsOnce) -> None:
        self.queue = Queue()
        self.is_closed = False
        self._disk = disk
        self._teller = teller
        self._begin()

    def _begin(self) -> None:
        """With no thread: at the beginning, and in a forked child."""
        self.busy = threading.RLock()  # held while SQLite is at work
        self._starting = threading.RLock()  # the handler of a signal may close the run
        self._thread: threading.Thread | None = None
        self._encoder = Encoder(self.queue, self._teller)
        self._batch: Batch | None = None  # prepared, and not written yet
        self._num_attempts = 0
        self._failed_attempt = 0
        self._ending: Ending | None = None
        self._is_over = False  # nothing more is written

    def open(self) -> None:
        """At once, so that the run is there from the beginning. Where it fails, it is tried again later."""
        with self.busy:
            self._disk.write(Batch())

    def ensure_running(self) -> bool:
        """Start the thread where there is none. False: nothing is taken any more."""
        with self._starting:
            if self.is_closed:
                return False
            if not self.queue.is_running:
                name = f"torcheer {self._disk.folder.name}"
                thread = threading.Thread(target=self._work, name=name, daemon=True)
                try:
                    thread.start()
                except RuntimeError as error:  # the interpreter is ending, or there are too many threads
                    self._teller.tell(
                        f"the run {self._disk.folder} is not written: {error}", cause="no thread"
                    )
                    return False
                self._thread = thread
                self.queue.is_running = True
        return True

    def flush(self, timeout: float) -> bool:
        """True if all that was logged before is on disk. Does not wait for a disk that refuses."""
        if not self.queue.is_running or threading.current_thread() is self._thread:
            return not self.queue.items and self._encoder.is_idle and self._batch is None
        attempts = self._num_attempts
        mark = self.mark(hurry=True)
        with self.queue.news:
            self.queue.news.wait_for(lambda: mark.is_settled or self._failed_attempt > attempts, timeout)
        return mark.is_done

    def mark(self, *, hurry: bool) -> Mark:
        """Settled when what was logged before is on disk. Where nobody writes, nothing can be waited for."""
        mark = Mark()
        if not self.queue.is_running:
            mark.settle(is_done=self._batch is None and not self.queue.items and self._encoder.is_idle)
            return mark
        self.queue.items.append(mark)
        if hurry:
            self.queue.force()
        return mark

    def close_with(self, ending: Ending, patience: float) -> bool:
        """Write what is there and say how it ended.

        It waits while that makes progress, and `patience` seconds longer. False: it goes on without us.
        """
        with self._starting:
            if not self.is_closed:
                self._ending = ending
            self.is_closed = True
            self.queue.is_running = False
            thread = self._thread
        if thread is None:
            return self._finish_within(patience)
        self.queue.force()
        if thread is threading.current_thread():
            return False
        progress, waited_from = self.queue.progress, time.monotonic()
        while thread.is_alive() and time.monotonic() - waited_from < patience:
            thread.join(_LOOK_SECONDS)
            if self.queue.progress != progress:
                progress, waited_from = self.queue.progress, time.monotonic()
        return not thread.is_alive()

    def cut_off(self) -> None:
        """The program ends and the writing does not: what is left is lost, and the run says so."""
        num_dropped = self._teller.num_dropped
        is_free = self._finish_within(_LOOK_SECONDS)
        num_lost = self._teller.num_dropped - num_dropped
        self._teller.tell(
            f"the run {self._disk.folder}: the program ends before all is written, "
            + (f"and {num_lost} events are lost." if is_free else "and the disk does not answer.")
            + " run.close() waits longer.",
            cause="cut off",
        )

    def renew_after_fork(self) -> None:
        """In the child: all that was going on is the parent's. The next event begins anew."""
        self._disk.renew_after_fork()
        self._teller.renew()
        self.queue.renew()
        self._begin()

    def _work(self) -> None:
        while True:
            self.queue.wake.wait(self._disk.seconds_to_retry() or _INTERVAL_SECONDS)
            self.queue.wake.clear()
            is_last = self._ending is not None  # asked first: all that was logged before it is taken below
            if is_last:
                self._encoder.hurry()
            try:
                self._drain()
            except Exception as error:  # a fault of our own must not end the writing
                self._teller.tell(
                    f"the run {self._disk.folder}: {type(error).__name__}: {error}", cause="unexpected"
                )
                self._lose()
            if self._is_over or (is_last and self._is_done()):
                break
        with self.busy:
            self._finish()

    def _is_done(self) -> bool:
        """True if nothing more can be written."""
        if self._batch is None:
            return self._encoder.is_idle
        return self.queue.is_stuck or not (self._encoder.is_encoding or self._encoder.can_fill(self._batch))

    def _drain(self) -> None:
        is_forced, self.queue.is_forced = self.queue.is_forced, False
        if not is_forced and self._disk.seconds_to_retry():
            return
        while True:
            with self.busy:  # let go between two batches: somebody may want to fork
                if self._is_over or not self._write_next():
                    return

    def _write_next(self) -> bool:
        """One batch. False: there is none, or it could not be written."""
        if self._batch is None:
            self._batch = Batch()
        # Where records of an earlier one wait for room on the disk, the numbers since then do not.
        if not self._batch.columns:
            self._take_into(self._batch)
        if not self._batch.is_empty:
            self._num_attempts += 1
            if not self._disk.write(self._batch):
                self.queue.is_short_of_room = not self._batch.columns
                self.queue.is_stuck = not self.queue.is_short_of_room
                return self._go_on(self._batch)
        elif not self._batch.marks and not self._batch.num_taken:
            self._batch = None
            self._disk.tidy()
            return False
        self.queue.is_stuck = self.queue.is_short_of_room = False
        self._settle(is_done=not self._disk.is_gone)
        return True

    def _go_on(self, batch: Batch) -> bool:
        """After a failure: whether there is something else that may have room."""
        if self.queue.is_short_of_room:
            if self.queue.items:
                return True
            # In the order in which things move. What is being encoded is waited for until it was tried.
            if self._encoder.is_encoding:
                return False
            if self._encoder.can_fill(batch):
                return True
        self._failed_attempt = self._num_attempts
        self.queue.tell_news()
        return False

    def _take_into(self, batch: Batch) -> None:
        """The numbers that were logged, and what else is encoded by now."""
        calls: list[Call] = []
        for item in self.queue.take():
            # By far the most are plain tuples, and nothing else is.
            if type(item) is tuple:
                calls.append(item)
            elif isinstance(item, Bulk):
                self._encoder.pass_on(item)
            elif isinstance(item, Observation | Mark):
                self._encoder.add(item)
        try:
            batch.columns = columns_of(calls, self._teller)
        except Exception as error:  # nothing that is logged should do this
            num_dropped = sum(map(num_events_in, calls))
            self._teller.tell(
                f"log: {type(error).__name__}: {error}", cause="log, unexpected", num_dropped=num_dropped
            )
        self._encoder.fill(batch)

    def _settle(self, *, is_done: bool) -> None:
        batch, self._batch = self._batch, None
        if batch is not None:
            for mark in batch.marks:
                mark.settle(is_done=is_done)
            self.queue.give_back(batch.num_taken, batch.num_bytes)

    def _lose(self) -> None:
        if self._batch is not None:
            self._teller.drop(self._batch.num_events)
        self._settle(is_done=False)

    def _finish_within(self, seconds: float) -> bool:
        """False where SQLite is still at work after so long."""
        if not self.busy.acquire(timeout=seconds):
            return False
        try:
            self._finish()
        finally:
            self.busy.release()
        return True

    def _finish(self) -> None:
        """What could not be written by now is lost."""
        self._is_over = True
        self._lose()
        for item in (*self._encoder.stop(), *self.queue.take_all()):
            if isinstance(item, Mark):
                item.settle(is_done=False)
            self._teller.drop(num_events_in(item))
        self.queue.tell_news()
        if self._ending is not None:
            self._disk.end(self._ending)
            self._ending = None


_BATCH_BYTES = 16 << 20
_WAKING_BYTES = 4 << 20  # in the queue; less waits until the writer comes by itself
_WAKING_RECORDS = 128  # that are ready
_STOP_SECONDS = 1.0  # what is being encoded when the run ends is waited for


class _Ready(NamedTuple):
    """What is encoded: records, or none where it could not be. What the queue counts for them."""

    item: Observation | Bulk | Mark
    records: Sequence[EncodedRecord]


class Encoder:
    """Takes observations from the writer, and gives records back, in the same order.

    Marks go through it as well: when one comes out, all that was logged before it has come out, too.
    """

    def __init__(self, queue: Queue, teller: WarningsOnce) -> None:
        self._queue = queue
        self._teller = teller
        # The first one stays until it is among those that are ready.
        self._waiting: deque[Observation | Mark] = deque()
        self._ready: deque[_Ready] = deque()
        self._is_wanted = threading.Event()
        self._is_urgent = False
        self._is_stopped = False
        self._thread: threading.Thread | None = None

    @property
    def is_idle(self) -> bool:
        # In the order in which things move, so that none is missed on its way.
        return not self._waiting and not self._ready

    @property
    def is_encoding(self) -> bool:
        return bool(self._waiting)

    def add(self, item: Observation | Mark) -> None:
        if isinstance(item, Mark) and not self._waiting:
            self._ready.append(_Ready(item, ()))
            return
        self._waiting.append(item)
        if self._thread is None:
            self._start()
        self._is_wanted.set()

    def pass_on(self, bulk: Bulk) -> None:
        """Records that are encoded already do not wait for those that are not; marks wait for both."""
        self._ready.append(_Ready(bulk, bulk.records))

    def hurry(self) -> None:
        """The run is ending: wake the writer as soon as all is encoded."""
        self._is_urgent = True
        self._is_wanted.set()

    def can_fill(self, batch: Batch) -> bool:
        # Behind records that wait for room on the disk, all that comes is tried: it may be small.
        return bool(self._ready) and (batch.num_bytes < _BATCH_BYTES or self._queue.is_short_of_room)

    def fill(self, batch: Batch) -> None:
        """As many records as go into one batch."""
        while self.can_fill(batch):
            item, records = self._ready.popleft()
            if isinstance(item, Mark):
                batch.marks.append(item)
                continue
            batch.num_taken += item.weight
            batch.num_bytes += item.num_bytes
            batch.records.extend(records)

    def stop(self) -> list[Observation | Bulk | Mark]:
        """End the thread. What it has not given back is left to the caller."""
        self._is_stopped = True
        self._is_wanted.set()
        if self._thread is not None:
            self._thread.join(_STOP_SECONDS)
        left = [ready.item for ready in self._ready if ready.records or isinstance(ready.item, Mark)]
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
                with suppress(IndexError):  # stopped at this instant
                    self._encode_next()
            if self._is_urgent:
                self._queue.force()

    def _encode_next(self) -> None:
        item = self._waiting[0]
        record = None if isinstance(item, Mark) else _encode(item, self._teller)
        self._ready.append(_Ready(item, () if record is None else (record,)))
        self._waiting.popleft()
        self._queue.progress += 1
        if isinstance(item, Mark):
            self._queue.force()
        elif self._queue.num_bytes > _WAKING_BYTES or len(self._ready) > _WAKING_RECORDS:
            self._queue.wake.set()


def _encode(observation: Observation, teller: WarningsOnce) -> EncodedRecord | None:
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


def _tell(teller: WarningsOnce, observation: Observation, message: str) -> None:
    teller.tell(message, cause=f"encoding of {observation.kind}", series=observation.name, num_dropped=1)
