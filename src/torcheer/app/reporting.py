"""Work that takes long has a process of its own: this is the side of that process.

It reads what is wanted from its input, and writes lines of JSON about how far it is, with bytes after some of
them. When its input ends, whoever wanted it has gone.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import IO, Final

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
