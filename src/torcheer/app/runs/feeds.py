"""Answers that go on: the list of runs and the lists of their series, each time that there is news.

Each answer is made when the one before has been sent, of what there is by then: a slow page gets fewer and
larger ones.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from torcheer.app.frames import as_json
from torcheer.app.runmessages import (
    IndexAnswer,
    IndexQuestion,
    RunIndex,
    RunListing,
    RunsAnswer,
    RunsQuestion,
    SeriesListing,
)
from torcheer.app.runs import pacing
from torcheer.app.runs.listing import clipped, countable, finite
from torcheer.app.runs.openrun import OpenRun
from torcheer.app.runs.watching import Watch
from torcheer.errors import TorcheerError
from torcheer.run import SeriesEntry, SeriesKey

_LOG: Final = logging.getLogger("torcheer.app")
_LIST_SECONDS: Final = 0.25  # between two answers about the list of runs
_FIRST_SECONDS: Final = 0.4  # for runs to be summed up before the first answer

Series = Mapping[SeriesKey, SeriesEntry]


# --- runs --------------------------------------------------------------------------------------


async def follow_runs(watch: Watch, question: RunsQuestion) -> AsyncGenerator[str, None]:
    """All runs, then those that have changed."""
    shelf = watch.shelf
    sent: Mapping[str, RunListing] = {}
    is_first, note = True, ""
    with watch.following():
        await watch.listed(_FIRST_SECONDS)
        while True:
            news = watch.news
            listings = shelf.listings()
            changed = [one for run_id, one in listings.items() if one is not sent.get(run_id)]
            changed = [one for one in changed if one != sent.get(one.id)]
            gone = [run_id for run_id in sent if run_id not in listings]
            if is_first or changed or gone or note != shelf.note:
                sent, note = listings, shelf.note
                for runs in _chunks(changed):
                    answer = RunsAnswer(
                        id=question.id,
                        folder=shelf.shown_folder,
                        is_all=is_first,
                        runs=runs,
                        gone=gone,
                        note=note,
                    )
                    yield as_json(answer).decode()
                    is_first, gone = False, []
            await asyncio.sleep(_LIST_SECONDS)
            await news.wait()


def _chunks(runs: Sequence[RunListing]) -> Iterator[Sequence[RunListing]]:
    """As many at a time as fit into an answer; at least one, which may be empty."""
    chunk: list[RunListing] = []
    num_bytes = 0
    for run in runs:
        chunk.append(run)
        num_bytes += _size_of_run(run)
        if num_bytes > pacing.CHUNK_BYTES:
            yield chunk
            chunk, num_bytes = [], 0
    if chunk or not runs:
        yield chunk


def _size_of_run(run: RunListing) -> int:
    """About as many bytes as it takes. To encode it for that would take as long as to send it."""
    texts = (run.name, run.comment, run.reason, run.host, run.note, run.spark_name, *run.tags)
    metrics = sum(40 + len(metric.name) for metric in run.metrics)
    return 500 + sum(map(len, texts)) + 10 * len(run.spark) + metrics


# --- series ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Looked:
    """A run's series as they were, and what is new of them."""

    run: OpenRun
    version: int
    series: Series
    is_all: bool  # what was known before is void
    new: Sequence[SeriesListing]


async def follow_index(watch: Watch, question: IndexQuestion) -> AsyncGenerator[str, None]:
    """All series of runs, then those that have changed."""
    run_ids = list(dict.fromkeys(question.run_ids))
    known: dict[str, _Looked] = {}
    is_first = True
    with watch.following(run_ids):
        await watch.find(run_ids)
        while True:
            news, began = watch.news, time.monotonic()
            gathered, was_late = _Gathered(question.id), False
            for run in _changed(watch, run_ids, known):
                look = run.turns.take if len(run_ids) == 1 else run.turns.glance
                looked = await look(_look, run, known.get(run.place.id))
                if looked is None:
                    was_late = True
                    continue
                known[run.place.id] = looked
                for frame in gathered.add(looked):
                    yield frame
                if gathered.runs and time.monotonic() - began > pacing.AHEAD_SECONDS:
                    yield gathered.take()
            if gathered.runs or is_first:
                yield gathered.take()
            is_first = False
            await pacing.rest_after(began)
            await pacing.next_news(news, was_late)


def _changed(watch: Watch, run_ids: Sequence[str], known: Mapping[str, _Looked]) -> Iterator[OpenRun]:
    for run_id in run_ids:
        run, former = watch.shelf.known(run_id), known.get(run_id)
        if run is not None and (former is None or former.run is not run or former.version != run.version):
            yield run


def _look(run: OpenRun, former: _Looked | None) -> _Looked | None:
    """The series of a run; None where it cannot be read: the list of runs says why."""
    with run.lock:
        try:
            series = dict(run.look().series())
        except (TorcheerError, OSError):
            return None
        except Exception:
            _LOG.exception("the series of %r could not be read", run.place.name)
            return None
        version = run.version
    is_all = former is None or former.run is not run or not former.series.keys() <= series.keys()
    known: Series = {} if former is None or is_all else former.series
    new = [_listing(entry) for key, entry in series.items() if known.get(key) != entry]
    return _Looked(run=run, version=version, series=series, is_all=is_all, new=new)


def _listing(entry: SeriesEntry) -> SeriesListing:
    return SeriesListing(
        kind=entry.kind,
        name=entry.name,
        count=entry.count,
        last_step=countable(entry.last_step) or 0,
        last_time=finite(entry.last_time) or 0.0,
        last_value=finite(entry.last_value),
        num_bad=entry.num_bad,
        first_bad_step=countable(entry.first_bad_step),
        description=clipped(entry.description),
    )


class _Gathered:
    """Indexes of runs until they fill an answer."""

    def __init__(self, question: int) -> None:
        self._question = question
        self._num_bytes = 0
        self.runs: list[RunIndex] = []

    def add(self, looked: _Looked) -> Iterator[str]:
        """Add what is new of a run, and yield answers that are full."""
        run_id, is_all = looked.run.place.id, looked.is_all
        chunk: list[SeriesListing] = []
        for listing in looked.new:
            chunk.append(listing)
            self._num_bytes += 200 + len(listing.name) + len(listing.description)
            if self._num_bytes > pacing.CHUNK_BYTES:
                self.runs.append(RunIndex(run_id=run_id, is_all=is_all, series=chunk))
                yield self.take()
                chunk, is_all = [], False
        if chunk or is_all:
            self.runs.append(RunIndex(run_id=run_id, is_all=is_all, series=chunk))

    def take(self) -> str:
        runs, self.runs, self._num_bytes = self.runs, [], 0
        return as_json(IndexAnswer(id=self._question, runs=runs)).decode()
