"""A small training for the tests: a model, data, and the loop written by hand that `fit` must equal."""

from __future__ import annotations

import io
import signal
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from torcheer.training import Callback, History, Training, fit

EPOCHS, BATCHES = 2, 4
STEPS = EPOCHS * BATCHES


def net() -> nn.Sequential:
    """With dropout and batch norm: what differs between training and evaluation."""
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 3))


def data(num_items: int = 14, seed: int = 2) -> TensorDataset:
    maker = torch.Generator().manual_seed(seed)
    inputs = torch.randn(num_items, 4, generator=maker)
    return TensorDataset(inputs, inputs[:, :3].argmax(1))


def loader(num_items: int = 14, *, shuffle: bool = True, seed: int = 2) -> DataLoader[tuple[Tensor, ...]]:
    """Four batches; the last one is smaller."""
    return DataLoader(data(num_items, seed), batch_size=4, shuffle=shuffle)


def fitted(model: nn.Module | None = None, train_loader: Any = None, **options: Any) -> History:
    """As quiet and as short as it gets."""
    model = net() if model is None else model
    chosen = {
        "loss": F.cross_entropy,
        "optimizer": torch.optim.Adam,
        "epochs": EPOCHS,
        "seed": 3,
        "progress": False,
        **options,
    }
    return fit(model, loader() if train_loader is None else train_loader, **chosen)


def assert_same_weights(model: nn.Module, other: nn.Module) -> None:
    for name, value in model.state_dict().items():
        assert torch.equal(value, other.state_dict()[name]), name


class CtrlC(Callback):
    """Presses it after a step, as often as is said."""

    def __init__(self, step: int, times: int = 1) -> None:
        self.step, self.times = step, times

    def on_step(self, training: Training) -> None:
        if training.step == self.step:
            for _ in range(self.times):
                signal.raise_signal(signal.SIGINT)


class Terminal(io.StringIO):
    """Stands for stderr until the test ends, and is drawn each time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        monkeypatch.setattr("sys.stderr", self)
        monkeypatch.setattr("torcheer.graph.progress_bars.REFRESH_SECONDS", 0.0)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", "120")

    def isatty(self) -> bool:
        return True
