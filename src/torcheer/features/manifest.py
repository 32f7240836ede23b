"""What a set of features is: which layers of which model, of which data, in which form. One JSON file beside
them.

Every process that works on an extraction comes to the same manifest, byte by byte, so it does not matter
which of them writes it. What is finished is not in here, but in the journals (journal.py).
"""

from __future__ import annotations

import math
from typing import Any, Final, Literal

import msgspec
import numpy

from torcheer.errors import FileFormatError

NAME: Final = "manifest.json"
FORMAT: Final = "torcheer-features"
VERSION: Final = 1
STEADY: Final = "samples looked at"  # among the marks of data: missing where a sample is another each time
STREAM: Final = "stream"

Layout = Literal["rows", "ragged"]
Role = Literal["layer", "labels", "ids", "lengths"]


class ArraySpec(msgspec.Struct, frozen=True, kw_only=True):
    """One array with a row for each sample."""

    name: str  # "features.6", as it was asked for; "labels", "ids"
    file: str  # without its ending: what it is called on disk
    dtype: str  # as NumPy writes it: "<f4"; "text" where each row is a text
    shape: tuple[int, ...]  # of one row; -1 where it varies
    dims: tuple[str, ...] = ()  # their names: ("channel", "y", "x")
    layout: Layout = "rows"
    role: Role = "layer"

    @property
    def is_text(self) -> bool:
        return self.dtype == "text"

    @property
    def numpy_dtype(self) -> numpy.dtype[Any]:
        return numpy.dtype(self.dtype)

    @property
    def row_bytes(self) -> int:
        """Of one sample. Of what varies: 0, for nobody knows before."""
        if self.is_text or self.layout == "ragged":
            return 0
        return int(self.numpy_dtype.itemsize * numpy.prod(self.shape, dtype=numpy.int64))


class LayerOrigin(msgspec.Struct, frozen=True, kw_only=True):
    """Where the values of a layer come from, and what was done to them."""

    name: str
    label: str  # of its op: "conv2d_3_7"
    address: str = ""  # of the module whose output it is
    aliases: tuple[str, ...] = ()  # by which it is found, too
    transforms: tuple[str, ...] = ()


class Fingerprints(msgspec.Struct, frozen=True, kw_only=True):
    """By which a change is noticed, and told."""

    weights: dict[str, str]  # of each parameter and buffer
    structure: str  # of the model's modules: their names and types
    data: dict[str, str]  # "samples", "content", "items": whatever could be had
    call: dict[str, str]  # the batch size, the seed, the shapes: as they were asked for

    @property
    def has_steady_data(self) -> bool:
        """Whether a sample is the same each time it is read, so that its values can be compared."""
        return STEADY in self.data or self.data.get("kind") == STREAM


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    format: str = FORMAT
    version: int = VERSION
    storage: str  # "npy" or "zarr"
    model: str  # its class
    data: str  # in words
    num_samples: int | None  # None: a stream, whose end is found out on the way
    batch_size: int | None  # None: batches of different sizes
    num_batches: int | None
    arrays: tuple[ArraySpec, ...]
    origins: tuple[LayerOrigin, ...]
    fingerprints: Fingerprints
    notes: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()  # what the labels are called, where the data set says it

    @property
    def layers(self) -> tuple[ArraySpec, ...]:
        return tuple(array for array in self.arrays if array.role == "layer")

    def column(self, role: Role) -> ArraySpec | None:
        return next((array for array in self.arrays if array.role == role), None)

    @property
    def num_bytes(self) -> int | None:
        """Of all rows together; None where that is not known before."""
        if self.num_samples is None or any(array.layout == "ragged" for array in self.arrays):
            return None
        return self.num_samples * sum(array.row_bytes for array in self.arrays)

    def encoded(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(self), indent=1) + b"\n"


# What decoding a file raises that is no JSON, is no UTF-8, or is nested without end.
NO_JSON: Final = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)


def read_manifest(content: bytes, where: str) -> Manifest:
    try:
        head = msgspec.json.decode(content, type=dict)
    except NO_JSON as error:
        raise FileFormatError(f"{where}/{NAME} is damaged: {error}.") from error
    if head.get("format") != FORMAT:
        raise FileFormatError(
            f"{where}/{NAME} is not the manifest of features: give the folder that tl.extract wrote."
        )
    if head.get("version") != VERSION:
        raise FileFormatError(
            f"{where} is written in version {head.get('version')} of the format, and this torcheer reads "
            f"{VERSION}: use the torcheer that wrote it, or a newer one."
        )
    try:
        manifest = msgspec.json.decode(content, type=Manifest)
        for array in manifest.arrays:
            _check_array(array)
        _check_whole(manifest)
    except (*NO_JSON, TypeError, ValueError) as error:
        raise FileFormatError(f"{where}/{NAME} is damaged: {error}.") from error
    return manifest


def _check_array(array: ArraySpec) -> None:
    """A manifest may come from anywhere: a name of a file must be no path, and a dtype no object."""
    if array.file != safe_name(array.file) or array.file.startswith("."):
        raise ValueError(f"{array.file!r} is no name of a file")
    if not array.is_text and array.numpy_dtype.kind not in "fiubc":
        raise ValueError(f"{array.name} has the dtype {array.dtype!r}")
    if any(size < (-1 if array.layout == "ragged" else 0) for size in array.shape):
        raise ValueError(f"{array.name} has the shape {array.shape}")
    if len(array.shape) > _MAX_DIMS:
        raise ValueError(f"{array.name} has {len(array.shape)} dimensions")


def _check_whole(manifest: Manifest) -> None:
    if any(number is not None and number < 0 for number in (manifest.num_samples, manifest.num_batches)):
        raise ValueError(f"it has {manifest.num_samples} samples in {manifest.num_batches} batches")
    without = {array.name for array in manifest.layers} - {origin.name for origin in manifest.origins}
    if without or not manifest.layers:
        raise ValueError(f"it does not say where {', '.join(sorted(without)) or 'any layer'} comes from")
    for array in manifest.arrays:
        size = 1 if array.is_text else array.numpy_dtype.itemsize
        if math.prod((manifest.num_samples or 0, *map(abs, array.shape), size)) > _MOST_BYTES:
            raise ValueError(f"{array.name} has the shape {array.shape}")


_SAFE: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
_LONGEST_NAME: Final = 120
_MAX_DIMS: Final = 63  # NumPy has 64, and one is that of the samples
_MOST_BYTES: Final = 1 << 62  # what can be counted


def safe_name(name: str) -> str:
    """What a layer is called on any disk."""
    return "".join(letter if letter in _SAFE else "_" for letter in name)[:_LONGEST_NAME] or "_"


def file_name(name: str, used: set[str]) -> str:
    """Of a layer: none twice, also where a disk does not tell capitals from small letters."""
    base = safe_name(name).lstrip(".") or "layer"
    file, number = base, 2
    while file.lower() in used:
        file, number = f"{base[: _LONGEST_NAME - 8]}-{number}", number + 1
    used.add(file.lower())
    return file
