"""The heads and samples of the frame that is being filled, in memory of the training's own.

They go into the slot in one go, when the step is over. Shared memory that the child has just read is slow to
write to, and each slot would need tensors of its own that look into it.
"""

from __future__ import annotations

import numpy
import torch
from torch import Tensor

from torcheer.inspector.exact import Exact
from torcheer.inspector.frames import FIGURES, FIGURES_AT, ROW_TYPE, Layout
from torcheer.inspector.pieces import Pieces

_NO_FIGURES = Exact(0.0, 0.0, 0.0, 0.0, 0, 0)


class Staged:
    """What of one frame is there so far."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._heads = bytearray(layout.num_rows * ROW_TYPE.itemsize)
        self._no_heads = bytes(self._heads)
        # In inference mode it would become a tensor that nobody can write into afterwards.
        with torch.inference_mode(False):
            self._samples = torch.zeros((layout.num_rows, layout.num_sampled), device="cpu")
        self._array = self._samples.numpy()

    def begin(self) -> None:
        self._heads[:] = self._no_heads

    def sample_target(self, row: int, pieces: Pieces) -> Tensor:
        """Where the sample of a row goes, in the shape that it has."""
        target: Tensor | None = pieces.sample_target
        if target is None:
            shape = pieces.shape if pieces.is_whole else pieces.run_shape
            with torch.inference_mode(False):
                target = pieces.sample_target = self._samples[row, : pieces.num_sampled].view(shape)
        return target

    def put_samples(self, rows: list[int], samples: Tensor) -> None:
        self._array[rows] = samples.numpy()

    def clear_head(self, row: int) -> None:
        self._heads[row * ROW_TYPE.itemsize] = 0  # the flags

    def put_head(self, row: int, pieces: Pieces, figures: Exact | None, num_units: int) -> None:
        place = row * ROW_TYPE.itemsize
        self._heads[place : place + FIGURES_AT] = pieces.head if figures is None else pieces.head_of_all
        FIGURES.pack_into(self._heads, place + FIGURES_AT, *(figures or _NO_FIGURES), num_units)

    def copy_into(self, slot: memoryview) -> None:
        layout = self._layout
        slot[layout.rows_at : layout.rows_at + len(self._heads)] = self._heads
        numpy.frombuffer(slot, "<f4", self._array.size, layout.samples_at)[:] = self._array.reshape(-1)
