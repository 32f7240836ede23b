"""The progress of a training in a notebook: one output that is drawn again, with the lines of the epochs."""

from __future__ import annotations

import html
from typing import Any

from torcheer.training.callbacks import Training
from torcheer.training.progress import Bars

_MOST_LINES = 12  # of epochs; those before are in the history


class NotebookBars(Bars):
    """Two bars and the last epochs, in the output of the cell."""

    def __init__(self) -> None:
        super().__init__()
        self._handle: Any = None
        self._lines: list[str] = []

    def draw(self, training: Training) -> None:
        number = min(training.epoch + 1, training.num_epochs)
        bars = "".join(
            (
                _bar(
                    f"epoch {number}/{training.num_epochs}",
                    training.batches_done,
                    self.num_batches,
                    self.epoch_text(training),
                ),
                _bar(
                    f"all {training.num_epochs}",
                    training.steps_done,
                    self.num_steps(training),
                    self.all_text(training),
                ),
            )
        )
        self._show(bars)

    def write(self, line: str) -> None:
        self._lines.append(line)

    def close(self, training: Training) -> None:
        self._show("")

    def _show(self, bars: str) -> None:
        from IPython.display import HTML, display

        num_left_out = max(0, len(self._lines) - _MOST_LINES)
        lines = [f"… {num_left_out} epochs before"] if num_left_out else []
        text = html.escape("\n".join([*lines, *self._lines[num_left_out:]]))
        page = HTML(f"<div><pre style='margin:0'>{text}</pre>{bars}</div>")  # type: ignore[no-untyped-call]
        if self._handle is None:
            self._handle = display(page, display_id=True)  # type: ignore[no-untyped-call]
        else:
            self._handle.update(page)


def _bar(title: str, done: int, total: int | None, text: str) -> str:
    length = f"max='{total}' value='{done}'" if total else ""
    return (
        "<div style='font-family:monospace;white-space:pre'>"
        f"{html.escape(title)} <progress {length}></progress> {html.escape(text)}</div>"
    )
