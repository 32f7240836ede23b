"""Answer what the page Features asks: in threads, one at a time for each set; analyses in processes."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Final

import msgspec
import numpy

from torcheer.app.background_threads import Turns, in_thread
from torcheer.app.features import feature_messages as messages
from torcheer.app.features.feature_sets import FeatureShelf, OpenSet
from torcheer.app.features.feature_values import (
    Chosen,
    answer_map,
    answer_sample,
    answer_unit,
    choose,
    label_kind,
    layer_name,
    listing_of,
    named,
    rows_of,
    set_answer,
)
from torcheer.app.features.features_analysis import Finding, Order
from torcheer.app.processes import Processes
from torcheer.app.runs.run_messages import ReductionAnswer
from torcheer.app.shared_analyses import Order as ReductionOrder
from torcheer.app.shared_analyses import Reductions, check_method
from torcheer.app.wire import Followed, Frame, Question, Single, as_text, binary_frame, copied
from torcheer.errors import InputError
from torcheer.run import EmbeddingHead

_LIST_SECONDS: Final = 2.0  # between two looks at all sets
_SET_SECONDS: Final = 1.0  # at one of them
_BUSY: Final = 10  # times as long as a look took, the next one waits
_KEPT_BYTES: Final = 128 << 20  # of what was found last
_MODULE: Final = "torcheer.app.features.features_analysis"
_FAILED: Final = "this could not be computed: the server's log says why."
_READING: Final = "The samples are read."

Frames = AsyncGenerator[Frame, None]
Findings = AsyncGenerator[tuple[Finding, bytes], None]  # with the last one come the numbers


class FeatureAnswers:
    def __init__(self, shelf: FeatureShelf) -> None:
        self._shelf = shelf
        self._list_turns = Turns()
        self._processes = Processes(_MODULE, Finding, _FAILED, _KEPT_BYTES)  # what was found is kept
        self._reductions = Reductions()
        self.single: dict[type[Question], Single] = {
            messages.FeatureMapQuestion: self._of_set(answer_map),
            messages.FeatureUnitQuestion: self._of_set(answer_unit),
            messages.FeatureSampleQuestion: self._of_set(answer_sample),
        }
        self.followed: dict[type[Question], Followed] = {
            messages.FeatureSetsQuestion: self._follow_sets,
            messages.FeatureSetQuestion: self._feed(_follow_set),
            messages.FeatureSimilarityQuestion: self._feed(self._similarity),
            messages.FeatureLayersQuestion: self._feed(self._layers),
            messages.FeatureProbesQuestion: self._feed(self._probes),
            messages.FeaturePointsQuestion: self._feed(self._points),
            messages.FeatureReduceQuestion: self._feed(self._reduce),
        }

    def _of_set(self, answer: Callable[[OpenSet, Any], bytes]) -> Single:
        async def handler(question: Any) -> Frame:
            opened = await in_thread(self._shelf.known, question.set_id)
            return await opened.turns.take(answer, opened, question)

        return handler

    def _feed(self, feed: Callable[[OpenSet, Any, object], Frames]) -> Followed:
        async def frames(question: Any, page: object) -> Frames:
            opened = await in_thread(self._shelf.known, question.set_id)
            async with aclosing(feed(opened, question, page)) as found:
                async for frame in found:
                    yield frame

        return frames

    async def _follow_sets(self, question: messages.FeatureSetsQuestion, page: object) -> Frames:
        sent: list[messages.FeatureSetListing] | None = None
        while True:
            began = time.monotonic()
            listings = await self._list_turns.take(lambda: [*map(listing_of, self._shelf.sets().values())])
            if listings != sent:
                sent = listings
                yield as_text(messages.FeatureSetsAnswer(id=question.id, sets=listings))
            # A folder that takes long to look through is looked through less often.
            await asyncio.sleep(max(_LIST_SECONDS, _BUSY * (time.monotonic() - began)))

    async def _similarity(
        self, opened: OpenSet, question: messages.FeatureSimilarityQuestion, page: object
    ) -> Frames:
        chosen, order = await _ordered(
            opened, question.most, "similarity", [question.layer], metric=question.metric
        )
        if label_kind(chosen.labels) == "classes":  # others have no pairs of the same one
            order = msgspec.structs.replace(order, label_of=list(named(chosen.labels)[1]))
        async with aclosing(self._found(opened, order, page)) as found:
            async for finding, data in found:
                rows = None
                if finding.is_done:
                    is_there = numpy.isin(chosen.samples, numpy.array(finding.samples, numpy.int64))
                    labels = None if chosen.labels is None else chosen.labels[is_there]
                    left = replace(chosen, samples=chosen.samples[is_there], labels=labels)
                    rows = await opened.turns.take(rows_of, opened, left)
                answer = copied(messages.FeatureSimilarityAnswer, finding, id=question.id, rows=rows)
                yield binary_frame(answer, data)

    async def _layers(
        self, opened: OpenSet, question: messages.FeatureLayersQuestion, page: object
    ) -> Frames:
        _, order = await _ordered(
            opened, question.most, "layers", question.layers, method=question.method, metric=question.metric
        )
        async with aclosing(self._found(opened, order, page)) as found:
            async for finding, data in found:
                num = len(finding.samples)
                answer = copied(messages.FeatureLayersAnswer, finding, id=question.id, num_samples=num)
                yield binary_frame(answer, data)

    async def _probes(
        self, opened: OpenSet, question: messages.FeatureProbesQuestion, page: object
    ) -> Frames:
        """What is known at once, then layer by layer."""
        if await opened.turns.take(opened.labels) is None:
            raise InputError(
                "there are no labels to be read from the layers: extract from data that gives inputs and "
                "labels."
            )
        _, order = await _ordered(
            opened, question.most, "probes", question.layers, kind=question.kind, folds=question.folds
        )
        keys = {layer: _key(opened, msgspec.structs.replace(order, layers=[layer])) for layer in order.layers}
        kept = [found[0].probe for key in keys.values() if (found := self._processes.kept(key))]
        known = [probe for probe in kept if probe is not None]
        left = [layer for layer in keys if layer not in {probe.layer for probe in known}]
        share = len(known) / len(keys)
        yield _probes_answer(question, Finding(progress=share, is_done=not left), known)
        if not left:
            return
        order = msgspec.structs.replace(order, layers=left)
        async with aclosing(self._processes.reports(order, page)) as findings:
            async for finding, _ in findings:
                new = [] if finding.probe is None else [finding.probe]
                for probe in new:
                    if not probe.why:
                        self._processes.keep(keys[probe.layer], finding)
                progress = share + (1 - share) * finding.progress
                yield _probes_answer(question, msgspec.structs.replace(finding, progress=progress), new)

    async def _points(
        self, opened: OpenSet, question: messages.FeaturePointsQuestion, page: object
    ) -> Frames:
        chosen, order = await _ordered(opened, question.most, "points", [question.layer])
        async with aclosing(self._found(opened, order, page)) as found:
            async for finding, data in found:
                head = None
                if finding.is_done:
                    head, labels = await opened.turns.take(_embedding, opened, chosen, finding, data)
                    data += labels
                answer = copied(messages.FeaturePointsAnswer, finding, id=question.id, head=head)
                yield binary_frame(answer, data)

    async def _reduce(
        self, opened: OpenSet, question: messages.FeatureReduceQuestion, page: object
    ) -> Frames:
        _, order = await _ordered(opened, question.most, "points", [question.layer])
        points, num_points = b"", 0
        async with aclosing(self._found(opened, order, page)) as found:
            async for finding, data in found:
                points, num_points = data, finding.num_rows
                if not finding.is_done:
                    note = finding.note or _READING
                    yield binary_frame(
                        ReductionAnswer(question.id, num_dims=question.num_dims, note=note), b""
                    )
        check_method(question.method, num_points, question.num_dims)
        wanted = ReductionOrder(
            method=question.method,
            num_points=num_points,
            num_dims=len(points) // (4 * num_points),
            wanted_dims=question.num_dims,
            neighbours=question.neighbours,
            metric=question.metric,
        )

        async def read() -> memoryview:
            return memoryview(points)

        key = (_key(opened, order), wanted)
        async with aclosing(self._reductions.reduced(key, wanted, read, question.id, page)) as frames:
            async for frame in frames:
                yield frame

    def _found(self, opened: OpenSet, order: Order, page: object) -> Findings:
        return self._processes.results(_key(opened, order), order, page)


async def _ordered(
    opened: OpenSet, most: int, task: Any, layers: Sequence[int], **options: Any
) -> tuple[Chosen, Order]:
    chosen = await opened.turns.take(choose, opened, most)
    features = await opened.turns.take(opened.features)
    for layer in layers:
        layer_name(features, layer)  # refused where there is none
    samples = chosen.samples.tolist()
    return chosen, Order(place=opened.place.place, task=task, layers=list(layers), samples=samples, **options)


def _key(opened: OpenSet, order: Order) -> bytes:
    """Another one for other options, other features, and other samples."""
    return hashlib.blake2s(opened.features().manifest.encoded() + b"\0" + msgspec.json.encode(order)).digest()


def _embedding(
    opened: OpenSet, chosen: Chosen, finding: Finding, matrix: bytes
) -> tuple[EmbeddingHead, bytes]:
    """As that of a run is, since the projector reads both; and the labels, which stand after the points."""
    rows = rows_of(opened, chosen)
    columns = {"sample": [str(one) for one in rows.ids]}
    if rows.labels:
        columns = {"label": [rows.labels[one] for one in rows.label_of], **columns}
    labels = msgspec.json.encode(list(columns.values()))
    head = EmbeddingHead(
        num_points=finding.num_rows,
        num_dims=len(matrix) // (4 * finding.num_rows),
        columns=list(columns),
        matrix_bytes=len(matrix),
        label_bytes=len(labels),
        sprite_bytes=0,
        sprite_width=0,
        sprite_height=0,
        sprites_per_row=0,
    )
    return head, labels


def _probes_answer(
    question: messages.FeatureProbesQuestion, finding: Finding, probes: Sequence[messages.FeatureProbe]
) -> str:
    return as_text(copied(messages.FeatureProbesAnswer, finding, id=question.id, probes=probes))


async def _follow_set(opened: OpenSet, question: messages.FeatureSetQuestion, page: object) -> Frames:
    sent: messages.FeatureSetAnswer | None = None
    while True:
        answer = await opened.turns.take(set_answer, opened, question.id)
        if answer != sent:
            sent = answer
            yield as_text(answer)
        await asyncio.sleep(_SET_SECONDS)
