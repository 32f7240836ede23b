"""All runs of the folders: found, summed up for the lists, and known by their ids."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy

from torcheer.app.runs.open_run import (
    ArrayCache,
    Finder,
    Opener,
    OpenRun,
    Places,
    RunFolders,
    RunPlace,
    Traces,
    traces_of,
)
from torcheer.app.runs.run_messages import HparamsRow, Metric, RunListing
from torcheer.app.runs.scalar_buckets import SeriesArrays
from torcheer.app.wire import clipped, copied, finite
from torcheer.errors import TorcheerError
from torcheer.run import (
    PART_ENDING,
    HparamsHead,
    InterruptedReading,
    PassHead,
    Plain,
    RecordEntry,
    RunReader,
    RunStatus,
    SeriesEntry,
    SeriesKey,
    by_interest,
    loss_of,
    losses_of,
)

SPARK_VALUES: Final = 64
MAX_METRICS: Final = 64
_LONGEST_NAME: Final = 4096  # that a page can ask for
_MAX_TAGS: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Spark:
    """The small chart of a run's loss."""

    name: str = ""
    values: Sequence[float | None] = ()
    first_bad: str = ""  # NaN, or infinity: the first value of the loss that is no number
    seen: SeriesEntry | None = None  # what it was made of


def spark_of(run: OpenRun, reader: RunReader, scalars: Mapping[str, SeriesEntry], former: Spark) -> Spark:
    """Made anew only when the loss has more points."""
    name = loss_of(scalars)
    entry = scalars.get(name)
    if entry is None or entry == former.seen:
        return Spark(name=name) if entry is None else former
    if run.is_running or run.has_arrays(name):
        arrays = run.arrays(name)
    else:
        # Nobody may ever ask for them again: they are read, and not kept.
        arrays = SeriesArrays()
        arrays.read_on(reader, name)
    shown = arrays.show("step", (None, None), SPARK_VALUES).columns[2]
    values = arrays.points().values
    bad = values[~numpy.isfinite(values)][:1]
    first_bad = "" if not len(bad) else "NaN" if numpy.isnan(bad[0]) else "infinity"
    small = [float(f"{value:.6g}") if math.isfinite(value) else None for value in shown]
    return Spark(name=name, values=small, first_bad=first_bad, seen=entry)


def listing_of(
    place: RunPlace, status: RunStatus, series: Mapping[SeriesKey, SeriesEntry], spark: Spark
) -> RunListing:
    """The scalars among the series are in the order in which they came to be."""
    scalars = {entry.name: entry for entry in series.values() if entry.kind == "scalar"}
    metrics = [
        Metric(name=name, value=finite(scalars[name].last_value))
        for name in by_interest(name for name in scalars if len(name) <= _LONGEST_NAME)[:MAX_METRICS]
    ]
    losses = [f"{one}." for one in losses_of(status.num_dropped, status.num_thinned)]
    return copied(
        RunListing,
        status,
        id=place.id,
        name=place.name,
        tags=[clipped(tag) for tag in status.tags[:_MAX_TAGS]],
        reason=clipped(status.reason) or _what_is_wrong(scalars.values(), spark),
        started=finite(status.started) or 0.0,
        updated=finite(status.updated) or 0.0,
        spark_name=spark.name,
        spark=spark.values,
        metrics=metrics,
        num_series=len(series),
        num_alarms=sum(entry.count for entry in series.values() if entry.kind == "alarm"),
        has_network=any(entry.kind == "netview" for entry in series.values()),
        note=clipped(" ".join([*losses, *filter(None, [status.note])])),
    )


def unread_listing(place: RunPlace, traces: Traces, note: str = "") -> RunListing:
    is_ours = any(name.endswith(PART_ENDING) for name, _, _ in traces)
    return RunListing(
        id=place.id,
        name=place.name,
        source="torcheer" if is_ours else "tensorboard",
        updated=_changed(traces),
        num_bytes=sum(num_bytes for _, num_bytes, _ in traces),
        note=clipped(note),
    )


def _changed(traces: Traces) -> float:
    """The newest change, in seconds since 1970."""
    return max((changed_ns for _, _, changed_ns in traces), default=0) / 1e9


def _what_is_wrong(scalars: Iterable[SeriesEntry], spark: Spark) -> str:
    """The first value that is no number: of the loss, else of whichever scalar has the earliest."""
    steps = {one.name: one.first_bad_step for one in scalars if one.first_bad_step is not None}
    if not steps:
        return ""
    name = spark.name if spark.name in steps else min(steps, key=lambda one: steps[one])
    what = spark.first_bad if name == spark.name and spark.first_bad else "NaN or infinity"
    return f"{what} in {clipped(name, 80)} at step {steps[name]}"


_LOG: Final = logging.getLogger("torcheer.app")
_MAX_PASSES: Final = 200  # of a run; the newest
_MAX_HPARAMS: Final = 1000  # of a run
_PATIENCE_SECONDS: Final = 0.2


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
                self._seen = seen
                self.listing = self._look()
            except InterruptedReading as stop:
                self._seen = None
                if not self.is_long:
                    self.listing = unread_listing(
                        self.run.place, self.traces, "this run is large, and is being read."
                    )
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
            scalars = {entry.name: entry for entry in series.values() if entry.kind == "scalar"}
            self._spark = spark_of(self.run, reader, scalars, self._spark)
            self._look_at_records(reader, series)
            return listing_of(place, reader.status(), series, self._spark)
        except (TorcheerError, OSError) as error:
            if isinstance(error, OSError):
                self._seen = None  # it may pass, as when no more files can be opened: look again
            return unread_listing(place, self.traces, clipped(f"this run cannot be read: {error}"))
        except Exception:
            _LOG.exception("the run %r could not be read", place.name)
            note = "this run cannot be read: the server's log says why."
            return unread_listing(place, self.traces, note)

    def _look_at_records(self, reader: RunReader, series: Mapping[SeriesKey, SeriesEntry]) -> None:
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
    hparams: dict[str, Plain] = {
        name: clipped(value) if isinstance(value, str) else value
        for name, value in list(row.hparams.items())[:_MAX_HPARAMS]
    }
    metrics = dict(list(row.metrics.items())[:_MAX_HPARAMS])
    return HparamsRow(run_id=run_id, hparams=hparams, metrics=metrics)


