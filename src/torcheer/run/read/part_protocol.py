"""What one process wrote into a run, as it is read: a SQLite file of ours, or TensorBoard's event files.

A run is the parts in its folder. Whatever reads runs, reads them through these few methods, so a folder of
event files and a run of ours are the same to it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Protocol

import numpy
from numpy.typing import NDArray

from torcheer.run.records import MOST_SECONDS, AnyHead, Kind

State = Literal["running", "finished", "died", "unknown"]  # unknown: event files do not say


def is_moment(value: object) -> bool:
    """Seconds since 1970, of any century that there is a calendar for."""
    return isinstance(value, int | float) and -MOST_SECONDS < value < MOST_SECONDS


class SeriesKey(NamedTuple):
    """A series of a run. The same name may be there in several kinds."""

    kind: Kind
    name: str


class Points(NamedTuple):
    """Points of a scalar, in the order in which they were logged."""

    steps: NDArray[Any]  # int64; float64 where a page gets them
    times: NDArray[numpy.float64]  # seconds since 1970
    values: NDArray[numpy.float64]

    def taken(self, which: slice | NDArray[Any]) -> Points:
        return Points(self.steps[which], self.times[which], self.values[which])


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesEntry:
    """What is known of a series without reading it."""

    kind: Kind
    name: str
    count: int  # of points or records; of statistics, the steps that are kept
    last_step: int
    last_time: float
    last_value: float | None = None  # of a scalar
    num_bad: int = 0  # values that are NaN or infinite
    first_bad_step: int | None = None
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordEntry:
    """A record but for its bytes."""

    id: int  # in its part
    part: str  # its name
    step: int
    time: float
    num_bytes: int
    head: AnyHead


@dataclass(frozen=True, slots=True, kw_only=True)
class PartStatus:
    """How the writing goes."""

    state: State
    started: float  # seconds since 1970; 0 where nothing was written yet
    sessions: tuple[float, ...]  # when each began
    updated: float  # when something was last written
    host: str
    pid: int
    num_bytes: int  # on disk
    note: str
    reason: str = ""  # what it died of
    died_of_an_error: bool = False  # and not of a kill
    comment: str = ""
    tags: tuple[str, ...] = ()
    total_steps: int | None = None
    num_dropped: int = 0
    num_thinned: int = 0


class Part(Protocol):
    """One part, for one thread at a time. What cannot be read is skipped, and said in the note."""

    @property
    def name(self) -> str:
        """Always the same; a record of the run is named by it, a colon and its number."""

    def refresh(self) -> int:
        """Look for what was written since. A number that differs from the last one says: begin anew."""

    def status(self) -> PartStatus: ...

    def series(self) -> Mapping[SeriesKey, SeriesEntry]:
        """All series, as of the last refresh."""

    def points(self, name: str, start: int = 0) -> Points:
        """Points of a scalar from the `start`-th on; no more than its entry counts."""

    def records(self, kind: Kind, name: str, after: int = 0) -> Sequence[RecordEntry]:
        """Records of a series with ids above `after`, in the order in which they were logged."""

    def record(self, record: int) -> RecordEntry | None:
        """A record by its number alone, None where it is gone."""

    def data(self, record: int) -> bytes | None:
        """The bytes of a record, None where it is gone (thinned, for example)."""

    def document(self, digest: str) -> bytes | None:
        """The JSON of a pass without its tensors."""

    def close(self) -> None: ...


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
    return whole.taken(numpy.argsort(whole.times, kind="stable"))


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
    return replace(
        last,
        count=sum(entry.count for entry in entries),
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
    """True if a part that died no longer counts.

    So it is when the same rank, or a lower one, was opened after it and finished: the training was resumed,
    by fewer processes perhaps. And so it is beside a part that finished, as `rank-0.1` beside `rank-0`: a
    helper.
    """
    status = statuses[name]
    if status.state != "died":
        return False
    finished = {other: one for other, one in statuses.items() if one.state == "finished"}
    return _first_of_rank(name) in finished or any(
        rank_in(other) <= rank_in(name) and one.sessions[-1] >= status.updated
        for other, one in finished.items()
    )


def _first_of_rank(name: str) -> str:
    """The part whose place was taken already when this one was opened; its own name for a first one."""
    return name.partition(".")[0]


def rank_in(name: str) -> int:
    """The rank that wrote a part, by its name: 1 for `rank-1.2`."""
    number = _first_of_rank(name).rpartition("-")[2]
    return int(number) if number.isascii() and number.isdigit() and len(number) < 10 else 0


# A thread cannot be ended from outside. Code that may take long therefore asks here, again and again, whether
# it should go on: `pause_point` where it can be taken up again from where it stopped, `check_cancelled`
# elsewhere. Who starts such work says for how long it may go on. Without that, neither ever raises.


class InterruptedReading(BaseException):  # no error, and not to be taken for one
    """The reading was stopped before its end. Where it `can_go_on`, what was read so far is kept."""

    def __init__(self, message: str, *, can_go_on: bool) -> None:
        super().__init__(message)
        self.can_go_on = can_go_on


class _Limits(threading.local):
    deadline: float | None = None
    is_cancelled: Callable[[], bool] | None = None


_limits = _Limits()


@contextmanager
def interruptible(
    seconds: float | None = None, is_cancelled: Callable[[], bool] | None = None
) -> Iterator[None]:
    """Within this block, in this thread, reading stops after so long, or when it is cancelled.

    What a block around this one asked for still holds.
    """
    deadline, outer = _limits.deadline, _limits.is_cancelled
    if seconds is not None:
        end = time.monotonic() + seconds
        _limits.deadline = end if deadline is None else min(end, deadline)
    if is_cancelled is not None:
        _limits.is_cancelled = is_cancelled if outer is None else lambda: is_cancelled() or outer()
    try:
        yield
    finally:
        _limits.deadline, _limits.is_cancelled = deadline, outer


def pause_point() -> None:
    """Raise InterruptedReading where the time is over, or nobody waits any more."""
    check_cancelled()
    if _limits.deadline is not None and time.monotonic() >= _limits.deadline:
        raise InterruptedReading("the reading goes on later", can_go_on=True)


def check_cancelled() -> None:
    """Raise InterruptedReading where nobody waits any more."""
    if _limits.is_cancelled is not None and _limits.is_cancelled():
        raise InterruptedReading("nobody waits for this any more", can_go_on=False)
