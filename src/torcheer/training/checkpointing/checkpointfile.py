"""One file of a checkpoint: tensors by name and one JSON text, as a safetensors file that anybody can open.

The text stands in the file's metadata as `torcheer.checkpoint`. Names of tensors that share their memory with
another stand beside it (`"model.head.weight": "model.embed.weight"`), as the safetensors library writes them.
The last tensor, `torcheer.checksums`, has a sum for each of the others in the order of their names, and one
for the header: damage shows when the file is read. It is no signature.
"""

from __future__ import annotations

import json
import math
import os
import stat
import sys
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

import msgspec
import numpy
import torch
from torch import Tensor

from torcheer.capture.keeping.tensorfile import FILE_TYPES, chunks_of
from torcheer.errors import FileFormatError, InputError
from torcheer.tensorfile.files import write_whole
from torcheer.tensorfile.header import (
    CHECKSUMS,
    ITEM_BYTES,
    LENGTH_BYTES,
    MAX_DIMS,
    MAX_HEADER_BYTES,
    HeaderEntry,
    NotSafetensors,
    header_length,
)
from torcheer.tensorfile.reader import CHUNK_BYTES, checksum
from torcheer.training.checkpointing.statetensors import TensorTable, file_bytes, file_shape

DOCUMENT = "torcheer.checkpoint"
VERSION = 1  # raised by whoever changes what a field means

_TORCH_TYPES = {theirs: ours for ours, theirs in FILE_TYPES.items()}


# --- writing ------------------------------------------------------------------------------------------------


def write_checkpoint(path: str | os.PathLike[str], document: Mapping[str, Any], table: TensorTable) -> str:
    """Write a file that is there once it is whole and on the disk; until then an older one stays."""
    if sys.byteorder != "little":
        raise InputError("checkpoints are stored with the lowest byte first: this machine has it last.")
    # Widest elements first: so each tensor stands where its own type wants it, also when mapped into memory.
    names = sorted(table.tensors, key=lambda name: -ITEM_BYTES[file_shape(table.tensors[name])[0]])
    header = _header(names, document, table)
    return write_whole(
        path, "a checkpoint", lambda file: _write(file, header, names, table), example="step-1200.safetensors"
    )


def _header(names: list[str], document: Mapping[str, Any], table: TensorTable) -> bytes:
    text = msgspec.json.encode(document).decode()
    # "pt": who reads such files asks which library wrote the tensors.
    entries: dict[str, Any] = {"__metadata__": {"format": "pt", DOCUMENT: text, **table.aliases}}
    end = 0
    for name in names:
        file_type, shape = file_shape(table.tensors[name])
        start, end = end, end + ITEM_BYTES[file_type] * math.prod(shape)
        entries[name] = HeaderEntry(dtype=file_type, shape=list(shape), data_offsets=(start, end))
    num_sums = len(names) + 1
    entries[CHECKSUMS] = HeaderEntry(dtype="I64", shape=[num_sums], data_offsets=(end, end + 8 * num_sums))
    header = msgspec.json.encode(entries)
    header += b" " * (-len(header) % 8)
    if len(header) > MAX_HEADER_BYTES:
        raise InputError(
            f"the state has {len(names):,} tensors and {len(text) / 1e6:.0f} MB of text, too much for the "
            "header of a safetensors file: keep large things in `extra` as tensors or arrays."
        )
    return header


def _write(file: BinaryIO, header: bytes, names: list[str], table: TensorTable) -> None:
    file.write(len(header).to_bytes(LENGTH_BYTES, "little"))
    file.write(header)
    sums = {name: _write_tensor(file, table.tensors[name]) for name in names}
    for total in (*(sums[name] for name in sorted(sums)), zlib.crc32(header)):
        file.write(total.to_bytes(8, "little"))


def _write_tensor(file: BinaryIO, tensor: Tensor) -> int:
    total = 0
    for chunk in chunks_of(file_bytes(tensor)):
        total += checksum(chunk.numpy())
        file.write(chunk.numpy().data)
    return total % 2**64


# --- reading ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What a file says is in it, held against its size."""

    document: dict[str, Any]
    entries: dict[str, HeaderEntry]
    base: int  # the first byte after the header
    header_sum: int


def read_document(path: str) -> dict[str, Any]:
    """The JSON text alone: quick, and enough to know which checkpoint it is."""
    with _opened(path) as file:
        return _layout(file, path).document


