"""Numbers that belong to a training, copied so that it can go on: tensors, arrays, lists of either.

Torch is not imported. A tensor brings it with it, and is known by what it can do.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any, NamedTuple

import numpy

from torcheer.errors import InputError
from torcheer.graph import readable_bytes
from torcheer.run.records import Encoded, Pending, TensorHead
from torcheer.tensorfile import RAW_TYPES, Array, as_numbers, figures_of

MAX_RECORD_BYTES = 512 << 20  # of one record
_MAX_DENSE_BYTES = 64 << 20  # of a sparse tensor that is written out
_RAW_VIEWS = {1: "uint8", 2: "int16"}  # torch's types for numbers that NumPy does not have, by their size
_PLAIN_KINDS = "biufc"
_WIDEST = {"f": numpy.dtype("float64"), "c": numpy.dtype("complex128")}  # that torch has a type for


class Copied(NamedTuple):
    """Numbers that nobody else writes into; or, from `view_of`, the training's own."""

    raw: bytes  # row by row, little-endian; empty where nothing was copied
    array: Array  # over the same bytes; whole numbers where NumPy has no type for the numbers
    dtype: str  # torch's name without `torch.`
    note: str = ""

    def numbers(self) -> Array:
        """As NumPy counts: bfloat16 and the floats of eight bits become float32, truth becomes 0 and 1."""
        return as_numbers(self.array, self.dtype)


def copy_of(value: Any) -> Copied:
    """A copy of a tensor, an array, or whatever NumPy makes one of. InputError says why there is none."""
    if isinstance(value, list | tuple) and any(is_tensor(item) for item in value):
        return _stacked([copy_of(item) for item in value])
    if not is_tensor(value):
        return _owned(_array(value))
    check_size(_num_bytes(value))  # before anything is copied: an expanded tensor is larger than its memory
    with _plain_torch():
        seen = _tensor(value, is_straight=True)
    return _owned(seen)


def view_of(value: Any) -> Copied:
    """The same without a copy where that can be, for what is done with it before the training goes on."""
    if not is_tensor(value):
        return _array(value)
    with _plain_torch():
        return _tensor(value, is_straight=False)


def is_tensor(value: Any) -> bool:
    return hasattr(value, "detach") and hasattr(value, "dtype") and hasattr(value, "layout")


def real_numbers(value: Any, what: str = "the values", *, most_bytes: float = math.inf) -> Copied:
    """A copy of numbers that can be put in order; only a view of what is larger than that."""
    numbers = view_of(value) if _num_bytes(value) > most_bytes else copy_of(value)
    if numbers.array.dtype.kind == "c":
        raise InputError(f"{what} are complex: log their magnitude or their parts, x.abs() or x.real.")
    return numbers


def _num_bytes(value: Any) -> int:
    """Of a tensor or an array, elements that share their memory counted each; 0 of anything else."""
    if is_tensor(value):
        with _plain_torch():
            is_strided = str(value.layout) == "torch.strided"  # others have limits of their own
            return int(value.numel() * value.element_size()) if is_strided else 0
    return value.nbytes if isinstance(value, numpy.ndarray) else 0


def _stacked(parts: Sequence[Copied]) -> Copied:
    first = parts[0]
    if any(part.array.shape != first.array.shape for part in parts):
        raise InputError("the tensors of a list differ in shape: log each under its own name.")
    check_size(sum(len(part.raw) for part in parts))
    if all(part.dtype == first.dtype for part in parts):
        return _owned(Copied(b"", numpy.stack([part.array for part in parts]), first.dtype, first.note))
    return _owned(_array(numpy.stack([part.numbers() for part in parts])))


def _array(value: Any) -> Copied:
    try:
        array = numpy.asarray(value)
    except (ValueError, TypeError) as error:  # a ragged list, an object that is no array after all
        raise InputError(
            f"no array can be made of this {type(value).__name__}: {_first_line(error)}."
        ) from None
    raw_bytes = RAW_TYPES.get(array.dtype.name)  # of the types that other packages add to NumPy
    if raw_bytes is not None:
        # Whole numbers of the same size: there is such a view of every shape.
        return Copied(b"", array.view(f"u{raw_bytes}"), array.dtype.name)
    if array.dtype.kind not in _PLAIN_KINDS:
        is_text = array.dtype.kind in "US"
        instead = "Use log_text for text." if is_text else "Give a tensor or an array of numbers."
        raise InputError(f"this {type(value).__name__} holds {array.dtype}, and not numbers. {instead}")
    widest = _WIDEST.get(array.dtype.kind)
    if widest is not None and array.dtype.itemsize > widest.itemsize:
        check_size(array.nbytes)
        array = array.astype(widest)
    return Copied(b"", array, array.dtype.name)


