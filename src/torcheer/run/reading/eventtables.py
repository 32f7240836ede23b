"""Alarms and gaps of a run as a table."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Any, Final, TextIO

from torcheer.run.reading.eventlist import Alarm, Gap
from torcheer.run.reading.reader import RunReader

_TITLES: Final = (
    "event",
    "kind",
    "rank",
    "step",
    "last_step",
    "time",
    "layer",
    "variable",
    "value",
    "threshold",
    "missing",
    "message",
)


def write_events_csv(reader: RunReader, stream: TextIO) -> None:
    """A row for each, by time. What one of them has not is left empty."""
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(_TITLES)
    found = reader.events()
    events: list[Alarm | Gap] = [*found.alarms, *found.gaps]
    for event in sorted(events, key=lambda event: event.time):
        writer.writerow("" if cell is None else cell for cell in _cells(event))


def _cells(event: Alarm | Gap) -> Iterator[Any]:
    if isinstance(event, Alarm):
        yield from ("alarm", event.alarm, event.rank, event.step, event.step, event.time)
        yield from (event.layer, event.variable, event.value, event.threshold, None, event.message)
    else:
        yield from ("gap", event.reason, event.rank, event.first_step, event.last_step, event.time)
        yield from (None, None, None, None, event.num_missing, event.message)
