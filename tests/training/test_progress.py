"""How a training gets on: bars on a terminal, lines elsewhere, a page in a notebook; what Ctrl-C meets."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import torcheer as tl
from tests.training.fitted import BATCHES, EPOCHS, Terminal, fitted, loader, net
from torcheer.graph import Pace, clock_text, rate_text
from torcheer.training import Callback, Training
from torcheer.training import training_progress as progress

Batch = tuple[torch.Tensor, torch.Tensor]


def test_elsewhere_than_on_a_terminal_there_is_a_line_for_each_epoch(
    capsys: pytest.CaptureFixture[str],
) -> None:
    history = fitted(
        progress=True, test_loader=loader(), callbacks=lambda training: training.stop("one will do")
    )

    printed = capsys.readouterr()
    assert printed.out == ""
    first, second = printed.err.splitlines()
    assert re.fullmatch(r"epoch 1/2  train/loss \S+  test/loss \S+  \d+\.\d s", first)
    assert f"test/loss {history['test/loss'][0]:.4g}" in first
    assert second == "stopped after 4 steps: one will do"


def test_on_a_terminal_two_bars_show_rate_and_remaining_time(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal(monkeypatch)
    fitted(progress=True, test_loader=loader())

    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", terminal.getvalue())
    assert re.search(r"epoch 2/2 +[━╺]+ +3/4  \S+ (steps/s|s/step)  \d:\d\d left  loss \d", text)
    assert re.search(r"all 2 .*88%  \d:\d\d left", text)
    assert "testing" in text
    assert len(re.findall(r"epoch \d/2  train/loss", text)) == EPOCHS


def test_in_a_notebook_one_output_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    handle = SimpleNamespace(update=lambda page: drawn.append(page.data))
    monkeypatch.setattr("IPython.display.display", lambda page, display_id: drawn.append(page.data) or handle)
    monkeypatch.setattr(progress, "in_notebook", lambda: True)
    monkeypatch.setattr("torcheer.graph.progress_bars.REFRESH_SECONDS", 0.0)

    fitted(progress=True)

    assert "<progress max='4' value='3'></progress> 3/4" in "".join(drawn)
    assert drawn[-1].count("epoch ") == EPOCHS  # their lines; the bars are gone
    assert "<progress" not in drawn[-1]


def test_progress_of_a_stream_is_known_after_an_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []

    class Seen(progress.TerminalBars):
        def set(self, bar: int, title: str, text: str, *, done: float, total: float | None) -> None:
            texts.append(text if bar == 0 else f"{texts.pop()} | {text}")

        def draw(self) -> None: ...

        def write(self, line: str) -> None: ...

    monkeypatch.setattr(
        "torcheer.training.trainer.fit.fit_progress", lambda wanted: progress.FitBars(Seen(2))
    )
    batches = list(loader())

    fitted(train_loader=SimpleIterable(batches))

    assert texts[2].startswith("2  ")
    assert texts[2].endswith("| 0/2")
    assert texts[-2].startswith("4/4  ")
    assert "| 100%" in texts[-1]


class SimpleIterable:
    """Batches of which nobody knows how many there are."""

    def __init__(self, batches: list[Any]) -> None:
        self.batches = batches

    def __iter__(self) -> Iterator[Any]:
        return iter(self.batches)


def test_the_pace_is_that_of_the_last_seconds() -> None:
    now = 0.0
    pace = Pace(lambda: now)
    assert (pace.rate, pace.seconds_left(10)) == (None, None)
    for second, done in ((0.0, 0), (10.0, 10), (20.0, 20), (30.0, 120)):
        now = second
        pace.note(done)

    assert pace.rate == pytest.approx((120 - 10) / 20)
    assert pace.seconds_left(11) == pytest.approx(2.0)
    pace.note(0)  # an epoch begins
    assert pace.rate is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "-:--"), (7, "0:07"), (754.4, "12:34"), (3723, "1:02:03"), (86_400 * 2 + 3 * 3600, "2 d 3 h")],
)
def test_times_are_shown_as_clocks(seconds: float | None, text: str) -> None:
    assert clock_text(seconds) == text


def test_what_takes_long_is_shown_the_other_way_round() -> None:
    assert [rate_text(rate) for rate in (None, 0.5, 2.34, 1234.0)] == [
        "",
        "2.0 s/step",
        "2.3 steps/s",
        "1,234 steps/s",
    ]


# --- Ctrl-C and data from other processes -----------------------------------------------------------------


class WithWorkers(list[Batch]):
    """As a loader with workers: they get Ctrl-C, too, and one of two things happens then."""

    num_workers = 1

    def __init__(self, batches: list[Batch], complains: bool) -> None:
        super().__init__(batches)
        self.complains = complains

    def __iter__(self) -> Iterator[Batch]:
        yield from list.__iter__(self)
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            if not self.complains:
                raise
        raise RuntimeError("DataLoader worker exited unexpectedly")


@pytest.mark.parametrize("complains", [False, True])
def test_ctrl_c_while_workers_fetch_ends_it_at_once(complains: bool) -> None:
    whole: list[bool] = []

    class Ended(Callback):
        def on_end(self, training: Training) -> None:
            whole.append(training.is_between_steps)

    history = fitted(train_loader=WithWorkers(list(loader()), complains), callbacks=[Ended()])

    assert (history.stopped_by, history.num_steps) == ("interrupted", BATCHES)
    assert whole == [True]  # nothing of the training was under way: it can be gone on with from here


def test_a_handler_of_the_user_is_left_in_place() -> None:
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))
    try:
        history = fitted(callbacks=lambda training: signal.raise_signal(signal.SIGINT))
    finally:
        signal.signal(signal.SIGINT, before)

    assert (pressed, history.stopped_by) == ([signal.SIGINT] * EPOCHS, None)


def test_an_interrupt_raised_by_somebody_else_returns_the_history_too() -> None:
    def interrupt(training: Training) -> None:
        raise KeyboardInterrupt

    assert fitted(callbacks=interrupt).stopped_by == "interrupted"


def test_real_workers_work() -> None:
    data = torch.utils.data.TensorDataset(torch.randn(8, 4), torch.zeros(8).long())
    history = tl.fit(
        net(),
        torch.utils.data.DataLoader(data, batch_size=4, num_workers=1),
        loss=torch.nn.functional.cross_entropy,
        optimizer=torch.optim.Adam,
        epochs=1,
        progress=False,
    )

    assert history.num_steps == 2