def _owned(seen: Copied) -> Copied:
    check_size(seen.array.nbytes)
    # Two steps: NumPy turns an array round in memory far faster than it writes bytes in another order.
    straight = numpy.ascontiguousarray(seen.array, dtype=seen.array.dtype.newbyteorder("<"))
    raw = straight.tobytes()
    array = numpy.frombuffer(raw, dtype=straight.dtype).reshape(seen.array.shape)
    return seen._replace(raw=raw, array=array)


def check_size(num_bytes: int) -> None:
    if num_bytes > MAX_RECORD_BYTES:
        raise InputError(
            f"it takes {readable_bytes(num_bytes)}, and one record has at most "
            f"{readable_bytes(MAX_RECORD_BYTES)}: log a part of it, x[:1000], or a histogram."
        )


def _torch() -> Any:
    return sys.modules["torch"]  # there is a tensor, so it is there


@contextmanager
def _plain_torch() -> Iterator[None]:
    """No mode and no subclass has a say: what is logged in a pass that is recorded is no part of it."""
    torch = sys.modules.get("torch")
    if torch is None:  # a tensor of somebody else's
        yield
        return
    has_modes = torch._C._len_torch_dispatch_stack() > 0
    modes = torch.utils._python_dispatch._disable_current_modes() if has_modes else nullcontext()
    with torch._C.DisableTorchFunction(), modes:
        yield


def _tensor(tensor: Any, *, is_straight: bool) -> Copied:
    if getattr(tensor, "is_meta", False) or type(tensor).__name__ == "FakeTensor":
        raise InputError("the tensor has a shape and no numbers (meta or fake): log it where the model runs.")
    dtype = _type_name(tensor)
    try:
        dense, note = _dense(tensor.detach())
        if dtype == "complex32":  # NumPy has none
            dense = dense.to(_torch().complex64)
        dtype = _type_name(dense)
        dense = (dense.contiguous() if is_straight else dense).cpu().resolve_conj().resolve_neg()
        if dtype in RAW_TYPES:
            dense = dense.view(getattr(_torch(), _RAW_VIEWS[RAW_TYPES[dtype]]))
        return Copied(b"", dense.numpy(), dtype, note)
    except InputError:
        raise
    except Exception as error:  # a subclass that holds its numbers elsewhere, a type that NumPy has not
        raise InputError(
            f"the numbers of this {type(tensor).__name__} of {dtype} cannot be read ({_first_line(error)}): "
            "log x.float(), or a plain tensor made of it."
        ) from None


def _type_name(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _dense(tensor: Any) -> tuple[Any, str]:
    if getattr(tensor, "is_nested", False):
        raise InputError("the tensor is nested: log its parts, x.unbind(), each under its own name.")
    if getattr(tensor, "is_quantized", False):
        check_size(tensor.numel() * 4)
        return tensor.dequantize(), "quantized: the numbers that its codes stand for"
    if str(tensor.layout) != "torch.strided":
        num_bytes = tensor.numel() * tensor.element_size()
        if num_bytes > _MAX_DENSE_BYTES:
            raise InputError(
                f"the tensor is sparse and would take {readable_bytes(num_bytes)} with its zeros, more than "
                f"{readable_bytes(_MAX_DENSE_BYTES)}: log x.coalesce().values()."
            )
        # Not all that is not strided is sparse: oneDNN has a layout of its own.
        return tensor.to_dense(), "sparse: with its zeros" if "sparse" in str(tensor.layout) else ""
    return tensor, ""


def _first_line(error: BaseException) -> str:
    return (str(error).partition("\n")[0] or type(error).__name__)[:120].rstrip(".")


def tensor_record(value: Any) -> Pending:
    copied = copy_of(value)
    return Pending(len(copied.raw), partial(_encode, copied), copied.note)


def _encode(copied: Copied) -> Encoded:
    figures = figures_of(copied.array, copied.dtype)
    return Encoded(tensor_head(copied.array.shape, copied.dtype, figures), copied.raw)


def tensor_head(shape: Sequence[int], dtype: str, figures: Any) -> TensorHead:
    """`figures` are those of `torcheer.tensorfile`, or have the same fields."""
    names = ("mean", "std", "min", "max", "num_zeros", "num_nan", "num_inf")
    return TensorHead(shape=list(shape), dtype=dtype, **{name: getattr(figures, name) for name in names})
