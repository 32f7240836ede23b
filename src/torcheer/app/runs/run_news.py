"""Look again and again at runs that somebody follows, and wake those who wait for news. Nobody, no work."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import Counter, deque
from collections.abc import (
    AsyncGenerator,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Sequence,
)
from contextlib import aclosing, contextmanager
from typing import Any, Final, NamedTuple, TypeVar

import anyio
from anyio import CapacityLimiter

from torcheer.app.background_threads import in_thread
from torcheer.app.runs.open_run import OpenRun
from torcheer.app.runs.run_shelf import RunShelf, Summary
from torcheer.errors import InputError
from torcheer.run import InterruptedReading

_BUSY: Final = 3  # times as long as an answer took to make, the next one waits
_LONGEST_REST: Final = 0.5
_ATTEMPT_SECONDS: Final = 0.25


_LOG: Final = logging.getLogger("torcheer.app")
_TICK_SECONDS: Final = 0.08
_LIST_SECONDS: Final = 1.0
_PATIENT: Final = 10  # a search that takes long is made so much more rarely: a tenth of the time at most
_PATIENT_WITH_RUN: Final = 4  # the same for a look at a run
_RESTING_SECONDS: Final = 0.5  # between looks at a run that nobody writes
_KEPT_SECONDS: Final = 120.0  # a page that is loaded anew finds all as it was
_LANES: Final = 3  # threads that sum up runs: one that takes long holds up only one of them
_LANE_SECONDS: Final = 0.05
_QUICK_SECONDS: Final = 0.5


class Watch:
    """The looking, in the event loop of the server; all that takes time is done in threads."""

    def __init__(self, shelf: RunShelf) -> None:
        self.shelf = shelf
        self.news = asyncio.Event()  # taken before a look, waited for after it; a new one after each news
        self._followed: Counter[str] = Counter()
        self._num_followers = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._looking: Sequence[asyncio.Task[None]] = ()  # at runs, and at the list of them
        self._tidying: asyncio.Task[None] | None = None
        self._versions: dict[OpenRun, int] = {}
        self._under_way: set[OpenRun] = set()
        self._queue: deque[Summary] = deque()
        self._num_lanes = 0
        self._revision = 0  # of the shelf, when news of it was announced last
        self._quick_threads = CapacityLimiter(2)
        self._slow_threads = CapacityLimiter(4)
        self._list_threads = CapacityLimiter(1)

    @contextmanager
    def following(self, run_ids: Iterable[str] = ()) -> Iterator[None]:
        """For as long as somebody wants to hear of these runs, and of the list of runs."""
        run_ids = frozenset(run_ids)
        self._followed.update(run_ids)
        self._num_followers += 1
        self.shelf.followed = frozenset(self._followed)
        if not self._looking:
            if self._tidying is not None:
                self._tidying.cancel()
            works = (self._look_again_and_again(), self._list_again_and_again())
            self._looking = [self._start(work) for work in works]
        try:
            yield
        finally:
            self._followed.subtract(run_ids)
            self._followed = +self._followed
            self.shelf.followed = frozenset(self._followed)
            self._num_followers -= 1
            if not self._num_followers:
                for task in self._looking:
                    task.cancel()
                self._looking = ()
                self._tidying = self._start(self._tidy_up())

    async def _tidy_up(self) -> None:
        """Once nobody has wanted anything for a while, nothing is kept in memory for anybody."""
        await asyncio.sleep(_KEPT_SECONDS)
        await in_thread(self.shelf.close)

    def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)  # the loop itself does not keep it
        task.add_done_callback(self._tasks.discard)
        return task

    async def find(self, run_ids: Iterable[str]) -> None:
        for run_id in run_ids:
            if self.shelf.known(run_id) is None:
                await in_thread(self.shelf.run, run_id, limiter=self._list_threads)

    def announce(self) -> None:
        self.news.set()
        self.news = asyncio.Event()

    async def _look_again_and_again(self) -> None:
        while True:
            try:
                await self._look_at_all()
            except Exception:
                _LOG.exception("runs could not be looked at")
            await asyncio.sleep(_TICK_SECONDS)

    async def _look_at_all(self) -> None:
        now = time.monotonic()
        runs = [run for run in map(self.shelf.known, self._followed) if run is not None]
        due = []
        for run in runs:
            rest = _RESTING_SECONDS
            if run.is_lively(now):
                rest = max(_TICK_SECONDS / 2, _PATIENT_WITH_RUN * run.looks_seconds)
            if run not in self._under_way and now - run.looked_at >= rest:
                due.append(run)
        for run in due:
            if not run.is_quick:
                self._under_way.add(run)
                self._start(self._look_at_slow(run))
        quick = [run for run in due if run.is_quick]
        if quick:
            # What was quick may take long this time: the others do not wait for it.
            with anyio.move_on_after(_QUICK_SECONDS):
                await in_thread(_look_at, quick, limiter=self._quick_threads)
        # Whoever answers a question may have seen the news before.
        versions = {run: run.version for run in runs}
        if versions != self._versions:
            self._versions = versions
            self.announce()

    async def _look_at_slow(self, run: OpenRun) -> None:
        try:
            while not await in_thread(_look_at, [run], limiter=self._slow_threads):
                await asyncio.sleep(0)
        finally:
            self._under_way.discard(run)

    async def _list_again_and_again(self) -> None:
        while True:
            began = time.monotonic()
            try:
                await self._list()
            except Exception:
                _LOG.exception("runs could not be listed")
            took = time.monotonic() - began
            await asyncio.sleep(max(_LIST_SECONDS, _PATIENT * took))

    async def listed(self, seconds: float) -> None:
        """Wait until all runs are listed as they are now, but for those that take long; or for so long."""
        with anyio.move_on_after(seconds):
            await self._list()
            while any(one.is_waiting and not one.is_long for one in self.shelf.summaries()):
                await self.news.wait()

    async def _list(self) -> None:
        await in_thread(self.shelf.scan, limiter=self._list_threads)
        due = await in_thread(self.shelf.due, limiter=self._list_threads)
        for summary in due:
            if not summary.is_waiting:
                summary.is_waiting = True
                self._queue.append(summary)
        while self._queue and self._num_lanes < _LANES:
            self._num_lanes += 1
            self._start(self._sum_up())
        if self._revision != self.shelf.revision:
            self._revision = self.shelf.revision
            self.announce()

    async def _sum_up(self) -> None:
        try:
            while self._queue:
                await in_thread(self.shelf.update, self._queue, _LANE_SECONDS)
                self.announce()
        finally:
            self._num_lanes -= 1
            self.announce()


def _look_at(runs: Sequence[OpenRun]) -> bool:
    """Look at runs, one after the other. False where one takes long, and has to be looked at again."""
    is_all = True
    for run in runs:
        # Who has the run in hand this moment looks at it, too.
        if not run.lock.acquire(blocking=len(runs) == 1):
            continue
        try:
            run.look()
        except InterruptedReading as stop:
            is_all &= not stop.can_go_on
        except Exception:
            _LOG.debug("a run could not be looked at", exc_info=True)  # the list of runs says so
        finally:
            run.lock.release()
    return is_all


_AHEAD_SECONDS: Final = 0.15  # what is ready after so long goes ahead of what takes longer
GOES_ON: Final = -1  # the version of a run of which there is more to read at once


class News(NamedTuple):
    """How far a run was read, and what came since."""

    run: OpenRun
    version: int  # as of this look; GOES_ON where it stopped before the end
    cursor: Any
    is_fresh: bool  # what was read before is void
    found: Sequence[Any]


LookForNews = Callable[[OpenRun, News | None], News | None]  # None where the run cannot be read


async def follow_many(
    watch: Watch,
    run_ids: Sequence[str],
    look: LookForNews,
    ahead_seconds: float = _AHEAD_SECONDS,
    *,
    is_slow: bool = False,
) -> AsyncGenerator[list[News], None]:
    """What is new of runs, round by round; of a round that takes long, what is ready goes ahead.

    Among several runs, one that takes long is left for the next time.
    """
    known: dict[str, News] = {}
    with watch.following(run_ids):
        await watch.find(run_ids)
        while True:
            news, began = watch.news, time.monotonic()
            found: list[News] = []
            was_late = goes_on = False
            for run_id in run_ids:
                run, former = watch.shelf.known(run_id), known.get(run_id)
                if run is None or (former and (former.run, former.version) == (run, run.version)):
                    continue  # no more than is known
                turns = run.slow_turns if is_slow else run.turns
                turn = turns.take if len(run_ids) == 1 else turns.glance
                looked = await turn(look, run, former if former and former.run is run else None)
                if looked is None:
                    was_late = True
                    continue
                known[run_id] = looked._replace(found=())
                goes_on |= looked.version == GOES_ON
                found.append(looked._replace(is_fresh=looked.is_fresh and former is not None))
                if time.monotonic() - began > ahead_seconds:
                    yield found
                    found = []
            took = time.monotonic() - began
            yield found
            if not goes_on:
                # Others have their time, the more of it the longer this took.
                await asyncio.sleep(min(_LONGEST_REST, _BUSY * took))
                with anyio.move_on_after(_ATTEMPT_SECONDS if was_late else None):
                    await news.wait()


async def follow_anew(
    watch: Watch, run_ids: Sequence[str], look: LookForNews
) -> AsyncGenerator[tuple[list[News], bool], None]:
    """What is new of runs, and whether it is all that there is: at first, and where a run takes some back."""
    while True:
        is_all = True
        async with aclosing(follow_many(watch, run_ids, look, math.inf)) as rounds:
            async for found in rounds:
                if not is_all and any(one.is_fresh for one in found):
                    break
                yield found, is_all
                is_all = False


RUN_GONE: Final = "this run is no longer in the folder. Choose one from the list of runs."

Frame = TypeVar("Frame", str, bytes)
Seen = TypeVar("Seen")


# What a page is told, and what the next look is held against.
Looked = tuple[Sequence[Frame], Seen]
Look = Callable[[OpenRun, Seen | None], Looked[Frame, Seen] | None]  # None where nothing has changed


async def follow_run(
    watch: Watch, run_id: str, look: Look[Seen, Frame], push_seconds: float
) -> AsyncGenerator[Frame, None]:
    """What each look has for the page, with a rest between two answers."""

    def look_for_news(run: OpenRun, former: News | None) -> News:
        version = run.version  # as of now: what comes meanwhile is news again
        seen = None if former is None else former.cursor
        # What cannot be read at first is refused; what cannot be read later may be there again.
        looked = look(run, None) if former is None else run.attempt(lambda: look(run, seen))
        frames, seen = looked or ((), seen)
        return News(run, version, seen, False, frames)

    await watch.find([run_id])
    if watch.shelf.known(run_id) is None:
        raise InputError(RUN_GONE)
    async with aclosing(follow_many(watch, [run_id], look_for_news, is_slow=True)) as rounds:
        async for found in rounds:
            frames = [frame for one in found for frame in one.found]
            for frame in frames:
                yield frame
            if frames:
                await asyncio.sleep(push_seconds)
