"""Answers about one run that go on: it is looked at when there is news, as long as a page wants to hear."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Final, Generic, NamedTuple, TypeVar

from torcheer.app.runs.openrun import OpenRun
from torcheer.app.runs.watching import Watch
from torcheer.errors import InputError, TorcheerError

_LOG: Final = logging.getLogger("torcheer.app")
_GONE: Final = "this run is no longer in the folder. Choose one from the list of runs."

Frame = TypeVar("Frame", str, bytes)
Seen = TypeVar("Seen")


class Looked(NamedTuple, Generic[Frame, Seen]):
    """What a page is told, and what the next look is held against."""

    frames: Sequence[Frame]
    seen: Seen


Look = Callable[[OpenRun, Seen | None], Looked[Frame, Seen] | None]  # None where nothing has changed


async def follow_run(
    watch: Watch, run_id: str, look: Look[Seen, Frame], push_seconds: float
) -> AsyncGenerator[Frame, None]:
    """What each look has for the page, with a rest of so long between two answers."""
    version: tuple[OpenRun, int, bool] | None = None
    seen: Seen | None = None
    with watch.following([run_id]):
        await watch.find([run_id])
        if watch.shelf.known(run_id) is None:
            raise InputError(_GONE)
        while True:
            news, run = watch.news, watch.shelf.known(run_id)
            if run is not None and version != (run, run.version, run.is_running):
                version = (run, run.version, run.is_running)  # as of now: what comes meanwhile is news again
                # What cannot be read at first is refused; what cannot be read later may be there again.
                looked = await run.slow_turns.take(look if seen is None else _forgiving(look), run, seen)
                if looked is not None:
                    seen = looked.seen
                    for frame in looked.frames:
                        yield frame
                    await asyncio.sleep(push_seconds)
            await news.wait()


def _forgiving(look: Look[Seen, Frame]) -> Look[Seen, Frame]:
    def attempt(run: OpenRun, seen: Seen | None) -> Looked[Frame, Seen] | None:
        try:
            return look(run, seen)
        except (TorcheerError, OSError):
            return None  # the list of runs says why
        except Exception:
            _LOG.exception("the run %r could not be read", run.place.name)
            return None

    return attempt
