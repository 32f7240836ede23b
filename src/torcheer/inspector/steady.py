"""Tensors that stay where they are from step to step, as weights and what an optimizer keeps do.

How to look into them is found once, and kept for as long as they stay there.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from torcheer.inspector.pieces import Pieces

SHORT = frozenset({torch.float32, torch.float16, torch.bfloat16})  # whose numbers are as good as float32
_ORDINARY = (Tensor, torch.nn.Parameter)


@dataclass(slots=True, kw_only=True)
class Ready:
    """A tensor, where it was found, and views of what is taken of it."""

    tensor: Tensor
    data_ptr: int
    shape: torch.Size
    stride: tuple[int, ...]
    numbers: Tensor
    pieces: Pieces
    sample: Tensor
    part: Tensor | None
    before: Tensor | None = None  # room for the sample as it was before an update


class Steady:
    """What is known of the tensors of some rows."""

    def __init__(self) -> None:
        self._known: dict[int, Ready] = {}

    def find(self, row: int, tensor: Tensor) -> Ready | None:
        """What is known of the tensor of a row, where it is still the same, at the same place."""
        ready = self._known.get(row)
        # The views hold the memory that they look into: so nothing else can have come to this place.
        is_same = (
            ready is not None
            and ready.tensor is tensor
            and ready.data_ptr == tensor.data_ptr()
            and ready.shape == tensor.shape
            and ready.stride == tensor.stride()
        )
        return ready if is_same else None

    def keep(self, row: int, tensor: Tensor, numbers: Tensor, pieces: Pieces) -> Ready | None:
        """None where it is no ordinary tensor. `numbers` are its own, and lie without gaps."""
        self._known.pop(row, None)
        if type(tensor) not in _ORDINARY or not numbers.is_cpu or numbers.dtype not in SHORT:
            return None
        if numbers.data_ptr() != tensor.data_ptr():  # they were copied
            return None
        numbers = numbers.detach()  # it may be asked for a gradient later
        place = numbers.storage_offset()
        sample = numbers
        if not pieces.is_whole:
            sample = numbers.as_strided(pieces.run_shape, pieces.run_stride, place)
        part = numbers.as_strided(pieces.part_shape, pieces.run_stride, place) if pieces.is_part else None
        ready = self._known[row] = Ready(
            tensor=tensor,
            data_ptr=tensor.data_ptr(),
            shape=tensor.shape,
            stride=tensor.stride(),
            numbers=numbers,
            pieces=pieces,
            sample=sample,
            part=part,
        )
        return ready
