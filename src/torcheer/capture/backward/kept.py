"""Gradients that are kept by reference, and how to tell that somebody wrote over one."""

from __future__ import annotations

import torch
from torch import Tensor

from torcheer.capture.aten import unwatched
from torcheer.capture.memory import element_range, has_data, version_of

_SAMPLE_SIZE = 16


class Kept:
    """A gradient, and what tells whether it was written over since."""

    __slots__ = ("_sample", "tensor", "version")

    def __init__(self, tensor: Tensor, is_shared: bool = False) -> None:
        self.tensor = tensor
        self.version = version_of(tensor)
        self._sample: Tensor | None = None
        if is_shared:
            self.take_sample()

    def take_sample(self) -> None:
        """Scalers, `.data` and NumPy write into a `.grad` without being counted by torch."""
        if self._sample is None:
            with unwatched():
                self._sample = _sample_of(self.tensor)

    def was_written(self) -> bool:
        if version_of(self.tensor) != self.version:
            return True
        before, now = self._sample, None if self._sample is None else _sample_of(self.tensor)
        if before is None or now is None:
            return False
        return now.shape != before.shape or not torch.allclose(now, before, rtol=0, atol=0, equal_nan=True)


def _sample_of(tensor: Tensor) -> Tensor | None:
    """A few elements, spread over it; where they are all zero, also the sum."""
    if tensor.layout == torch.sparse_coo:
        tensor = tensor._values()
    if tensor.layout != torch.strided or not has_data(tensor):
        return None
    tensor = tensor.detach()
    first, last = element_range(tensor)
    if tensor.numel() == 0 or last - first + 1 != tensor.numel():
        return None  # with gaps, or elements that are one
    line = tensor.as_strided((tensor.numel(),), (1,), first)
    sample = line[:: max(1, line.numel() // _SAMPLE_SIZE)][:_SAMPLE_SIZE].clone()
    return sample if sample.any() else torch.cat([sample, line.sum().reshape(1)])
