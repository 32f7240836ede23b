"""Answers about what is watched: whole each time that there is more, about once a second at most."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import AsyncGenerator, Callable, Hashable
from typing import Final

from torcheer.app.runmessages import WatchedQuestion, WatchedRowQuestion
from torcheer.app.runs.openrun import OpenRun
from torcheer.app.runs.watched import Looked, look_at_row, look_at_watched
from torcheer.app.runs.watching import Watch
from torcheer.errors import InputError, TorcheerError

_LOG: Final = logging.getLogger("torcheer.app")
_PUSH_SECONDS: Final = 1.0  # between two answers
_GONE: Final = "this run is no longer in the folder. Choose one from the list of runs."

Look = Callable[[OpenRun, Hashable], Looked | None]  # with what the last answer depended on


def follow_watched(watch: Watch, question: WatchedQuestion) -> AsyncGenerator[bytes, None]:
    """One figure of all rows."""
    return _follow(watch, question.run_id, lambda run, seen: look_at_watched(run, question, seen))


def follow_row(watch: Watch, question: WatchedRowQuestion) -> AsyncGenerator[bytes, None]:
    """All figures of one row."""
    return _follow(watch, question.run_id, lambda run, seen: look_at_row(run, question, seen))


async def _follow(watch: Watch, run_id: str, look: Look) -> AsyncGenerator[bytes, None]:
    version: tuple[OpenRun, int] | None = None
    seen: Hashable = None
    sent = b""  # a digest of it: it may be large
    with watch.following([run_id]):
        await watch.find([run_id])
        if watch.shelf.known(run_id) is None:
            raise InputError(_GONE)
        while True:
            news, run = watch.news, watch.shelf.known(run_id)
            if run is not None and version != (run, run.version):
                version = (run, run.version)  # as of now: what comes while it is looked at is news again
                # What cannot be read at first is refused; what cannot be read later may be there again.
                attempt = _forgiving(look) if sent else look
                looked = await run.slow_turns.take(attempt, run, seen)
                if looked is not None:
                    seen = looked.seen
                    digest = hashlib.blake2b(looked.frame).digest()
                    if digest != sent:
                        sent = digest
                        yield looked.frame
                    await asyncio.sleep(_PUSH_SECONDS)
            await news.wait()


def _forgiving(look: Look) -> Look:
    def attempt(run: OpenRun, seen: Hashable) -> Looked | None:
        try:
            return look(run, seen)
        except (TorcheerError, OSError):
            return None  # the list of runs says why
        except Exception:
            _LOG.exception("what is watched in %r could not be read", run.place.name)
            return None

    return attempt
