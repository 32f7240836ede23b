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
from collections.abc import Mapping
from functools import partial
from typing import Any

import msgspec
import torch
from torch import Tensor

from torcheer.capture import FILE_TYPES, Piece, TensorFile, write_tensors
from torcheer.errors import FileFormatError
from torcheer.tensorfile import ITEM_BYTES, FileKind, NamedTwice, unique, write_whole
from torcheer.training.checkpointing.statetensors import TensorTable, file_shape, file_tensor

DOCUMENT = "torcheer.checkpoint"
VERSION = 1  # raised by whoever changes what a field means

CHECKPOINT = FileKind(
    name="a checkpoint",
    ordinary="Name a file that save_checkpoint wrote.",
    other="Name a file that save_checkpoint wrote; files of torch.save are opened by torch.load.",
    damaged="It may be damaged or half copied: copy it again, or take an older checkpoint.",
    has_header_sum=True,
)
_TORCH_TYPES = {theirs: ours for ours, theirs in FILE_TYPES.items()}


class NewerFormatError(FileFormatError):
    """It is whole, but this torcheer is too old for it. Nobody should go on from an older one instead."""


def broken(path: str, what: str, do: str = "") -> FileFormatError:
    return FileFormatError(f"{path} cannot be opened as a checkpoint: {what}. {do or CHECKPOINT.damaged}")


def write_checkpoint(path: str | os.PathLike[str], document: Mapping[str, Any], table: TensorTable) -> str:
    """Write a file that is there once it is whole and on the disk; until then an older one stays."""
    text = msgspec.json.encode(document).decode()
    # "pt": who reads such files asks which library wrote the tensors.
    metadata = {"format": "pt", DOCUMENT: text, **table.aliases}
    pieces = [_piece(name, tensor) for name, tensor in table.tensors.items()]
    return write_whole(
        path,
        "a checkpoint",
        lambda file: write_tensors(file, pieces, metadata, has_header_sum=True),
        example="step-1200.safetensors",
    )


def _piece(name: str, tensor: Tensor) -> Piece:
    file_type, shape = file_shape(tensor)
    size = ITEM_BYTES[file_type] * math.prod(shape)
    make = partial(file_tensor, tensor)
    return Piece(name=name, file_type=file_type, shape=shape, num_bytes=size, make=make)


def read_document(path: str) -> dict[str, Any]:
    """The JSON text alone: quick, and enough to know which checkpoint it is."""
    return _document(TensorFile(path, CHECKPOINT))


def read_checkpoint(path: str) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The text, and all tensors, each held against its checksum."""
    file = TensorFile(path, CHECKPOINT)
    document = _document(file)
    file.check_sums()
    return document, {name: _read_tensor(file, name) for name in file.names}


def _document(file: TensorFile) -> dict[str, Any]:
    if DOCUMENT not in file.metadata:
        raise file.broken("it is a safetensors file, but none that save_checkpoint wrote")
    try:
        document = json.loads(file.metadata[DOCUMENT], object_pairs_hook=unique)
        version = document["version"]
    except (ValueError, TypeError, KeyError, RecursionError, NamedTwice):
        raise file.broken("its text is no JSON of a checkpoint") from None
    if type(version) is not int or version < 1 or not isinstance(document, dict):
        raise file.broken("its text is no JSON of a checkpoint")
    if version > VERSION:
        raise NewerFormatError(
            f"{file.path} cannot be opened as a checkpoint: its format is {version}, newer than {VERSION}, "
            "the newest known here. Update torcheer to read it."
        )
    return document


def _read_tensor(file: TensorFile, name: str) -> Tensor:
    file_type, shape = file.types[name]
    tensor = torch.empty(0, dtype=_TORCH_TYPES[file_type], device="cpu")
    try:
        return tensor.set_(file.read(name).untyped_storage(), 0, shape)  # type: ignore[call-overload, no-any-return]
    except RuntimeError:  # of no elements, but with sizes that torch cannot count
        raise file.broken(f"its header says of {name[:80]!r} what cannot be") from None
