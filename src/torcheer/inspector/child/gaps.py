"""What is missing from a run: looks that were dropped, frames lost with a kill, figures the disk refused.

The ring says what was given: its journal has the step, time and rows of each frame, its tallies count looks
that never became one. The run says what is stored: figures stand there with the times of their frames, gaps
with their counts. What was given and is not stored is lost, and is written as a gap.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Final, Literal
from urllib.parse import quote

import msgspec
import numpy

from torcheer.inspector.frame_format import Plan
from torcheer.inspector.protocol import Lost
from torcheer.inspector.ring import TALLIES, Note, Ring, Tally
from torcheer.run import (
    PART_ENDING,
    Gap,
    Run,
    RunReader,
    StatisticsHead,
    decode_head,
    plain_text,
    rank_in,
    table_of,
)

Reason = Literal["full", "killed", "budget", "error"]

ALL_ROWS: Final = "all that is watched"  # by name, it would be a list of all rows each time
_REASONS: Final[Mapping[Tally, Reason]] = {"full": "full", "budget": "budget", "thinned": "full"}
_PAUSES: Final[Mapping[Tally, float]] = {"full": 0.5, "budget": 10.0, "thinned": 10.0}
_LONGEST_PAUSE: Final = 600.0

_CALL = "callback("  # before the name of a row for which a callback was not called
_WORDS: Mapping[Reason, str] = {
    "full": "the training was faster than the process that watches it",
    "killed": "the process that watches was killed",
    "budget": "watching them would have cost too much time",
    "error": "they could not be computed, or not be written",
}


class Missing:
    """Finds what is missing of the rings of one run."""

    def __init__(self, folder: str, rank: int) -> None:
        self._folder, self._rank = folder, rank
        self._said_at: dict[Tally, float] = dict.fromkeys(TALLIES, time.monotonic())
        self._pauses = dict(_PAUSES)

    def after_kill(self, ring: Ring, plan: Plan) -> list[Lost]:
        """What another child took from this ring and did not store. Asked before frames are read."""
        numbers = range(ring.num_kept, ring.num_given_back)
        has_tallies = any(ring.counted(tally).num for tally in TALLIES)
        if not numbers and not has_tallies:
            return []
        gaps = self._gaps()
        # Only these name their rows, so that they can be found again; of others, a kill may take a last word.
        if (full := ring.counted("full")).num:
            ring.note_told("full", _num_told(gaps, plan, full.start))
        lost = self.unstored(ring, plan, numbers, "killed", gaps)
        return ([lost] if lost else []) + self.counted(ring, plan, at_once=True)

    def unstored(
        self, ring: Ring, plan: Plan, numbers: Iterable[int], reason: Reason, gaps: Iterable[Gap] = ()
    ) -> Lost | None:
        """Which of these frames the run has neither figures of, nor counts in one of the gaps."""
        notes = {number: ring.noted(number) for number in numbers}
        known = [note for note in notes.values() if note is not None]
        if not known:
            return lost_frames(ring, plan, notes, reason)
        stored = _stored_times(self._folder, self._rank, plan.digest(), min(note.time for note in known))
        # A gap has the time of its first frame, and goes on to its last step.
        ends = {gap.time: gap.last_step for gap in gaps if gap.reason in ("killed", "error")}
        end, left = -1, []
        for number, note in notes.items():
            if note is not None:
                end = max(end, ends.get(note.time, -1))
                if note.time in stored or note.step <= end:
                    continue
            left.append(number)
        return lost_frames(ring, plan, left, reason)

    def counted(self, ring: Ring, plan: Plan, *, at_once: bool = False) -> list[Lost]:
        """What the training counted since it was last asked, if it is time to say so: less and less often."""
        found, now = [], time.monotonic()
        for tally in TALLIES:
            counted = ring.counted(tally)
            if counted.num_new <= 0 or not (at_once or now - self._said_at[tally] > self._pauses[tally]):
                continue
            self._said_at[tally] = now
            if tally == "full":
                counts = {row.name: counted.num_new for row in plan.rows}
            else:
                self._pauses[tally] = min(_LONGEST_PAUSE, 2 * self._pauses[tally])
                counts = {ALL_ROWS: counted.num_new * len(plan.rows)}
            ring.note_told(tally, counted.num)
            found.append(_lost(_REASONS[tally], counts, [counted.first, counted.last]))
        return found

    def _gaps(self) -> list[Gap]:
        with suppress(Exception):  # in doubt, there are none: then something is counted twice
            reader = RunReader(self._folder)
            with closing(reader):
                return [gap for gap in reader.events().gaps if gap.rank == self._rank]
        return []


def _num_told(gaps: Iterable[Gap], plan: Plan, start: int) -> int:
    """How many frames the gaps of a run count that did not fit into the ring, from a step on."""
    name = plain_text(plan.rows[0].name)
    return sum(gap.counts.get(name, 0) for gap in gaps if gap.reason == "full" and gap.first_step >= start)


# --- gaps -----------------------------------------------------------------------------------------------


def lost_frames(ring: Ring, plan: Plan, numbers: Iterable[int], reason: Reason) -> Lost | None:
    """Frames by their numbers; None where there are none. Of those that left the journal, all rows count."""
    names = [row.name for row in plan.rows]
    totals = numpy.zeros(len(names), dtype=numpy.int64)
    notes: list[Note] = []
    num_frames = 0
    for number in numbers:
        num_frames += 1
        note = ring.noted(number)
        if note is None:
            totals += 1
            continue
        notes.append(note)
        totals += numpy.unpackbits(numpy.frombuffer(note.seen, numpy.uint8), count=len(names))
    if not num_frames:
        return None
    counts = {name: count for name, count in zip(names, totals.tolist(), strict=True) if count}
    first_time = min((note.time for note in notes), default=time.time())
    return _lost(reason, counts, [note.step for note in notes] or [0], first_time)


def lost_calls(names: Iterable[str], step: int) -> Lost:
    """Rows for which the user's callback was not called. Their records are there: calls have other names."""
    return _lost("killed", {f"{_CALL}{name})": 1 for name in names}, [step])


