"""Show the progress of a training: bars on a terminal or in a notebook, lines elsewhere.

One each for `tl.fit`, `tl.training_run` and `tl.Loop`. What a program prints to stdout stays its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from torch import Tensor

from torcheer.desktop import in_notebook
from torcheer.graph import (
    Bars,
    NotebookBars,
    Pace,
    TerminalBars,
    clock_text,
    is_terminal,
    progress_text,
    rate_text,
    say,
)
from torcheer.training import distributed
from torcheer.training.control.control_commands import Counters
from torcheer.training.trainer.callbacks import Callback, Training
from torcheer.training.trainer.training_history import SECONDS

_MOST_VALUES: Final = 4  # of a step, beside its bar


def _bars(num_bars: int) -> Bars:
    return TerminalBars(num_bars) if is_terminal() else Bars()


def fit_progress(wanted: bool) -> FitBars | None:
    """What shows the progress here; None where nobody wants to see it."""
    if not wanted or not distributed.is_main():
        return None
    return FitBars(NotebookBars(2) if in_notebook() else _bars(2))


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
        # `epoch 3/10  train/loss 0.1234  test/loss 0.1311  4.1 s`
        history, width = training.history, len(str(training.num_epochs))
        title = f"epoch {training.epochs_done:>{width}}/{training.num_epochs}"
        figures = [f"{name} {history[name][-1]:.4g}" for name in history.names]
        self._bars.write("  ".join([title, *figures, f"{history[SECONDS][-1]:.1f} s"]))
        self._all.note(training.steps_done)
        self._draw(training)

    def on_end(self, training: Training) -> None:
        self._bars.close()
        # An exception says itself why it ended.
        if training.stopped_by is not None and not isinstance(training.error, Exception):
            say(f"stopped after {training.steps_done:,} steps: {training.stopped_by}")

    def _draw(self, training: Training) -> None:
        num_epochs, num_batches = training.num_epochs, self._num_batches
        num_steps = None if num_batches is None else num_batches * num_epochs
        title = f"epoch {min(training.epoch + 1, num_epochs)}/{num_epochs}"
        text = progress_text(training.batches_done, num_batches, self._pace)
        if self._is_testing:
            text += "  testing"
        elif training.stepped is not None:
            text += f"  loss {float(training.stepped.loss):.4g}"
        self._bars.set(0, title, text, done=training.batches_done, total=num_batches)
        text = f"{training.epochs_done}/{num_epochs}"
        if num_steps is not None:
            left = self._all.seconds_left(num_steps - training.steps_done)
            text = f"{training.steps_done / max(num_steps, 1):.0%}  {clock_text(left)} left"
        self._bars.set(1, f"all {num_epochs}", text, done=training.steps_done, total=num_steps)
        self._bars.draw()


class StepBar:
    """Counts steps: a bar on a terminal, a line for each epoch everywhere."""

    def __init__(self, first_step: int, total_steps: int | None) -> None:
        self._total = total_steps
        self._pace = Pace()
        self._pace.note(first_step)
        self._bars = _bars(1)
        self.close = self._bars.close

    def show_step(self, num_steps: int, values: Mapping[str, Any]) -> None:
        """So many are done; a few times a second that is drawn, with the values."""
        if self._bars.is_due():
            self._pace.note(num_steps)
            text = "  ".join([progress_text(num_steps, self._total, self._pace), *_number_texts(values)])
            self._bars.set(0, "", text, done=num_steps, total=self._total)
            self._bars.draw()

    def show_epoch(self, num_epochs: int, means: Mapping[str, Any]) -> None:
        self._bars.write("  ".join([f"epoch {num_epochs}", *_number_texts(means)]))


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


class LoopBars:
    """Runs and epochs, with a line for each run."""

    def __init__(self, num_done: int) -> None:
        """`num_done`: runs that are over already."""
        self._bars = _bars(2)
        self._pace = Pace()
        self._num_done = num_done
        self.close = self._bars.close

    def show(self, at: Counters) -> None:
        """To be called after every trial."""
        if at.run > self._num_done:
            self._num_done = at.run
            self._bars.write(f"run {at.run}/{at.num_runs}: {at.epoch} epochs, {at.step:,} trials")
        if self._bars.is_due():
            self._pace.note(at.step)
            epochs = f"{at.epoch}/{at.num_epochs}  {rate_text(self._pace.rate, 'trials')}"
            self._bars.set(0, "runs", f"{at.run}/{at.num_runs}", done=at.run, total=at.num_runs)
            self._bars.set(1, "epochs", epochs, done=at.epoch, total=at.num_epochs)
            self._bars.draw()
