"""Numbers gathered one by one, on whatever device they are, and read many together."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import numpy
import torch
from numpy.typing import NDArray
from torch import Tensor

_MOST_PENDING = 1024


class Gathered:
    """A row of numbers. To read one from a GPU means to wait for it, so they are read together, later."""

    def __init__(self) -> None:
        self._numbers = array("d")
        self._pending: list[float | Tensor] = []

    def append(self, value: float | Tensor) -> None:
        self._pending.append(value)
        if len(self._pending) >= _MOST_PENDING:
            self._settle()

    def array(self) -> NDArray[numpy.float64]:
        self._settle()
        return numpy.array(self._numbers, dtype=numpy.float64)

    def set(self, values: Any) -> None:
        self._pending = []
        self._numbers = array("d", numpy.asarray(values, dtype=numpy.float64).tobytes())

    def __len__(self) -> int:
        return len(self._numbers) + len(self._pending)

    def _settle(self) -> None:
        pending, self._pending = self._pending, []
        self._numbers.extend(numbers_of(pending))


def numbers_of(values: Sequence[float | Tensor]) -> list[float]:
    """As plain numbers, with one wait for all that are tensors."""
    waited_for = [value for value in values if isinstance(value, Tensor) and not value.is_cpu]
    if not waited_for:
        return [float(value) for value in values]
    devices = {value.device for value in waited_for}
    alike = [value.detach().reshape(()).float() for value in waited_for]
    numbers = iter(torch.stack(alike if len(devices) == 1 else [one.cpu() for one in alike]).tolist())
    return [
        next(numbers) if isinstance(value, Tensor) and not value.is_cpu else float(value) for value in values
    ]
