"""Make one series of those that several writers wrote under the same name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy

from torcheer.run.parts import PartStatus, Points, SeriesEntry, SeriesKey, State


def joined(pieces: Sequence[Points]) -> Points:
    """One after the other, as arrays that cannot be changed."""
    if len(pieces) == 1:
        return pieces[0]
    # Not by NumPy: it asks for huge pages, which can take ten times as long to get as the points to read.
    steps, times, values = (b"".join(piece[i].data for piece in pieces) for i in range(3))
    return Points(
        numpy.frombuffer(steps, "<i8"), numpy.frombuffer(times, "<f8"), numpy.frombuffer(values, "<f8")
    )


def merged_points(of_parts: Sequence[Points]) -> Points:
    """By time, where several writers have points; what was logged at the same time stays in order."""
    some = [points for points in of_parts if len(points.steps)]
    whole = joined(some)
    if len(some) < 2 or bool(numpy.all(whole.times[1:] >= whole.times[:-1])):
        return whole
    order = numpy.argsort(whole.times, kind="stable")
    return Points(whole.steps[order], whole.times[order], whole.values[order])


def merged_series(of_parts: Iterable[Mapping[SeriesKey, SeriesEntry]]) -> dict[SeriesKey, SeriesEntry]:
    found: dict[SeriesKey, list[SeriesEntry]] = {}
    for entries in of_parts:
        for key, entry in entries.items():
            if entry.count:
                found.setdefault(key, []).append(entry)
    return {key: entries[0] if len(entries) == 1 else _merged(entries) for key, entries in found.items()}


def _merged(entries: Sequence[SeriesEntry]) -> SeriesEntry:
    last = max(entries, key=lambda entry: entry.last_time)
    bad = [entry.first_bad_step for entry in entries if entry.first_bad_step is not None]
    return SeriesEntry(
        kind=last.kind,
        name=last.name,
        count=sum(entry.count for entry in entries),
        last_step=last.last_step,
        last_time=last.last_time,
        last_value=last.last_value,
        num_bad=sum(entry.num_bad for entry in entries),
        first_bad_step=min(bad, default=None),
        description=next((entry.description for entry in entries if entry.description), ""),
    )


def merged_state(statuses: Mapping[str, PartStatus]) -> tuple[State, str]:
    """Running while any part is written; died, and of what, if one did that still counts; else finished."""
    counted = [status for name, status in statuses.items() if not is_superseded(name, statuses)]
    order: tuple[State, ...] = ("running", "died", "finished")
    for state in order:
        of_state = [status for status in counted if status.state == state]
        if of_state:
            # Of several that died, the first took the others with it.
            reasons = [(status.updated, status.reason) for status in of_state if status.reason]
            return state, min(reasons)[1] if reasons else ""
    return "unknown", ""


def is_superseded(name: str, statuses: Mapping[str, PartStatus]) -> bool:
    """Whether a part that died no longer counts.

    So it is when the same rank, or a lower one, was opened after it and finished: the training was resumed,
    by fewer processes perhaps. And so it is beside a part that finished, as `rank-0.1` beside `rank-0`: a
    helper.
    """
    status = statuses[name]
    if status.state != "died":
        return False
    finished = {other: one for other, one in statuses.items() if one.state == "finished"}
    return _first_ofrank_in(name) in finished or any(
        rank_in(other) <= rank_in(name) and one.sessions[-1] >= status.updated
        for other, one in finished.items()
    )


def _first_ofrank_in(name: str) -> str:
    """The part whose place was taken already when this one was opened; its own name for a first one."""
    return name.partition(".")[0]


def rank_in(name: str) -> int:
    """The rank that wrote a part, by its name: 1 for `rank-1.2`."""
    number = _first_ofrank_in(name).rpartition("-")[2]
    return int(number) if number.isascii() and number.isdigit() and len(number) < 10 else 0