_ARRAY_BYTES: Final = 1 << 30  # of points of scalars that are kept in memory
_MAX_OPEN: Final = 64  # readers: each has a few files open
_SCAN_SECONDS: Final = 0.5  # a search that was made so lately is good enough
_SUMMARY_SECONDS: Final = 1.0  # how often a run is summed up at most
_IDLE_SECONDS: Final = 60.0  # after so long a reader that nobody asked is closed


class RunShelf:
    """The runs of some folders. All methods may take their time: they are called in threads."""

    def __init__(self, folders: Sequence[Path], finder: Finder, opener: Opener) -> None:
        self.folders = RunFolders(folders, finder)
        self._opener = opener
        self._arrays = ArrayCache(_ARRAY_BYTES)
        self._lock = threading.Lock()  # of the tables below
        self._scanning = threading.Lock()
        self._scanned_at = float("-inf")
        self._places = Places(runs={}, note="")
        self._ids: Mapping[str, str] = {}  # by path
        self._runs: dict[str, OpenRun] = {}
        self._summaries: dict[str, Summary] = {}
        self.revision = 0  # rises when runs come or go
        self.followed: Collection[str] = frozenset()  # ids of runs that are not to be closed

    @property
    def note(self) -> str:
        return self._places.note

    def scan(self) -> None:
        with self._scanning:
            if time.monotonic() - self._scanned_at < _SCAN_SECONDS:
                return
            try:
                places = self.folders.look()
            except OSError as error:
                # What was there is likely to be there still.
                places = Places(runs=self._places.runs, note=f"the folder cannot be read: {error}.")
            self._take(places)
            self._scanned_at = time.monotonic()

    def scan_again(self) -> None:
        """The same, however lately it was done: somebody knows that there is something new."""
        with self._scanning:
            self._scanned_at = float("-inf")
        self.scan()

    def _take(self, places: Places) -> None:
        gone = []
        with self._lock:
            if places == self._places:
                return
            for run_id, run in list(self._runs.items()):
                if places.runs.get(run_id) != run.place:
                    gone.append(self._runs.pop(run_id))
                    self._summaries.pop(run_id, None)
            for run_id, place in places.runs.items():
                if run_id not in self._runs:
                    self._runs[run_id] = OpenRun(place, self._opener, self._arrays)
                    self._summaries[run_id] = Summary(self._runs[run_id])
            self._places = places
            self._ids = {str(place.path): run_id for run_id, place in places.runs.items()}
            self.revision += 1
        for run in gone:
            run.close_if_idle()

    def is_empty(self) -> bool:
        self.scan()
        return not self._runs

    def run(self, run_id: str) -> OpenRun | None:
        """The run of that id; looked for anew where it is not known yet."""
        found = self._runs.get(run_id)
        if found is None:
            self.scan()
            found = self._runs.get(run_id)
        return found

    def known(self, run_id: str) -> OpenRun | None:
        """The run of that id as of the last search: this takes no time."""
        return self._runs.get(run_id)

    def id_of(self, path: str) -> str | None:
        """The id of the run in that folder, as of the last search; None where there was none."""
        return self._ids.get(path)

    def due(self) -> Sequence[Summary]:
        """The rows to be made anew, those of the newest runs first."""
        now = time.monotonic()
        due = [one for one in self.summaries() if one.is_due(now, _SUMMARY_SECONDS)]
        return sorted(due, key=lambda one: -_changed(one.traces))

    def update(self, summaries: deque[Summary], seconds: float) -> None:
        """Make rows anew for so long, taking them from the queue."""
        end = time.monotonic() + seconds
        while summaries and time.monotonic() < end:
            try:
                summary = summaries.popleft()
            except IndexError:  # another thread took the last one
                break
            if not summary.update():
                summaries.append(summary)  # behind the others
            self._close_some()

    def summaries(self) -> Sequence[Summary]:
        with self._lock:
            return list(self._summaries.values())

    def listings(self) -> Mapping[str, RunListing]:
        return {summary.run.place.id: summary.listing for summary in self.summaries()}

    def _close_some(self) -> None:
        """Close the readers that were used longest ago, where there are many, and those that nobody uses."""
        with self._lock:
            is_open = [run for run in self._runs.values() if run.is_open]
        idle_since = time.monotonic() - _IDLE_SECONDS
        is_open.sort(key=lambda run: run.looked_at)
        num_too_many = len(is_open) - _MAX_OPEN
        for run in is_open:
            if run.place.id in self.followed:
                continue
            if num_too_many <= 0 and run.looked_at > idle_since:
                break
            num_too_many -= run.close_if_idle()

    def close(self) -> None:
        """Close all readers, until they are needed again."""
        with self._lock:
            runs = list(self._runs.values())
        for run in runs:
            run.close_if_idle()
