"""Answer what the page Features asks: in threads, one at a time for each set."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any, Final

from torcheer.app.featuremessages import (
    FeatureLayersQuestion,
    FeatureMapQuestion,
    FeaturePointsQuestion,
    FeatureProbesQuestion,
    FeatureReduceQuestion,
    FeatureSampleQuestion,
    FeatureSetAnswer,
    FeatureSetListing,
    FeatureSetQuestion,
    FeatureSetsAnswer,
    FeatureSetsQuestion,
    FeatureSimilarityQuestion,
    FeatureUnitQuestion,
    FollowedFeatureQuestion,
    SingleFeatureQuestion,
)
from torcheer.app.features.analysing import FeatureAnalyses
from torcheer.app.features.details import listing_of, set_answer
from torcheer.app.features.openset import OpenSet
from torcheer.app.features.points import FeaturePoints
from torcheer.app.features.shelf import FeatureShelf
from torcheer.app.features.values import answer_map, answer_sample, answer_unit
from torcheer.app.frames import as_json
from torcheer.app.threads import in_thread
from torcheer.app.turns import Turns

Frame = str | bytes
Feed = Callable[[OpenSet, Any, object], AsyncGenerator[Frame, None]]

_LIST_SECONDS: Final = 2.0  # between two looks at all sets
_SET_SECONDS: Final = 1.0  # at one of them
_BUSY: Final = 10  # times as long as a look took, the next one waits


class FeatureAnswers:
    """Answers about the sets of a shelf, for all pages of a server."""

    def __init__(self, shelf: FeatureShelf) -> None:
        self._shelf = shelf
        self._list_turns = Turns()
        analyses = FeatureAnalyses()
        points = FeaturePoints(analyses)
        self._single: dict[type, Callable[[OpenSet, Any], bytes]] = {
            FeatureMapQuestion: answer_map,
            FeatureUnitQuestion: answer_unit,
            FeatureSampleQuestion: answer_sample,
        }
        self._followed: dict[type, Feed] = {
            FeatureSetQuestion: _follow_set,
            FeatureSimilarityQuestion: analyses.similarity,
            FeatureLayersQuestion: analyses.layers,
            FeatureProbesQuestion: analyses.probes,
            FeaturePointsQuestion: points.points,
            FeatureReduceQuestion: points.reduce,
        }

    async def answer(self, question: SingleFeatureQuestion) -> bytes:
        opened = await in_thread(self._shelf.known, question.set_id)
        return await opened.turns.take(self._single[type(question)], opened, question)

    async def follow(self, question: FollowedFeatureQuestion, page: object) -> AsyncGenerator[Frame, None]:
        if isinstance(question, FeatureSetsQuestion):
            feed: AsyncGenerator[Frame, None] = self._follow_sets(question)
        else:
            opened = await in_thread(self._shelf.known, question.set_id)
            feed = self._followed[type(question)](opened, question, page)
        async with aclosing(feed):
            async for frame in feed:
                yield frame

    async def _follow_sets(self, question: FeatureSetsQuestion) -> AsyncGenerator[Frame, None]:
        sent: list[FeatureSetListing] | None = None
        while True:
            began = time.monotonic()
            listings = await self._list_turns.take(self._listings)
            if listings != sent:
                sent = listings
                yield as_json(FeatureSetsAnswer(id=question.id, sets=listings)).decode()
            # A folder that takes long to look through is looked through less often.
            await asyncio.sleep(max(_LIST_SECONDS, _BUSY * (time.monotonic() - began)))

    def _listings(self) -> list[FeatureSetListing]:
        return [listing_of(opened) for opened in self._shelf.sets().values()]


async def _follow_set(
    opened: OpenSet, question: FeatureSetQuestion, page: object
) -> AsyncGenerator[Frame, None]:
    sent: FeatureSetAnswer | None = None
    while True:
        answer = await opened.turns.take(set_answer, opened, question.id)
        if answer != sent:
            sent = answer
            yield as_json(answer).decode()
        await asyncio.sleep(_SET_SECONDS)
