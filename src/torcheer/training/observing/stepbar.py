"""Show how a loop of somebody's own gets on: a bar on a terminal, a line for each epoch elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from time import perf_counter
from typing import Any

from torch import Tensor

from torcheer.graph.pace import Pace, clock_text, rate_text
from torcheer.training.progress import say

_REFRESH_SECONDS = 0.2
_MOST_VALUES = 4


class StepBar:
    """Counts steps. Goes to stderr, so that what a program prints stays its own."""

    def __init__(self, first_step: int, total_steps: int | None) -> None:
        self._total = total_steps
        self._pace = Pace()
        self._pace.note(first_step)
        self._due = 0.0
        self._bar: Any = None
        self._task: Any = None
        self._is_terminal = sys.stderr is not None and sys.stderr.isatty()

    def show_step(self, num_steps: int, values: Mapping[str, Any]) -> None:
        """So many are done; a few times a second that is drawn, with the values."""
        if self._is_terminal and perf_counter() >= self._due:
            self._pace.note(num_steps)
            self._draw(num_steps, values)
            self._due = perf_counter() + _REFRESH_SECONDS

    def show_epoch(self, num_epochs: int, means: Mapping[str, Any]) -> None:
        line = "  ".join([f"epoch {num_epochs}", *_texts(means)])
        if self._bar is None:
            say(line)
        else:
            self._bar.console.print(line, markup=False, highlight=False)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _draw(self, num_steps: int, values: Mapping[str, Any]) -> None:
        if self._bar is None:
            self._open()
        counted = f"{num_steps:,}" if self._total is None else f"{num_steps:,}/{self._total:,}"
        parts = [counted, rate_text(self._pace.rate)]
        if self._total is not None:
            parts.append(f"{clock_text(self._pace.seconds_left(self._total - num_steps))} left")
        text = "  ".join(part for part in (*parts, *_texts(values)) if part)
        self._bar.update(self._task, completed=num_steps, text=text)
        self._bar.refresh()

    def _open(self) -> None:
        from rich import progress
        from rich.console import Console

        columns = (progress.BarColumn(bar_width=24), progress.TextColumn("{task.fields[text]}"))
        # Drawn by the training itself: a thread that draws would take its time from it.
        self._bar = progress.Progress(
            *columns, console=Console(stderr=True), transient=True, auto_refresh=False
        )
        self._task = self._bar.add_task("", total=self._total, text="")
        self._bar.start()


def _texts(values: Mapping[str, Any]) -> list[str]:
    """`loss 0.1234`; the first few, and only what is a number."""
    texts = []
    for name, value in list(values.items())[:_MOST_VALUES]:
        try:
            number = value.detach() if isinstance(value, Tensor) else value
            texts.append(f"{name} {float(number):.4g}")
        except (TypeError, ValueError, RuntimeError):
            continue
    return texts
