"""Read and write a checkpoint file, and list a folder of them."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import torch
from torch import Tensor

from torcheer.capture import FILE_TYPES, Piece, TensorFile, write_tensors
from torcheer.errors import FileFormatError
from torcheer.tensorfile import ITEM_BYTES, FileKind, NamedTwice, unique, write_atomically
from torcheer.training.checkpoint.state_tree import TensorTable, decoded, file_shape, file_tensor

# --- one file -----------------------------------------------------------------------------------------------
#
# Tensors by name and one JSON text, as a safetensors file that anybody can open. The text stands in the
# metadata as `torcheer.checkpoint`. Names of tensors that share their memory with another stand beside it
# (`"model.head.weight": "model.embed.weight"`), as the safetensors library writes them. The last tensor,
# `torcheer.checksums`, has a sum for each of the others in the order of their names, and one for the header:
# damage shows when the file is read. It is no signature.

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
    return write_atomically(
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


# --- a folder -----------------------------------------------------------------------------------------------
#
# The files decide. `checkpoints.json` is written for people, and never read.

INDEX = "checkpoints.json"
_FILE = re.compile(r"step-(\d{8,18})\.safetensors")
_UNFINISHED = re.compile(r"(step-\d{8,18}\.safetensors|checkpoints\.json)\.[0-9a-f]+\.partial")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """One file, as far as its header tells."""

    path: Path
    step: int
    epoch: int | None = None
    saved_at: str = ""
    metrics: dict[str, Any]
    measure: str = ""  # by which metric the best one is kept; empty where none is
    mode: str = "min"
    value: float | None = None  # of that metric, where it was measured with just this state
    problem: str = ""  # what keeps it from being opened

    @property
    def rank(self) -> float:
        """The smaller, the better. A value that is no number is worse than all."""
        if self.value is None or self.value != self.value:
            return float("inf")
        return self.value if self.mode == "min" else -self.value


def file_name(step: int) -> str:
    return f"step-{step:08d}.safetensors"


def stored_in(folder: str | os.PathLike[str]) -> list[Stored]:
    """Those that are there, the newest first."""
    names = [match for name in os.listdir(folder) if (match := _FILE.fullmatch(name))]
    found = [_look(Path(folder) / match[0], int(match[1])) for match in names]
    return sorted(found, key=lambda one: -one.step)


def _look(path: Path, step: int) -> Stored:
    try:
        document = read_document(str(path))
        state = {name: document["state"].get(name) for name in ("position", "metrics", "keeping")}
        tree = decoded(state, {})
        keeping = tree["keeping"] or {}
        return Stored(
            path=path,
            step=step,
            epoch=tree["position"].get("epoch"),
            saved_at=str(document.get("saved_at", "")),
            metrics=dict(tree["metrics"] or {}),
            measure=str(keeping.get("measure", "")),
            mode=str(keeping.get("mode", "min")),
            value=keeping.get("value"),
        )
    except FileFormatError as error:
        return Stored(path=path, step=step, metrics={}, problem=str(error))
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        return Stored(path=path, step=step, metrics={}, problem=f"{path} cannot be read: {error}")


def best_first(stored: Sequence[Stored]) -> list[Stored]:
    """Those that were measured, the best first; of equals the oldest, which needed least."""
    measured = [one for one in stored if one.value is not None and not one.problem]
    return sorted(measured, key=lambda one: (one.rank, one.step))


def write_index(folder: Path, stored: Sequence[Stored]) -> None:
    """List what is there, for whoever looks into the folder."""
    best = next(iter(best_first(stored)), None)
    rows = [
        {
            "file": one.path.name,
            "step": one.step,
            "epoch": one.epoch,
            "saved_at": one.saved_at,
            "metrics": one.metrics,
            "is_best": one is best,
        }
        for one in stored
    ]
    head = {} if best is None else {"best": best.path.name, "best_by": f"{best.mode} of {best.measure}"}
    text = msgspec.json.format(msgspec.json.encode({**head, "checkpoints": rows}), indent=2)

    def write(file: BinaryIO) -> None:
        file.write(text + b"\n")

    write_atomically(folder / INDEX, "a list of checkpoints", write, example=INDEX)


def remove_unfinished(folder: Path) -> None:
    """What a process that was killed while it wrote has left."""
    for name in os.listdir(folder):
        if _UNFINISHED.fullmatch(name):
            with contextlib.suppress(OSError):
                (folder / name).unlink()


def set_aside(stored: Sequence[Stored], folder: Path, reason: str) -> Path:
    """Move files out of the way, into a new folder beside them: nothing that somebody made is deleted."""
    number = 1
    while (place := folder / f"{reason}-{number}").exists():
        number += 1
    place.mkdir()
    for one in stored:
        os.replace(one.path, place / one.path.name)
    return place
