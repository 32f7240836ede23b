"""Values that NumPy can hold: what it has no dtype or layout for becomes the nearest that loses nothing."""

from __future__ import annotations

from typing import Final

import torch
from torch import Tensor

from torcheer.errors import InputError

_NUMPYS: Final = frozenset(
    {
        torch.float16,
        torch.float32,
        torch.float64,
        torch.complex64,
        torch.complex128,
        torch.bool,
        torch.int8,
        torch.int16,
        torch.int32,
        torch.int64,
        torch.uint8,
        torch.uint16,
        torch.uint32,
        torch.uint64,
    }
)
_QUANTISED: Final = frozenset({torch.qint8, torch.quint8, torch.qint32, torch.quint4x2, torch.quint2x4})
# All that begins so: there are more of them with each version of torch.
_EIGHTS: Final = "torch.float8_"


def open_dtype(dtype: torch.dtype) -> torch.dtype:
    """The dtype of `open_values`."""
    return torch.float32 if dtype in _QUANTISED or str(dtype).startswith(_EIGHTS) else dtype


def open_values(values: Tensor, layer: str) -> Tensor:
    """Dense, and of a dtype that one can compute with."""
    refuse_nested(values, layer)
    if values.layout is not torch.strided:
        values = values.to_dense()
    if values.is_quantized:
        values = values.dequantize()
    return values.detach().to(open_dtype(values.dtype))


def refuse_nested(values: Tensor, layer: str) -> None:
    if values.is_nested:
        raise InputError(
            f"layer {layer!r} gives a nested tensor, whose samples have shapes of their own: give a model "
            "that pads them."
        )


def numpy_dtype(dtype: torch.dtype, layer: str) -> torch.dtype:
    """The dtype that is kept for one that is computed with."""
    if dtype in _NUMPYS:
        return dtype
    if dtype is torch.bfloat16:
        return torch.float32
    if dtype is torch.complex32:
        return torch.complex64
    raise InputError(
        f"layer {layer!r} gives values of {str(dtype).removeprefix('torch.')}, which NumPy does not have: "
        "take a transform such as 'float32'."
    )


def notes_on(arriving: torch.dtype, is_sparse: bool, leaving: torch.dtype) -> tuple[str, ...]:
    """What is kept in another way than it came: `arriving` at the chain, and `leaving` its last part."""
    name = str(arriving).removeprefix("torch.")
    notes = []
    if is_sparse:
        notes.append("sparse values are kept as dense ones.")
    if arriving in _QUANTISED:
        notes.append(f"{name} values are dequantised to float32.")
    elif open_dtype(arriving) != arriving:
        notes.append(f"{name} is kept as float32, exactly: NumPy has no {name}.")
    if leaving not in _NUMPYS:
        name = str(leaving).removeprefix("torch.")
        kept = "float32" if leaving is torch.bfloat16 else "complex64"
        notes.append(f"{name} is kept as {kept}, exactly: NumPy has no {name}.")
    return tuple(notes)
