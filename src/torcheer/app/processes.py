"""Long work in a process of its own, which can be ended: both sides.

The process reads what is wanted from its input, and writes lines of JSON about how far it is, with bytes
after some of them. When its input ends, nobody wants its result any more.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import IO, Final
from weakref import WeakKeyDictionary

import anyio
import msgspec

_SAYS_SECONDS: Final = 0.2  # at least, between two words on how far it is


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """How far it is. With the last one comes what was wanted."""

    progress: float
    is_done: bool = False
    note: str = ""


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
    threading.Thread(target=_wait_for_end, args=[given], daemon=True).start()


def _wait_for_end(given: IO[bytes]) -> None:
    given.read(1)
    os._exit(1)


# --- the side of the server -----------------------------------------------------------------------


AT_A_TIME: Final = 2
LINE_BYTES: Final = 1 << 16
WAITING: Final = "It waits for another one to end."
_PACKAGES: Final = str(Path(__file__).parents[2])  # what is found here is found there, too
_PATIENT: Final = {"OMP_WAIT_POLICY": "passive"}  # threads that wait take no time from a training


def command_of(module: str) -> tuple[str, ...]:
    # -P: no module is taken from the folder that one happens to be in.
    return sys.executable, "-P", "-m", module


class ProcessTurns:
    """A few processes at a time, and one for each page."""

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(AT_A_TIME)
        self._turns_of_page: WeakKeyDictionary[object, asyncio.Semaphore] = WeakKeyDictionary()

    def must_wait(self, page: object) -> bool:
        return self._of(page).locked() or self._turns.locked()

    @asynccontextmanager
    async def taken(self, page: object) -> AsyncIterator[None]:
        async with self._of(page), self._turns:
            yield

    def _of(self, page: object) -> asyncio.Semaphore:
        return self._turns_of_page.setdefault(page, asyncio.Semaphore(1))


@asynccontextmanager
async def own_process(
    command: Sequence[str], line_bytes: int = LINE_BYTES
) -> AsyncIterator[tuple[asyncio.subprocess.Process, IO[bytes]]]:
    """A process, and what it complains about. It is ended when it is left."""
    with tempfile.TemporaryFile() as complaints:
        packages = os.pathsep.join([_PACKAGES, *filter(None, sys.path)])
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            limit=line_bytes,
            env={**_PATIENT, **os.environ, "PYTHONPATH": packages},
        )
        try:
            yield process, complaints
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            with anyio.CancelScope(shield=True):
                await process.wait()


def end_of(complaints: IO[bytes]) -> str:
    complaints.seek(0)
    return complaints.read()[-4000:].decode("utf-8", "replace")
