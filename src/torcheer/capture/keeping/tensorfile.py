"""Tensors in one file, by name, in the format of safetensors: written as a stream, read one at a time.

The file is read with `pread` and not mapped into memory: if it is cut short while it is open there is an
error to raise, where a mapping would end the process. Everything that the header claims is held against the
size of the file before anything is read or allocated.

One tensor more, `torcheer.checksums`, holds a number for each of the others, in the order of their names: the
sum of their bytes taken as 64-bit words. It shows damage when a tensor is read; it is no signature.
"""

from __future__ import annotations

import os
import stat
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import msgspec
import numpy
import torch
from torch import Tensor

from torcheer.errors import FileFormatError, InputError
from torcheer.graph.tensorheader import (
    CHECKSUMS,
    ITEM_BYTES,
    LENGTH_BYTES,
    MAX_HEADER_BYTES,
    Header,
    HeaderEntry,
    NotSafetensors,
    header_length,
    read_header,
)

_CHUNK_BYTES = 1 << 20  # still in the processor's cache when it is summed up

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


# --- writing ---------------------------------------------------------------------------------


def write_tensors(
    file: BinaryIO, pieces: Sequence[Piece], metadata: Mapping[str, str], on_written: Callable[[int], None]
) -> None:
    """Write a whole file; `on_written` is told how many bytes have been added."""
    if sys.byteorder != "little":
        raise InputError("histories are stored with the lowest byte first: this machine has it last.")
    # Widest elements first: so each tensor stands where its own type wants it, also when mapped into memory.
    pieces = sorted(pieces, key=lambda piece: -ITEM_BYTES[piece.file_type])
    header = _header(pieces, metadata)
    file.write(len(header).to_bytes(8, "little"))
    file.write(header)
    sums = {piece.name: _write_piece(file, piece, on_written) for piece in pieces}
    file.write(b"".join(sums[name].to_bytes(8, "little") for name in sorted(sums)))


def _header(pieces: Sequence[Piece], metadata: Mapping[str, str]) -> bytes:
    entries: dict[str, object] = {"__metadata__": dict(metadata)}
    end = 0
    for piece in pieces:
        start, end = end, end + piece.num_bytes
        entries[piece.name] = HeaderEntry(
            dtype=piece.file_type, shape=list(piece.shape), data_offsets=(start, end)
        )
    last = HeaderEntry(dtype="I64", shape=[len(pieces)], data_offsets=(end, end + 8 * len(pieces)))
    header = msgspec.json.encode({**entries, CHECKSUMS: last})
    header += b" " * (-len(header) % 8)
    if len(header) > MAX_HEADER_BYTES:
        raise InputError(
            f"the history has {len(pieces):,} separate tensors, too many for one safetensors file: capture "
            "with layers_to_save, and save the parts that are needed."
        )
    return header


def _write_piece(file: BinaryIO, piece: Piece, on_written: Callable[[int], None]) -> int:
    total = 0
    for chunk in chunks_of(bytes_of(piece.make())):
        total += checksum(chunk)
        file.write(chunk.numpy().data)
        on_written(chunk.numel())
    return total % 2**64


def bytes_of(tensor: Tensor) -> Tensor:
    """The memory of a contiguous tensor as a flat tensor of bytes."""
    start = tensor.storage_offset() * tensor.element_size()
    size = tensor.numel() * tensor.element_size()
    flat = torch.empty(0, dtype=torch.uint8, device="cpu")
    return flat.set_(tensor.untyped_storage(), start, (size,), (1,)) if size else flat


def chunks_of(flat: Tensor) -> Iterator[Tensor]:
    if flat.numel() <= _CHUNK_BYTES:
        yield flat
        return
    for start in range(0, flat.numel(), _CHUNK_BYTES):
        yield flat[start : start + _CHUNK_BYTES]


