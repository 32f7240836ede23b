"""Let threads do something one at a time, without keeping the event loop or each other's threads waiting."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

from anyio import CapacityLimiter
from anyio.from_thread import check_cancelled
from anyio.to_thread import run_sync

Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")


class Turns:
    """Lets one thread at a time do something, each after those that asked before it."""

    def __init__(self) -> None:
        self._limiter = CapacityLimiter(1)
        self._lock = threading.Lock()

    async def take(self, work: Callable[[*Arguments], Result], *arguments: *Arguments) -> Result:
        # When a page goes, its thread is left to itself, so that nobody waits for what nobody wants. The lock
        # is for that case: such a thread may still be at work when the next one has its turn.
        return await run_sync(self._alone, work, *arguments, abandon_on_cancel=True, limiter=self._limiter)

    def _alone(self, work: Callable[[*Arguments], Result], *arguments: *Arguments) -> Result:
        with self._lock:
            check_cancelled()
            return work(*arguments)
