"""Let threads do something one at a time, without keeping the event loop or each other's threads waiting."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeVar, TypeVarTuple

import anyio
from anyio import CapacityLimiter

from torcheer.app.threads import in_thread
from torcheer.run import InterruptedReading, check_cancelled

Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")

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
