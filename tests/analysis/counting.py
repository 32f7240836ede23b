"""A layer that remembers what was asked of it."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray


class CountingRows:
    def __init__(self, values: NDArray[Any]) -> None:
        self._values = values
        self.num_rows_read = 0
        self.largest_bytes = 0

    @property
    def shape(self) -> tuple[int, ...]:
        return self._values.shape

    @property
    def dtype(self) -> numpy.dtype[Any]:
        return self._values.dtype

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, key: Any, /) -> NDArray[Any]:
        assert isinstance(key, slice) or (numpy.diff(key) > 0).all()
        read = self._values[key].copy()
        self.num_rows_read += len(read)
        self.largest_bytes = max(self.largest_bytes, read.nbytes)
        return read

    @property
    def num_passes(self) -> float:
        return self.num_rows_read / len(self)
