"""Show how far a loop is: bars on a terminal, a line for each run elsewhere. All of it goes to stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any, Final, Protocol

from torcheer.graph.pace import Pace, clock_text, rate_text
from torcheer.training.control.protocol import Counters
from torcheer.training.progress import say

_REFRESH_SECONDS: Final = 0.2


class Progress(Protocol):
    def show(self, counters: Counters) -> None:
        """Called after every trial."""


class Silent:
    def show(self, counters: Counters) -> None:
        pass


class Lines:
    """What came of each run."""

    def __init__(self, num_done: int) -> None:
        self._num_done = num_done

    def show(self, counters: Counters) -> None:
        if counters.run > self._num_done:
            say(f"run {counters.run}/{counters.num_runs}: {counters.epoch} epochs, {counters.step:,} trials")
        self._num_done = counters.run


class Bars:
    """Runs and epochs, drawn a few times a second by the training itself: a thread would take its time."""

    def __init__(self, num_done: int) -> None:
        """`num_done`: runs that were over before."""
        from rich import progress
        from rich.console import Console

        columns = (
            progress.TextColumn("{task.description}"),
            progress.BarColumn(bar_width=24),
            progress.TextColumn("{task.fields[text]}"),
        )
        self._bars = progress.Progress(
            *columns, console=Console(stderr=True), transient=True, auto_refresh=False
        )
        self._tasks = [self._bars.add_task(name, total=None, text="") for name in ("runs", "epochs")]
        self._pace, self._runs = Pace(), Pace()
        self._num_done = num_done
        self._lengths: list[int] = []  # in epochs, of the runs that are over
        self._due = 0.0

    def __enter__(self) -> Bars:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def show(self, counters: Counters) -> None:
        has_ended = counters.run > self._num_done
        if has_ended:
            self._num_done = counters.run
            self._lengths.append(counters.epoch)
        if perf_counter() >= self._due:
            self._due = perf_counter() + _REFRESH_SECONDS
            self._draw(counters, counters.run if has_ended else counters.run + self._part(counters))

    def _part(self, counters: Counters) -> float:
        """Of the run under way: how much of it is done, if it is as long as those before it."""
        length = sum(self._lengths) / len(self._lengths) if self._lengths else counters.num_epochs
        return min(counters.epoch / length, 0.99) if length else 0.0

    def _draw(self, counters: Counters, num_done: float) -> None:
        self._pace.note(counters.step)
        self._runs.note(round(1000 * num_done))
        left = self._runs.seconds_left(round(1000 * ((counters.num_runs or 0) - num_done)))
        self._update(0, counters.run, num_done, counters.num_runs, f"{clock_text(left)} left")
        rate = rate_text(self._pace.rate, "trials")
        self._update(1, counters.epoch, counters.epoch, counters.num_epochs, rate)
        self._bars.refresh()

    def _update(self, number: int, done: int, completed: float, total: int | None, text: str) -> None:
        shown = f"{done}" if total is None else f"{done}/{total}"
        task: Any = self._tasks[number]
        self._bars.update(task, total=total, completed=completed, text=f"{shown}  {text}")


@contextmanager
def progress_of(wanted: bool, num_done: int) -> Iterator[Progress]:
    """`num_done`: runs that are over already."""
    if not wanted:
        yield Silent()
    elif sys.stderr is not None and sys.stderr.isatty():
        with Bars(num_done) as bars:
            yield bars
    else:
        yield Lines(num_done)