def _lost(reason: Reason, counts: dict[str, int], steps: list[int], at: float | None = None) -> Lost:
    at = time.time() if at is None else at
    return Lost(reason=reason, counts=counts, first_step=min(steps), last_step=max(steps), time=at)


def together(one: Lost | None, other: Lost) -> Lost:
    """Both in one, with the reason of the second."""
    if one is None:
        return other
    counts = dict(one.counts)
    for name, count in other.counts.items():
        counts[name] = counts.get(name, 0) + count
    return msgspec.structs.replace(
        other,
        counts=counts,
        first_step=min(one.first_step, other.first_step),
        last_step=max(one.last_step, other.last_step),
        time=min(one.time, other.time),
    )


def words_for(lost: Lost) -> str:
    """As it stands in the run."""
    count = sum(lost.counts.values())
    are = "record is" if count == 1 else "records are"
    where = (
        f"at step {lost.first_step}"
        if lost.first_step == lost.last_step
        else f"from step {lost.first_step} to {lost.last_step}"
    )
    if lost.counts and all(name.startswith(_CALL) for name in lost.counts):
        are = "call of the callback is" if count == 1 else "calls of the callback are"
        return f"{count:,} {are} missing {where}: the training ended before they could be made."
    return f"{count:,} {are} missing {where}: {_WORDS[lost.reason]}."


def log_gap(run: Run, lost: Lost) -> None:
    details = msgspec.structs.asdict(lost)
    first, last = details.pop("first_step"), details.pop("last_step")
    run.log_gap(first, last, message=words_for(lost), **details)


# --- what is stored -------------------------------------------------------------------------------------

_NUM_TRIES: Final = 5
_PAUSE_SECONDS: Final = 0.1
_BUSY_SECONDS: Final = 1.0
_HEADS: Final = "SELECT r.id, r.head FROM records r JOIN names n ON n.id = r.name WHERE n.kind = 'statistics'"
_DATA: Final = "SELECT bytes FROM data WHERE record = ?"


def _stored_times(folder: str, rank: int, digest: str, since: float) -> set[float]:
    """The times of the frames of a plan that have figures in the run. A file that cannot be read has none.

    Read in one transaction: a reader that follows the run would leave out what another child of this rank is
    moving at that moment, and then it would count as missing.
    """
    found: set[float] = set()
    paths = [path for path in Path(folder).glob(f"*{PART_ENDING}") if rank_in(path.stem) == rank]
    for path in paths:
        for number in range(_NUM_TRIES):
            time.sleep(_PAUSE_SECONDS if number else 0.0)
            with suppress(sqlite3.Error, OSError):
                found.update(_times_in(path, digest, since))
                break
    return found


def _times_in(path: Path, digest: str, since: float) -> Iterator[float]:
    place = f"file:{quote(str(path.absolute()))}?mode=rw"  # which makes no file where there is none
    with closing(sqlite3.connect(place, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)) as connection:
        connection.execute("BEGIN")  # all that follows sees the same moment
        for id, encoded in connection.execute(_HEADS).fetchall():
            with suppress(msgspec.MsgspecError, TypeError, ValueError, RecursionError):
                head = decode_head(encoded)
                if isinstance(head, StatisticsHead) and head.digest == digest and head.last_time >= since:
                    yield from table_of(head, connection.execute(_DATA, (id,)).fetchone()[0]).times.tolist()
