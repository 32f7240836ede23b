"""Whole trainings in both engines, from the same weights and with the same batches: every loss agrees."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from torcheer.autograd import nn, optim

NUM_STEPS = 50


def mlp(nn: Any) -> Any:
    return nn.Sequential(
        nn.Linear(12, 32), nn.Tanh(), nn.Dropout(0.2), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 4)
    )


def cnn(nn: Any) -> Any:
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 8, 3, stride=2, bias=False),
        nn.GELU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, 4),
    )


def lstm(nn: Any) -> Any:
    class Reader(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(10, 8)
            self.lstm = nn.LSTM(8, 12, num_layers=2, batch_first=True, bidirectional=True)
            self.head = nn.Linear(24, 4)

        def forward(self, x: Any) -> Any:
            states, _ = self.lstm(self.embed(x))
            return self.head(states[:, -1])

    return Reader()


def transformer(nn: Any) -> Any:
    class Looker(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(10, 16)
            layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.1, batch_first=True)
            self.encoder = nn.TransformerEncoder(layer, 2)
            self.head = nn.Linear(16, 4)

        def forward(self, x: Any) -> Any:
            return self.head(self.encoder(self.embed(x)).mean(1))

    return Looker()


CASES: dict[str, tuple[Callable[[Any], Any], Callable[[], Tensor], Callable[[Any, Any], Any]]] = {
    "mlp": (mlp, lambda: torch.randn(16, 12), lambda o, p: o.SGD(p, lr=0.05, momentum=0.9)),
    "cnn": (cnn, lambda: torch.randn(16, 1, 8, 8), lambda o, p: o.Adam(p, lr=3e-3)),
    "lstm": (lstm, lambda: torch.randint(0, 10, (8, 6)), lambda o, p: o.RMSprop(p, lr=2e-3)),
    "transformer": (
        transformer,
        lambda: torch.randint(0, 10, (8, 6)),
        lambda o, p: o.AdamW(p, lr=2e-3, weight_decay=0.1),
    ),
}


def losses_of(engine: tuple[Any, Any], name: str) -> list[float]:
    nn, optim = engine
    make, inputs, optimizer_of = CASES[name]
    torch.manual_seed(0)
    model = make(nn)
    optimizer = optimizer_of(optim, model.parameters())
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, NUM_STEPS)
    losses = []
    for _ in range(NUM_STEPS):
        x = inputs()
        truth = (x.float().flatten(1).sum(1) % 4).long()
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), truth, label_smoothing=0.1)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("name", CASES)
def test_fifty_steps_lose_the_same_in_both_engines(name: str) -> None:
    ours, theirs = losses_of((nn, optim), name), losses_of((torch.nn, torch.optim), name)

    assert ours == pytest.approx(theirs, abs=1e-5)
    assert sum(ours[-10:]) != pytest.approx(sum(ours[:10]), abs=1e-3)  # something was learned or unlearned


def test_a_training_fits_what_it_sees() -> None:
    torch.manual_seed(0)
    inputs = torch.randn(64, 12)
    targets = inputs[:, :4].argmax(1)
    model = mlp(nn)
    optimizer = optim.Adam(model.parameters(), lr=0.01)
    for _ in range(150):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs), targets).backward()
        optimizer.step()

    assert (model.eval()(inputs).argmax(1) == targets).float().mean() > 0.95


@pytest.mark.many
def test_the_example_reads_digits() -> None:
    found = subprocess.run(
        [sys.executable, "-m", "examples.digits_autograd"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=300,
    )

    assert found.returncode == 0, found.stderr
    last = found.stdout.strip().splitlines()[-1]
    assert float(last.split("%")[0].split()[-1]) > 97, found.stdout
