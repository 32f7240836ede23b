"""Results of analyses, kept: in memory, and beside the features where these are complete and may be changed.

What lies there may come from anybody: it is checked by types and sizes before it is taken for a result.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec
import numpy

from torcheer.app.features.choosing import Chosen
from torcheer.app.features.openset import Array, OpenSet
from torcheer.app.runs.netanalysisrows import Kept
from torcheer.tensorfile import read_file

FOLDER: Final = "analyses"
_VERSION: Final = 1
_LOG: Final = logging.getLogger("torcheer.app")
_MEMORY_BYTES: Final = 128 << 20
_MAX_HEAD_BYTES: Final = 4 << 20
_MAX_VALUE_BYTES: Final = 32 << 20

Head = TypeVar("Head", bound=msgspec.Struct)


def key_of(opened: OpenSet, chosen: Chosen, options: Mapping[str, Any]) -> str:
    """Another one for other options, other features, and other samples."""
    manifest = hashlib.blake2s(opened.features().manifest.encoded()).hexdigest()
    samples = hashlib.blake2s(chosen.samples.astype("<i8").tobytes()).hexdigest()
    whole = [_VERSION, manifest, samples, sorted(options.items())]
    digest = hashlib.blake2s(msgspec.json.encode(whole), digest_size=12).hexdigest()
    return f"{options['task']}-{digest}"


class Keeper:
    """For all sets of a server."""

    def __init__(self) -> None:
        self._memory: Kept[tuple[msgspec.Struct, Array | None]] = Kept(_MEMORY_BYTES)

    def get(
        self, opened: OpenSet, key: str, head_type: type[Head], shape: tuple[int, ...] | None = None
    ) -> tuple[Head, Array | None] | None:
        """What was kept; `shape` is that of its numbers, where it has some. -1 stands for any size."""
        known = self._memory.get((opened.place.id, key))
        if known is not None and isinstance(known[0], head_type):
            return known[0], known[1]
        if opened.folder is None:
            return None
        try:
            found = _read(opened.folder / FOLDER / key, head_type, shape)
        except (OSError, ValueError, msgspec.MsgspecError, RecursionError, EOFError):
            return None  # not there, or not ours: it is computed
        self._remember(opened, key, *found)
        return found

    def put(self, opened: OpenSet, key: str, head: msgspec.Struct, values: Array | None = None) -> None:
        self._remember(opened, key, head, values)
        is_small = values is None or values.nbytes <= _MAX_VALUE_BYTES
        if opened.folder is None or not is_small or not opened.progress().is_complete:
            return
        try:
            _write(opened.folder / FOLDER / key, head, values)
        except OSError as error:
            _LOG.info("an analysis is kept in memory only: %s", error)

    def _remember(self, opened: OpenSet, key: str, head: msgspec.Struct, values: Array | None) -> None:
        num_bytes = 4096 + (0 if values is None else values.nbytes)
        self._memory.put((opened.place.id, key), (head, values), num_bytes)


def _read(path: Path, head_type: type[Head], shape: tuple[int, ...] | None) -> tuple[Head, Array | None]:
    place = path.with_suffix(".json")
    if place.stat().st_size > _MAX_HEAD_BYTES:
        raise ValueError("too large")
    head = msgspec.json.decode(read_file(place), type=head_type)
    if shape is None:
        return head, None
    if not path.with_suffix(".npy").is_file():  # a pipe would keep us waiting
        raise ValueError("no numbers")
    # As a map first: a header that lies about its size costs nothing.
    mapped = numpy.load(path.with_suffix(".npy"), mmap_mode="r", allow_pickle=False)
    fits = len(mapped.shape) == len(shape) and all(
        want in (-1, size) for want, size in zip(shape, mapped.shape, strict=True)
    )
    if mapped.dtype != numpy.dtype("<f4") or not fits or mapped.nbytes > _MAX_VALUE_BYTES:
        raise ValueError("not what was kept")
    return head, numpy.array(mapped)


def _write(path: Path, head: msgspec.Struct, values: Array | None) -> None:
    path.parent.mkdir(exist_ok=True)
    if values is not None:
        beside = _beside(path)
        with open(beside, "wb") as file:
            numpy.lib.format.write_array(file, values.astype("<f4"), allow_pickle=False)
        os.replace(beside, path.with_suffix(".npy"))
    # Last: whoever finds it finds the numbers, too.
    beside = _beside(path)
    beside.write_bytes(msgspec.json.format(msgspec.json.encode(head), indent=1))
    os.replace(beside, path.with_suffix(".json"))


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}")
