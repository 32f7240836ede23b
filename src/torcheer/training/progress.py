"""Show how a training gets on: bars on a terminal, a page in a notebook, lines elsewhere.

One each for `tl.fit`, `tl.training_run` and `tl.Loop`. What a program prints to stdout stays its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from torch import Tensor

from torcheer.graph import (
    Bars,
    NotebookBars,
    Pace,
    TerminalBars,
    clock_text,
    is_notebook,
    is_terminal,
    progress_text,
    rate_text,
    say,
)
from torcheer.training import distributed
from torcheer.training.control.protocol import Counters
from torcheer.training.trainer.callbacks import Callback, Training
from torcheer.training.trainer.history import SECONDS

_MOST_VALUES: Final = 4  # of a step, beside its bar


# --- tl.fit ----------------------------------------------------------------------------------------------


def fit_progress(wanted: bool) -> Callback | None:
    """What shows the progress here; None where nobody wants to see it."""
    if not wanted or not distributed.is_main():
        return None
    if is_notebook():
        return FitBars(NotebookBars(2))
    return FitBars(TerminalBars(2)) if is_terminal() else FitLines()


class FitLines(Callback):
    """A line for each epoch."""

    def on_epoch(self, training: Training) -> None:
        say(epoch_line(training))

    def on_end(self, training: Training) -> None:
        say_why_stopped(training)


class FitBars(Callback):
    """How far the epoch is and how far all of it is, with a line for each epoch."""

    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._pace = Pace()
        self._all = Pace()
        self._is_testing = False
        self._num_batches: int | None = None  # of an epoch; learned from the first where nobody knows

    def on_begin(self, training: Training) -> None:
        self._num_batches = training.num_batches
        self._all.note(training.steps_done)
        self._draw(training)

    def on_step(self, training: Training) -> None:
        self._is_testing = False
        if self._bars.is_due():
            self._pace.note(training.batches_done)
            self._all.note(training.steps_done)
            self._draw(training)

    def on_test_batch(self, training: Training) -> None:
        """After the epoch: how fast its steps were stays as it is."""
        if self._bars.is_due():
            self._is_testing = True
            self._draw(training)

    def on_epoch(self, training: Training) -> None:
        self._num_batches = training.num_batches or training.batches_done
        self._bars.write(epoch_line(training))
        self._all.note(training.steps_done)
        self._draw(training)

    def on_end(self, training: Training) -> None:
        self._bars.close()
        say_why_stopped(training)

    def _draw(self, training: Training) -> None:
        number = min(training.epoch + 1, training.num_epochs)
        num_batches, num_steps = self._num_batches, None
        if num_batches is not None:
            num_steps = num_batches * training.num_epochs
        self._bars.set(
            0,
            f"epoch {number}/{training.num_epochs}",
            self._epoch_text(training),
            done=training.batches_done,
            total=num_batches,
        )
        self._bars.set(
            1,
            f"all {training.num_epochs}",
            self._all_text(training, num_steps),
            done=training.steps_done,
            total=num_steps,
        )
        self._bars.draw()

    def _epoch_text(self, training: Training) -> str:
        text = progress_text(training.batches_done, self._num_batches, self._pace)
        if self._is_testing:
            return f"{text}  testing"
        return text if training.stepped is None else f"{text}  loss {float(training.stepped.loss):.4g}"

    def _all_text(self, training: Training, num_steps: int | None) -> str:
        if num_steps is None:
            return f"{training.epochs_done}/{training.num_epochs}"
        left = self._all.seconds_left(num_steps - training.steps_done)
        return f"{training.steps_done / max(num_steps, 1):.0%}  {clock_text(left)} left"


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


# --- tl.training_run -------------------------------------------------------------------------------------


class StepBar:
    """Counts steps: a bar on a terminal, a line for each epoch everywhere."""

    def __init__(self, first_step: int, total_steps: int | None) -> None:
        self._total = total_steps
        self._pace = Pace()
        self._pace.note(first_step)
        self._bars = TerminalBars() if is_terminal() else None

    def show_step(self, num_steps: int, values: Mapping[str, Any]) -> None:
        """So many are done; a few times a second that is drawn, with the values."""
        if self._bars is not None and self._bars.is_due():
            self._pace.note(num_steps)
            text = "  ".join([progress_text(num_steps, self._total, self._pace), *_number_texts(values)])
            self._bars.set(0, "", text, done=num_steps, total=self._total)
            self._bars.draw()

    def show_epoch(self, num_epochs: int, means: Mapping[str, Any]) -> None:
        line = "  ".join([f"epoch {num_epochs}", *_number_texts(means)])
        if self._bars is None:
            say(line)
        else:
            self._bars.write(line)

    def close(self) -> None:
        if self._bars is not None:
            self._bars.close()


def _number_texts(values: Mapping[str, Any]) -> list[str]:
    """`loss 0.1234`; the first few, and only what is a number."""
    texts = []
    for name, value in list(values.items())[:_MOST_VALUES]:
        try:
            number = value.detach() if isinstance(value, Tensor) else value
            texts.append(f"{name} {float(number):.4g}")
        except (TypeError, ValueError, RuntimeError):
            continue
    return texts


# --- tl.Loop ---------------------------------------------------------------------------------------------


@contextmanager
def loop_progress(wanted: bool, num_done: int) -> Iterator[Callable[[Counters], None]]:
    """What is to be called after every trial. `num_done`: runs that are over already."""
    if not wanted:
        yield lambda counters: None
    elif not is_terminal():
        yield _LoopLines(num_done).show
    else:
        bars = TerminalBars(2)
        try:
            yield _LoopBars(bars, num_done).show
        finally:
            bars.close()


class _LoopLines:
    """What came of each run."""

    def __init__(self, num_done: int) -> None:
        self._num_done = num_done

    def show(self, counters: Counters) -> None:
        if counters.run > self._num_done:
            say(f"run {counters.run}/{counters.num_runs}: {counters.epoch} epochs, {counters.step:,} trials")
        self._num_done = counters.run


class _LoopBars:
    """Runs and epochs."""

    def __init__(self, bars: Bars, num_done: int) -> None:
        self._bars = bars
        self._pace, self._runs = Pace(), Pace()
        self._num_done = num_done
        self._lengths: list[int] = []  # in epochs, of the runs that are over

    def show(self, counters: Counters) -> None:
        has_ended = counters.run > self._num_done
        if has_ended:
            self._num_done = counters.run
            self._lengths.append(counters.epoch)
        if self._bars.is_due():
            self._draw(counters, counters.run if has_ended else counters.run + self._part(counters))

    def _part(self, counters: Counters) -> float:
        """Of the run under way: how much of it is done, if it is as long as those before it."""
        length = sum(self._lengths) / len(self._lengths) if self._lengths else counters.num_epochs
        return min(counters.epoch / length, 0.99) if length else 0.0

    def _draw(self, counters: Counters, num_done: float) -> None:
        self._pace.note(counters.step)
        self._runs.note(round(1000 * num_done))
        left = self._runs.seconds_left(round(1000 * ((counters.num_runs or 0) - num_done)))
        runs = f"{_of(counters.run, counters.num_runs)}  {clock_text(left)} left"
        epochs = f"{_of(counters.epoch, counters.num_epochs)}  {rate_text(self._pace.rate, 'trials')}"
        self._bars.set(0, "runs", runs, done=num_done, total=counters.num_runs)
        self._bars.set(1, "epochs", epochs, done=counters.epoch, total=counters.num_epochs)
        self._bars.draw()


def _of(done: int, total: int | None) -> str:
    return f"{done}" if total is None else f"{done}/{total}"
