"""The samples of a layer as points of the projector, with labels; and these in two or three dimensions."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable
from contextlib import aclosing
from typing import Final

import msgspec
import numpy

from torcheer.app.featuremessages import FeaturePointsAnswer, FeaturePointsQuestion, FeatureReduceQuestion
from torcheer.app.features.analysing import FeatureAnalyses, layer_name, part_of
from torcheer.app.features.analysis import Finding, Order
from torcheer.app.features.choosing import Chosen, choose, rows_of
from torcheer.app.features.keeping import key_of
from torcheer.app.features.openset import Array, OpenSet
from torcheer.app.frames import binary_frame
from torcheer.app.runmessages import ReductionAnswer
from torcheer.app.runs.reducing import Reductions, check_method
from torcheer.app.runs.reduction import Order as ReductionOrder
from torcheer.run import EmbeddingHead

_READING: Final = "The samples are read."


class FeaturePoints:
    """For all pages of a server."""

    def __init__(self, analyses: FeatureAnalyses) -> None:
        self._analyses = analyses
        self._reductions = Reductions()

    async def points(
        self, opened: OpenSet, question: FeaturePointsQuestion, page: object
    ) -> AsyncGenerator[bytes, None]:
        async with aclosing(self._found(opened, question, page)) as found:
            async for finding, values, chosen in found:
                if values is None:
                    yield binary_frame(_answer(question, finding, None), b"")
                    continue
                head, data = await opened.turns.take(_embedding, opened, chosen, values)
                yield binary_frame(_answer(question, finding, head), data)

    async def reduce(
        self, opened: OpenSet, question: FeatureReduceQuestion, page: object
    ) -> AsyncGenerator[bytes, None]:
        values: Array | None = None
        key: tuple[object, ...] = ()
        async with aclosing(self._found(opened, question, page)) as found:
            async for finding, some, chosen in found:
                if some is None:
                    yield binary_frame(_waiting(question, finding), b"")
                else:
                    values = some
                    layer = layer_name(opened, question.layer)
                    key = (opened, key_of(opened, chosen, {"task": "points", "layer": layer}))
        assert values is not None
        check_method(question.method, len(values))
        points = numpy.ascontiguousarray(values, "<f4")
        order = ReductionOrder(
            method=question.method,
            num_points=points.shape[0],
            num_dims=points.shape[1],
            wanted_dims=question.num_dims,
            neighbours=question.neighbours,
            metric=question.metric,
        )

        def read() -> Awaitable[memoryview]:
            return _at_once(memoryview(points.tobytes()))

        frames = self._reductions.reduced((*key, order), order, read, question.id, page)
        async with aclosing(frames):
            async for frame in frames:
                yield frame

    async def _found(
        self, opened: OpenSet, question: FeaturePointsQuestion | FeatureReduceQuestion, page: object
    ) -> AsyncGenerator[tuple[Finding, Array | None, Chosen], None]:
        """How far it is, and in the end the points."""
        chosen = await opened.turns.take(choose, opened, question.most)
        layer = await opened.turns.take(layer_name, opened, question.layer)
        key = key_of(opened, chosen, {"task": "points", "layer": layer})
        keeper = self._analyses.keeper
        shape = (len(chosen.samples), -1)
        kept = await opened.turns.take(keeper.get, opened, key, Finding, shape)
        if kept is not None and kept[1] is not None:
            yield kept[0], kept[1], chosen
            return
        order = Order(
            place=opened.place.place,
            task="points",
            layers=[question.layer],
            samples=chosen.samples.tolist(),
        )
        async with aclosing(self._analyses.findings(order, page)) as findings:
            async for finding, data in findings:
                if not finding.is_done:
                    yield finding, None, chosen
                    continue
                values = numpy.frombuffer(data, "<f4").reshape(len(chosen.samples), -1)
                await opened.turns.take(keeper.put, opened, key, finding, values)
                yield finding, values, chosen


async def _at_once(data: memoryview) -> memoryview:
    return data


def _embedding(opened: OpenSet, chosen: Chosen, values: Array) -> tuple[EmbeddingHead, bytes]:
    """As an embedding of a run is: the projector reads both."""
    rows = rows_of(opened, part_of(chosen, chosen.samples.tolist()))
    columns = {"sample": [str(one) for one in rows.ids]}
    if rows.labels:
        columns = {"label": [rows.labels[one] for one in rows.label_of], **columns}
    matrix = values.astype("<f4").tobytes()
    labels = msgspec.json.encode(list(columns.values()))
    head = EmbeddingHead(
        num_points=values.shape[0],
        num_dims=values.shape[1],
        columns=list(columns),
        matrix_bytes=len(matrix),
        label_bytes=len(labels),
        sprite_bytes=0,
        sprite_width=0,
        sprite_height=0,
        sprites_per_row=0,
    )
    return head, matrix + labels


def _answer(
    question: FeaturePointsQuestion, finding: Finding, head: EmbeddingHead | None
) -> FeaturePointsAnswer:
    return FeaturePointsAnswer(
        id=question.id,
        progress=finding.progress,
        is_done=head is not None,
        note=finding.note,
        head=head,
    )


def _waiting(question: FeatureReduceQuestion, finding: Finding) -> ReductionAnswer:
    return ReductionAnswer(
        id=question.id,
        progress=0.0,
        is_done=False,
        num_points=0,
        num_dims=question.num_dims,
        note=finding.note or _READING,
    )
