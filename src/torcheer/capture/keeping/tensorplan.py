"""Decide which bytes go into the file, so that no piece of memory is written twice.

A value that lies inside another, contiguous one is stored as a view of it: a chunk, a transpose, an output
that is also some layer's. An expanded tensor is stored as small as it is in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from torcheer.capture.aliasing import byte_range, storage_key
from torcheer.capture.keeping.pyvalues import DTYPE_NAMES, plain_size
from torcheer.capture.keeping.stored import StoredTensor
from torcheer.capture.keeping.tensorfile import FILE_TYPES, Piece

_COMPRESSED = {
    torch.sparse_csr: ("csr", "crow_indices", "col_indices"),
    torch.sparse_csc: ("csc", "ccol_indices", "row_indices"),
    torch.sparse_bsr: ("bsr", "crow_indices", "col_indices"),
    torch.sparse_bsc: ("bsc", "ccol_indices", "row_indices"),
}


class CannotKeep(Exception):  # noqa: N818  # no error: the value is left out, with a note
    """Why a value cannot be stored."""


@dataclass(slots=True, eq=False, kw_only=True)
class Item:
    """A value that is to be stored, and where, once that is settled."""

    stored: StoredTensor | None = None


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
        self._made_of: list[tuple[Item, StoredTensor, list[Item]]] = []

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
        for item, outline, parts in self._made_of:
            made = [part.stored for part in parts if part.stored is not None]
            item.stored = StoredTensor(
                kind=outline.kind,
                dtype=outline.dtype,
                shape=outline.shape,
                parts=made,
                numbers=outline.numbers,
            )
        self._by_storage, self._made_of = {}, []

    # --- kinds of tensors --------------------------------------------------------------------

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
        if tensor.layout in _COMPRESSED:
            kind, outer, inner = _COMPRESSED[tensor.layout]
            parts = {part: getattr(tensor, part)() for part in (outer, inner, "values")}
            return self._add_parts(name, _outline(kind, tensor), parts)
        return self._add_dense(name, tensor if tensor.layout == torch.strided else tensor.to_dense())

    def _add_nested(self, name: str, tensor: Tensor) -> Item:
        if tensor.layout == torch.strided:
            outline = StoredTensor(kind="nested", dtype=DTYPE_NAMES[tensor.dtype], shape=[])
            return self._add_parts(name, outline, {str(i): part for i, part in enumerate(tensor.unbind())})
        jagged: Any = tensor
        if getattr(jagged, "_lengths", None) is not None or getattr(jagged, "_ragged_idx", 0) != 1:
            raise CannotKeep("a nested tensor with holes, or transposed")
        outline = StoredTensor(kind="jagged", dtype=DTYPE_NAMES[tensor.dtype], shape=[])
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
        item = Item()
        made = [self._add_dense(f"{name}.{part}", tensor.detach()) for part, tensor in parts.items()]
        self._made_of.append((item, outline, made))
        return item

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

    # --- sharing -----------------------------------------------------------------------------

    def _share(self, items: list[_Dense]) -> None:
        """Go along one storage: an item is inside another if the one that reaches furthest so far goes on."""
        owner: _Dense | None = None
        copies: dict[Any, StoredTensor | None] = {}
        for item in sorted(items, key=lambda i: (i.first, -i.last, not i.tensor.is_contiguous())):
            tensor = item.tensor
            distance = item.first - (owner.first if owner is not None else 0)
            if owner is not None and owner.last >= item.last and not distance % tensor.element_size():
                item.stored = _view_of(owner.name, tensor, distance // tensor.element_size())
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
    shape = list(tensor.shape)
    if not all(type(size) is int for size in shape):
        raise CannotKeep("its shape is not known")
    return StoredTensor(kind=kind, dtype=DTYPE_NAMES[tensor.dtype], shape=shape, **more)


def _condensed(item: _Dense) -> tuple[Tensor, list[int] | None]:
    """What to write of a tensor with gaps or repetitions, and the strides that show it again."""
    tensor = item.tensor
    source, stride = tensor, None
    if 0 in tensor.stride():
        source = tensor[tuple(slice(1) if step == 0 else slice(None) for step in tensor.stride())]
        own = _contiguous_strides(source.shape)
        stride = [0 if step == 0 else new for step, new in zip(tensor.stride(), own, strict=True)]
    num_bytes = item.last - item.first + 1
    if source.numel() * source.element_size() > num_bytes:
        # Windows that overlap: their memory is smaller than what they show.
        size = num_bytes // tensor.element_size()
        return tensor.as_strided((size,), (1,)), list(tensor.stride())
    return source, stride


def _view_of(name: str, tensor: Tensor, offset: int) -> StoredTensor:
    return _outline("dense", tensor, tensor=name, stride=list(tensor.stride()), offset=offset)


def _contiguous_strides(shape: tuple[int, ...]) -> list[int]:
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return strides[::-1]


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
