"""One run while it is looked at: its reader, which is opened when it is needed and closed when others are."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from torcheer.app.runs.arrays import ArrayStore, SeriesArrays
from torcheer.app.runs.places import RunPlace
from torcheer.app.runs.strips import Strips
from torcheer.app.turns import Turns
from torcheer.run import InterruptedReading, RunReader, interruptible

Opener = Callable[[Path], RunReader]

_FRESH_SECONDS: Final = 0.05  # what was looked at so lately need not be looked at again
SLICE_SECONDS: Final = 0.1  # of a look at a run
_LIVELY_SECONDS: Final = 30.0  # after a change, whatever the run says of itself
_QUICK_SECONDS: Final = 0.02


class OpenRun:
    """A run. Whoever uses its reader holds the lock. Questions take turns first, to hold up no threads."""

    def __init__(self, place: RunPlace, opener: Opener, arrays: ArrayStore) -> None:
        self.place = place
        self.turns = Turns()  # of those who follow it
        self.slow_turns = Turns()  # of questions that may take their time: the news goes on beside them
        self.lock = threading.RLock()
        self.version = 0  # rises whenever there is news
        self.looks_seconds = float("inf")  # of a processor, for the last look
        self.looked_at = float("-inf")  # by time.monotonic()
        self.is_running = True  # until it is known
        self.changed_at = float("-inf")  # by time.monotonic()
        self.strips = Strips()  # as the reader, for whoever holds the lock
        self._opener = opener
        self._arrays = arrays
        self._reader: RunReader | None = None
        self._is_read = False  # once, from beginning to end

    @property
    def is_open(self) -> bool:
        return self._reader is not None

    @property
    def is_quick(self) -> bool:
        """Whether a look takes so little time that many runs can be looked at one after the other."""
        return self.looks_seconds < _QUICK_SECONDS

    def is_lively(self, now: float) -> bool:
        """Whether there may be news at any moment."""
        return self.is_open and (self.is_running or now - self.changed_at < _LIVELY_SECONDS)

    def look(self) -> RunReader:
        """The reader, with what was written by now. The lock is held by whoever asks.

        Where that takes long it is interrupted, so that others have their turn: look again.
        """
        began, began_work = time.monotonic(), time.thread_time()
        if self._reader is not None and self._is_read and began - self.looked_at < _FRESH_SECONDS:
            return self._reader
        try:
            with interruptible(seconds=SLICE_SECONDS):
                return self._look(began)
        except InterruptedReading:
            raise  # the next look goes on with it
        except BaseException:
            self.close()
            raise
        finally:
            self.looked_at = time.monotonic()
            self.looks_seconds = time.thread_time() - began_work

    def _look(self, now: float) -> RunReader:
        is_first = self._reader is None or not self._is_read
        if self._reader is None:
            self._reader = self._opener(self.place.path)
        if self._reader.refresh() or is_first:
            self.version += 1
            self.changed_at = self.changed_at if is_first else now
        self._is_read = True
        self.is_running = self._reader.status().state in ("running", "unknown")
        return self._reader

    def arrays(self, name: str) -> SeriesArrays:
        """The points of a scalar as of the last look. The lock is held by whoever asks."""
        reader = self._reader or self.look()
        arrays = self._arrays.get(self, name)
        arrays.read_on(reader, name)
        self._arrays.tidy(self, name)
        return arrays

    def has_arrays(self, name: str) -> bool:
        return self._arrays.has(self, name)

    def close(self) -> None:
        """Close the reader until it is needed again."""
        with self.lock:
            reader, self._reader = self._reader, None
            self._is_read = False
            self._arrays.drop(self)  # their cursors are those of the reader
            self.strips = Strips()
            if reader is not None:
                reader.close()

    def close_if_idle(self) -> bool:
        """Close it unless somebody uses it this moment; whether it is closed now."""
        if not self.lock.acquire(blocking=False):
            return False
        try:
            self.close()
        finally:
            self.lock.release()
        return True
