"""Write a pass to one file: its structure as JSON, its values as tensors, all of it a safetensors file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

import torch

from torcheer.capture.keeping.keptvalues import KeptValues
from torcheer.capture.keeping.stored import DOCUMENT, MAX_STRUCTURE_BYTES, METADATA_KEY, STRUCTURE, VERSION
from torcheer.capture.keeping.storedtape import StoredTape
from torcheer.capture.keeping.tensorfile import Piece, TensorFile, write_tensors
from torcheer.capture.keeping.writing import StructureWriter, as_json
from torcheer.capture.to_document import document_of
from torcheer.capture.torch_state import undisturbed
from torcheer.errors import InputError
from torcheer.graph import Progress, readable_bytes
from torcheer.tensorfile import write_whole

if TYPE_CHECKING:
    from torcheer.capture.history import ModelHistory

METADATA = {"format": "pt", METADATA_KEY: str(VERSION)}


def save_history(history: ModelHistory, path: str | os.PathLike[str]) -> None:
    """Write a pass to a file. The file is there when it is whole; until then an older one stays as it was."""
    with undisturbed():
        write_whole(path, "the history", partial(_write, history), "pass.safetensors")


def _write(history: ModelHistory, file: BinaryIO) -> None:
    tape = history._tape
    pieces = _pieces_of(tape.file, history) if isinstance(tape, StoredTape) else _pieces(history)
    with Progress("saving the history", sum(piece.num_bytes for piece in pieces)) as progress:
        write_tensors(file, pieces, METADATA, progress.add)


def _pieces_of(file: TensorFile, history: ModelHistory) -> Sequence[Piece]:
    """A pass that was loaded is written as it stands in its file."""
    pieces = []
    for name in file.names:
        file_type, shape = file.types[name]
        size = file.num_bytes(name)
        make = partial(file.read, name)
        pieces.append(Piece(name=name, file_type=file_type, shape=shape, num_bytes=size, make=make))
    return pieces if DOCUMENT in file else [*pieces, _document(history)]


def _pieces(history: ModelHistory) -> Sequence[Piece]:
    values = KeptValues(history)
    text = as_json(StructureWriter(history, values).structure())
    if len(text) > MAX_STRUCTURE_BYTES:
        raise InputError(
            f"the structure of this pass takes {readable_bytes(len(text))}, and "
            f"{readable_bytes(MAX_STRUCTURE_BYTES)} is the limit: stop the pass earlier, with stop_after."
        )
    pieces = [*values.pieces, _document(history)]
    # Blanks at its end, so that what follows it is aligned.
    text += b" " * (-(len(text) + sum(piece.num_bytes for piece in pieces)) % 8)
    return [*pieces, _text_piece(STRUCTURE, text)]


def _document(history: ModelHistory) -> Piece:
    text = as_json(document_of(history))
    return _text_piece(DOCUMENT, text + b" " * (-len(text) % 8))


def _text_piece(name: str, text: bytes) -> Piece:
    make = partial(torch.frombuffer, bytearray(text), dtype=torch.uint8)
    return Piece(name=name, file_type="U8", shape=(len(text),), num_bytes=len(text), make=make)
