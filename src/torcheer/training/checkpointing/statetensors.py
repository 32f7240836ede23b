"""Tensors and arrays of a state tree, each under one name, in a form that a file of tensors can hold."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from torcheer.capture import FILE_TYPES
from torcheer.errors import InputError

_OWN_CLASSES = (Tensor, nn.Parameter, nn.Buffer)
_DTYPES = {str(one): one for one in vars(torch).values() if isinstance(one, torch.dtype)}
# What stands for a type in NumPy's own short spelling: no objects, no records.
_NUMPY_TYPE = re.compile(r"[<>|][biufcmMSU]\d*(\[[a-zA-Z0-9]+\])?")
_NUMPY_TWINS = frozenset(
    "bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 float32 float64 complex64".split()
)

Node = dict[str, Any]


class TensorTable:
    """The tensors of one tree by name. Memory that is shared is there once."""

    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}
        self.aliases: dict[str, str] = {}  # other names of a tensor that is there
        self._names: dict[tuple[Any, ...], str] = {}  # by where a tensor lies in memory
        self._nodes: dict[str, Node] = {}

    def add(self, tensor: Tensor, name: str) -> Node:
        _check(tensor, name)
        if tensor.layout is torch.sparse_coo:
            return self._add_sparse(tensor, name)
        place = _place(tensor)
        known = self._names.get(place) if tensor.numel() else None
        if known is not None:
            self.aliases[name] = known
            return self._nodes[known]
        name = self._free(name)
        self._names[place] = name
        self.tensors[name] = tensor.detach()
        self._nodes[name] = node = {"$tensor": [name, note] if (note := _note(tensor)) else name}
        return node

    def add_numpy(self, value: Any, name: str) -> Node:
        """An array, or a single number of NumPy's."""
        array = numpy.asarray(value)
        if not _NUMPY_TYPE.fullmatch(array.dtype.str):
            raise InputError(
                f"a checkpoint cannot keep '{name}': it is an array of {array.dtype}. Nothing was written. "
                "Give numbers or text, or one array for each field of a record."
            )
        if isinstance(value, numpy.generic):
            return {"$scalar": [array.dtype.str, array.tobytes().hex()]}
        name = self._free(name)
        # C order, and not ascontiguousarray: that one makes an array of no dimensions one of one.
        array = numpy.array(array, order="C", copy=True)
        if array.dtype.name in _NUMPY_TWINS and array.dtype.isnative:
            self.tensors[name] = torch.from_numpy(array)
            return {"$array": [name, None]}
        flat = numpy.frombuffer(array.tobytes(), dtype=numpy.uint8)
        self.tensors[name] = torch.from_numpy(flat.copy())
        return {"$array": [name, [array.dtype.str, list(array.shape)]]}

    def _add_sparse(self, tensor: Tensor, name: str) -> Node:
        indices, values = tensor._indices(), tensor._values()
        parts = [
            self.add(indices, f"{name}.indices")["$tensor"],
            self.add(values, f"{name}.values")["$tensor"],
        ]
        return {"$sparse": [*parts, list(tensor.shape), tensor.is_coalesced()]}

    def _free(self, name: str) -> str:
        """The name, unless it is taken: a dictionary may have the key 'a.b' beside an 'a' with a 'b'."""
        free, number = name, 2
        while free in self.tensors:
            free, number = f"{name}~{number}", number + 1
        return free


def _check(tensor: Tensor, name: str) -> None:
    problem, do = "", "Leave it out, or give an ordinary tensor with its values."
    if is_lazy(tensor):
        problem, do = "it has no values yet", "Run a batch through the lazy module first."
    elif type(tensor) not in _OWN_CLASSES:
        problem = f"it is a {type(tensor).__module__}.{type(tensor).__qualname__}"
        if type(tensor).__name__ == "DTensor":
            do = "Its values lie in several processes: torch.distributed.checkpoint is made for that."
    elif tensor.is_meta:
        problem, do = "it is on the meta device and has no values", "Move the model to a real device first."
    elif tensor.is_quantized or tensor.is_nested or tensor.layout not in (torch.strided, torch.sparse_coo):
        problem = f"it is a {'nested' if tensor.is_nested else tensor.layout} {tensor.dtype} tensor"
    if problem:
        raise InputError(f"a checkpoint cannot keep '{name}': {problem}. Nothing was written. {do}")


