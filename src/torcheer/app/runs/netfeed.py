"""The network of a run and its moments, as long as a page wants to hear of them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Final, NamedTuple

from torcheer.app.frames import as_json
from torcheer.app.netmessages import NetMomentsQuestion, NetSceneAnswer, NetSceneQuestion, NetVariable
from torcheer.app.runs.listing import clipped, countable, finite
from torcheer.app.runs.netmoments import Moments, moments_of, new_frames
from torcheer.app.runs.netranges import ranges_of
from torcheer.app.runs.nets import Nets
from torcheer.app.runs.netscenes import RunScene
from torcheer.app.runs.openrun import OpenRun
from torcheer.app.runs.run_feed import Looked, follow_run
from torcheer.app.runs.watching import Watch
from torcheer.netview import about

_PUSH_SECONDS: Final = 0.25  # between two answers: a page that follows shows each moment soon


def follow_net(nets: Nets, watch: Watch, question: NetSceneQuestion) -> AsyncGenerator[str, None]:
    """The network; anew where it has changed."""
    return follow_run(
        watch, question.run_id, lambda run, seen: look_at_scene(nets, run, question, seen), _PUSH_SECONDS
    )


def follow_moments(nets: Nets, watch: Watch, question: NetMomentsQuestion) -> AsyncGenerator[str, None]:
    """The moments; then what is new."""

    def look(run: OpenRun, before: Moments | None) -> Looked[str, Moments]:
        now = moments_of(nets, run, question)
        return Looked(new_frames(question.id, now, before), now)

    return follow_run(watch, question.run_id, look, _PUSH_SECONDS)


class SeenScene(NamedTuple):
    """What a page was told of a network."""

    scene: RunScene
    ranks: Sequence[int]


def look_at_scene(
    nets: Nets, run: OpenRun, question: NetSceneQuestion, seen: SeenScene | None
) -> Looked[str, SeenScene]:
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
