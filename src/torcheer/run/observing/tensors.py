"""A tensor as a record: its numbers as they are, and what can be said of them."""

from __future__ import annotations

from torcheer.run.observations import Encoded
from torcheer.run.observing.arrays import Copied
from torcheer.run.records import TensorHead
from torcheer.tensorfile import figures_of


def encode_tensor(copied: Copied) -> Encoded:
    figures = figures_of(copied.array, copied.dtype)
    head = TensorHead(
        shape=list(copied.array.shape),
        dtype=copied.dtype,
        mean=figures.mean,
        std=figures.std,
        min=figures.min,
        max=figures.max,
        num_zeros=figures.num_zeros,
        num_nan=figures.num_nan,
        num_inf=figures.num_inf,
    )
    return Encoded(head, copied.raw)