def _place(tensor: Tensor) -> tuple[Any, ...]:
    storage = tensor.untyped_storage()
    where = (str(tensor.device), storage.data_ptr(), tensor.storage_offset())
    return *where, tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.is_conj(), tensor.is_neg()


def _note(tensor: Tensor) -> Node:
    """What the file of tensors cannot say: a type that it does not know, an order in memory."""
    note: Node = {} if tensor.dtype in FILE_TYPES else {"dtype": str(tensor.dtype)}
    # The order in memory decides which numbers a processor takes together, and so the last bit of a sum.
    if not tensor.is_contiguous() and _is_dense(tensor):
        note["strides"] = list(tensor.stride())
    return note


def _is_dense(tensor: Tensor) -> bool:
    """Whether it fills its memory without gaps, in whatever order of its dimensions."""
    expected = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


# --- in a file ----------------------------------------------------------------------------------------------


def file_shape(tensor: Tensor) -> tuple[str, tuple[int, ...]]:
    """What a file calls its type, and its shape there."""
    if tensor.dtype in FILE_TYPES:
        return FILE_TYPES[tensor.dtype], tuple(tensor.shape)
    if tensor.dtype is torch.complex128:
        return "F64", (*tensor.shape, 2)
    return "U8", (*tensor.shape, tensor.element_size())


def file_tensor(tensor: Tensor) -> Tensor:
    """Its values in their order, on the CPU."""
    return tensor.detach().resolve_conj().resolve_neg().cpu().contiguous()


def numbers_in(values: Sequence[Any]) -> Tensor | None:
    """Whole numbers, or floats, of Python's own kind as a tensor; None for anything else."""
    kinds = set(map(type, values))
    if kinds == {float}:
        return torch.tensor(values, dtype=torch.float64, device="cpu")
    if kinds == {int} and min(values) >= -(2**63) and max(values) < 2**63:
        return torch.tensor(values, dtype=torch.int64, device="cpu")
    return None


def as_it_was(tensor: Tensor, note: Mapping[str, Any]) -> Tensor:
    """A tensor as it was, from what the file could hold of it."""
    if "dtype" in note:
        dtype = _DTYPES[note["dtype"]]
        if tensor.element_size() * tensor.shape[-1] != dtype.itemsize:
            raise ValueError("it has a tensor of another type than it says")
        shape = tensor.shape[:-1]
        strides = torch.empty(shape, device="meta").stride()
        empty = torch.empty(0, dtype=dtype, device=tensor.device)
        tensor = empty.set_(tensor.untyped_storage(), 0, shape, strides)
    if "strides" in note:
        laid_out = torch.empty_like(tensor).as_strided(tensor.shape, note["strides"])
        if not _is_dense(laid_out):
            raise ValueError("it has a tensor that does not lie in its memory")
        tensor = laid_out.copy_(tensor)
    return tensor


def read_array(tensor: Tensor, note: Any) -> Any:
    array = tensor.cpu().numpy().copy()
    if note is None:
        return array
    dtype, shape = note
    return _from_bytes(array.tobytes(), dtype, shape)


def read_scalar(inner: Any) -> Any:
    dtype, text = inner
    return _from_bytes(bytes.fromhex(text), dtype, [])[()]


def _from_bytes(data: bytes, dtype: str, shape: Sequence[int]) -> Any:
    if math.prod(shape) * _numpy_type(dtype).itemsize != len(data):
        raise ValueError("it has an array of another size than it says")
    return numpy.ndarray(shape, _numpy_type(dtype), buffer=bytearray(data) if data else None)


def _numpy_type(text: str) -> numpy.dtype[Any]:
    if not _NUMPY_TYPE.fullmatch(text):
        raise ValueError(f"it has an array of an unknown type, {text[:40]!r}")
    return numpy.dtype(text)
