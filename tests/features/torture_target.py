"""Small models with their data, to be extracted while processes are killed: digits, sentences, a stream.

How long a batch takes stands in a file, so that whoever kills can let the rest pass quickly.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from torcheer.features.dimension_reduction import RunningPCA

PACE: Final = "TORTURE_PACE"  # names the file with the seconds that a batch takes
DIES_AT: Final = "TORTURE_DIES_AT"  # "1:3": rank 1 kills itself in its third pass, the first time it runs
NUM_SAMPLES: Final = 2_411  # a prime: no number of processes divides it
BATCH_SIZE: Final = 7
FEW_SAMPLES: Final = 11


class Slow(nn.Module):
    """What others do, after a while."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner
        self._num_passes = 0

    def forward(self, x: Tensor) -> Any:
        self._num_passes += 1
        wait()
        die_if_told(self._num_passes)
        return self.inner(x)


class Sentences(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(50, 6)
        self.mix = nn.Linear(6, 9)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Any:
        wait()
        return self.mix(torch.relu(self.words(input_ids))) * attention_mask[:, :, None]


class Digits(Dataset[Any]):
    """Noise in place of digits, which have names as files have them."""

    def __init__(self, num_samples: int) -> None:
        drawn = torch.Generator().manual_seed(7)
        self.images = torch.randn(num_samples, 1, 8, 8, generator=drawn)
        self.targets = torch.randint(0, 10, (num_samples,), generator=drawn)
        self.files = [f"digit-{number:05}.png" for number in range(num_samples)]

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, number: int) -> tuple[Tensor, Tensor]:
        return self.images[number] + 0.01 * torch.randn(1, 8, 8), self.targets[number]


class Texts(Dataset[Any]):
    """Sentences of one to twelve words."""

    def __init__(self) -> None:
        drawn = torch.Generator().manual_seed(8)
        self.lengths = torch.randint(1, 13, (NUM_SAMPLES,), generator=drawn)
        self.tokens = torch.randint(0, 50, (NUM_SAMPLES, 12), generator=drawn)

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, number: int) -> dict[str, Any]:
        counts = torch.arange(12) < self.lengths[number]
        return {
            "input_ids": self.tokens[number],
            "attention_mask": counts.long(),
            "labels": self.lengths[number] % 3,
            "name": f"sentence {number}",
        }


class Stream:
    """Batches of different sizes, whose number nobody knows before."""

    def __init__(self, num_batches: int) -> None:
        self._num_batches = num_batches

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        drawn = torch.Generator().manual_seed(9)
        for number in range(self._num_batches):
            size = 1 + number * 5 % 8
            yield torch.randn(size, 1, 8, 8, generator=drawn), torch.arange(size)


def model_and_data() -> tuple[nn.Module, Any]:
    return _net(), DataLoader(Digits(NUM_SAMPLES), BATCH_SIZE)


def few() -> tuple[nn.Module, Any]:
    """Fewer batches than processes."""
    return _net(), DataLoader(Digits(FEW_SAMPLES), 4)


def texts() -> tuple[nn.Module, Any]:
    torch.manual_seed(2)
    return Sentences(), DataLoader(Texts(), BATCH_SIZE)


def stream() -> tuple[nn.Module, Any]:
    return _net(), Stream(NUM_SAMPLES // BATCH_SIZE)


pca = RunningPCA(5, num_samples=20 * BATCH_SIZE)


def wait() -> None:
    path = os.environ.get(PACE)
    if path:
        time.sleep(float(Path(path).read_text() or 0))


def die_if_told(num_passes: int) -> None:
    rank, _, number = os.environ.get(DIES_AT, "").partition(":")
    is_first_life = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") == "0"
    if is_first_life and rank == os.environ.get("RANK") and number == str(num_passes):
        os.kill(os.getpid(), signal.SIGKILL)


def _net() -> nn.Module:
    torch.manual_seed(1)
    return Slow(
        nn.Sequential(
            nn.Conv2d(1, 6, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Dropout(0.5),
            nn.Linear(96, 10),
        )
    )