def checksum(flat: Tensor) -> int:
    """The sum of all bytes taken as 64-bit words, the last one filled up with zeros."""
    # By NumPy, in this thread alone: torch's threads would have to meet after each chunk.
    memory = flat.numpy()
    num_whole = len(memory) // 8 * 8
    total = int(numpy.add.reduce(memory[:num_whole].view(numpy.uint64)))
    return (total + int.from_bytes(memory[num_whole:].tobytes(), "little")) % 2**64


# --- reading ---------------------------------------------------------------------------------


class TensorFile:
    """The tensors of an open file. Closed when nobody needs it any more."""

    def __init__(self, path: str) -> None:
        self.path = path
        info = os.stat(path)
        if not stat.S_ISREG(info.st_mode) and not stat.S_ISDIR(info.st_mode):
            raise self.broken("it is no ordinary file", "Name the file that history.save wrote.")
        file = open(path, "rb", buffering=0)  # noqa: SIM115  # stays open: values are read when asked for
        weakref.finalize(self, file.close)
        self._file = file
        self._lock = threading.Lock()
        self._num_bytes = os.fstat(file.fileno()).st_size
        header = self._read_header()
        self.metadata, self.types, self._places = header.metadata, header.types, header.places
        self._sums: dict[str, int] | None = None

    def broken(self, what: str, do: str = "") -> FileFormatError:
        do = do or "It may be damaged or half copied: copy it again, or save the history anew."
        return FileFormatError(f"{self.path} cannot be opened as a history: {what}. {do}")

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def num_bytes(self, name: str) -> int:
        return self._places[name][1]

    @property
    def names(self) -> list[str]:
        """All tensors but the checksums."""
        return [name for name in self._places if name != CHECKSUMS]

    def read(self, name: str) -> Tensor:
        """The bytes of one tensor, in memory of their own."""
        start, size = self._places[name]
        flat = torch.empty(size, dtype=torch.uint8, device="cpu")
        total, at = 0, start
        for chunk in chunks_of(flat):
            self._fill(chunk, at)
            total += checksum(chunk)
            at += chunk.numel()
        if total % 2**64 != self._checksums().get(name):
            raise self.broken(f"the bytes of {name!r} are not those that were written")
        return flat

    def _read_header(self) -> Header:
        try:
            first = self._read_bytes(0, min(LENGTH_BYTES, self._num_bytes)).numpy().tobytes()
            length = header_length(first, self._num_bytes)
            return read_header(self._read_bytes(LENGTH_BYTES, length).numpy().tobytes(), self._num_bytes)
        except NotSafetensors:
            do = "Name a file that history.save wrote; tl.load_history opens no other."
            raise self.broken("it is no safetensors file", do) from None
        except ValueError as error:
            raise self.broken(str(error)) from None

    def _checksums(self) -> dict[str, int]:
        if self._sums is None:
            names = sorted(self.names)
            if CHECKSUMS not in self._places or self.num_bytes(CHECKSUMS) != 8 * len(names):
                raise self.broken("its checksums are missing")
            sums = self._read_bytes(*self._places[CHECKSUMS]).view(torch.int64).tolist() if names else []
            self._sums = {name: total % 2**64 for name, total in zip(names, sums, strict=True)}
        return self._sums

    def _read_bytes(self, start: int, size: int) -> Tensor:
        flat = torch.empty(size, dtype=torch.uint8, device="cpu")
        self._fill(flat, start)
        return flat

    def _fill(self, flat: Tensor, start: int) -> None:
        view, done = flat.numpy().data, 0
        while done < len(view):
            count = self._read_into(view[done:], start + done)
            if not count:
                raise self.broken("it ends too early: it was changed after it was opened")
            done += count

    def _read_into(self, view: memoryview, start: int) -> int:
        if hasattr(os, "preadv"):
            return os.preadv(self._file.fileno(), [view], start)
        with self._lock:  # Windows
            self._file.seek(start)
            return self._file.readinto(view) or 0
