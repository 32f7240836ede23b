"""A bar for work that takes long: on a terminal only, and only after a second."""

from __future__ import annotations

import sys
from time import perf_counter
from typing import Any

_PATIENCE_SECONDS = 1.0


class Progress:
    """Counts bytes; shows them when it is worth it."""

    def __init__(self, title: str, total_bytes: int) -> None:
        self._title = title
        self._total = total_bytes
        self._done = 0
        self._started = perf_counter()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def add(self, num_bytes: int) -> None:
        self._done += num_bytes
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done)
        elif perf_counter() - self._started > _PATIENCE_SECONDS and _is_terminal():
            self._show()

    def _show(self) -> None:
        from rich import progress
        from rich.console import Console

        columns = (
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.DownloadColumn(),
            progress.TransferSpeedColumn(),
        )
        self._bar = progress.Progress(*columns, console=Console(stderr=True), transient=True)
        self._bar.start()
        self._task = self._bar.add_task(self._title, total=self._total, completed=self._done)


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()
