"""Show how a training gets on: bars on a terminal, a page in a notebook, a line for each epoch elsewhere.

All of it goes to stderr, so that what a program prints stays its own.
"""

from __future__ import annotations

import sys
from time import perf_counter
from typing import Any

from torcheer.graph.pace import Pace, clock_text, rate_text
from torcheer.training import distributed
from torcheer.training.callbacks import Callback, Training
from torcheer.training.history import SECONDS

_REFRESH_SECONDS = 0.2


class Lines(Callback):
    """A line for each epoch."""

    def on_epoch(self, training: Training) -> None:
        say(epoch_line(training))

    def on_end(self, training: Training) -> None:
        say_why_stopped(training)


class Bars(Callback):
    """How far the epoch is and how far all of it is, drawn a few times a second by whoever inherits this."""

    def __init__(self) -> None:
        self._pace = Pace()
        self._all = Pace()
        self._due = 0.0
        self._is_testing = False
        self._num_batches: int | None = None  # of an epoch; learned from the first where nobody knows

    def on_begin(self, training: Training) -> None:
        self._num_batches = training.num_batches
        self._all.note(training.steps_done)
        self.draw(training)

    def on_step(self, training: Training) -> None:
        self._is_testing = False
        if perf_counter() >= self._due:
            self._note_and_draw(training)

    def on_test_batch(self, training: Training) -> None:
        """After the epoch: how fast its steps were stays as it is."""
        if perf_counter() >= self._due:
            self._is_testing = True
            self._draw_now(training)

    def on_epoch(self, training: Training) -> None:
        self._num_batches = training.num_batches or training.batches_done
        self.write(epoch_line(training))
        self._all.note(training.steps_done)
        self._draw_now(training)

    def on_end(self, training: Training) -> None:
        self.close(training)
        say_why_stopped(training)

    def _note_and_draw(self, training: Training) -> None:
        self._pace.note(training.batches_done)
        self._all.note(training.steps_done)
        self._draw_now(training)

    def _draw_now(self, training: Training) -> None:
        self.draw(training)
        self._due = perf_counter() + _REFRESH_SECONDS

    @property
    def num_batches(self) -> int | None:
        return self._num_batches

    def num_steps(self, training: Training) -> int | None:
        return None if self._num_batches is None else self._num_batches * training.num_epochs

    def epoch_text(self, training: Training) -> str:
        total, done = self._num_batches, training.batches_done
        parts = [f"{done:,}" if total is None else f"{done:,}/{total:,}", rate_text(self._pace.rate)]
        if total is not None:
            parts.append(f"{clock_text(self._pace.seconds_left(total - done))} left")
        if self._is_testing:
            parts.append("testing")
        elif training.stepped is not None:
            parts.append(f"loss {float(training.stepped.loss):.4g}")
        return "  ".join(part for part in parts if part)

    def all_text(self, training: Training) -> str:
        total = self.num_steps(training)
        if total is None:
            return f"{training.epochs_done}/{training.num_epochs}"
        left = self._all.seconds_left(total - training.steps_done)
        return f"{training.steps_done / max(total, 1):.0%}  {clock_text(left)} left"

    def draw(self, training: Training) -> None:
        raise NotImplementedError

    def write(self, line: str) -> None:
        raise NotImplementedError

    def close(self, training: Training) -> None:
        raise NotImplementedError


class TerminalBars(Bars):
    """Two bars at the bottom of a terminal, with the lines of the epochs above them."""

    def __init__(self) -> None:
        super().__init__()
        self._bars: Any = None
        self._tasks: list[Any] = []
        self._is_open = False

    def draw(self, training: Training) -> None:
        if self._bars is None:
            self._prepare(training)
        number = min(training.epoch + 1, training.num_epochs)
        self._bars.update(
            self._tasks[0],
            description=f"epoch {number}/{training.num_epochs}",
            total=self.num_batches,
            completed=training.batches_done,
            text=self.epoch_text(training),
        )
        self._bars.update(
            self._tasks[1],
            total=self.num_steps(training),
            completed=training.steps_done,
            text=self.all_text(training),
        )
        if self._is_open:
            self._bars.refresh()
        else:
            self._is_open = True
            self._bars.start()

    def _prepare(self, training: Training) -> None:
        from rich import progress
        from rich.console import Console

        columns = (
            progress.TextColumn("{task.description}"),
            progress.BarColumn(bar_width=24),
            progress.TextColumn("{task.fields[text]}"),
        )
        # Drawn by the training itself, a few times a second: a thread that draws would take its time from it.
        self._bars = progress.Progress(
            *columns, console=Console(stderr=True), transient=True, auto_refresh=False
        )
        self._tasks = [
            self._bars.add_task(name, total=None, text="") for name in ("epoch", f"all {training.num_epochs}")
        ]

    def write(self, line: str) -> None:
        self._bars.console.print(line, markup=False, highlight=False)

    def close(self, training: Training) -> None:
        if self._bars is not None:
            self._bars.stop()
            self._bars, self._is_open = None, False


def progress_of(wanted: bool) -> Callback | None:
    """What shows the progress here; None where nobody wants to see it."""
    if not wanted or not distributed.is_main():
        return None
    if is_notebook():
        from torcheer.training.progresspage import NotebookBars

        return NotebookBars()
    return TerminalBars() if sys.stderr is not None and sys.stderr.isatty() else Lines()


def is_notebook() -> bool:
    """Whether what is shown appears in a notebook: asked of IPython only where it runs already."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


def epoch_line(training: Training) -> str:
    """`epoch 3/10  train/loss 0.1234  test/loss 0.1311  4.1 s`."""
    history = training.history
    figures = [f"{name} {history[name][-1]:.4g}" for name in history.names]
    width = len(str(training.num_epochs))
    seconds = history[SECONDS][-1]
    return "  ".join(
        [f"epoch {training.epochs_done:>{width}}/{training.num_epochs}", *figures, f"{seconds:.1f} s"]
    )


def say_why_stopped(training: Training) -> None:
    """An exception says it itself."""
    if training.stopped_by is not None and not isinstance(training.error, Exception):
        say(f"stopped after {training.steps_done:,} steps: {training.stopped_by}")


def say(line: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(line + "\n")
        sys.stderr.flush()
