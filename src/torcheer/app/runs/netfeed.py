"""The network of a run and its moments, as long as a page wants to hear of them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Final, Generic, NamedTuple, TypeVar

from torcheer.app.frames import as_json
from torcheer.app.netmessages import NetMomentsQuestion, NetSceneAnswer, NetSceneQuestion, NetVariable
from torcheer.app.runs.listing import clipped, countable, finite
from torcheer.app.runs.netmoments import Moments, moments_of, new_frames
from torcheer.app.runs.netranges import ranges_of
from torcheer.app.runs.nets import Nets
from torcheer.app.runs.netscenes import RunScene
from torcheer.app.runs.openrun import OpenRun
from torcheer.app.runs.watching import Watch
from torcheer.errors import InputError, TorcheerError
from torcheer.netview.variables import about

_LOG: Final = logging.getLogger("torcheer.app")
_PUSH_SECONDS: Final = 0.25  # between two answers: a page that follows shows each moment soon
_GONE: Final = "this run is no longer in the folder. Choose one from the list of runs."

Seen = TypeVar("Seen")


class Looked(NamedTuple, Generic[Seen]):
    """What a page is told, and what the next look is held against."""

    frames: Sequence[str]
    seen: Seen


Look = Callable[[OpenRun, Seen | None], Looked[Seen]]


def follow_net(nets: Nets, watch: Watch, question: NetSceneQuestion) -> AsyncGenerator[str, None]:
    """The network; anew where it has changed."""
    return _follow(watch, question.run_id, lambda run, seen: look_at_scene(nets, run, question, seen))


def follow_moments(nets: Nets, watch: Watch, question: NetMomentsQuestion) -> AsyncGenerator[str, None]:
    """The moments; then what is new."""

    def look(run: OpenRun, before: Moments | None) -> Looked[Moments]:
        now = moments_of(nets, run, question)
        return Looked(new_frames(question.id, now, before), now)

    return _follow(watch, question.run_id, look)


async def _follow(watch: Watch, run_id: str, look: Look[Seen]) -> AsyncGenerator[str, None]:
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
                await asyncio.sleep(_PUSH_SECONDS)
            await news.wait()


def _forgiving(look: Look[Seen]) -> Callable[[OpenRun, Seen | None], Looked[Seen] | None]:
    def attempt(run: OpenRun, seen: Seen | None) -> Looked[Seen] | None:
        try:
            return look(run, seen)
        except (TorcheerError, OSError):
            return None  # the list of runs says why
        except Exception:
            _LOG.exception("the network of %r could not be read", run.place.name)
            return None

    return attempt


class SeenScene(NamedTuple):
    """What a page was told of a network."""

    scene: RunScene
    ranks: Sequence[int]


def look_at_scene(
    nets: Nets, run: OpenRun, question: NetSceneQuestion, seen: SeenScene | None
) -> Looked[SeenScene]:
    with run.lock:
        net = nets.look(run, question.rank)
        ranges = ranges_of(net)
        ranks = nets.ranks(net.reader)
    scene, now = net.net, SeenScene(net.net, ranks)
    if seen == now:
        return Looked((), now)
    variables = []
    for name in scene.variables:
        group, sentence = about(name)
        low, high = ranges[name]
        variables.append(
            NetVariable(
                name=name, group=group, about=clipped(sentence, 500), low=finite(low), high=finite(high)
            )
        )
    answer = NetSceneAnswer(
        id=question.id,
        scene=scene.scene,
        variables=variables,
        source=scene.source,
        num_items=countable(scene.num_items) or 0,
        ranks=ranks,
        note=scene.note,
    )
    return Looked([as_json(answer).decode()], now)
