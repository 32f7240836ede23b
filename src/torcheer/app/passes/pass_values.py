"""The values of a saved pass: where they lie in its file, and the arrays that NumPy makes of them.

Only that much of the structure is decoded. All of it is checked when the file is opened.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy
from msgspec import Raw, Struct

from torcheer.graph import SHAPE_ONLY, no_grad_reason, not_saved_reason, readable_bytes
from torcheer.tensorfile import MAX_DIMS, RAW_TYPES, Array, TensorBytes, as_numbers

MAX_TENSOR_BYTES = 1 << 32  # of one that is looked at: all of it is read
MAX_MADE = 1 << 28  # elements of gradients that are added up
_MAX_EXTENT = 2**62
_MAX_OVERLAP = 64  # how often an element may be seen before a value counts as too many of them
_FEW = 1 << 24  # elements that are gone through in any case
# Kinds of values that torch alone can make, and what people call them.
_KINDS = {
    **dict.fromkeys(("coo", "csr", "csc", "bsr", "bsc"), "sparse"),
    **dict.fromkeys(("nested", "jagged"), "nested"),
    "quantized": "quantized",
}
_WITH_TORCH = "open the file with tl.load_history"

NUMPY_TYPES = {
    **{name: numpy.dtype(name) for name in ("uint8", "int8", "float16", "float32", "float64", "complex64")},
    **{
        name: numpy.dtype(name)
        for name in ("int16", "int32", "int64", "uint16", "uint32", "uint64", "complex128")
    },
    "bool": numpy.dtype("uint8"),
    **{name: numpy.dtype("int16" if size == 2 else "uint8") for name, size in RAW_TYPES.items()},
}


class Row(Struct, array_like=True, frozen=True, gc=False):
    """A JSON array of the structure; what this reader does not need of its end is passed over."""


class StoredTensor(Row, frozen=True):
    """Where a value lies in the file, and how it is made of it again."""

    kind: str
    dtype: str
    shape: list[int]
    tensor: str = ""
    stride: list[int] | None = None
    offset: int = 0
    parts: list[StoredTensor] = []
    numbers: list[int | float] = []


def check_stored(stored: StoredTensor, file: TensorBytes) -> None:
    """ValueError unless the file has all the bytes that the value is made of."""
    if stored.kind not in ("dense", "meta", *_KINDS):
        raise ValueError(f"there is no value of the kind {stored.kind[:20]!r}")
    if stored.kind != "dense" or stored.dtype not in NUMPY_TYPES:
        return  # it is never read
    shape, stride, item_bytes = stored.shape, stored.stride, NUMPY_TYPES[stored.dtype].itemsize
    if min(shape, default=0) < 0 or len(shape) > MAX_DIMS or stored.offset < 0:
        raise ValueError("a value has no shape")
    if stride is not None and (len(stride) != len(shape) or min(stride, default=0) < 0):
        raise ValueError("a shape does not fit its strides")
    if math.prod(max(size, 1) for size in shape) * item_bytes > _MAX_EXTENT:
        raise ValueError("a shape is too large")
    if stored.tensor not in file:
        raise ValueError(f"the tensor {stored.tensor[:80]!r} is missing")
    size = file.num_bytes(stored.tensor)
    reach = _reach(stored)
    fits = not size % item_bytes and reach * item_bytes <= size
    if not fits or (stride is None and (stored.offset or reach * item_bytes != size)):
        raise ValueError(f"the tensor {stored.tensor[:80]!r} does not fit its shape")


def _reach(stored: StoredTensor) -> int:
    """How many elements of memory the value reaches."""
    if 0 in stored.shape:
        return 0
    if stored.stride is None:
        return math.prod(stored.shape)
    steps = zip(stored.shape, stored.stride, strict=True)
    return stored.offset + sum((size - 1) * step for size, step in steps) + 1


def make_array(stored: StoredTensor, file: TensorBytes) -> Array | str:
    """A value that has been checked as an array, or why it cannot be looked at."""
    if stored.kind == "meta":
        return SHAPE_ONLY
    if stored.kind != "dense" or stored.dtype not in NUMPY_TYPES:
        what = _KINDS.get(stored.kind, stored.dtype[:20])
        return f"a {what} tensor, which cannot be shown without torch: {_WITH_TORCH}."
    size = file.num_bytes(stored.tensor)
    if size > MAX_TENSOR_BYTES:
        return (
            f"it takes {readable_bytes(size)}, more than a page reads ({readable_bytes(MAX_TENSOR_BYTES)}): "
            f"{_WITH_TORCH} to look at parts of it."
        )
    dtype = NUMPY_TYPES[stored.dtype]
    stride = stored.stride
    if stride is not None:
        seen = math.prod(length for length, step in zip(stored.shape, stride, strict=True) if step)
        if seen > max(_FEW, _MAX_OVERLAP * size // dtype.itemsize):
            return f"its {seen:,} values overlap in memory: they are too many to go through."
    if 0 in stored.shape:
        return numpy.empty(stored.shape, dtype=dtype)
    elements = file.read(stored.tensor).view(dtype)
    if stored.dtype == "bool":
        elements = elements != 0  # whatever the byte is
    if stride is None:
        return elements.reshape(stored.shape)
    steps = [step * dtype.itemsize for step in stride]
    return numpy.lib.stride_tricks.as_strided(elements[stored.offset :], stored.shape, steps, writeable=False)


Slot = tuple[int, int]  # a node, and which of its gradients
Read = tuple[Array, str, str]  # the numbers, torch's name of their type, a note


class StoredOp(Row, frozen=True):
    call: Raw
    parents: Raw
    scope: Raw
    site: Raw
    seconds: Raw
    position: Raw
    context: Raw
    layer: Raw
    outline: Raw
    shape: list[int]
    num_bytes: Raw
    value: StoredTensor | None = None


class StoredParam(Row, frozen=True):
    """A parameter that was used; its values are not kept."""

    address: str


class StoredNode(Row, frozen=True):
    name: Raw
    op: int
    param: str


class StoredBackward(Row, frozen=True):
    kind: str
    elapsed_seconds: Raw
    runs: Raw
    grads: list[tuple[int, int, StoredTensor]]  # node, which of its gradients, the gradient


class StoredGradients(Row, frozen=True):
    """All backward passes through a pass."""

    nodes: list[StoredNode]
    slots: list[tuple[int, int, list[int]]]  # node, which of its gradients, ops whose gradient it is
    passes: list[StoredBackward]


class StoredPass(Row, frozen=True):
    """A pass, as far as it says where values lie."""

    facts: Raw
    traits: Raw
    calls: Raw
    frames: Raw
    sites: Raw
    scopes: Raw
    contexts: Raw
    outlines: Raw
    params: list[StoredParam]
    ops: list[StoredOp]
    reads: Raw
    modules: Raw
    other_names: Raw
    module_calls: Raw
    saved: list[int] | None
    treated: list[tuple[int, Any]]
    warnings: Raw
    gradients: StoredGradients | None = None


class PassValues:
    """The values of a pass by kind and index. ValueError if the structure cannot be."""

    def __init__(self, structure: StoredPass, file: TensorBytes) -> None:
        self._file = file
        self.params = [param.address for param in structure.params]
        self._ops = structure.ops
        self._treated = dict(structure.treated)
        self._saved = None if structure.saved is None else set(structure.saved)
        self._made = {op: _made_by_postfunc(tree) for op, tree in self._treated.items()}
        gradients = structure.gradients
        self._passes = (
            []
            if gradients is None
            else [
                (one.kind, {(node, number): row for node, number, row in one.grads})
                for one in gradients.passes
            ]
        )
        self._slots = _slots_of(gradients, len(self._ops), set(self.params))
        self._check()

    @property
    def num_ops(self) -> int:
        return len(self._ops)

    def _check(self) -> None:
        for op in (*self._treated, *(self._saved or ())):
            if not 0 <= op < len(self._ops):
                raise ValueError(f"a saved op is number {op} of {len(self._ops)}")
        rows = [op.value for op in self._ops]
        rows += [made for made in self._made.values() if isinstance(made, StoredTensor)]
        rows += [row for _, grads in self._passes for row in grads.values()]
        for row in rows:
            if row is not None:
                check_stored(row, self._file)

    def has_output(self, op: int) -> bool:
        if op in self._made:
            return isinstance(self._made[op], StoredTensor)
        row = self._ops[op].value
        return row is not None and row.kind != "meta" and (self._saved is None or op in self._saved)

    def has_grad(self, key: int | str) -> bool:
        return any(slot in grads for _, grads in self._passes for slot in self._slots.get(key, ()))

    def output(self, op: int, label: str) -> Read | str:
        if op in self._made:
            made = self._made[op]
            return made if isinstance(made, str) else self._read(made, "as activation_postfunc left it")
        row = self._ops[op].value
        if row is not None and row.kind == "meta":
            return SHAPE_ONLY
        return self._read(row) if row is not None and self.has_output(op) else not_saved_reason(label)

    def grad(self, key: int | str, name: str) -> Read | str:
        """Of an op, by its index, or of a parameter, by its address: added up as in `.grad`."""
        slots = self._slots.get(key, ())
        found = [(kind, grads) for kind, grads in self._passes if any(slot in grads for slot in slots)]
        if not found:
            return no_grad_reason(name, len(self._passes))
        kind = "backward" if any(kind == "backward" for kind, _ in found) else "grad"
        rows: list[StoredTensor] = []
        for its_kind, grads in found:
            if its_kind == kind:
                its_rows = [grads[slot] for slot in slots if slot in grads]
                # What a checkpoint returned is met outside and inside of it; a parameter gets parts.
                rows += its_rows if isinstance(key, str) else its_rows[:1]
        return self._read(rows[0]) if len(rows) == 1 else self._sum(rows)

    def _sum(self, rows: Sequence[StoredTensor]) -> Read | str:
        total: Array | None = None
        for row in rows:
            read = self._read(row)
            if isinstance(read, str):
                return read
            array, dtype, _ = read
            if array.size > MAX_MADE or (total is not None and total.shape != array.shape):
                return "its gradients of several passes cannot be added up here: tl.load_history does."
            numbers = as_numbers(array, dtype) if dtype == "bfloat16" else array
            total = numbers if total is None else _rounded(total + numbers, dtype)
        assert total is not None
        return total, rows[0].dtype, ""

    def _read(self, row: StoredTensor, note: str = "") -> Read | str:
        made = make_array(row, self._file)
        return made if isinstance(made, str) else (made, row.dtype, note)


def _made_by_postfunc(tree: Any) -> StoredTensor | str:
    if isinstance(tree, list) and len(tree) == 2 and tree[0] == "value":
        try:
            return msgspec.convert(tree[1], StoredTensor)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise ValueError(f"a value is not described as it should be ({str(error)[:80]})") from None
    return "activation_postfunc made no tensor of it: there is nothing to draw."


def _slots_of(
    gradients: StoredGradients | None, num_ops: int, params: set[str]
) -> dict[int | str, list[Slot]]:
    slots: dict[int | str, list[Slot]] = {}
    if gradients is None:
        return slots
    num_nodes = len(gradients.nodes)
    for node, number, ops in gradients.slots:
        if not 0 <= node < num_nodes or not all(0 <= op < num_ops for op in ops):
            raise ValueError("a gradient is of no op")
        for op in ops:
            slots.setdefault(op, []).append((node, number))
    for node, row in enumerate(gradients.nodes):
        if row.param and row.param not in params:
            raise ValueError("a gradient is of no parameter")
        if row.param:
            slots.setdefault(row.param, []).append((node, 0))
    return slots


def _rounded(array: Array, dtype: str) -> Array:
    """A sum of bfloat16 numbers, rounded as torch does: to the nearest, and to the even one of two."""
    if dtype != "bfloat16":
        return array
    bits = array.astype(numpy.float32).view(numpy.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & numpy.uint32(0xFFFF0000)
    return numpy.where(numpy.isnan(array), array, rounded.view(numpy.float32))
