"""The network of a run and its moments: all first, then what is new, as long as a page wants it."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy
from numpy.typing import NDArray

from torcheer.app.net.messages import (
    NetMomentsAnswer,
    NetMomentsQuestion,
    NetRange,
    NetSceneAnswer,
    NetSceneQuestion,
    NetVariable,
)
from torcheer.app.net.net_reader import Nets, RankNet, ranges_of
from torcheer.app.net.net_scene import BIAS, RunScene
from torcheer.app.runs.open_run import OpenRun
from torcheer.app.runs.run_news import Looked, Watch, follow_run
from torcheer.app.wire import as_text, clipped, countable, finite
from torcheer.netview import about

_MAX_MOMENTS: Final = 200_000  # the last ones
_CHUNK: Final = 20_000  # moments of one answer
_MAX_COUNTERS: Final = 32  # names


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Moments:
    """Those of one rank, by step."""

    steps: NDArray[numpy.int64]
    times: NDArray[numpy.float64]  # when the first value of each was written
    counters: Mapping[str, Sequence[str]]
    ranges: Sequence[NetRange]
    is_running: bool


def steps_of(net: RankNet) -> list[int]:
    """At which there are values of a layer, rising."""
    steps: list[int] = _steps_and_times(net)[0].tolist()
    return steps


def moments_of(nets: Nets, run: OpenRun, question: NetMomentsQuestion) -> Moments:
    with run.lock:
        net = nets.look(run, question.rank)
        steps, times = _steps_and_times(net)
        if run.is_running and _is_unfinished(steps, net.index.counters):
            steps, times = steps[:-1], times[:-1]
        steps, times = steps[-_MAX_MOMENTS:], times[-_MAX_MOMENTS:]
        counters = _columns(net.index.counters, steps.tolist())
        ranges = ranges_of(net)
    return Moments(
        steps=steps,
        times=times,
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
    steps = numpy.concatenate([one.steps for one in columns])
    times = numpy.concatenate([one.times for one in columns])
    order = numpy.lexsort((times, steps))
    steps, times = steps[order], times[order]
    is_first = numpy.ones(len(steps), dtype=numpy.bool_)
    is_first[1:] = steps[1:] != steps[:-1]
    return steps[is_first], times[is_first]


def _is_unfinished(steps: NDArray[numpy.int64], counters: Mapping[int, object]) -> bool:
    """Whether the last moment is being written: its counters come last, and others have theirs."""
    return len(steps) > 1 and int(steps[-1]) not in counters and int(steps[-2]) in counters


def _columns(counters: Mapping[int, Mapping[str, str]], steps: Sequence[int]) -> dict[str, list[str]]:
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


def new_frames(question: int, now: Moments, before: Moments | None) -> list[str]:
    """What a page that knows the former moments must hear; nothing where that is nothing."""
    num_known = 0 if before is None else _num_known(now, before)
    is_all = before is None or num_known < len(before.steps)
    num_known = 0 if is_all else num_known
    if before is not None and not is_all and num_known == len(now.steps):
        is_same = (now.ranges, now.is_running) == (before.ranges, before.is_running)
        if is_same:
            return []
    return list(_frames(question, now, num_known, is_all))


def _num_known(now: Moments, before: Moments) -> int:
    """All that were known, where they are just as they were, and none came between them; else 0."""
    count = len(before.steps)
    is_same = (
        count <= len(now.steps)
        and numpy.array_equal(now.steps[:count], before.steps)
        and numpy.array_equal(now.times[:count], before.times)
        and all(_begins(now.counters.get(name, ()), its, count) for name, its in before.counters.items())
        and all(name in before.counters or not any(its[:count]) for name, its in now.counters.items())
    )
    return count if is_same else 0


def _begins(now: Sequence[str], before: Sequence[str], count: int) -> bool:
    return list(now[:count]) == list(before)


def _frames(question: int, now: Moments, start: int, is_all: bool) -> Iterator[str]:
    """So many at a time; at least one, which may be empty."""
    for first in range(start, max(len(now.steps), start + 1), _CHUNK):
        part = slice(first, first + _CHUNK)
        answer = NetMomentsAnswer(
            id=question,
            is_all=is_all and first == start,
            steps=[countable(step) or 0 for step in now.steps[part].tolist()],
            times=[finite(time) or 0.0 for time in now.times[part].tolist()],
            counters={name: its[part] for name, its in now.counters.items()},
            ranges=now.ranges,
            is_running=now.is_running,
        )
        yield as_text(answer)


# --- followed -------------------------------------------------------------------------------------


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
    return Looked([as_text(answer)], now)
