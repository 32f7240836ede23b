"""What a page is told of a process that is gone."""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from torcheer.training.control.faults import place_of
from torcheer.training.control.process import End
from torcheer.training.control.protocol import Fault

_SIGNALS: Final[Mapping[int, str]] = {
    signal.SIGKILL: "it was killed (SIGKILL), by somebody, or by the system because memory was short.",
    signal.SIGTERM: "it was told to end (SIGTERM).",
    signal.SIGSEGV: "it crashed (SIGSEGV): compiled code touched memory that is not its own.",
    signal.SIGABRT: "it gave up (SIGABRT): compiled code found something that cannot be.",
    signal.SIGBUS: "it crashed (SIGBUS): shared memory may be full, as with many workers of a DataLoader.",
    signal.SIGFPE: "it crashed (SIGFPE): compiled code divided by zero.",
    signal.SIGILL: "it crashed (SIGILL): compiled code is for another processor.",
}
_EXITED: Final = "it ended by itself with exit code {code}."
_ABORTED: Final = "it was ended on request."
_NO_REPORT: Final = (
    "it was ended, since it sent what is no report ({garbage}): does the training write to a file descriptor "
    "that is not its own?"
)
# What faulthandler writes of the thread that crashed, the innermost call first.
_CRASHED: Final = re.compile(r"^Current thread .*\n((?:  File .*\n?)+)", re.MULTILINE)
_FRAME: Final = re.compile(r'  File "([^"]+)", line (\d+) in (\S+)')


def fault_of_end(end: End, doing: str, *, was_aborted: bool) -> Fault:
    """What is known: the exit code or the signal in words, what it was doing, and what it printed last."""
    if was_aborted:
        message = _ABORTED
    elif end.garbage:
        message = _NO_REPORT.format(garbage=end.garbage)
    elif end.code < 0:
        message = _SIGNALS.get(-end.code) or f"it was ended by {_name_of(-end.code)}."
    else:
        message = _EXITED.format(code=end.code)
    during = f" during {doing}" if doing else ""
    return Fault(
        error="",
        message=f"The process of the training is gone{during}: {message}",
        place=_place(end.last_words),
        trace=end.last_words,
    )


def _name_of(number: int) -> str:
    with suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"


def _place(last_words: str) -> str:
    crashed = _CRASHED.search(last_words)
    if crashed is None:
        return ""
    frames = [(file, int(line), name) for file, line, name in _FRAME.findall(crashed[1])]
    return place_of(frames[::-1])
