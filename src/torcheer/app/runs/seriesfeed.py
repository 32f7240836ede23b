"""Points of scalars: first as much as a chart can show, then each new point, until they are too many."""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from torcheer.app.frames import binary_frame
from torcheer.app.runmessages import SeriesAnswer, SeriesBlock, SeriesQuestion
from torcheer.app.runs import pacing
from torcheer.app.runs.arrays import SeriesArrays, Window
from torcheer.app.runs.bucketing import NOTHING, Shown, is_rising
from torcheer.app.runs.listing import finite
from torcheer.app.runs.openrun import OpenRun
from torcheer.app.runs.watching import Watch
from torcheer.errors import TorcheerError
from torcheer.run import SeriesEntry, SeriesKey

Block = tuple[SeriesBlock, bytes]

_LOG: Final = logging.getLogger("torcheer.app")
_AT_A_TIME: Final = 8


@dataclass(slots=True)
class _Sent:
    """How much of a series the page has. A plain record that changes with each answer."""

    arrays: SeriesArrays
    generation: int
    count: int
    num_new: int  # points that came one by one since the last block
    furthest: float  # place on the axis
    began: float
    seen: tuple[object, ...]


class SeriesFeed:
    """The answers to one question about scalars."""

    def __init__(self, watch: Watch, question: SeriesQuestion) -> None:
        self._watch = watch
        self._question = question
        self._names: defaultdict[str, list[str]] = defaultdict(list)
        for wanted in question.wanted:
            if wanted.name not in self._names[wanted.run_id]:
                self._names[wanted.run_id].append(wanted.name)
        self._versions: dict[str, tuple[OpenRun, int]] = {}
        self._sent: dict[tuple[str, str], _Sent] = {}

    async def frames(self) -> AsyncGenerator[bytes, None]:
        is_first = True
        with self._watch.following(self._names):
            await self._watch.find(self._names)
            while True:
                news, began = self._watch.news, time.monotonic()
                blocks: list[Block] = []
                comes_again = was_late = False
                for run, names in self._changed():
                    look = run.turns.take if len(self._names) == 1 else run.turns.glance
                    found = await look(self._look, run, names)
                    if found is None:
                        self._versions.pop(run.place.id, None)
                        was_late = True
                        continue
                    blocks += found
                    comes_again |= not is_first and any(block.is_fresh for block, _ in found)
                    is_late = time.monotonic() - began > pacing.AHEAD_SECONDS
                    if blocks and (is_late or _num_bytes(blocks) > pacing.CHUNK_BYTES):
                        yield self._frame(blocks)
                        blocks, is_first = [], False
                if blocks or is_first:
                    is_first = False
                    yield self._frame(blocks)
                if comes_again:  # which takes its time; new points do not
                    await pacing.rest_after(began)
                await pacing.next_news(news, was_late)

    def _changed(self) -> Iterator[tuple[OpenRun, Sequence[str]]]:
        """Runs with news and a few of their series at a time: others may want to know of a run, too."""
        for run_id, names in self._names.items():
            run = self._watch.shelf.known(run_id)
            if run is None or self._versions.get(run_id) == (run, run.version):
                continue
            # As of now: what comes while they are looked at is news again.
            self._versions[run_id] = (run, run.version)
            for first in range(0, len(names), _AT_A_TIME):
                yield run, names[first : first + _AT_A_TIME]

    def _frame(self, blocks: Sequence[Block]) -> bytes:
        answer = SeriesAnswer(id=self._question.id, blocks=[block for block, _ in blocks])
        return binary_frame(answer, b"".join(columns for _, columns in blocks))

    # --- in a thread ----------------------------------------------------------------------------

    def _look(self, run: OpenRun, names: Sequence[str]) -> Sequence[Block]:
        """Blocks of the series that have changed; none where the run cannot be read: the list says why."""
        with run.lock:
            try:
                reader = run.look()
                series = reader.series()
                began = finite(reader.status().started) or 0.0
                with reader.holding():
                    changes = [
                        self._changes(run, name, series.get(SeriesKey("scalar", name)), began)
                        for name in names
                    ]
                return [change for change in changes if change is not None]
            except (TorcheerError, OSError):
                return []
            except Exception:
                _LOG.exception("scalars of %r could not be read", run.place.name)
                return []

    def _changes(self, run: OpenRun, name: str, entry: SeriesEntry | None, began: float) -> Block | None:
        key = (run.place.id, name)
        sent = self._sent.get(key)
        if entry is None:
            if sent is None:
                return None
            del self._sent[key]  # it was taken back
            return self._block(run, name, Shown("points", NOTHING), True, 0, began)
        seen = (run, entry.count, entry.last_step, entry.last_time, began)
        if sent is not None and sent.seen == seen:
            return None
        arrays = run.arrays(name)
        shown = None if sent is None else self._tail(sent, arrays, began)
        if sent is not None and shown is not None:
            sent.seen = seen
            if not shown.num_items:
                return None
            return self._block(run, name, shown, False, arrays.count, began)
        shown = arrays.show(self._question.axis, self._window(began), self._question.num_buckets)
        furthest = arrays.furthest(self._question.axis)
        self._sent[key] = _Sent(arrays, arrays.generation, arrays.count, 0, furthest, began, seen)
        return self._block(run, name, shown, True, arrays.count, began)

    def _tail(self, sent: _Sent, arrays: SeriesArrays, began: float) -> Shown | None:
        """The points that are new; None where the series has to come anew."""
        if arrays is not sent.arrays or arrays.generation != sent.generation or began != sent.began:
            return None
        points = arrays.points(sent.count)
        num_new = sent.num_new + len(points.values)
        if num_new > self._question.num_buckets:
            return None
        places = points.steps if self._question.axis == "step" else points.times
        if not is_rising(places) or (len(places) and places[0] < sent.furthest):
            return None  # a run that was resumed goes back: the page would have to sort
        sent.num_new, sent.count = num_new, arrays.count
        sent.furthest = float(places[-1]) if len(places) else sent.furthest
        return Shown("points", points)

    def _window(self, began: float) -> Window:
        """The window in steps or in seconds since 1970."""
        low, high = self._question.low, self._question.high
        if self._question.axis != "relative":
            return low, high
        return None if low is None else low + began, None if high is None else high + began

    def _block(
        self, run: OpenRun, name: str, shown: Shown, is_fresh: bool, num_points: int, began: float
    ) -> Block:
        block = SeriesBlock(
            run_id=run.place.id,
            name=name,
            form=shown.form,
            is_fresh=is_fresh,
            num_items=shown.num_items,
            num_points=num_points,
            started=began,
        )
        # Copied while the arrays cannot change.
        return block, b"".join(column.astype("<f8").tobytes() for column in shown.columns)


def _num_bytes(blocks: Sequence[Block]) -> int:
    return sum(len(columns) for _, columns in blocks)
