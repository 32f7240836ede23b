"""The files of CIFAR, both versions: bytes to pictures and labels, with every figure checked on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy
from numpy.typing import NDArray

from torcheer.errors import FileFormatError
from torcheer.training.data.restrictedpickle import read_plain_pickle

NUM_PIXELS: Final = 3 * 32 * 32  # of a picture: all red ones, all green ones, all blue ones


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What one file holds."""

    pixels: NDArray[numpy.uint8]  # one row of NUM_PIXELS for each picture
    labels: NDArray[numpy.int64]


BatchReader = Callable[[bytes, str], Batch]
NamesReader = Callable[[bytes, str], list[str]]


def pickled_batch(label_key: str) -> BatchReader:
    """A reader of the python version, whose labels stand under this key."""

    def read(content: bytes, source: str) -> Batch:
        entries = _pickled_dict(content, source)
        pixels = _entry(entries, "data", source)
        if not isinstance(pixels, numpy.ndarray) or pixels.dtype != numpy.uint8 or pixels.ndim != 2:
            raise FileFormatError(f"{source} is no batch of CIFAR: its 'data' is no table of bytes.")
        labels = _whole_numbers(_entry(entries, label_key, source), source)
        if pixels.shape != (len(labels), NUM_PIXELS):
            raise FileFormatError(
                f"{source} is no batch of CIFAR: {len(labels)} labels need a table of {len(labels)} × "
                f"{NUM_PIXELS} bytes, and it has {pixels.shape[0]} × {pixels.shape[1]}."
            )
        return Batch(pixels=pixels, labels=labels)

    return read


def binary_batch(num_label_bytes: int) -> BatchReader:
    """A reader of the binary version: before the pixels of each picture its labels, the finest one last."""

    def read(content: bytes, source: str) -> Batch:
        num_bytes = num_label_bytes + NUM_PIXELS
        if len(content) % num_bytes:
            raise FileFormatError(
                f"{source} is cut short or no batch of CIFAR: each picture takes {num_bytes} bytes, and "
                f"{len(content)} bytes are {len(content) // num_bytes} pictures and a rest."
            )
        rows = numpy.frombuffer(content, numpy.uint8).reshape(-1, num_bytes)
        return Batch(
            pixels=rows[:, num_label_bytes:], labels=rows[:, num_label_bytes - 1].astype(numpy.int64)
        )

    return read


def pickled_names(key: str) -> NamesReader:
    def read(content: bytes, source: str) -> list[str]:
        names = _entry(_pickled_dict(content, source), key, source)
        if not isinstance(names, list) or not all(isinstance(name, str | bytes) for name in names):
            raise FileFormatError(f"{source} is damaged: its {key!r} are no names.")
        return [_as_text(name) for name in names]

    return read


def listed_names(content: bytes, source: str) -> list[str]:
    """One name a line."""
    return content.decode("utf-8", "replace").split()


def _pickled_dict(content: bytes, source: str) -> dict[Any, Any]:
    entries = read_plain_pickle(content, source)
    if not isinstance(entries, dict):
        raise FileFormatError(f"{source} is no file of CIFAR: it holds no dict.")
    # The keys are bytes in a set that somebody read with encoding="bytes" and wrote again.
    return {_as_text(key) if isinstance(key, bytes) else key: value for key, value in entries.items()}


def _entry(entries: dict[Any, Any], key: str, source: str) -> Any:
    if key not in entries:
        there = ", ".join(repr(name)[:40] for name in list(entries)[:6]) or "nothing"
        raise FileFormatError(f"{source} is no file of CIFAR: it has no {key!r}, only {there}.")
    return entries[key]


def _whole_numbers(labels: Any, source: str) -> NDArray[numpy.int64]:
    if isinstance(labels, list) and all(type(label) is int and abs(label) < 2**31 for label in labels):
        return numpy.array(labels, numpy.int64)
    if isinstance(labels, numpy.ndarray) and labels.ndim == 1 and labels.dtype.kind in "iu":
        return labels.astype(numpy.int64)
    raise FileFormatError(f"{source} is no batch of CIFAR: its labels are no list of whole numbers.")


def _as_text(name: str | bytes) -> str:
    return name.decode("latin-1") if isinstance(name, bytes) else name
