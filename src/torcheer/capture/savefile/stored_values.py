"""The values of a pass in a file: which bytes are written, and how a value is made of them again.

No piece of memory is written twice. A value that lies inside another, contiguous one is stored as a view of
it: a chunk, a transpose, an output that is also some layer's. An expanded tensor is as small as in memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec
import torch
from torch import Tensor

from torcheer.capture.aliasing import byte_range, plain_size, storage_key
from torcheer.capture.model_state import undisturbed
from torcheer.capture.savefile.pass_schema import StoredTensor
from torcheer.capture.savefile.python_values import DTYPE_NAMES
from torcheer.capture.savefile.safetensors_file import FILE_TYPES, Piece, TensorFile
from torcheer.errors import FileFormatError
from torcheer.tensorfile import MAX_DIMS

_MAX_BYTES = 2**62  # beyond it torch's own sums overflow
_COMPRESSED = {
    "csr": (torch.sparse_csr, "crow_indices", "col_indices"),
    "csc": (torch.sparse_csc, "ccol_indices", "row_indices"),
    "bsr": (torch.sparse_bsr, "crow_indices", "col_indices"),
    "bsc": (torch.sparse_bsc, "ccol_indices", "row_indices"),
}
_KIND_OF_LAYOUT = {layout: kind for kind, (layout, _, _) in _COMPRESSED.items()}
_CODED = {torch.quint8: torch.uint8, torch.qint8: torch.int8, torch.qint32: torch.int32}


class CannotKeep(Exception):  # noqa: N818  # no error: the value is left out, with a note
    """Why a value cannot be stored."""


@dataclass(slots=True, eq=False, kw_only=True)
class Item:
    """A value that is to be stored, and where, once that is settled."""

    stored: StoredTensor | None = None
    parts: tuple[Item, ...] = ()


@dataclass(slots=True, eq=False, kw_only=True)
class _Dense(Item):
    name: str
    tensor: Tensor
    first: int = 0  # byte of its storage
    last: int = 0


class TensorPlan:
    """Values are added first; `settle` says where each of them lies."""

    def __init__(self) -> None:
        self.pieces: list[Piece] = []
        self._by_storage: dict[Any, list[_Dense]] = {}
        self._made_of_parts: list[Item] = []

    def add(self, name: str, tensor: Tensor) -> Item:
        """Raises CannotKeep, saying why, for a tensor whose numbers cannot be had."""
        try:
            return self._add(name, tensor.detach())
        except (RuntimeError, TypeError, AttributeError, KeyError) as error:
            first_line = str(error).partition("\n")[0][:120]
            raise CannotKeep(f"{type(tensor).__name__}: {first_line}") from error

    def settle(self) -> None:
        for on_one_storage in self._by_storage.values():
            self._share(on_one_storage)
        for item in self._made_of_parts:
            assert item.stored is not None
            item.stored = msgspec.structs.replace(item.stored, parts=[part.stored for part in item.parts])
        self._by_storage, self._made_of_parts = {}, []

    def _add(self, name: str, tensor: Tensor) -> Item:
        if tensor.is_meta or any(kind.__name__ == "FakeTensor" for kind in type(tensor).__mro__):
            return Item(
                stored=_outline("meta", tensor, stride=[plain_size(step) for step in tensor.stride()])
            )
        if tensor.is_nested:
            return self._add_nested(name, tensor)
        if tensor.is_quantized:
            return self._add_quantized(name, tensor)
        if tensor.layout == torch.sparse_coo:
            parts = {"indices": tensor._indices(), "values": tensor._values()}
            return self._add_parts(name, _outline("coo", tensor, numbers=[int(tensor.is_coalesced())]), parts)
        if tensor.layout in _KIND_OF_LAYOUT:
            kind = _KIND_OF_LAYOUT[tensor.layout]
            _, outer, inner = _COMPRESSED[kind]
            parts = {part: getattr(tensor, part)() for part in (outer, inner, "values")}
            return self._add_parts(name, _outline(kind, tensor), parts)
        return self._add_dense(name, tensor if tensor.layout == torch.strided else tensor.to_dense())

    def _add_nested(self, name: str, tensor: Tensor) -> Item:
        if tensor.layout == torch.strided:
            outline = StoredTensor(kind="nested", dtype=tensor.dtype, shape=())
            return self._add_parts(name, outline, {str(i): part for i, part in enumerate(tensor.unbind())})
        jagged: Any = tensor
        if getattr(jagged, "_lengths", None) is not None or getattr(jagged, "_ragged_idx", 0) != 1:
            raise CannotKeep("a nested tensor with holes, or transposed")
        outline = StoredTensor(kind="jagged", dtype=tensor.dtype, shape=())
        return self._add_parts(name, outline, {"values": jagged.values(), "offsets": jagged.offsets()})

    def _add_quantized(self, name: str, tensor: Tensor) -> Item:
        parts = {"codes": tensor.int_repr()}
        if tensor.qscheme() == torch.per_tensor_affine:
            numbers = [tensor.q_scale(), tensor.q_zero_point()]
        elif tensor.qscheme() == torch.per_channel_affine:
            parts["scales"] = tensor.q_per_channel_scales()
            parts["zero_points"] = tensor.q_per_channel_zero_points()
            numbers = [tensor.q_per_channel_axis()]
        else:
            raise CannotKeep(f"a quantized tensor, {tensor.qscheme()}")
        return self._add_parts(name, _outline("quantized", tensor, numbers=numbers), parts)

    def _add_parts(self, name: str, outline: StoredTensor, parts: dict[str, Tensor]) -> Item:
        made = [self._add_dense(f"{name}.{part}", tensor.detach()) for part, tensor in parts.items()]
        self._made_of_parts.append(Item(stored=outline, parts=tuple(made)))
        return self._made_of_parts[-1]

    def _add_dense(self, name: str, tensor: Tensor) -> Item:
        if tensor.dtype not in DTYPE_NAMES:
            raise CannotKeep(f"numbers of the type {tensor.dtype}")
        item = _Dense(name=name, tensor=tensor)
        if not tensor.numel():
            self._store(item)
            return item
        if tensor.is_contiguous():
            item.first = int(tensor.storage_offset()) * tensor.element_size()
            item.last = item.first + tensor.numel() * tensor.element_size() - 1
        else:
            item.first, item.last = byte_range(tensor)
        if item.last >= tensor.untyped_storage().nbytes():
            raise CannotKeep(f"{type(tensor).__name__}: it has no memory of its own")
        if tensor.is_conj() or tensor.is_neg():
            self._store(item)
            return item
        self._by_storage.setdefault((tensor.device, storage_key(tensor)), []).append(item)
        return item

    def _share(self, items: list[_Dense]) -> None:
        """Go along one storage: an item is inside another if the one that reaches furthest so far goes on."""
        owner: _Dense | None = None
        copies: dict[Any, StoredTensor | None] = {}
        for item in sorted(items, key=lambda i: (i.first, -i.last, not i.tensor.is_contiguous())):
            tensor = item.tensor
            distance = item.first - (owner.first if owner is not None else 0)
            if owner is not None and owner.last >= item.last and not distance % tensor.element_size():
                item.stored = _outline(
                    "dense",
                    tensor,
                    tensor=owner.name,
                    stride=list(tensor.stride()),
                    offset=distance // tensor.element_size(),
                )
            elif tensor.is_contiguous():
                self._store(item)
                owner = item
            else:
                key = (tensor.dtype, tensor.shape, tensor.stride(), tensor.storage_offset())
                if key not in copies:
                    self._store(item)
                    copies[key] = item.stored
                item.stored = copies[key]

    def _store(self, item: _Dense) -> None:
        tensor = item.tensor
        source, stride = (tensor, None) if tensor.is_contiguous() else _condensed(item)
        file_type, shape = _in_file(source)
        num_bytes = source.numel() * source.element_size()
        make = partial(_plain, source)
        self.pieces.append(
            Piece(name=item.name, file_type=file_type, shape=shape, num_bytes=num_bytes, make=make)
        )
        item.stored = _outline("dense", tensor, tensor=item.name, stride=stride)


def _outline(kind: str, tensor: Tensor, /, **more: Any) -> StoredTensor:
    shape = tuple(tensor.shape)
    if not all(type(size) is int for size in shape):
        raise CannotKeep("its shape is not known")
    return StoredTensor(kind=kind, dtype=tensor.dtype, shape=shape, **more)


def _condensed(item: _Dense) -> tuple[Tensor, list[int] | None]:
    """What to write of a tensor with gaps or repetitions, and the strides that show it again."""
    tensor = item.tensor
    source, stride = tensor, None
    if 0 in tensor.stride():
        source = tensor[tuple(slice(1) if step == 0 else slice(None) for step in tensor.stride())]
        own = torch.empty(source.shape, device="meta").stride()
        stride = [0 if step == 0 else new for step, new in zip(tensor.stride(), own, strict=True)]
    num_bytes = item.last - item.first + 1
    if source.numel() * source.element_size() > num_bytes:
        # Windows that overlap: their memory is smaller than what they show.
        size = num_bytes // tensor.element_size()
        return tensor.as_strided((size,), (1,)), list(tensor.stride())
    return source, stride


def _in_file(tensor: Tensor) -> tuple[str, tuple[int, ...]]:
    """The type and shape that anybody sees who opens the file with safetensors."""
    shape = tuple(tensor.shape)
    if tensor.dtype in FILE_TYPES:
        return FILE_TYPES[tensor.dtype], shape
    if tensor.is_complex():
        return FILE_TYPES[tensor.real.dtype], (*shape, 2)
    return "U8", (*shape, tensor.element_size())


def _plain(tensor: Tensor) -> Tensor:
    return tensor.cpu().resolve_conj().resolve_neg().contiguous()


def check_stored(stored: StoredTensor, file: TensorFile) -> None:
    """Raise ValueError unless the value can be made of what the file has."""
    if stored.kind not in _MAKERS:
        raise ValueError(f"there is no value of the kind {stored.kind[:20]!r}")
    if min(stored.shape, default=0) < 0 or len(stored.shape) > MAX_DIMS:
        raise ValueError("a value has no shape")
    if stored.kind == "dense":
        _check_dense(stored, file)
    elif stored.kind == "meta":
        _check_extent(stored)
    else:
        num_parts = _NUM_PARTS.get(stored.kind)
        if num_parts is not None and len(stored.parts) != num_parts:
            raise ValueError(f"a value of the kind {stored.kind!r} has not {num_parts} parts")
        for part in stored.parts:
            if part.kind != "dense":
                raise ValueError(f"a part of a value is of the kind {part.kind[:20]!r}")
            check_stored(part, file)


def _check_extent(stored: StoredTensor) -> int:
    """How many elements of memory a tensor of this geometry reaches."""
    shape, stride, width = stored.shape, stored.stride, stored.dtype.itemsize
    if stride is not None and len(stride) != len(shape):
        raise ValueError("a shape does not fit its strides")
    # A size of 0 would hide the others, whose product torch works out all the same.
    if math.prod(max(size, 1) for size in shape) * width > _MAX_BYTES:
        raise ValueError("a shape is too large")
    if 0 in shape:
        return 0
    if stride is None:
        return stored.offset + math.prod(shape)
    reach = stored.offset + sum((size - 1) * step for size, step in zip(shape, stride, strict=True)) + 1
    if reach * width > _MAX_BYTES:
        raise ValueError("a stride is too large")
    return reach


def _check_dense(stored: StoredTensor, file: TensorFile) -> None:
    if stored.tensor not in file:
        raise ValueError(f"the tensor {stored.tensor[:80]!r} is missing")
    size, width = file.num_bytes(stored.tensor), stored.dtype.itemsize
    reach = _check_extent(stored)
    is_whole = stored.stride is not None or (not stored.offset and reach * width == size)
    if size % width or reach > size // width or not is_whole:
        raise ValueError(f"the tensor {stored.tensor[:80]!r} does not fit its shape")


def num_value_bytes(stored: StoredTensor) -> int:
    """The bytes of a value as torch counts them, without making it."""
    if stored.kind in ("nested", "jagged"):
        parts = stored.parts if stored.kind == "nested" else stored.parts[:1]
        return sum(map(num_value_bytes, parts))
    return math.prod(stored.shape) * stored.dtype.itemsize


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
    elements = flat.view(stored.dtype) if flat.numel() else torch.empty(0, dtype=stored.dtype, device="cpu")
    if stored.stride is None:
        return elements.view(stored.shape)
    return elements.as_strided(stored.shape, stored.stride, stored.offset)


def _meta(stored: StoredTensor, _: TensorFile) -> Tensor:
    if stored.stride is None:
        return torch.empty(stored.shape, dtype=stored.dtype, device="meta")
    return torch.empty_strided(stored.shape, stored.stride, dtype=stored.dtype, device="meta")


def _coo(stored: StoredTensor, file: TensorFile) -> Tensor:
    indices, values = (_dense(part, file) for part in stored.parts)
    return torch.sparse_coo_tensor(
        indices, values, stored.shape, is_coalesced=bool(stored.numbers[0]), check_invariants=True
    )


def _compressed(stored: StoredTensor, file: TensorFile) -> Tensor:
    outer, inner, values = (_dense(part, file) for part in stored.parts)
    return torch.sparse_compressed_tensor(
        outer, inner, values, stored.shape, layout=_COMPRESSED[stored.kind][0], check_invariants=True
    )


def _nested(stored: StoredTensor, file: TensorFile) -> Tensor:
    parts = [_dense(part, file) for part in stored.parts]
    return torch.nested.nested_tensor(parts, dtype=stored.dtype, device="cpu")


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
    **dict.fromkeys(_COMPRESSED, _compressed),
    "nested": _nested,
    "jagged": _jagged,
    "quantized": _quantized,
}
_NUM_PARTS = {"coo": 2, **dict.fromkeys(_COMPRESSED, 3), "jagged": 2}
