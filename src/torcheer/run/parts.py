"""What one process wrote into a run, as it is read: a SQLite file of ours, or TensorBoard's event files.

A run is the parts in its folder. Whatever reads runs, reads them through these few methods, so a folder of
event files and a run of ours are the same to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, Protocol

import numpy
from numpy.typing import NDArray

from torcheer.run.records import AnyHead, Kind

State = Literal["running", "finished", "died", "unknown"]  # unknown: event files do not say


_MOST_SECONDS: Final = 2e11


def is_moment(value: object) -> bool:
    """Seconds since 1970, of any century that there is a calendar for."""
    return isinstance(value, int | float) and -_MOST_SECONDS < value < _MOST_SECONDS


class SeriesKey(NamedTuple):
    """A series of a run. The same name may be there in several kinds."""

    kind: Kind
    name: str


class Points(NamedTuple):
    """Points of a scalar, in the order in which they were logged."""

    steps: NDArray[numpy.int64]
    times: NDArray[numpy.float64]  # seconds since 1970
    values: NDArray[numpy.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesEntry:
    """What is known of a series without reading it."""

    kind: Kind
    name: str
    count: int  # of points or records; of statistics, the steps that are kept
    last_step: int
    last_time: float
    last_value: float | None  # of a scalar
    num_bad: int  # values that are NaN or infinite
    first_bad_step: int | None
    description: str


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
    reason: str  # what it died of
    died_of_an_error: bool  # and not of a kill
    started: float  # seconds since 1970; 0 where nothing was written yet
    sessions: tuple[float, ...]  # when each began
    updated: float  # when something was last written
    host: str
    pid: int
    comment: str
    tags: tuple[str, ...]
    total_steps: int | None
    num_dropped: int
    num_thinned: int
    num_bytes: int  # on disk
    note: str


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
