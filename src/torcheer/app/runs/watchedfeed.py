"""Answers about what is watched: whole each time that there is more, about once a second at most."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Callable, Hashable
from typing import Final

from torcheer.app.runmessages import WatchedQuestion, WatchedRowQuestion
from torcheer.app.runs import watched
from torcheer.app.runs.openrun import OpenRun
from torcheer.app.runs.run_feed import Looked, follow_run
from torcheer.app.runs.watching import Watch

_PUSH_SECONDS: Final = 1.0  # between two answers

Look = Callable[[OpenRun, Hashable], watched.Looked | None]  # with what the last answer depended on


def follow_watched(watch: Watch, question: WatchedQuestion) -> AsyncGenerator[bytes, None]:
    """One figure of all rows."""
    return _follow(watch, question.run_id, lambda run, seen: watched.look_at_watched(run, question, seen))


def follow_row(watch: Watch, question: WatchedRowQuestion) -> AsyncGenerator[bytes, None]:
    """All figures of one row."""
    return _follow(watch, question.run_id, lambda run, seen: watched.look_at_row(run, question, seen))


def _follow(watch: Watch, run_id: str, look: Look) -> AsyncGenerator[bytes, None]:
    sent = b""  # a digest of it: it may be large

    def look_for_news(run: OpenRun, seen: Hashable) -> Looked[bytes, Hashable] | None:
        nonlocal sent
        looked = look(run, seen)
        if looked is None:
            return None
        former, sent = sent, hashlib.blake2b(looked.frame).digest()
        return Looked(() if sent == former else (looked.frame,), looked.seen)

    return follow_run(watch, run_id, look_for_news, _PUSH_SECONDS)
