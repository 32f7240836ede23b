"""Say once what goes wrong while a run is written, count what is lost, and never raise into the training."""

from __future__ import annotations

import logging
import sys
import threading
import warnings
from pathlib import Path

_PACKAGE = str(Path(__file__).resolve().parents[1])
_MOST_SERIES = 5  # of one cause; whoever has read so many knows
_LOG = logging.getLogger("torcheer")


class RunWarning(UserWarning):
    """Something of a run could not be kept. The training goes on."""


class Teller:
    """What was told already, and how many events were lost."""

    __slots__ = ("_guard", "_series_told", "_told", "num_dropped")

    def __init__(self) -> None:
        self._guard = threading.RLock()  # not a plain lock: the handler of a signal may log, too
        self._told: set[str] = set()
        self._series_told: dict[str, set[str]] = {}  # by cause
        self.num_dropped = 0

    def tell(
        self, message: str, *, cause: str | None = None, series: str | None = None, num_dropped: int = 0
    ) -> None:
        """Warn, the first time that there is this cause.

        What concerns one `series` is told once for each of the first few series of that cause. So the mistakes
        of many series never hide what happens to the run itself.
        """
        with self._guard:
            self.num_dropped += num_dropped
            cause = message if cause is None else cause
            told = self._told if series is None else self._series_told.setdefault(cause, set())
            key = cause if series is None else series
            if key in told or (series is not None and len(told) > _MOST_SERIES):
                return
            told.add(key)
            if series is not None and len(told) > _MOST_SERIES:
                message = (
                    f"{cause}: there are more series of which something cannot be kept; from here on it is only "
                    "counted (run.num_dropped)."
                )
        _warn(message)

    def drop(self, count: int) -> None:
        with self._guard:
            self.num_dropped += count

    def renew(self) -> None:
        """In a forked child: its own count, and a lock that no vanished thread holds."""
        self._guard = threading.RLock()
        self.num_dropped = 0


def _warn(message: str) -> None:
    try:
        warnings.warn(message, RunWarning, stacklevel=_outside())
    except RunWarning:
        # Warnings are errors in this process; ours must not end a training.
        _LOG.warning("%s", message)


def _outside() -> int:
    """How far up the first caller is that is not torcheer itself: there something can be done about it."""
    level = 1
    frame = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level += 1
        if frame.f_back is None:
            break
        frame = frame.f_back
    return level + 1
