"""The network of a run and its moments: all first, then what is new, as long as a page wants it."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Final

import msgspec
import numpy
from numpy.typing import NDArray

from torcheer.app.netview.net_messages import (
    NetMomentsAnswer,
    NetMomentsQuestion,
    NetRange,
    NetSceneAnswer,
    NetSceneQuestion,
    NetVariable,
)
from torcheer.app.netview.net_reader import Nets, RankNet, ranges_of
from torcheer.app.netview.net_scene import BIAS, RunScene
from torcheer.app.runs.open_run import OpenRun
from torcheer.app.runs.run_news import Looked, Watch, follow_run
from torcheer.app.wire import as_text, clipped, countable, finite
from torcheer.netview import about

_MAX_MOMENTS: Final = 200_000  # the last ones
_CHUNK: Final = 20_000  # moments of one answer
_MAX_COUNTERS: Final = 32  # names


def steps_of(net: RankNet) -> list[int]:
    """At which there are values of a layer, rising."""
    steps: list[int] = _steps_and_times(net)[0].tolist()
    return steps


def moments_of(nets: Nets, run: OpenRun, question: NetMomentsQuestion) -> NetMomentsAnswer:
    """Those of one rank, by step. The time of one is that of its first value."""
    with run.lock:
        net = nets.look(run, question.rank)
        steps, times = _steps_and_times(net)
        if run.is_running and _is_unfinished(steps, net.index.counters):
            steps, times = steps[:-1], times[:-1]
        last = steps[-_MAX_MOMENTS:].tolist()
        counters = _columns(net.index.counters, last)
        ranges = ranges_of(net)
    return NetMomentsAnswer(
        id=question.id,
        is_all=True,
        steps=[countable(step) or 0 for step in last],
        times=[finite(time) or 0.0 for time in times[-_MAX_MOMENTS:].tolist()],
        counters=counters,
        ranges=[
            NetRange(variable=name, low=low, high=high)
            for name, (low, high) in ranges.items()
            if math.isfinite(low) and math.isfinite(high)
        ],
        is_running=run.is_running,
    )


def _steps_and_times(net: RankNet) -> tuple[NDArray[numpy.int64], NDArray[numpy.float64]]:
    """A bias, or a weight, changes at moments of its own: these are no moments of the network."""
    names = {name for (_, variable), name in net.net.series.items() if variable != BIAS}
    columns = [net.index.series[name].columns() for name in names if name in net.index.series]
    if not columns:
        return numpy.empty(0, numpy.int64), numpy.empty(0)
    steps = numpy.concatenate([steps for steps, _ in columns])
    times = numpy.concatenate([times for _, times in columns])
    order = numpy.lexsort((times, steps))
    steps, times = steps[order], times[order]
    is_first = numpy.ones(len(steps), dtype=numpy.bool_)
    is_first[1:] = steps[1:] != steps[:-1]
    return steps[is_first], times[is_first]


def _is_unfinished(steps: NDArray[numpy.int64], counters: Mapping[int, object]) -> bool:
    """Whether the last moment is being written: its counters come last, and others have theirs."""
    return len(steps) > 1 and int(steps[-1]) not in counters and int(steps[-2]) in counters


def _columns(counters: Mapping[int, Mapping[str, str]], steps: Sequence[int]) -> dict[str, Sequence[str]]:
    """A text for each step, empty where there is none."""
    nothing: Mapping[str, str] = {}
    rows = [counters.get(step, nothing) for step in steps] if counters else []
    names: dict[str, None] = {}
    for row in rows:
        for name in row:
            if name not in names and len(names) < _MAX_COUNTERS:
                names[name] = None
    return {name: [row.get(name, "") for row in rows] for name in names}


# --- answers -------------------------------------------------------------------------------------


def new_frames(now: NetMomentsAnswer, before: NetMomentsAnswer | None) -> list[str]:
    """What a page that knows the former moments must hear, so many at a time; nothing without news."""
    num_known = 0 if before is None else len(before.steps)
    # All that were known are just as they were, and none came between them.
    is_more = before is not None and _told(now, num_known) == _told(before, num_known)
    same = before is not None and (now.ranges, now.is_running) == (before.ranges, before.is_running)
    if same and is_more and num_known == len(now.steps):
        return []
    start = num_known if is_more else 0
    return [
        as_text(
            msgspec.structs.replace(
                now,
                is_all=not is_more and first == 0,
                steps=now.steps[first : first + _CHUNK],
                times=now.times[first : first + _CHUNK],
                counters={name: its[first : first + _CHUNK] for name, its in now.counters.items()},
            )
        )
        for first in range(start, max(len(now.steps), start + 1), _CHUNK)
    ]


def _told(moments: NetMomentsAnswer, count: int) -> tuple[object, ...]:
    """So many of them. A counter that none of these has is nothing to tell."""
    counters = {name: its[:count] for name, its in moments.counters.items() if any(its[:count])}
    return moments.steps[:count], moments.times[:count], counters


# --- followed -------------------------------------------------------------------------------------


SeenScene = tuple[
    RunScene, Sequence[int]
]  # what a page was told of a network, and of which ranks there is one

_PUSH_SECONDS: Final = 0.25  # between two answers: a page that follows shows each moment soon


def follow_net(nets: Nets, watch: Watch, question: NetSceneQuestion) -> AsyncGenerator[str, None]:
    return follow_run(
        watch, question.run_id, lambda run, seen: look_at_scene(nets, run, question, seen), _PUSH_SECONDS
    )


def follow_moments(nets: Nets, watch: Watch, question: NetMomentsQuestion) -> AsyncGenerator[str, None]:

    def look(run: OpenRun, before: NetMomentsAnswer | None) -> Looked[str, NetMomentsAnswer]:
        now = moments_of(nets, run, question)
        return new_frames(now, before), now

    return follow_run(watch, question.run_id, look, _PUSH_SECONDS)


def look_at_scene(
    nets: Nets, run: OpenRun, question: NetSceneQuestion, seen: SeenScene | None
) -> Looked[str, SeenScene]:
    with run.lock:
        net = nets.look(run, question.rank)
        ranges = ranges_of(net)
        ranks = nets.ranks(net.reader)
    scene = net.net
    now: SeenScene = (scene, ranks)
    if seen == now:
        return (), now
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
    return [as_text(answer)], now
