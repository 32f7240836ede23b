"""What a transform of features is: a description, and what does the work for one layer.

A `Transform` is shared by all layers and never changes. `begin` makes of it an `Applied` for one layer; one
that has to look at data first is a `Fitted`. Whoever writes one gives it words that say all that matters for
its results: they are part of what says whether features on disk are still the ones asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol, runtime_checkable

import torch
from numpy.typing import NDArray
from torch import Tensor

from torcheer.errors import InputError


class Applied(Protocol):
    """Does the work for one layer. What it has to tell the user may stand in a `note: str`."""

    def __call__(self, values: Tensor) -> Tensor:
        """The first dimension, of samples, is kept in its order."""
        ...


@runtime_checkable
class Fitted(Applied, Protocol):
    """Has to look at the first samples before it can do its work."""

    num_samples: int  # that it looks at, the first ones; fewer where there are not as many

    @property
    def shape(self) -> tuple[int, ...]:
        """Of a sample afterwards: known before anything was seen."""
        ...

    @property
    def dtype(self) -> torch.dtype:
        """Of the values afterwards."""
        ...

    def look(self, values: Tensor) -> None:
        """The next batch of the first samples, in order. Rows beyond `num_samples` are not looked at."""
        ...

    def finish(self) -> None:
        """All were seen."""
        ...

    def state(self) -> dict[str, NDArray[Any]]:
        """What it found out, to be kept beside the features."""
        ...

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Instead of looking. A state that cannot be of this layer and transform is refused."""
        ...


@runtime_checkable
class Transform(Protocol):
    """An immutable description."""

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


# Exact in 24 bits of mantissa; what is wider needs the 53 of a double.
_SINGLE = frozenset(
    {
        torch.float16,
        torch.bfloat16,
        torch.float32,
        torch.bool,
        torch.int8,
        torch.uint8,
        torch.int16,
        torch.uint16,
    }
)


def working_dtype(dtype: torch.dtype, layer: str, what: str) -> torch.dtype:
    """The dtype to compute in: float32, and float64 where float32 would lose digits."""
    if dtype.is_complex:
        raise InputError(
            f"{what} of layer {layer!r}: its values are complex ({_name(dtype)}). Turn them into real ones "
            "first, with a function such as torch.abs."
        )
    return torch.float32 if dtype in _SINGLE else torch.float64


def rows_of(values: Tensor, num_units: int, layer: str, what: str) -> Tensor:
    """One row for each sample. Another number of units than at the beginning is refused."""
    rows = values.reshape(len(values), -1) if values.numel() else values.reshape(len(values), num_units)
    if rows.shape[1] != num_units:
        raise InputError(
            f"{what} of layer {layer!r}: it began with samples of {num_units:,} units, and now one has "
            f"{rows.shape[1]:,}. Where samples differ in size, pool them first."
        )
    return rows


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


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
