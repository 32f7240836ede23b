"""Work that takes long has a process of its own, which can be ended: this is the side of the server."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import IO, Final
from weakref import WeakKeyDictionary

import anyio

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
