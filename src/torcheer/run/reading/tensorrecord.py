"""A tensor of a run, as NumPy and torch have it."""

from __future__ import annotations

import importlib
from typing import Any

import numpy
from numpy.typing import NDArray

from torcheer.graph import shape_text
from torcheer.run.reading.savedrecords import SavedRecord
from torcheer.run.records import TensorHead
from torcheer.tensorfile import RAW_TYPES, as_numbers


class TensorRecord(SavedRecord[TensorHead]):
    """A tensor at one step."""

    __slots__ = ()

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.head.shape)

    @property
    def dtype(self) -> str:
        """Torch's name for it: `float32`, `bfloat16`."""
        return self.head.dtype

    @property
    def array(self) -> NDArray[Any]:
        """The values, exact. NumPy has no bfloat16 and no floats of eight bits: they become float32."""
        raw = numpy.frombuffer(self.raw, _numpy_type(self.dtype))
        if self.dtype in RAW_TYPES:
            raw = as_numbers(raw, self.dtype)
        elif self.dtype == "complex32":
            raw = raw.astype(numpy.float32).view(numpy.complex64)
        return raw.reshape(self.shape)

    def to_torch(self) -> Any:
        """The tensor as torch has it, on the CPU. Needs torch."""
        torch = importlib.import_module("torch")
        dtype = getattr(torch, self.dtype)
        if not self.num_bytes:
            return torch.empty(self.shape, dtype=dtype)
        return torch.frombuffer(bytearray(self.raw), dtype=dtype).reshape(self.shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return numpy.array(self.array, dtype=dtype) if copy else numpy.asarray(self.array, dtype=dtype)

    def _about(self) -> str:
        return f"{shape_text(self.shape)} {self.dtype}"


def _numpy_type(dtype: str) -> numpy.dtype[Any]:
    if dtype in RAW_TYPES:
        return numpy.dtype(f"<u{RAW_TYPES[dtype]}")
    return numpy.dtype({"complex32": "<f2"}.get(dtype, dtype)).newbyteorder("<")
