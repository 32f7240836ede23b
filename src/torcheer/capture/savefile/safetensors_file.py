"""Tensors in one file, by name, in the format of safetensors: written as a stream, read one at a time.

One tensor more, `torcheer.checksums`, holds a number for each of the others, in the order of their names: the
sum of their bytes taken as 64-bit words. It shows damage when a tensor is read; it is no signature.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import msgspec
import torch
from torch import Tensor

from torcheer.errors import InputError
from torcheer.tensorfile import (
    CHECKSUMS,
    CHUNK_BYTES,
    ITEM_BYTES,
    MAX_HEADER_BYTES,
    HeaderEntry,
    TensorBytes,
    checksum,
)

# What safetensors calls torch's types; any other type is stored as bytes.
FILE_TYPES: dict[torch.dtype, str] = {
    getattr(torch, ours): theirs
    for ours, theirs in {
        "bool": "BOOL",
        "uint8": "U8",
        "int8": "I8",
        "int16": "I16",
        "int32": "I32",
        "int64": "I64",
        "uint16": "U16",
        "uint32": "U32",
        "uint64": "U64",
        "float16": "F16",
        "bfloat16": "BF16",
        "float32": "F32",
        "float64": "F64",
        "complex64": "C64",
        "float8_e4m3fn": "F8_E4M3",
        "float8_e5m2": "F8_E5M2",
    }.items()
    if hasattr(torch, ours)
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A tensor to be written. It is made when its turn comes, and let go of after."""

    name: str
    file_type: str
    shape: tuple[int, ...]
    num_bytes: int
    make: Callable[[], Tensor]  # contiguous, on the CPU


def write_tensors(
    file: BinaryIO,
    pieces: Sequence[Piece],
    metadata: Mapping[str, str],
    on_written: Callable[[int], None] | None = None,
    *,
    has_header_sum: bool = False,
) -> None:
    """Write a whole file; `on_written` is told how many bytes have been added.

    With `has_header_sum` the last of the checksums is that of the header.
    """
    if sys.byteorder != "little":
        raise InputError("tensors are stored with the lowest byte first: this machine has it last.")
    # Widest elements first: so each tensor stands where its own type wants it, also when mapped into memory.
    pieces = sorted(pieces, key=lambda piece: -ITEM_BYTES[piece.file_type])
    header = _header(pieces, metadata, len(pieces) + has_header_sum)
    file.write(len(header).to_bytes(8, "little"))
    file.write(header)
    sums = {piece.name: _write_piece(file, piece, on_written) for piece in pieces}
    totals = [*(sums[name] for name in sorted(sums)), *([zlib.crc32(header)] if has_header_sum else [])]
    file.write(b"".join(total.to_bytes(8, "little") for total in totals))


def _header(pieces: Sequence[Piece], metadata: Mapping[str, str], num_sums: int) -> bytes:
    entries: dict[str, object] = {"__metadata__": dict(metadata)}
    end = 0
    for piece in pieces:
        start, end = end, end + piece.num_bytes
        entries[piece.name] = HeaderEntry(
            dtype=piece.file_type, shape=list(piece.shape), data_offsets=(start, end)
        )
    last = HeaderEntry(dtype="I64", shape=[num_sums], data_offsets=(end, end + 8 * num_sums))
    header = msgspec.json.encode({**entries, CHECKSUMS: last})
    header += b" " * (-len(header) % 8)
    if len(header) > MAX_HEADER_BYTES:
        raise InputError(
            f"{len(pieces):,} separate tensors and {sum(map(len, metadata.values())) / 1e6:.0f} MB of text "
            "are too much for the header of a safetensors file: capture a history with layers_to_save; give "
            "large things in the `extra` of a checkpoint as tensors or arrays."
        )
    return header


def _write_piece(file: BinaryIO, piece: Piece, on_written: Callable[[int], None] | None) -> int:
    total = 0
    for chunk in chunks_of(bytes_of(piece.make())):
        # By NumPy, in this thread alone: torch's threads would have to meet after each chunk.
        total += checksum(chunk.numpy())
        file.write(chunk.numpy().data)
        if on_written is not None:
            on_written(chunk.numel())
    return total % 2**64


def bytes_of(tensor: Tensor) -> Tensor:
    """The memory of a contiguous tensor as a flat tensor of bytes."""
    start = tensor.storage_offset() * tensor.element_size()
    size = tensor.numel() * tensor.element_size()
    flat = torch.empty(0, dtype=torch.uint8, device="cpu")
    return flat.set_(tensor.untyped_storage(), start, (size,), (1,)) if size else flat


def chunks_of(flat: Tensor) -> Iterator[Tensor]:
    if flat.numel() <= CHUNK_BYTES:
        yield flat
        return
    for start in range(0, flat.numel(), CHUNK_BYTES):
        yield flat[start : start + CHUNK_BYTES]


class TensorFile(TensorBytes):
    """The tensors of an open file."""

    def read(self, name: str) -> Tensor:  # type: ignore[override]  # in memory of torch's own
        """The bytes of one tensor, in memory of their own."""
        flat = torch.empty(self.num_bytes(name), dtype=torch.uint8, device="cpu")
        self.read_into(name, flat.numpy())
        return flat
