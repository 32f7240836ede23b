"""The handwritten digits that come with scikit-learn: nothing to download."""

from __future__ import annotations

import importlib
import operator
from typing import Any, Final, SupportsIndex

import torch
from torch import Tensor
from torch.utils.data import Dataset

from torcheer.errors import InputError

NUM_DIGITS: Final = 1797
_WHITE: Final = 16  # the brightest pixel


class Digits(Dataset[tuple[Tensor, int]]):
    """Pictures of 8 by 8 pixels from 0 to 1, as tensors of shape (1, 8, 8), and which digit each is.

    `images` and `labels` are all of them at once.
    """

    classes: Final = tuple("0123456789")

    def __init__(self, images: Tensor, labels: Tensor) -> None:
        self.images = images
        self.labels = labels

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: SupportsIndex) -> tuple[Tensor, int]:
        place = operator.index(index)
        return self.images[place], int(self.labels[place])

    def __repr__(self) -> str:
        return f"<Digits: {len(self)} pictures of 8 × 8 pixels>"


def load_digits(*, num_test: int = 360, seed: int = 0) -> tuple[Digits, Digits]:
    """Digits to train with and digits to test with. The same seed parts them in the same way.

    Of the 1797 pictures `num_test` are for testing, a fifth unless you say otherwise.
    """
    if not 0 < num_test < NUM_DIGITS:
        raise InputError(
            f"num_test={num_test} leaves nothing to test or to train with: give 1 to {NUM_DIGITS - 1}."
        )
    pixels, targets = _from_scikit_learn()
    order = torch.randperm(len(targets), generator=torch.Generator().manual_seed(seed))
    images = (torch.as_tensor(pixels, dtype=torch.float32).view(-1, 1, 8, 8) / _WHITE)[order]
    labels = torch.as_tensor(targets, dtype=torch.int64)[order]
    return Digits(images[num_test:], labels[num_test:]), Digits(images[:num_test], labels[:num_test])


def _from_scikit_learn() -> Any:
    try:
        datasets: Any = importlib.import_module("sklearn.datasets")
    except ImportError as error:
        raise InputError(
            "load_digits needs scikit-learn, which brings the pictures: pip install scikit-learn"
        ) from error
    return datasets.load_digits(return_X_y=True)
