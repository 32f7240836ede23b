"""The values of an array as they lie in memory, and as a file of NumPy has them."""

from __future__ import annotations

import io
from typing import Any, cast

import numpy
from numpy.typing import NDArray


def raw_bytes(values: NDArray[Any]) -> memoryview:
    """One after the other, without a copy where they lie so already."""
    flat = numpy.ascontiguousarray(values).reshape(-1)
    return memoryview(cast(Any, flat.view(numpy.uint8))) if flat.size else memoryview(b"")


def npy_bytes(values: NDArray[Any]) -> bytes:
    """The content of an .npy file."""
    content = io.BytesIO()
    numpy.lib.format.write_array(content, values, allow_pickle=False)
    return content.getvalue()
