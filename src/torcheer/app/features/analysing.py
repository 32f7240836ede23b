"""Analyses of features: a process for each, a few at a time; pieces as they come; what was found is kept."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from typing import Any, Final

import msgspec
import numpy

from torcheer.app.featuremessages import (
    FeatureLayersAnswer,
    FeatureLayersQuestion,
    FeatureProbe,
    FeatureProbesAnswer,
    FeatureProbesQuestion,
    FeatureSimilarityAnswer,
    FeatureSimilarityQuestion,
)
from torcheer.app.features.analysis import Finding, Order
from torcheer.app.features.choosing import Chosen, choose, label_kind, named, rows_of
from torcheer.app.features.keeping import Keeper, key_of
from torcheer.app.features.openset import Array, OpenSet
from torcheer.app.frames import as_json, binary_frame
from torcheer.app.ownprocess import WAITING, ProcessTurns, command_of, end_of, own_process
from torcheer.app.threads import in_thread
from torcheer.errors import InputError

_LOG: Final = logging.getLogger("torcheer.app")
_COMMAND: Final = command_of("torcheer.app.features.analysis")
_LINE_BYTES: Final = 8 << 20
_MAX_BYTES: Final = 1 << 28
_FAILED: Final = "this could not be computed: the server's log says why."
_NO_LABELS: Final = (
    "there are no labels to be read from the layers: extract from data that gives inputs and labels."
)

Found = tuple[Finding, bytes]


class FeatureAnalyses:
    """For all pages of a server."""

    def __init__(self) -> None:
        self.keeper = Keeper()
        self._turns = ProcessTurns()

    # --- similarity ----------------------------------------------------------------------------

    async def similarity(
        self, opened: OpenSet, question: FeatureSimilarityQuestion, page: object
    ) -> AsyncGenerator[bytes, None]:
        chosen = await opened.turns.take(choose, opened, question.most)
        layer = await opened.turns.take(layer_name, opened, question.layer)
        key = key_of(opened, chosen, {"task": "similarity", "layer": layer, "metric": question.metric})
        found = await opened.turns.take(self.keeper.get, opened, key, Finding, (-1, -1))
        if found is None or not _fits(found[0], found[1], chosen):
            order = Order(
                place=opened.place.place,
                task="similarity",
                layers=[question.layer],
                samples=chosen.samples.tolist(),
                label_of=class_numbers(chosen),
                metric=question.metric,
            )
            async with aclosing(self.findings(order, page)) as findings:
                async for finding, data in findings:
                    if finding.is_done:
                        side = len(finding.samples)
                        found = finding, numpy.frombuffer(data, "<f4").reshape(side, side)
                        await in_thread(self.keeper.put, opened, key, *found)
                    else:
                        yield binary_frame(_similarity_answer(question, finding), b"")
        assert found is not None
        assert found[1] is not None
        rows = await opened.turns.take(rows_of, opened, part_of(chosen, found[0].samples))
        answer = msgspec.structs.replace(_similarity_answer(question, found[0]), rows=rows)
        yield binary_frame(answer, found[1].tobytes())

    # --- layers --------------------------------------------------------------------------------

    async def layers(
        self, opened: OpenSet, question: FeatureLayersQuestion, page: object
    ) -> AsyncGenerator[bytes, None]:
        chosen = await opened.turns.take(choose, opened, question.most)
        names = [await opened.turns.take(layer_name, opened, layer) for layer in question.layers]
        options = {"task": "layers", "layers": names, "method": question.method}
        if question.method == "rsa":
            options["metric"] = question.metric
        key = key_of(opened, chosen, options)
        found = await opened.turns.take(self.keeper.get, opened, key, Finding, (-1, -1))
        if found is None or not _fits_layers(found[0], found[1], question.layers):
            order = Order(
                place=opened.place.place,
                task="layers",
                layers=question.layers,
                samples=chosen.samples.tolist(),
                metric=question.metric,
                method=question.method,
            )
            async with aclosing(self.findings(order, page)) as findings:
                async for finding, data in findings:
                    if finding.is_done:
                        side = len(finding.layers)
                        found = finding, numpy.frombuffer(data, "<f4").reshape(side, side)
                        await in_thread(self.keeper.put, opened, key, *found)
                    else:
                        yield binary_frame(_layers_answer(question, finding), b"")
        assert found is not None
        assert found[1] is not None
        yield binary_frame(_layers_answer(question, found[0]), found[1].tobytes())

    # --- probes --------------------------------------------------------------------------------

    async def probes(
        self, opened: OpenSet, question: FeatureProbesQuestion, page: object
    ) -> AsyncGenerator[str, None]:
        """What is known at once, then layer by layer."""
        if await opened.turns.take(opened.labels) is None:
            raise InputError(_NO_LABELS)
        chosen = await opened.turns.take(choose, opened, question.most)
        keys = {}
        for layer in question.layers:
            name = await opened.turns.take(layer_name, opened, layer)
            options = {"task": "probe", "layer": name, "kind": question.kind, "folds": question.folds}
            keys[layer] = key_of(opened, chosen, options)
        known: dict[int, FeatureProbe] = {}
        for layer, key in keys.items():
            kept = await opened.turns.take(self.keeper.get, opened, key, FeatureProbe)
            if kept is not None:
                known[layer] = msgspec.structs.replace(kept[0], layer=layer)
        left = [layer for layer in keys if layer not in known]
        share = len(known) / len(keys)
        first = Finding(progress=share, is_done=not left)
        yield _probes_answer(question, first, list(known.values()))
        if not left:
            return
        order = Order(
            place=opened.place.place,
            task="probes",
            layers=left,
            samples=chosen.samples.tolist(),
            kind=question.kind,
            folds=question.folds,
        )
        async with aclosing(self.findings(order, page)) as findings:
            async for finding, _ in findings:
                if finding.probe is not None and not finding.probe.why:
                    await in_thread(self.keeper.put, opened, keys[finding.probe.layer], finding.probe)
                progress = share + (1 - share) * finding.progress
                new = [] if finding.probe is None else [finding.probe]
                yield _probes_answer(question, msgspec.structs.replace(finding, progress=progress), new)

    # --- the process ---------------------------------------------------------------------------

    async def findings(self, order: Order, page: object) -> AsyncGenerator[Found, None]:
        """What a process says, the last word included. One that ends without it has failed."""
        if self._turns.must_wait(page):
            yield Finding(progress=0.0, note=WAITING), b""
        async with (
            self._turns.taken(page),
            own_process(_COMMAND, _LINE_BYTES) as (process, complaints),
        ):
            async with aclosing(_talk(process, order)) as said:
                async for finding, data in said:
                    if finding.fault:
                        raise InputError(finding.fault)
                    yield finding, data
                    if finding.is_done:
                        return
            _LOG.error("an analysis of features failed:\n%s", end_of(complaints))
            raise InputError(_FAILED)


async def _talk(process: asyncio.subprocess.Process, order: Order) -> AsyncGenerator[Found, None]:
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(ConnectionError):  # it has ended: there is nothing to hear, then
        process.stdin.write(msgspec.json.encode(order) + b"\n")
        await process.stdin.drain()
    while line := await process.stdout.readline():
        finding = msgspec.json.decode(line, type=Finding)
        if finding.num_bytes > _MAX_BYTES:
            raise InputError("the result is too large to be shown: take fewer samples.")
        yield finding, await process.stdout.readexactly(finding.num_bytes)


def layer_name(opened: OpenSet, number: int) -> str:
    layers = opened.features().manifest.layers
    if number >= len(layers):
        raise InputError(f"this set has {len(layers):,} layers, and not one with the number {number:,}.")
    return layers[number].name


def class_numbers(chosen: Chosen) -> list[int]:
    """None where labels are no classes: then there are no pairs of the same one."""
    return list(named(chosen.labels)[1]) if label_kind(chosen.labels) == "classes" else []


def part_of(chosen: Chosen, samples: Sequence[int]) -> Chosen:
    """Those that were left, in the same order."""
    is_there = numpy.isin(chosen.samples, numpy.array(samples, numpy.int64))
    labels = None if chosen.labels is None else chosen.labels[is_there]
    return Chosen(samples=chosen.samples[is_there], labels=labels, num_done=chosen.num_done)


def _fits(finding: Finding, values: Array | None, chosen: Chosen) -> bool:
    """What was kept may have been changed by anybody."""
    side = len(part_of(chosen, finding.samples).samples)
    return values is not None and side == len(finding.samples) and values.shape == (side, side)


def _fits_layers(finding: Finding, values: Array | None, layers: Sequence[int]) -> bool:
    side = len(finding.layers)
    return values is not None and values.shape == (side, side) and set(finding.layers) <= set(layers)


def _similarity_answer(question: FeatureSimilarityQuestion, finding: Finding) -> FeatureSimilarityAnswer:
    return FeatureSimilarityAnswer(
        id=question.id,
        progress=finding.progress,
        is_done=finding.is_done,
        note=finding.note,
        rows=None,
        contrast=finding.contrast,
    )


def _layers_answer(question: FeatureLayersQuestion, finding: Finding) -> FeatureLayersAnswer:
    return FeatureLayersAnswer(
        id=question.id,
        progress=finding.progress,
        is_done=finding.is_done,
        note=finding.note,
        layers=finding.layers,
        left_out=finding.left_out,
        num_samples=len(finding.samples),
    )


def _probes_answer(question: FeatureProbesQuestion, finding: Finding, probes: Any) -> str:
    answer = FeatureProbesAnswer(
        id=question.id,
        progress=finding.progress,
        is_done=finding.is_done,
        note=finding.note,
        at=finding.at,
        probes=probes,
    )
    return as_json(answer).decode()
