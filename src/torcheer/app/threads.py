"""Work in threads, beside the event loop.

A thread that nobody waits for any more is told so, and left to itself. The threads are daemons: whatever one
of them is at, the program ends when it should.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from queue import SimpleQueue
from typing import Any, Final, TypeVar, TypeVarTuple

from anyio import CapacityLimiter

from torcheer.run import interruptible

Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")

_MOST_IDLE: Final = 8


async def in_thread(
    work: Callable[[*Arguments], Result], *arguments: *Arguments, limiter: CapacityLimiter | None = None
) -> Result:
    """What the work gives. When whoever waits is cancelled, so is the work, at the next place that asks."""
    async with AsyncExitStack() as stack:
        if limiter is not None:
            await stack.enter_async_context(limiter)
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Result] = loop.create_future()
        is_cancelled = threading.Event()

        def run() -> None:
            result, failure = None, None
            try:
                with interruptible(is_cancelled=is_cancelled.is_set):
                    result = work(*arguments)
            except BaseException as error:
                failure = error
            with suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(_report, done, result, failure)

        _start(run)
        try:
            return await done
        except asyncio.CancelledError:
            is_cancelled.set()
            raise


def _report(done: asyncio.Future[Any], result: object, failure: BaseException | None) -> None:
    if done.cancelled():
        return
    if failure is None:
        done.set_result(result)
    elif isinstance(failure, StopIteration):  # which a future cannot hold
        done.set_exception(RuntimeError(f"work in a thread raised {failure!r}"))
    else:
        done.set_exception(failure)


class _Worker:
    """A thread that does one thing after the other, as long as it is wanted."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        threading.Thread(target=self._work, name="torcheer worker", daemon=True).start()

    def give(self, job: Callable[[], None]) -> None:
        self._jobs.put(job)

    def _work(self) -> None:
        while True:
            self._jobs.get()()
            if len(_idle) >= _MOST_IDLE:
                return
            _idle.append(self)


_idle: Final[deque[_Worker]] = deque()


def _start(job: Callable[[], None]) -> None:
    try:
        worker = _idle.pop()
    except IndexError:
        worker = _Worker()
    worker.give(job)
