"""Say once what goes wrong while a run is written, count what is lost, and never raise into the training."""

from __future__ import annotations

import logging
import os
import sys
import threading
import warnings
from contextlib import suppress
from pathlib import Path
from types import FrameType

_PACKAGE = str(Path(__file__).resolve().parents[1])
_MOST_SERIES = 5  # of one cause; whoever has read so many knows
_COMPILER = os.path.join("torch", "_dynamo", "")
_LOG = logging.getLogger("torcheer")


class RunWarning(UserWarning):
    """Something of a run could not be kept. The training goes on."""


class WarningsOnce:
    """What was told already, and how many events were lost."""

    def __init__(self) -> None:
        self._guard = threading.RLock()  # not a plain lock: the handler of a signal may log, too
        self._told: set[str] = set()
        self._series_told: dict[str, set[str]] = {}  # by cause
        self.num_dropped = 0

    def tell(
        self, message: str, *, cause: str | None = None, series: str | None = None, num_dropped: int = 0
    ) -> None:
        """Warn, the first time that there is this cause.

        What concerns one `series` is told once for each of the first few series of that cause. So mistakes
        with many series never hide what happens to the run itself.
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
                    f"{cause}: there are more series of which something cannot be kept; from here on it is "
                    "only counted (run.num_dropped)."
                )
        warn_caller(message, RunWarning)

    def drop(self, count: int) -> None:
        with self._guard:
            self.num_dropped += count

    def renew(self) -> None:
        """In a forked child: its own count, and a lock that no vanished thread holds."""
        self._guard = threading.RLock()
        self.num_dropped = 0


def warn_caller(message: str, category: type[Warning]) -> None:
    """With the line of whoever called torcheer."""
    try:
        level = _outside()
        if level is None:
            warnings.warn_explicit(message, category, threading.current_thread().name, 1)
        else:
            warnings.warn(message, category, stacklevel=level)
    except Exception:
        # Warnings are errors in this process, or what shows them is broken; ours must not end a training.
        with suppress(Exception):
            _LOG.warning("%s", message)


def _outside() -> int | None:
    """How far up the first caller is who can do something about it; None in a thread of ours."""
    level = 2
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        # Between the user's line and ours stand torch.compile, and the start of a thread.
        if not (file.startswith(_PACKAGE) or file == threading.__file__ or _COMPILER in file):
            return level
        level, frame = level + 1, frame.f_back
    return None
