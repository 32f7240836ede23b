"""Tensors that stay where they are from step to step, as weights and what an optimizer keeps do.

How to look into them is found once, and kept for as long as they stay there.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from torcheer.inspector.pieces import Pieces
from torcheer.inspector.tensornumbers import flat_view

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
    flat: Tensor  # the same in one line
    pieces: Pieces
    sample: Tensor
    before: Before | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """Room for a tensor as it was before an update, in float32, and then for what the update changed."""

    flat: Tensor
    numbers: Tensor  # the same in the shape of the tensor
    sample: Tensor  # the same places as in the sample of the tensor


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
        ready = self._known[row] = Ready(
            tensor=tensor,
            data_ptr=tensor.data_ptr(),
            shape=tensor.shape,
            stride=tensor.stride(),
            numbers=numbers,
            flat=flat_view(numbers),
            pieces=pieces,
            sample=sample_of(pieces, numbers, 0),
        )
        return ready


def room_before(ready: Ready) -> Before:
    # In inference mode it would become a tensor that nobody can write into afterwards.
    with torch.inference_mode(False):
        flat = torch.empty(ready.flat.shape, dtype=torch.float32)
        numbers = flat.as_strided(ready.numbers.shape, ready.numbers.stride())
        return Before(flat=flat, numbers=numbers, sample=sample_of(ready.pieces, numbers, 0))


def sample_of(pieces: Pieces, numbers: Tensor, shift: int) -> Tensor:
    """All of a tensor that lies without gaps, or values from everywhere in it."""
    if pieces.is_whole:
        return numbers
    return numbers.as_strided(pieces.run_shape, pieces.run_stride, numbers.storage_offset() + shift)
