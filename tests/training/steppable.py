"""A small training with all that could make stepping differ from running.

Dropout, batch norm, a generator of its own, data that draw random numbers, momentum, a schedule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

import torcheer as tl

NUM_TRIALS, NUM_EPOCHS, NUM_RUNS = 3, 2, 2


@dataclass(frozen=True)
class Parameters(tl.Parameters):
    runs: int = NUM_RUNS
    epochs: int = NUM_EPOCHS
    netview_every: str = "never"
    hidden: int = tl.parameter(5, low=1, section="Network")
    learning_rate: float = tl.parameter(0.1, low=0.0, live="lr", section="Optimizer")
    momentum: float = tl.parameter(0.9, low=0.0, high=1.0, live="momentum", section="Optimizer")


class Noisy(Dataset[tuple[Tensor, Tensor]]):
    """Eleven items, each another time a little different."""

    def __init__(self) -> None:
        self.inputs = torch.randn(11, 4)
        self.targets = (self.inputs.sum(1) > 0).long()

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return self.inputs[index] + 0.1 * torch.randn(4), self.targets[index]


def network(hidden: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(4, hidden), nn.BatchNorm1d(hidden), nn.Tanh(), nn.Dropout(0.3), nn.Linear(hidden, 2)
    )


def setup(p: Parameters, **options: Any) -> tl.Setup:
    data = Noisy()
    model = network(p.hidden)
    optimizer = torch.optim.SGD(model.parameters(), lr=p.learning_rate, momentum=p.momentum)
    shuffled = DataLoader(data, batch_size=4, shuffle=True, generator=torch.Generator().manual_seed(3))
    given = {
        "loss": nn.CrossEntropyLoss(),
        "train": shuffled,
        "test": DataLoader(TensorDataset(data.inputs, data.targets), batch_size=6),
        "scheduler": torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5),
    }
    return tl.Setup(model=model, optimizer=optimizer, **(given | options))


def loop_in(
    folder: Path,
    build: Callable[[Any], tl.Setup] = setup,
    parameters: tl.Parameters | None = None,
    **options: Any,
) -> tl.Loop[Any]:
    """`options` go over those of the setup."""

    def built(p: Any) -> tl.Setup:
        return build(p, **options) if options else build(p)

    made = tl.Loop(built, parameters or Parameters(), name="steppable", folder=folder, seed=4)
    made.shows_progress = False
    return made


def without_times(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if "seconds" not in name} for row in rows]
