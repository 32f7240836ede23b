"""Embeddings in two or three dimensions: a process for each, a few at a time, the last ones kept."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Final

import msgspec

from torcheer.app.frames import binary_frame
from torcheer.app.ownprocess import LINE_BYTES, WAITING, ProcessTurns, command_of, end_of, own_process
from torcheer.app.reporting import Report
from torcheer.app.runmessages import ReduceQuestion, ReductionAnswer
from torcheer.app.runs.openrun import OpenRun
from torcheer.app.runs.recorded import data_of, entry_of
from torcheer.app.runs.reduction import LIBRARIES, MIN_POINTS, Order, missing_library
from torcheer.errors import FileFormatError, InputError
from torcheer.run import EmbeddingHead

_LOG: Final = logging.getLogger("torcheer.app")
MAX_POINTS: Final = {"pca": 1_000_000, "tsne": 20_000, "umap": 100_000}
_MAX_BYTES: Final = 1 << 30
_KEPT_BYTES: Final = 64 << 20
_COMMAND: Final = command_of("torcheer.app.runs.reduction")
_DAMAGED: Final = "the embedding is damaged: its bytes do not fit its points and dimensions."
_FAILED: Final = "the points could not be brought to fewer dimensions: the server's log says why."


class Reductions:
    """For all pages of a server."""

    def __init__(self) -> None:
        self._turns = ProcessTurns()
        self._kept: OrderedDict[tuple[object, ...], tuple[bytes, str]] = OrderedDict()

    async def follow(
        self, run: OpenRun, question: ReduceQuestion, page: object
    ) -> AsyncGenerator[bytes, None]:
        """How far it is, and in the end the points."""
        order, logged_at = await run.slow_turns.take(_order, run, question)
        key = (run, question.record, logged_at, order)

        def read() -> Awaitable[memoryview]:
            return run.slow_turns.take(_points, run, question.record, order)

        async with aclosing(self.reduced(key, order, read, question.id, page)) as frames:
            async for frame in frames:
                yield frame

    async def reduced(
        self,
        key: tuple[object, ...],
        order: Order,
        read: Callable[[], Awaitable[memoryview]],
        number: int,
        page: object,
    ) -> AsyncGenerator[bytes, None]:
        """The same for points from anywhere: `number` is that of the question."""
        if key not in self._kept:
            if self._turns.must_wait(page):
                yield _frame(number, order, Report(progress=0.0, note=WAITING))
            async with self._turns.taken(page), own_process(_COMMAND) as (process, complaints):
                # Read only now: they may be many, and others may be waiting, too.
                points = await read()
                async with aclosing(_talk(process, order, points)) as reports:
                    async for report, places in reports:
                        if report.is_done:
                            self._keep(key, places, report.note)
                        else:
                            yield _frame(number, order, report)
                if key not in self._kept:
                    _LOG.error("a reduction failed:\n%s", end_of(complaints))
                    raise InputError(_FAILED)
        self._kept.move_to_end(key)
        places, note = self._kept[key]
        yield _frame(number, order, Report(progress=1.0, is_done=True, note=note), places)

    def _keep(self, key: tuple[object, ...], places: bytes, note: str) -> None:
        self._kept[key] = (places, note)
        num_bytes = sum(len(one) for one, _ in self._kept.values())
        while num_bytes > _KEPT_BYTES and len(self._kept) > 1:
            num_bytes -= len(self._kept.popitem(last=False)[1][0])


def _order(run: OpenRun, question: ReduceQuestion) -> tuple[Order, float]:
    """What is wanted, and when the points were logged. Refused where it cannot be done."""
    entry = entry_of(run, question.record)
    head = entry.head
    if not isinstance(head, EmbeddingHead):
        raise InputError("this record is no embedding.")
    check_method(question.method, head.num_points)
    if head.num_dims < 1 or not head.matrix_bytes == 4 * head.num_points * head.num_dims <= entry.num_bytes:
        raise FileFormatError(_DAMAGED)
    order = Order(
        method=question.method,
        num_points=head.num_points,
        num_dims=head.num_dims,
        wanted_dims=question.num_dims,
        neighbours=question.neighbours,
        metric=question.metric,
    )
    return order, entry.time


def _points(run: OpenRun, record: str, order: Order) -> memoryview:
    data = data_of(run, record, _MAX_BYTES)
    num_bytes = 4 * order.num_points * order.num_dims
    if len(data) < num_bytes:
        raise FileFormatError(_DAMAGED)
    return memoryview(data)[:num_bytes]


def check_method(method: str, num_points: int) -> None:
    """Refused where it is not installed, or cannot be done with so many."""
    missing = missing_library(method)
    if missing:
        raise InputError(missing)
    title = LIBRARIES[method][1] if method in LIBRARIES else "PCA"
    if num_points > MAX_POINTS[method]:
        raise InputError(
            f"{title} of {num_points:,} points takes too long: {MAX_POINTS[method]:,} is the most. "
            "Log fewer points, or choose another method."
        )
    if num_points < MIN_POINTS:
        raise InputError(f"{title} needs {MIN_POINTS} points at least, and there are {num_points}.")


def _frame(number: int, order: Order, report: Report, places: bytes = b"") -> bytes:
    answer = ReductionAnswer(
        id=number,
        progress=report.progress,
        is_done=report.is_done,
        num_points=order.num_points,
        num_dims=order.wanted_dims,
        note=report.note,
    )
    return binary_frame(answer, places)


# --- the process -----------------------------------------------------------------------------------------


async def _talk(
    process: asyncio.subprocess.Process, order: Order, points: memoryview
) -> AsyncGenerator[tuple[Report, bytes], None]:
    """What the process says, until it is done or ends."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(ConnectionError):  # it has ended: there is nothing to hear, then
        process.stdin.write(msgspec.json.encode(order) + b"\n")
        for start in range(0, len(points), LINE_BYTES * 16):
            process.stdin.write(points[start : start + LINE_BYTES * 16])
            await process.stdin.drain()
    while line := await process.stdout.readline():
        report = msgspec.json.decode(line, type=Report)
        if report.is_done:
            yield report, await process.stdout.readexactly(4 * order.num_points * order.wanted_dims)
            return
        yield report, b""
