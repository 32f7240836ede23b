"""How much an answer holds, and how long those that go on rest between two answers."""

from __future__ import annotations

import asyncio
import time
from typing import Final

import anyio

CHUNK_BYTES: Final = 1 << 20  # of one answer, about
AHEAD_SECONDS: Final = 0.15  # what is ready after so long goes ahead of what takes longer
_BUSY: Final = 3  # times as long as an answer took to make, the next one waits
_LONGEST_REST: Final = 0.5
_ATTEMPT_SECONDS: Final = 0.25


async def next_news(news: asyncio.Event, was_late: bool) -> None:
    """Wait for news; where something could not be looked at in time, until the next attempt at most."""
    with anyio.move_on_after(_ATTEMPT_SECONDS if was_late else None):
        await news.wait()


async def rest_after(began: float) -> None:
    """Let others have their time, the more of it the longer this took."""
    await asyncio.sleep(min(_LONGEST_REST, _BUSY * (time.monotonic() - began)))
