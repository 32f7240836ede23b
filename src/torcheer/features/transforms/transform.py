"""What a transform of features is, and the dtypes that values have on their way to the disk.

A `Transform` is a description that never changes. `begin` makes of it the function that works on the batches
of one layer. Its words say all that matters for its results: they are a part of what says whether features
on disk are still the ones asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from torcheer.errors import InputError

Applied = Callable[[Tensor], Tensor]  # keeps the first dimension, that of samples


@runtime_checkable
class Transform(Protocol):
    """A description of what is done to values."""

    @property
    def words(self) -> str:
        """Such as "pool mean". Equal words must mean equal results."""
        ...

    def begin(self, layer: str, shape: tuple[int, ...], dtype: torch.dtype, dims: tuple[str, ...]) -> Applied:
        """For one layer. `shape` and `dims` are those of one sample as it arrives here."""
        ...

    def dims(self, dims: tuple[str, ...], shape: tuple[int, ...], result: tuple[int, ...]) -> tuple[str, ...]:
        """The names of a sample's dimensions afterwards, given its shape before and afterwards."""
        ...


def working_dtype(dtype: torch.dtype, layer: str, what: str) -> torch.dtype:
    """The dtype to compute in: float32, and float64 where float32 would lose digits."""
    if dtype.is_complex:
        raise InputError(
            f"{what} of layer {layer!r}: its values are complex ({dtype_name(dtype)}). Turn them into real "
            "ones first, with a function such as torch.abs."
        )
    return torch.float32 if dtype.itemsize <= (4 if dtype.is_floating_point else 2) else torch.float64


def rows_of(values: Tensor, num_units: int, layer: str, what: str) -> Tensor:
    """One row for each sample. Another number of units than at the beginning is refused."""
    rows = values.reshape(len(values), -1) if values.numel() else values.reshape(len(values), num_units)
    if rows.shape[1] != num_units:
        raise InputError(
            f"{what} of layer {layer!r}: it began with samples of {num_units:,} units, and now one has "
            f"{rows.shape[1]:,}. Where samples differ in size, pool them first."
        )
    return rows


def dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def open_dtype(dtype: torch.dtype) -> torch.dtype:
    """The dtype of `open_values`: quantised values and floats of one byte become float32."""
    return torch.float32 if dtype_name(dtype).startswith(("float8_", "qint", "quint")) else dtype


def open_values(values: Tensor, layer: str) -> Tensor:
    """Dense, and of a dtype that one can compute with."""
    if values.is_nested:
        raise InputError(
            f"layer {layer!r} gives a nested tensor, whose samples have shapes of their own: give a model "
            "that pads them."
        )
    if values.layout is not torch.strided:
        values = values.to_dense()
    if values.is_quantized:
        values = values.dequantize()
    return values.detach().to(open_dtype(values.dtype))


def numpy_dtype(dtype: torch.dtype, layer: str) -> torch.dtype:
    """The dtype that is kept for one that is computed with."""
    wider = {torch.bfloat16: torch.float32, torch.complex32: torch.complex64}
    if dtype in wider:
        return wider[dtype]
    try:
        torch.empty(0, dtype=dtype, device="cpu").numpy()
    except (TypeError, RuntimeError):
        raise InputError(
            f"layer {layer!r} gives values of {dtype_name(dtype)}, which NumPy does not have: take a "
            "transform such as 'float32'."
        ) from None
    return dtype
