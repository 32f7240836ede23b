"""Long work in a process of its own, which can be ended: both sides.

The process reads what is wanted from its input, and writes lines of JSON about how far it is, with bytes
after some of them. When its input ends, nobody wants its result any more.
"""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Hashable, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path
from typing import IO, Final, Generic, TypeVar
from weakref import WeakKeyDictionary

import anyio
import msgspec

from torcheer.app.cache import Cache
from torcheer.errors import InputError

_SAYS_SECONDS: Final = 0.2  # at least, between two words on how far it is


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """How far it is. With the last one comes what was wanted."""

    progress: float
    is_done: bool = False
    note: str = ""
    num_bytes: int = 0  # that follow the line
    fault: str = ""  # why there is nothing


AnyReport = TypeVar("AnyReport", bound=Report)
Reader = Callable[[], Awaitable[memoryview]]


class Reports:
    """Writes how far it is: not too often, and never backwards."""

    def __init__(self, output: IO[bytes]) -> None:
        self._output = output
        self._progress = 0.0
        self._said_at = float("-inf")

    def say(self, progress: float, note: str = "") -> None:
        now = time.monotonic()
        if note or (progress > self._progress and now - self._said_at >= _SAYS_SECONDS):
            self._progress, self._said_at = max(progress, self._progress), now
            self.write(Report(progress=self._progress, note=note))

    def write(self, report: Report, data: bytes = b"") -> None:
        self._output.write(msgspec.json.encode(report) + b"\n" + data)
        self._output.flush()


def begin_reports() -> Reports:
    # What libraries print must not stand between the reports.
    output = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    if hasattr(os, "nice"):
        os.nice(5)  # a training may run beside it
    return Reports(output)


def end_with_input(given: IO[bytes]) -> None:
    """Once all that is wanted was read: from then on, the end of the input is the end of the process."""

    def wait() -> None:
        given.read(1)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


AT_A_TIME: Final = 2
_LINE_BYTES: Final = 8 << 20
_PIECE_BYTES: Final = 1 << 20
_MAX_BYTES: Final = 1 << 28  # of a result
_REPORT_BYTES: Final = 4096  # of a report that is kept, besides its data
WAITING: Final = "It waits for another one to end."
_LOG: Final = logging.getLogger("torcheer.app")
_PACKAGES: Final = str(Path(__file__).parents[2])  # what is found here is found there, too
_PATIENT: Final = {"OMP_WAIT_POLICY": "passive"}  # threads that wait take no time from a training


def command_of(module: str) -> Sequence[str]:
    # -P: no module is taken from the folder that one happens to be in.
    return sys.executable, "-P", "-m", module


class Processes(Generic[AnyReport]):
    """A process for each piece of work: a few at a time, and one for each page. Last results are kept."""

    def __init__(self, module: str, reports: type[AnyReport], failed: str, kept_bytes: int) -> None:
        self._module = module
        self._type = reports
        self._failed = failed  # what a page is told where a process ends before it is done
        self._kept: Cache[tuple[AnyReport, bytes]] = Cache(kept_bytes)
        self._turns = asyncio.Semaphore(AT_A_TIME)
        self._turns_of_page: WeakKeyDictionary[object, asyncio.Semaphore] = WeakKeyDictionary()

    def kept(self, key: Hashable) -> tuple[AnyReport, bytes] | None:
        return self._kept.get(key)

    def keep(self, key: Hashable, report: AnyReport, data: bytes = b"") -> None:
        self._kept.put(key, (report, data), _REPORT_BYTES + len(data))

    async def results(
        self, key: Hashable, order: msgspec.Struct, page: object, read: Reader | None = None
    ) -> AsyncGenerator[tuple[AnyReport, bytes], None]:
        """As `reports`; the last word alone where it is kept under this key."""
        kept = self.kept(key)
        if kept is not None:
            yield kept
            return
        async with aclosing(self.reports(order, page, read)) as reports:
            async for report, data in reports:
                if report.is_done:
                    self.keep(key, report, data)
                yield report, data

    async def reports(
        self, order: msgspec.Struct, page: object, read: Reader | None = None
    ) -> AsyncGenerator[tuple[AnyReport, bytes], None]:
        """What a process says to an order, each with its bytes, the last word included.

        What it is given besides is read when its turn has come: it may be large.
        """
        turns_of_page = self._turns_of_page.setdefault(page, asyncio.Semaphore(1))
        if turns_of_page.locked() or self._turns.locked():
            yield self._type(progress=0.0, note=WAITING), b""
        async with (
            turns_of_page,
            self._turns,
            _own_process(command_of(self._module)) as (process, complaints),
        ):
            assert process.stdout is not None
            await _give(process, order, memoryview(b"") if read is None else await read())
            while line := await process.stdout.readline():
                report = msgspec.json.decode(line, type=self._type)
                if report.fault:
                    raise InputError(report.fault)
                if report.num_bytes > _MAX_BYTES:
                    raise InputError("the result is too large to be shown: take fewer samples.")
                yield report, await process.stdout.readexactly(report.num_bytes)
                if report.is_done:
                    return
            complaints.seek(0)
            end = complaints.read()[-4000:].decode("utf-8", "replace")
            _LOG.error("a process ended before it was done:\n%s", end)
            raise InputError(self._failed)


async def _give(process: asyncio.subprocess.Process, order: msgspec.Struct, data: memoryview) -> None:
    assert process.stdin is not None
    with suppress(ConnectionError):  # it has ended: there is nothing to hear, then
        process.stdin.write(msgspec.json.encode(order) + b"\n")
        for start in range(0, len(data), _PIECE_BYTES):
            process.stdin.write(data[start : start + _PIECE_BYTES])
            await process.stdin.drain()
        await process.stdin.drain()


@asynccontextmanager
async def _own_process(command: Sequence[str]) -> AsyncIterator[tuple[asyncio.subprocess.Process, IO[bytes]]]:
    """A process, and what it complains about. It is ended when it is left."""
    with tempfile.TemporaryFile() as complaints:
        packages = os.pathsep.join([_PACKAGES, *filter(None, sys.path)])
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            limit=_LINE_BYTES,
            env={**_PATIENT, **os.environ, "PYTHONPATH": packages},
        )
        try:
            yield process, complaints
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            with anyio.CancelScope(shield=True):
                await process.wait()
