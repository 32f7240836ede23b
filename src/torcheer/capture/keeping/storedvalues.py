"""Make a saved value again from its bytes, after a look at whether they can be that value."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from torcheer.capture.keeping.pyvalues import DTYPES
from torcheer.capture.keeping.stored import StoredTensor
from torcheer.capture.keeping.tensorfile import TensorFile
from torcheer.capture.torch_state import undisturbed
from torcheer.errors import FileFormatError
from torcheer.tensorfile import MAX_DIMS

_MAX_BYTES = 2**62  # beyond it torch's own sums overflow
_LAYOUTS = {
    "csr": torch.sparse_csr,
    "csc": torch.sparse_csc,
    "bsr": torch.sparse_bsr,
    "bsc": torch.sparse_bsc,
}
_CODED = {"quint8": torch.uint8, "qint8": torch.int8, "qint32": torch.int32}


# --- checks, when the file is opened -----------------------------------------------------------


def check_stored(stored: StoredTensor, file: TensorFile) -> None:
    """Raise ValueError unless the value can be made of what the file has."""
    dtype = DTYPES.get(stored.dtype)
    if dtype is None or stored.kind not in _MAKERS:
        raise ValueError(f"there is no value of the kind {stored.kind[:20]!r} {stored.dtype[:20]!r}")
    if min(stored.shape, default=0) < 0 or len(stored.shape) > MAX_DIMS:
        raise ValueError("a value has no shape")
    if stored.kind == "dense":
        _check_dense(stored, file, dtype)
    elif stored.kind == "meta":
        _check_extent(stored, dtype)
    else:
        num_parts = _NUM_PARTS.get(stored.kind)
        if num_parts is not None and len(stored.parts) != num_parts:
            raise ValueError(f"a value of the kind {stored.kind!r} has not {num_parts} parts")
        for part in stored.parts:
            if part.kind != "dense":
                raise ValueError(f"a part of a value is of the kind {part.kind[:20]!r}")
            check_stored(part, file)


def _check_extent(stored: StoredTensor, dtype: torch.dtype) -> int:
    """How many elements of memory a tensor of this geometry reaches."""
    shape, stride = stored.shape, stored.stride
    if stride is not None and len(stride) != len(shape):
        raise ValueError("a shape does not fit its strides")
    # A size of 0 would hide the others, whose product torch works out all the same.
    if math.prod(max(size, 1) for size in shape) * dtype.itemsize > _MAX_BYTES:
        raise ValueError("a shape is too large")
    if 0 in shape:
        return 0
    if stride is None:
        return stored.offset + math.prod(shape)
    reach = stored.offset + sum((size - 1) * step for size, step in zip(shape, stride, strict=True)) + 1
    if reach * dtype.itemsize > _MAX_BYTES:
        raise ValueError("a stride is too large")
    return reach


def _check_dense(stored: StoredTensor, file: TensorFile, dtype: torch.dtype) -> None:
    if stored.tensor not in file:
        raise ValueError(f"the tensor {stored.tensor[:80]!r} is missing")
    size = file.num_bytes(stored.tensor)
    reach = _check_extent(stored, dtype)
    if size % dtype.itemsize or reach > size // dtype.itemsize:
        raise ValueError(f"the tensor {stored.tensor[:80]!r} does not fit its shape")
    if stored.stride is None and (stored.offset or reach * dtype.itemsize != size):
        raise ValueError(f"the tensor {stored.tensor[:80]!r} does not fit its shape")


def num_value_bytes(stored: StoredTensor) -> int:
    """The bytes of a value as torch counts them, without making it."""
    if stored.kind in ("nested", "jagged"):
        parts = stored.parts if stored.kind == "nested" else stored.parts[:1]
        return sum(map(num_value_bytes, parts))
    return math.prod(stored.shape) * DTYPES[stored.dtype].itemsize


# --- making, when a value is asked for -----------------------------------------------------------


def make_value(stored: StoredTensor, file: TensorFile) -> Tensor:
    try:
        with undisturbed():
            return _MAKERS[stored.kind](stored, file)
    except FileFormatError:
        raise
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        if "allocate memory" in str(error):
            raise
        raise file.broken(f"a value cannot be made of its parts ({str(error)[:120]})") from error


def _dense(stored: StoredTensor, file: TensorFile) -> Tensor:
    flat = file.read(stored.tensor)
    dtype = DTYPES[stored.dtype]
    elements = flat.view(dtype) if flat.numel() else torch.empty(0, dtype=dtype, device="cpu")
    if stored.stride is None:
        return elements.view(stored.shape)
    return elements.as_strided(stored.shape, stored.stride, stored.offset)


def _meta(stored: StoredTensor, _: TensorFile) -> Tensor:
    dtype = DTYPES[stored.dtype]
    if stored.stride is None:
        return torch.empty(stored.shape, dtype=dtype, device="meta")
    return torch.empty_strided(stored.shape, stored.stride, dtype=dtype, device="meta")


def _coo(stored: StoredTensor, file: TensorFile) -> Tensor:
    indices, values = (_dense(part, file) for part in stored.parts)
    return torch.sparse_coo_tensor(
        indices, values, stored.shape, is_coalesced=bool(stored.numbers[0]), check_invariants=True
    )


def _compressed(stored: StoredTensor, file: TensorFile) -> Tensor:
    outer, inner, values = (_dense(part, file) for part in stored.parts)
    return torch.sparse_compressed_tensor(
        outer, inner, values, stored.shape, layout=_LAYOUTS[stored.kind], check_invariants=True
    )


def _nested(stored: StoredTensor, file: TensorFile) -> Tensor:
    parts = [_dense(part, file) for part in stored.parts]
    return torch.nested.nested_tensor(parts, dtype=DTYPES[stored.dtype], device="cpu")


def _jagged(stored: StoredTensor, file: TensorFile) -> Tensor:
    values, offsets = (_dense(part, file) for part in stored.parts)
    steps = [0, *offsets.tolist()]
    if offsets.dim() != 1 or offsets[0] != 0 or sorted(steps) != steps or steps[-1] != len(values):
        raise ValueError("its offsets do not fit its values")
    made: Any = torch.nested.nested_tensor_from_jagged(values, offsets)
    return made  # type: ignore[no-any-return]


def _quantized(stored: StoredTensor, file: TensorFile) -> Tensor:
    codes = _dense(stored.parts[0], file)
    if _CODED.get(stored.dtype) is not codes.dtype:
        raise ValueError("its codes are of another type")
    limits = torch.iinfo(codes.dtype)
    if len(stored.parts) == 1:
        scale, zero_point = stored.numbers
        if not limits.min <= zero_point <= limits.max:
            raise ValueError("its zero is no code")
        return torch._make_per_tensor_quantized_tensor(codes, float(scale), int(zero_point))
    scales, zero_points = (_dense(part, file) for part in stored.parts[1:])
    axis = int(stored.numbers[0])
    if not 0 <= axis < codes.dim() or not len(scales) == len(zero_points) == codes.shape[axis]:
        raise ValueError("its scales do not fit its codes")
    if zero_points.min() < limits.min or zero_points.max() > limits.max:
        raise ValueError("its zero is no code")
    return torch._make_per_channel_quantized_tensor(codes, scales.double(), zero_points.long(), axis)


_MAKERS: dict[str, Callable[[StoredTensor, TensorFile], Tensor]] = {
    "dense": _dense,
    "meta": _meta,
    "coo": _coo,
    **dict.fromkeys(_LAYOUTS, _compressed),
    "nested": _nested,
    "jagged": _jagged,
    "quantized": _quantized,
}
_NUM_PARTS = {"coo": 2, **dict.fromkeys(_LAYOUTS, 3), "jagged": 2}
