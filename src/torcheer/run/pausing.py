"""When to try again what failed: soon at first, then more and more seldom."""

from __future__ import annotations

import time

FIRST_SECONDS = 0.25
LONGEST_SECONDS = 30.0


class Pause:
    """Off while all is well."""

    __slots__ = ("_retry_at", "_seconds")

    def __init__(self) -> None:
        self._retry_at: float | None = None  # by time.monotonic()
        self._seconds = 0.0

    @property
    def is_on(self) -> bool:
        """From a failure until it works again."""
        return self._retry_at is not None

    @property
    def seconds_left(self) -> float:
        """0 while all is well, or when it is time to try again."""
        return 0.0 if self._retry_at is None else max(0.0, self._retry_at - time.monotonic())

    def begin(self) -> None:
        """It failed, perhaps again."""
        self._seconds = min(max(FIRST_SECONDS, 2 * self._seconds), LONGEST_SECONDS)
        self._retry_at = time.monotonic() + self._seconds

    def cut_short(self) -> None:
        """Somebody waits for it: try now."""
        if self._retry_at is not None:
            self._retry_at = time.monotonic()

    def end(self) -> None:
        self._retry_at = None
        self._seconds = 0.0
