"""Say how far it is: a bar on a terminal, a line now and then elsewhere. All of it goes to stderr."""

from __future__ import annotations

from time import monotonic
from typing import Final

from torcheer import graph

_LINE_SECONDS: Final = 30.0


class ExtractionProgress:
    """Of the samples of this process."""

    def __init__(self, num_samples: int | None, title: str, *, is_shown: bool) -> None:
        self._total = num_samples
        self._title = title
        self._is_shown = is_shown
        self._done = 0
        self._pace = graph.Pace()
        self._pace.note(0)
        is_bar = is_shown and graph.is_terminal()
        self._bar = graph.Progress(title, num_samples, "samples") if is_bar else None
        self._due = monotonic() + _LINE_SECONDS

    def __enter__(self) -> ExtractionProgress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.__exit__()

    def add(self, num_samples: int) -> None:
        """So many more went through the model."""
        if self._bar is not None:
            self._bar.add(num_samples)
            return
        self._done += num_samples
        self._pace.note(self._done)
        if self._is_shown and monotonic() >= self._due:
            say(f"{self._title}: {graph.progress_text(self._done, self._total, self._pace, 'samples')}")
            self._due = monotonic() + _LINE_SECONDS


def say(line: str) -> None:
    graph.say(f"torcheer: {line}")
