"""A run as the list of runs shows it: its state, a small chart of its loss, its last figures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy

from torcheer.app.runmessages import Metric, RunListing
from torcheer.app.runs.arrays import SeriesArrays
from torcheer.app.runs.bucketing import Floats
from torcheer.app.runs.openrun import OpenRun
from torcheer.app.runs.places import RunPlace, Traces
from torcheer.run import PART_ENDING, RunReader, RunStatus, SeriesEntry, SeriesKey, looked_at_first, loss_of

SPARK_VALUES: Final = 64
MAX_METRICS: Final = 64
MAX_TEXT: Final = 2000  # of a comment, a reason, a note
_LONGEST_NAME: Final = 4096  # that a page can ask for
_MAX_TAGS: Final = 64
_LARGEST: Final = 2**53 - 1  # that a page can count to


class Spark:
    """The small chart of a run's loss, made anew only when the loss has more points."""

    def __init__(self) -> None:
        self.name = ""
        self.values: Sequence[float | None] = ()
        self.first_bad = ""  # NaN, or infinity: the first value of the loss that is no number
        self._seen: tuple[object, ...] = ()

    def update(self, run: OpenRun, reader: RunReader, scalars: Sequence[SeriesEntry]) -> None:
        self.name = loss_of(entry.name for entry in scalars)
        entry = next((entry for entry in scalars if entry.name == self.name), None)
        if entry is None:
            self.values, self.first_bad, self._seen = (), "", ()
            return
        seen = (entry.name, entry.count, entry.last_step, entry.last_time, entry.num_bad)
        if seen == self._seen:
            return
        if run.is_running or run.has_arrays(self.name):
            arrays = run.arrays(self.name)
        else:
            # Nobody may ever ask for them again: they are read, and not kept.
            arrays = SeriesArrays()
            arrays.read_on(reader, self.name)
        shown = arrays.show("step", (None, None), SPARK_VALUES)
        self.values = [rounded(value) for value in shown.columns[2]]
        self.first_bad = _first_bad(arrays.points().values) if entry.num_bad else ""
        self._seen = seen


def _first_bad(values: Floats) -> str:
    bad = numpy.flatnonzero(~numpy.isfinite(values))
    if not len(bad):
        return ""
    return "NaN" if numpy.isnan(values[bad[0]]) else "infinity"


def rounded(value: float | None, digits: int = 6) -> float | None:
    """A number for a small chart; None for what is none."""
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.{digits}g}")


def listing_of(
    place: RunPlace, status: RunStatus, series: Mapping[SeriesKey, SeriesEntry], spark: Spark
) -> RunListing:
    """The scalars among the series are in the order in which they came to be."""
    scalars = {entry.name: entry for entry in series.values() if entry.kind == "scalar"}
    metrics = [
        Metric(name=name, value=finite(scalars[name].last_value))
        for name in looked_at_first(name for name in scalars if len(name) <= _LONGEST_NAME)[:MAX_METRICS]
    ]
    return RunListing(
        id=place.id,
        name=place.name,
        comment=clipped(status.comment),
        tags=[clipped(tag) for tag in status.tags[:_MAX_TAGS]],
        source=status.source,
        state=status.state,
        reason=clipped(status.reason) or _what_is_wrong(scalars.values(), spark),
        started=finite(status.started) or 0.0,
        updated=finite(status.updated) or 0.0,
        last_step=countable(status.last_step),
        total_steps=countable(status.total_steps),
        spark_name=spark.name,
        spark=spark.values,
        metrics=metrics,
        num_series=len(series),
        num_bytes=countable(status.num_bytes) or 0,
        num_dropped=countable(status.num_dropped) or 0,
        num_thinned=countable(status.num_thinned) or 0,
        num_alarms=sum(entry.count for entry in series.values() if entry.kind == "alarm"),
        has_network=any(entry.kind == "netview" for entry in series.values()),
        host=clipped(status.host),
        note=clipped(" ".join(filter(None, (_losses_note(status), status.note)))),
    )


def unread_listing(place: RunPlace, traces: Traces, note: str = "") -> RunListing:
    """A run of which only its files are known."""
    is_ours = any(name.endswith(PART_ENDING) for name, _, _ in traces.files)
    return RunListing(
        id=place.id,
        name=place.name,
        comment="",
        tags=(),
        source="torcheer" if is_ours else "tensorboard",
        state="unknown",
        reason="",
        started=0.0,
        updated=traces.changed,
        last_step=None,
        total_steps=None,
        spark_name="",
        spark=(),
        metrics=(),
        num_series=0,
        num_bytes=sum(num_bytes for _, num_bytes, _ in traces.files),
        num_dropped=0,
        num_thinned=0,
        num_alarms=0,
        has_network=False,
        host="",
        note=clipped(note),
    )


def _what_is_wrong(scalars: Iterable[SeriesEntry], spark: Spark) -> str:
    """The first value that is no number: of the loss, else of whichever scalar has the earliest."""
    steps = {one.name: one.first_bad_step for one in scalars if one.first_bad_step is not None}
    if not steps:
        return ""
    name = spark.name if spark.name in steps else min(steps, key=lambda one: steps[one])
    what = spark.first_bad if name == spark.name and spark.first_bad else "NaN or infinity"
    return f"{what} in {clipped(name, 80)} at step {steps[name]}"


def _losses_note(status: RunStatus) -> str:
    """What is not in the run, and why."""
    notes = []
    if status.num_dropped:
        values = "1 value was" if status.num_dropped == 1 else f"{status.num_dropped:,} values were"
        notes.append(f"{values} dropped: what could not be kept was told when it happened.")
    if status.num_thinned:
        records = (
            "1 old record was" if status.num_thinned == 1 else f"{status.num_thinned:,} old records were"
        )
        notes.append(f"{records} thinned out to keep to the byte budget.")
    return " ".join(notes)


def clipped(text: str, most: int = MAX_TEXT) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def countable(value: int | None) -> int | None:
    """A whole number that a page can hold; beyond that, the largest it can."""
    return value if value is None else max(-_LARGEST, min(_LARGEST, value))
