"""Work in threads, beside the event loop, where needed one at a time.

A thread that nobody waits for any more is told so, and left to itself. The threads are daemons: whatever one
of them is at, the program ends when it should.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import nullcontext, suppress
from typing import Final, TypeVar, TypeVarTuple

import anyio
from anyio import CapacityLimiter

from torcheer.run import InterruptedReading, check_cancelled, interruptible

Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")


async def in_thread(
    work: Callable[[*Arguments], Result], *arguments: *Arguments, limiter: CapacityLimiter | None = None
) -> Result:
    """What the work gives. When whoever waits is cancelled, so is the work, at the next place that asks."""
    is_cancelled = threading.Event()
    done: Future[Result] = Future()
    done.set_running_or_notify_cancel()

    def run() -> None:
        try:
            with interruptible(is_cancelled=is_cancelled.is_set):
                done.set_result(work(*arguments))
        except StopIteration as error:  # which a future of the event loop cannot hold
            done.set_exception(RuntimeError(f"work in a thread raised {error!r}"))
        except BaseException as error:
            done.set_exception(error)

    async with limiter or nullcontext():
        threading.Thread(target=run, name="torcheer worker", daemon=True).start()
        try:
            return await asyncio.wrap_future(done)
        except asyncio.CancelledError:
            is_cancelled.set()
            raise


_GLANCE_SECONDS: Final = 0.15
_PATIENCE_SECONDS: Final = 0.05  # between two looks whether anybody still waits


class Turns:
    """Lets one thread at a time do something, each after those that asked before it."""

    def __init__(self) -> None:
        self._limiter = CapacityLimiter(1)
        self._lock = threading.Lock()
        self._is_stuck = False  # a glance took long, and what it began is not at its end

    async def take(self, work: Callable[[*Arguments], Result], *arguments: *Arguments) -> Result:
        """What the work gives. A reading that is interrupted goes on in the next turn, until it is done."""
        while True:
            try:
                return await self._take(work, *arguments)
            except InterruptedReading as stop:
                if not stop.can_go_on:
                    raise RuntimeError(str(stop)) from None
            await anyio.sleep(0)

    async def glance(self, work: Callable[[*Arguments], Result], *arguments: *Arguments) -> Result | None:
        """The same; None where it takes long: whoever asks looks at something else meanwhile."""
        if self._is_stuck and self._lock.locked():
            return None
        with anyio.move_on_after(_GLANCE_SECONDS), suppress(InterruptedReading):
            return await self._take(work, *arguments)
        self._is_stuck = self._lock.locked()
        return None

    async def _take(self, work: Callable[[*Arguments], Result], *arguments: *Arguments) -> Result:
        # When a page goes, its thread is left to itself, so that nobody waits for what nobody wants. The lock
        # is for that case: such a thread may still be at work when the next one has its turn.
        return await in_thread(self._alone, work, *arguments, limiter=self._limiter)

    def _alone(self, work: Callable[[*Arguments], Result], *arguments: *Arguments) -> Result:
        while not self._lock.acquire(timeout=_PATIENCE_SECONDS):
            check_cancelled()
        try:
            check_cancelled()
            return work(*arguments)
        finally:
            self._is_stuck = False
            self._lock.release()