def read_checkpoint(path: str) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The text, and all tensors, each held against its checksum."""
    with _opened(path) as file:
        layout = _layout(file, path)
        sums = _checksums(file, layout, path)
        tensors = {
            name: _read_tensor(file, path, name, layout, sums) for name in layout.entries if name != CHECKSUMS
        }
    return layout.document, tensors


class NewerFormatError(FileFormatError):
    """It is whole, but this torcheer is too old for it. Nobody should go on from an older one instead."""


def broken(path: str, what: str, do: str = "") -> FileFormatError:
    do = do or "It may be damaged or half copied: copy it again, or take an older checkpoint."
    return FileFormatError(f"{path} cannot be opened as a checkpoint: {what}. {do}")


def _opened(path: str) -> BinaryIO:
    # Before it is opened: a pipe would keep whoever opens it waiting.
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # a folder has an error of its own
        raise broken(path, "it is no ordinary file", "Name a file that save_checkpoint wrote.")
    return open(path, "rb", buffering=0)


def _layout(file: BinaryIO, path: str) -> Layout:
    num_bytes = os.fstat(file.fileno()).st_size
    try:
        length = header_length(_read(file, path, 0, min(LENGTH_BYTES, num_bytes)), num_bytes)
        header = _read(file, path, LENGTH_BYTES, length)
        entries, metadata = _parsed(header)
        _check_places(entries, num_bytes - LENGTH_BYTES - length)
        document = _document(metadata)
    except NotSafetensors:
        do = "Name a file that save_checkpoint wrote; files of torch.save are opened by torch.load."
        raise broken(path, "it is no safetensors file", do) from None
    except FileFormatError:
        raise
    except ValueError as error:
        raise broken(path, str(error)) from None
    if document["version"] > VERSION:
        raise NewerFormatError(
            f"{path} cannot be opened as a checkpoint: its format is {document['version']}, newer than "
            f"{VERSION}, the newest known here. Update torcheer to read it."
        )
    header_sum = zlib.crc32(header)
    return Layout(document=document, entries=entries, base=LENGTH_BYTES + length, header_sum=header_sum)


def _parsed(header: bytes) -> tuple[dict[str, HeaderEntry], dict[str, str]]:
    try:
        raw = json.loads(header, object_pairs_hook=_unique)
        metadata = msgspec.convert(raw.pop("__metadata__", {}), dict[str, str])
        return msgspec.convert(raw, dict[str, HeaderEntry]), metadata
    except _NamedTwice as error:
        raise ValueError(f"its header names {str(error)[:80]!r} twice") from None
    except (ValueError, TypeError, AttributeError, RecursionError):  # msgspec's and json's are ValueErrors
        raise NotSafetensors from None


class _NamedTwice(Exception):  # noqa: N818  # no ValueError: json would be taken for broken
    pass


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise _NamedTwice(next(name for name in found if names.count(name) > 1))
    return found


def _check_places(entries: dict[str, HeaderEntry], num_bytes: int) -> None:
    """The tensors fill the file without a gap or an overlap, so none is larger than what is there."""
    at = 0
    for name, entry in sorted(entries.items(), key=lambda item: item[1].data_offsets):
        start, end = entry.data_offsets
        size = ITEM_BYTES.get(entry.dtype, -1) * math.prod(entry.shape[:MAX_DIMS])
        if len(entry.shape) > MAX_DIMS or start != at or end - start != size:
            raise ValueError(f"its header says of {name[:80]!r} what cannot be")
        at = end
    if at != num_bytes:
        raise ValueError(f"it has {num_bytes:,} bytes of tensors and should have {at:,}")


def _document(metadata: dict[str, str]) -> dict[str, Any]:
    if DOCUMENT not in metadata:
        raise ValueError("it is a safetensors file, but none that save_checkpoint wrote")
    try:
        document = json.loads(metadata[DOCUMENT], object_pairs_hook=_unique)
        version = document["version"]
    except (ValueError, TypeError, KeyError, RecursionError, _NamedTwice):
        raise ValueError("its text is no JSON of a checkpoint") from None
    if type(version) is not int or version < 1 or not isinstance(document, dict):
        raise ValueError("its text is no JSON of a checkpoint")
    return document


def _checksums(file: BinaryIO, layout: Layout, path: str) -> dict[str, int]:
    names = sorted(name for name in layout.entries if name != CHECKSUMS)
    entry = layout.entries.get(CHECKSUMS)
    if entry is None or entry.dtype != "I64" or entry.shape != [len(names) + 1]:
        raise broken(path, "its checksums are missing")
    data = _read(file, path, layout.base + entry.data_offsets[0], 8 * len(names) + 8)
    *sums, header_sum = numpy.frombuffer(data, dtype="<u8").tolist()
    if header_sum != layout.header_sum:
        raise broken(path, "its header is not the one that was written")
    return dict(zip(names, sums, strict=True))


def _read_tensor(file: BinaryIO, path: str, name: str, layout: Layout, sums: dict[str, int]) -> Tensor:
    entry = layout.entries[name]
    try:
        tensor = torch.empty(entry.shape, dtype=_TORCH_TYPES[entry.dtype], device="cpu")
    except RuntimeError:  # of no elements, but with sizes that torch cannot count
        raise broken(path, f"its header says of {name[:80]!r} what cannot be") from None
    flat = torch.empty(0, dtype=torch.uint8, device="cpu")
    if tensor.numel():
        flat.set_(tensor.untyped_storage(), 0, (tensor.nbytes,), (1,))
    start, total = layout.base + entry.data_offsets[0], 0
    for at in range(0, tensor.nbytes, CHUNK_BYTES):
        chunk = flat[at : at + CHUNK_BYTES].numpy()
        _fill(file, path, chunk.data, start + at)
        total += checksum(chunk)
    if total % 2**64 != sums[name]:
        raise broken(path, f"the bytes of {name[:80]!r} are not those that were written")
    return tensor


def _read(file: BinaryIO, path: str, start: int, num_bytes: int) -> bytes:
    data = bytearray(num_bytes)
    _fill(file, path, memoryview(data), start)
    return bytes(data)


def _fill(file: BinaryIO, path: str, view: memoryview, start: int) -> None:
    file.seek(start)
    done = 0
    while done < len(view):
        count = file.readinto(view[done:])  # type: ignore[attr-defined]
        if not count:
            raise broken(path, "it ends too early: it was changed while it was read")
        done += count
