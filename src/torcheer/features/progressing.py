"""Say how far it is: a bar on a terminal, a line now and then elsewhere. All of it goes to stderr."""

from __future__ import annotations

import sys
from time import monotonic
from types import TracebackType
from typing import Final

from torcheer.graph import REFRESH_SECONDS, Pace, TerminalBars, clock_text, rate_text, readable_bytes

_LINE_SECONDS: Final = 30.0


class ExtractionProgress:
    """Of the samples of this process."""

    def __init__(self, num_samples: int | None, row_bytes: int, title: str, *, is_shown: bool) -> None:
        self._total = num_samples
        self._row_bytes = row_bytes
        self._title = title
        self._is_shown = is_shown and sys.stderr is not None
        self._done = 0
        self._pace = Pace()
        self._pace.note(0)
        self._bar: TerminalBars | None = None
        self._due = monotonic()

    def __enter__(self) -> ExtractionProgress:
        if self._is_shown and sys.stderr.isatty():
            self._bar = TerminalBars()
        self._due = monotonic() + (0.0 if self._bar is not None else _LINE_SECONDS)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()

    def add(self, num_samples: int) -> None:
        """So many more went through the model."""
        self._done += num_samples
        self._pace.note(self._done)
        if not self._is_shown or monotonic() < self._due:
            return
        if self._bar is not None:
            self._bar.set(0, self._title, self.text(), done=self._done, total=self._total)
            self._bar.draw()
            self._due = monotonic() + REFRESH_SECONDS
        else:
            say(f"{self._title}: {self.text()}")
            self._due = monotonic() + _LINE_SECONDS

    def text(self) -> str:
        """`1,024/10,000  38 samples/s  12 MB/s  3:54 left`."""
        rate = self._pace.rate
        parts = [f"{self._done:,}" if self._total is None else f"{self._done:,}/{self._total:,}"]
        parts.append(rate_text(rate, "samples"))
        if rate is not None and self._row_bytes:
            parts.append(f"{readable_bytes(int(rate * self._row_bytes))}/s")
        if self._total is not None:
            parts.append(f"{clock_text(self._pace.seconds_left(self._total - self._done))} left")
        return "  ".join(part for part in parts if part)


def say(line: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"torcheer: {line}\n")
        sys.stderr.flush()
