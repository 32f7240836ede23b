"""Answer what the page Features asks: in threads, one at a time for each set; analyses in processes."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
import numpy

from torcheer.app.background_threads import Turns, in_thread
from torcheer.app.cache import Cache
from torcheer.app.features import messages
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
from torcheer.app.features.shelf import Array, FeatureShelf, OpenSet
from torcheer.app.processes import Processes, command_of
from torcheer.app.runs.messages import ReductionAnswer
from torcheer.app.runs.projection import Order as ReductionOrder
from torcheer.app.runs.projection import Reductions, check_method
from torcheer.app.wire import Followed, Frame, Question, Single, as_text, binary_frame
from torcheer.errors import InputError
from torcheer.run import EmbeddingHead
from torcheer.tensorfile import read_file

FOLDER: Final = "analyses"
_VERSION: Final = 1
_LOG: Final = logging.getLogger("torcheer.app")
_MEMORY_BYTES: Final = 128 << 20
_MAX_HEAD_BYTES: Final = 4 << 20
_MAX_VALUE_BYTES: Final = 32 << 20

Head = TypeVar("Head", bound=msgspec.Struct)


def key_of(opened: OpenSet, chosen: Chosen, options: Mapping[str, Any]) -> str:
    """Another one for other options, other features, and other samples."""
    manifest = hashlib.blake2s(opened.features().manifest.encoded()).hexdigest()
    samples = hashlib.blake2s(chosen.samples.astype("<i8").tobytes()).hexdigest()
    whole = [_VERSION, manifest, samples, sorted(options.items())]
    digest = hashlib.blake2s(msgspec.json.encode(whole), digest_size=12).hexdigest()
    return f"{options['task']}-{digest}"


class ResultStore:
    """For all sets of a server."""

    def __init__(self) -> None:
        self._memory: Cache[tuple[msgspec.Struct, Array | None]] = Cache(_MEMORY_BYTES)

    def get(self, opened: OpenSet, key: str, head_type: type[Head]) -> tuple[Head, Array | None] | None:
        """What was kept, with its numbers where it has some."""
        known = self._memory.get((opened.place.id, key))
        if known is not None and isinstance(known[0], head_type):
            return known[0], known[1]
        if opened.folder is None:
            return None
        try:
            found = _read(opened.folder / FOLDER / key, head_type)
        except (OSError, ValueError, msgspec.MsgspecError, RecursionError, EOFError):
            return None  # not there, or not ours: it is computed
        self._remember(opened, key, *found)
        return found

    def put(self, opened: OpenSet, key: str, head: msgspec.Struct, values: Array | None = None) -> None:
        self._remember(opened, key, head, values)
        is_small = values is None or values.nbytes <= _MAX_VALUE_BYTES
        if opened.folder is None or not is_small or not opened.progress().is_complete:
            return
        try:
            _write(opened.folder / FOLDER / key, head, values)
        except OSError as error:
            _LOG.info("an analysis is kept in memory only: %s", error)

    def _remember(self, opened: OpenSet, key: str, head: msgspec.Struct, values: Array | None) -> None:
        num_bytes = 4096 + (0 if values is None else values.nbytes)
        self._memory.put((opened.place.id, key), (head, values), num_bytes)


def _read(path: Path, head_type: type[Head]) -> tuple[Head, Array | None]:
    place, numbers = path.with_suffix(".json"), path.with_suffix(".npy")
    if place.stat().st_size > _MAX_HEAD_BYTES:
        raise ValueError("too large")
    head = msgspec.json.decode(read_file(place), type=head_type)
    if not numbers.is_file():  # a pipe would keep us waiting
        return head, None
    # As a map first: a header that lies about its size costs nothing.
    mapped = numpy.load(numbers, mmap_mode="r", allow_pickle=False)
    if mapped.dtype != numpy.dtype("<f4") or mapped.nbytes > _MAX_VALUE_BYTES:
        raise ValueError("not what was kept")
    return head, numpy.array(mapped)


def _write(path: Path, head: msgspec.Struct, values: Array | None) -> None:
    path.parent.mkdir(exist_ok=True)
    if values is not None:
        beside = _beside(path)
        with open(beside, "wb") as file:
            numpy.lib.format.write_array(file, values.astype("<f4"), allow_pickle=False)
        os.replace(beside, path.with_suffix(".npy"))
    # Last: whoever finds it finds the numbers, too.
    beside = _beside(path)
    beside.write_bytes(msgspec.json.format(msgspec.json.encode(head), indent=1))
    os.replace(beside, path.with_suffix(".json"))


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}")


# --- analyses in processes ------------------------------------------------------------------------


_COMMAND: Final = command_of("torcheer.app.features.features_analysis")
_FAILED: Final = "this could not be computed: the server's log says why."
_READING: Final = "The samples are read."
_NO_LABELS: Final = (
    "there are no labels to be read from the layers: extract from data that gives inputs and labels."
)

Progress = AsyncGenerator[tuple[Finding, Array | None], None]  # with the last one come the numbers


class FeatureAnalyses:
    """For all pages of a server. What was found is kept."""

    def __init__(self) -> None:
        self._results = ResultStore()
        self._processes = Processes(Finding, _FAILED)
        self._reductions = Reductions()

    async def similarity(
        self, opened: OpenSet, question: messages.FeatureSimilarityQuestion, page: object
    ) -> AsyncGenerator[bytes, None]:
        chosen = await opened.turns.take(choose, opened, question.most)
        layer = await opened.turns.take(layer_name, opened, question.layer)
        key = key_of(opened, chosen, {"task": "similarity", "layer": layer, "metric": question.metric})
        order = Order(
            place=opened.place.place,
            task="similarity",
            layers=[question.layer],
            samples=chosen.samples.tolist(),
            label_of=class_numbers(chosen),
            metric=question.metric,
        )

        def fits(finding: Finding, values: Array) -> bool:
            side = len(part_of(chosen, finding.samples).samples)
            return side == len(finding.samples) and values.shape == (side, side)

        async with aclosing(self._found(opened, key, order, page, fits)) as found:
            async for finding, values in found:
                answer = messages.FeatureSimilarityAnswer(
                    question.id, **_state(finding), contrast=finding.contrast
                )
                if values is not None:
                    rows = await opened.turns.take(rows_of, opened, part_of(chosen, finding.samples))
                    answer = msgspec.structs.replace(answer, rows=rows)
                yield binary_frame(answer, b"" if values is None else values.tobytes())

    async def layers(
        self, opened: OpenSet, question: messages.FeatureLayersQuestion, page: object
    ) -> AsyncGenerator[bytes, None]:
        chosen = await opened.turns.take(choose, opened, question.most)
        names = [await opened.turns.take(layer_name, opened, layer) for layer in question.layers]
        options = {"task": "layers", "layers": names, "method": question.method}
        if question.method == "rsa":
            options["metric"] = question.metric
        order = Order(
            place=opened.place.place,
            task="layers",
            layers=question.layers,
            samples=chosen.samples.tolist(),
            metric=question.metric,
            method=question.method,
        )

        def fits(finding: Finding, values: Array) -> bool:
            side = len(finding.layers)
            return values.shape == (side, side) and set(finding.layers) <= set(question.layers)

        async with aclosing(self._found(opened, key_of(opened, chosen, options), order, page, fits)) as found:
            async for finding, values in found:
                answer = messages.FeatureLayersAnswer(
                    question.id,
                    **_state(finding),
                    layers=finding.layers,
                    left_out=finding.left_out,
                    num_samples=len(finding.samples),
                )
                yield binary_frame(answer, b"" if values is None else values.tobytes())

    async def probes(
        self, opened: OpenSet, question: messages.FeatureProbesQuestion, page: object
    ) -> AsyncGenerator[str, None]:
        """What is known at once, then layer by layer."""
        if await opened.turns.take(opened.labels) is None:
            raise InputError(_NO_LABELS)
        chosen = await opened.turns.take(choose, opened, question.most)
        keys = {}
        known: dict[int, messages.FeatureProbe] = {}
        for layer in question.layers:
            name = await opened.turns.take(layer_name, opened, layer)
            options = {"task": "probe", "layer": name, "kind": question.kind, "folds": question.folds}
            keys[layer] = key_of(opened, chosen, options)
            kept = await opened.turns.take(self._results.get, opened, keys[layer], messages.FeatureProbe)
            if kept is not None:
                known[layer] = msgspec.structs.replace(kept[0], layer=layer)
        left = [layer for layer in keys if layer not in known]
        share = len(known) / len(keys)
        yield _probes_answer(question, Finding(progress=share, is_done=not left), list(known.values()))
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
        async with aclosing(self._processes.reports(_COMMAND, order, page)) as findings:
            async for finding, _ in findings:
                if finding.probe is not None and not finding.probe.why:
                    await in_thread(self._results.put, opened, keys[finding.probe.layer], finding.probe)
                progress = share + (1 - share) * finding.progress
                new = [] if finding.probe is None else [finding.probe]
                yield _probes_answer(question, msgspec.structs.replace(finding, progress=progress), new)

    # --- points of the projector -------------------------------------------------------------------

    async def points(
        self, opened: OpenSet, question: messages.FeaturePointsQuestion, page: object
    ) -> AsyncGenerator[bytes, None]:
        chosen, _, found = await self._points(opened, question, page)
        async with aclosing(found):
            async for finding, values in found:
                head, data = None, b""
                if values is not None:
                    head, data = await opened.turns.take(_embedding, opened, chosen, values)
                yield binary_frame(
                    messages.FeaturePointsAnswer(question.id, **_state(finding), head=head), data
                )

    async def reduce(
        self, opened: OpenSet, question: messages.FeatureReduceQuestion, page: object
    ) -> AsyncGenerator[bytes, None]:
        _, key, found = await self._points(opened, question, page)
        points: Array | None = None
        async with aclosing(found):
            async for finding, points in found:
                if points is None:
                    note = finding.note or _READING
                    yield binary_frame(
                        ReductionAnswer(question.id, num_dims=question.num_dims, note=note), b""
                    )
        assert points is not None
        check_method(question.method, len(points))
        order = ReductionOrder(
            method=question.method,
            num_points=points.shape[0],
            num_dims=points.shape[1],
            wanted_dims=question.num_dims,
            neighbours=question.neighbours,
            metric=question.metric,
        )
        data = memoryview(numpy.ascontiguousarray(points, "<f4").tobytes())

        async def read() -> memoryview:
            return data

        frames = self._reductions.reduced((opened, key, order), order, read, question.id, page)
        async with aclosing(frames):
            async for frame in frames:
                yield frame

    async def _points(
        self,
        opened: OpenSet,
        question: messages.FeaturePointsQuestion | messages.FeatureReduceQuestion,
        page: object,
    ) -> tuple[Chosen, str, Progress]:
        chosen = await opened.turns.take(choose, opened, question.most)
        layer = await opened.turns.take(layer_name, opened, question.layer)
        key = key_of(opened, chosen, {"task": "points", "layer": layer})
        samples = chosen.samples.tolist()
        order = Order(place=opened.place.place, task="points", layers=[question.layer], samples=samples)

        def fits(finding: Finding, values: Array) -> bool:
            return values.ndim == 2 and len(values) == len(samples)

        return chosen, key, self._found(opened, key, order, page, fits)

    async def _found(
        self, opened: OpenSet, key: str, order: Order, page: object, fits: Callable[[Finding, Array], bool]
    ) -> Progress:
        """How far it is, and in the end what was found: kept from before if it fits, else computed now."""
        kept = await opened.turns.take(self._results.get, opened, key, Finding)
        # Anybody may have changed what lies beside the features.
        if kept is not None and kept[1] is not None and fits(kept[0], kept[1]):
            yield kept
            return
        async with aclosing(self._processes.reports(_COMMAND, order, page)) as findings:
            async for finding, data in findings:
                if not finding.is_done:
                    yield finding, None
                    continue
                values = numpy.frombuffer(data, "<f4").reshape(finding.num_rows, -1)
                await opened.turns.take(self._results.put, opened, key, finding, values)
                yield finding, values


def class_numbers(chosen: Chosen) -> list[int]:
    """None where labels are no classes: then there are no pairs of the same one."""
    return list(named(chosen.labels)[1]) if label_kind(chosen.labels) == "classes" else []


def part_of(chosen: Chosen, samples: Sequence[int]) -> Chosen:
    """Those that were left, in the same order."""
    is_there = numpy.isin(chosen.samples, numpy.array(samples, numpy.int64))
    labels = None if chosen.labels is None else chosen.labels[is_there]
    return Chosen(samples=chosen.samples[is_there], labels=labels, num_done=chosen.num_done)


def _embedding(opened: OpenSet, chosen: Chosen, values: Array) -> tuple[EmbeddingHead, bytes]:
    """As an embedding of a run is: the projector reads both."""
    rows = rows_of(opened, chosen)
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


def _state(finding: Finding) -> dict[str, Any]:
    return {"progress": finding.progress, "is_done": finding.is_done, "note": finding.note}


def _probes_answer(
    question: messages.FeatureProbesQuestion, finding: Finding, probes: list[messages.FeatureProbe]
) -> str:
    return as_text(messages.FeatureProbesAnswer(question.id, **_state(finding), at=finding.at, probes=probes))


# --- answers --------------------------------------------------------------------------------------


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
        self.single: dict[type[Question], Single] = {
            messages.FeatureMapQuestion: self._of_set(answer_map),
            messages.FeatureUnitQuestion: self._of_set(answer_unit),
            messages.FeatureSampleQuestion: self._of_set(answer_sample),
        }
        self.followed: dict[type[Question], Followed] = {
            messages.FeatureSetsQuestion: self._follow_sets,
            messages.FeatureSetQuestion: self._feed(_follow_set),
            messages.FeatureSimilarityQuestion: self._feed(analyses.similarity),
            messages.FeatureLayersQuestion: self._feed(analyses.layers),
            messages.FeatureProbesQuestion: self._feed(analyses.probes),
            messages.FeaturePointsQuestion: self._feed(analyses.points),
            messages.FeatureReduceQuestion: self._feed(analyses.reduce),
        }

    def _of_set(self, answer: Callable[[OpenSet, Any], bytes]) -> Single:
        async def handler(question: Any) -> Frame:
            opened = await in_thread(self._shelf.known, question.set_id)
            return await opened.turns.take(answer, opened, question)

        return handler

    def _feed(self, feed: Feed) -> Followed:
        async def frames(question: Any, page: object) -> AsyncGenerator[Frame, None]:
            opened = await in_thread(self._shelf.known, question.set_id)
            async with aclosing(feed(opened, question, page)) as found:
                async for frame in found:
                    yield frame

        return frames

    async def _follow_sets(
        self, question: messages.FeatureSetsQuestion, page: object
    ) -> AsyncGenerator[Frame, None]:
        sent: list[messages.FeatureSetListing] | None = None
        while True:
            began = time.monotonic()
            listings = await self._list_turns.take(self._listings)
            if listings != sent:
                sent = listings
                yield as_text(messages.FeatureSetsAnswer(id=question.id, sets=listings))
            # A folder that takes long to look through is looked through less often.
            await asyncio.sleep(max(_LIST_SECONDS, _BUSY * (time.monotonic() - began)))

    def _listings(self) -> list[messages.FeatureSetListing]:
        return [listing_of(opened) for opened in self._shelf.sets().values()]


async def _follow_set(
    opened: OpenSet, question: messages.FeatureSetQuestion, page: object
) -> AsyncGenerator[Frame, None]:
    sent: messages.FeatureSetAnswer | None = None
    while True:
        answer = await opened.turns.take(set_answer, opened, question.id)
        if answer != sent:
            sent = answer
            yield as_text(answer)
        await asyncio.sleep(_SET_SECONDS)
