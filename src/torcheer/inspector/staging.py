"""The heads and samples of the frame that is being filled, in memory of the training's own.

They go into the slot in one go, when the step is over. Shared memory that the child has just read is slow to
write to, and each slot would need tensors of its own that look into it.
"""

from __future__ import annotations

import numpy
import torch
from torch import Tensor

from torcheer.inspector.exact import Moments, Whole
from torcheer.inspector.frames import (
    FIGURES,
    FIGURES_AT,
    HAS_MOMENTS,
    HAS_NORM,
    HAS_ORDER,
    HAS_POSITIVE_INF,
    IS_SEEN,
    ORDER,
    ORDER_AT,
    ROW_TYPE,
    Layout,
)
from torcheer.inspector.pieces import Pieces

_NO_MOMENTS = Moments(0.0, 0.0, 0.0, 0.0)


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
        self._flags = numpy.frombuffer(self._heads, ROW_TYPE)["flags"]

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

    def clear_head(self, row: int) -> None:
        self._heads[row * ROW_TYPE.itemsize] = 0  # the flags

    def put_head(
        self, row: int, pieces: Pieces, whole: Whole | None, num_units: int = 0, flags: int = 0
    ) -> None:
        write_head(self._heads, row * ROW_TYPE.itemsize, pieces, whole, num_units, flags)

    def rows_seen(self) -> bytes:
        """A bit for each row."""
        return numpy.packbits(self._flags & IS_SEEN).tobytes()

    def copy_into(self, slot: memoryview) -> None:
        layout = self._layout
        slot[layout.rows_at : layout.rows_at + len(self._heads)] = self._heads
        numpy.frombuffer(slot, "<f4", self._array.size, layout.samples_at)[:] = self._array.reshape(-1)


def write_head(
    memory: bytearray | memoryview,
    place: int,
    pieces: Pieces,
    whole: Whole | None,
    num_units: int = 0,
    flags: int = 0,
) -> None:
    """The head of a row. `whole` is what is known of the whole tensor; the child samples the rest."""
    memory[place : place + FIGURES_AT] = pieces.head
    if whole is None:
        memory[place] |= flags
        FIGURES.pack_into(memory, place + FIGURES_AT, 0.0, *_NO_MOMENTS, 0, 0, num_units)
        return
    memory[place] |= flags | _flags_of(whole)
    moments, others = whole.moments or _NO_MOMENTS, (whole.num_nan, whole.num_inf)
    FIGURES.pack_into(memory, place + FIGURES_AT, whole.norm, *moments, *others, num_units)
    if whole.order is not None:
        zeros, saturated, quantiles = whole.order
        ORDER.pack_into(memory, place + ORDER_AT, zeros, saturated, *quantiles)


def _flags_of(whole: Whole) -> int:
    return (
        HAS_NORM
        | (HAS_POSITIVE_INF if whole.has_positive_inf else 0)
        | (0 if whole.moments is None else HAS_MOMENTS)
        | (0 if whole.order is None else HAS_ORDER)
    )
