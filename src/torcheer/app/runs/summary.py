"""What is remembered of each run for the lists: of runs, of passes, of hyperparameters."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from typing import Final

from torcheer.app.runmessages import HparamsRow, RunListing
from torcheer.app.runs.listing import Spark, clipped, listing_of, unread_listing
from torcheer.app.runs.openrun import OpenRun
from torcheer.app.runs.places import Traces, traces_of
from torcheer.errors import TorcheerError
from torcheer.run import (
    HparamsHead,
    InterruptedReading,
    PassHead,
    Plain,
    RecordEntry,
    RunReader,
    SeriesEntry,
    SeriesKey,
)

_LOG: Final = logging.getLogger("torcheer.app")
_MAX_PASSES: Final = 200  # of a run; the newest
_MAX_HPARAMS: Final = 1000  # of a run
_PATIENCE_SECONDS: Final = 0.2
_BEING_READ: Final = "this run is large, and is being read."
_UNREADABLE: Final = "this run cannot be read: the server's log says why."


class Summary:
    """A run's rows in the lists. Made anew when its files have changed."""

    def __init__(self, run: OpenRun) -> None:
        self.run = run
        self.traces = traces_of(run.place.path)
        self.listing: RunListing = unread_listing(run.place, self.traces)
        self.passes: Sequence[tuple[str, RecordEntry]] = ()  # with the names of their series
        self.hparams: HparamsRow | None = None
        self.is_waiting = False  # for its update
        self.is_long = False  # to read: it was begun, and is not at its end
        self._spark = Spark()
        self._updated_at = float("-inf")
        self._seen: Traces | None = None  # the files as they were summed up last
        self._record_counts: Mapping[SeriesKey, tuple[int, float]] = {}

    def is_due(self, now: float, every: float) -> bool:
        """Whether its files have changed since, or a process may have died that was writing them."""
        if self.is_waiting or now - self._updated_at < every:
            return False
        self.traces = traces_of(self.run.place.path)
        return self._seen != self.traces or self.listing.state == "running"

    def update(self) -> bool:
        """Look at the run, and make its row anew. False where that takes long: call again, others first."""
        seen = self.traces
        # A run that is busy is passed over for now: others are waiting for their turn.
        if self.run.lock.acquire(timeout=_PATIENCE_SECONDS):
            try:
                self.listing = self._look()
                self._seen = seen
            except InterruptedReading as stop:
                if not self.is_long:
                    self.listing = unread_listing(self.run.place, self.traces, _BEING_READ)
                self.is_long = stop.can_go_on
                self.is_waiting = stop.can_go_on
                return not stop.can_go_on
            finally:
                self.run.lock.release()
        self._updated_at = time.monotonic()
        self.is_waiting = self.is_long = False
        return True

    def _look(self) -> RunListing:
        """The row of the run. A run that cannot be read has one too: the note says why."""
        place = self.run.place
        try:
            reader = self.run.look()
            series = reader.series()
            scalars = [entry for entry in series.values() if entry.kind == "scalar"]
            self._spark.update(self.run, reader, scalars)
            self._look_at_records(reader, series)
            return listing_of(place, reader.status(), series, self._spark)
        except (TorcheerError, OSError) as error:
            return unread_listing(place, self.traces, clipped(f"this run cannot be read: {error}"))
        except Exception:
            _LOG.exception("the run %r could not be read", place.name)
            return unread_listing(place, self.traces, _UNREADABLE)

    def _look_at_records(self, reader: RunReader, series: Mapping[SeriesKey, SeriesEntry]) -> None:
        """Passes and hyperparameters, where there are new ones."""
        counts = {
            key: (entry.count, entry.last_time)
            for key, entry in series.items()
            if key.kind in ("pass", "hparams")
        }
        if counts == self._record_counts:
            return
        passes = [
            (key.name, entry)
            for key in counts
            if key.kind == "pass"
            for entry in reader.records("pass", key.name)
            if isinstance(entry.head, PassHead)
        ]
        passes.sort(key=lambda one: (one[1].step, one[1].time))
        self.passes = passes[-_MAX_PASSES:]
        rows = [
            entry for key in counts if key.kind == "hparams" for entry in reader.records("hparams", key.name)
        ]
        self.hparams = _row(self.run.place.id, rows)
        self._record_counts = counts


def _row(run_id: str, records: Sequence[RecordEntry]) -> HparamsRow | None:
    """Later records add to earlier ones."""
    if not records:
        return None
    row = HparamsRow(run_id=run_id, hparams={}, metrics={})
    for record in sorted(records, key=lambda one: one.time):
        if isinstance(record.head, HparamsHead):
            row.hparams.update(record.head.hparams)
            row.metrics.update(record.head.metrics)
    hparams = {name: _short(value) for name, value in list(row.hparams.items())[:_MAX_HPARAMS]}
    metrics = dict(list(row.metrics.items())[:_MAX_HPARAMS])
    return HparamsRow(run_id=run_id, hparams=hparams, metrics=metrics)


def _short(value: Plain) -> Plain:
    return clipped(value) if isinstance(value, str) else value
