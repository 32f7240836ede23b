"""How features look in Zarr: what the zarr.json of a group and of an array say, and what chunks are called.

A chunk is the bytes of one batch as they are in memory, not compressed: the values of most layers shrink by a
tenth only, after a ReLU to a half at best, and a single row could no longer be read without its batch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from torcheer.errors import FileFormatError, InputError
from torcheer.features.journal import FOLDER
from torcheer.features.labelled import dimension_names
from torcheer.features.manifest import NAME, NO_JSON, ArraySpec

METADATA: Final = "zarr.json"
ABOUT: Final = "torcheer"  # a group without arrays, for small files that are none
_RESERVED: Final = frozenset((METADATA, ABOUT, FOLDER, NAME))
_RAW: Final = [{"name": "bytes", "configuration": {"endian": "little"}}]
_TYPES: Final = frozenset(
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 "
    "float16 float32 float64 complex64 complex128".split()
)


def metadata_key(name: str) -> str:
    return f"{name}/{METADATA}" if name else METADATA


def file_key(name: str) -> str:
    """Of a small file. The manifest is where it is in a folder, too: by it features are found."""
    return name if name == NAME else f"{ABOUT}/{name}"


def folder_of(array: ArraySpec) -> str:
    return f"{array.file}.layer" if array.file.lower() in _RESERVED else array.file


def chunk_key(name: str, number: int, num_dims: int) -> str:
    """Of the chunk with these rows: along all other dimensions there is only one."""
    return f"{name}/c.{number}" + ".0" * num_dims


def part_name(array: ArraySpec, first: int) -> str:
    """Of a batch that is an array of its own."""
    return f"{folder_of(array)}/{first:012d}"


def array_metadata(
    array: ArraySpec, shape: tuple[int, ...], chunk_rows: int, dims: Sequence[str]
) -> dict[str, Any]:
    kind = array.numpy_dtype.name
    if kind not in _TYPES:
        raise InputError(
            f"{array.name} has the dtype {kind}, which Zarr has not: extract it as float32, or to a folder."
        )
    zero: Any = (
        False if kind == "bool" else [0.0, 0.0] if "complex" in kind else 0.0 if "float" in kind else 0
    )
    return {
        "zarr_format": 3,
        "node_type": "array",
        "shape": shape,
        "data_type": kind,
        "chunk_grid": {
            "name": "regular",
            "configuration": {"chunk_shape": [max(1, size) for size in (chunk_rows, *shape[1:])]},
        },
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}},
        "fill_value": zero,
        "codecs": _RAW,
        "attributes": {"name": array.name, "role": array.role},
        "dimension_names": dims,
    }


def rows_metadata(array: ArraySpec, num_rows: int, chunk_rows: int) -> dict[str, Any]:
    return array_metadata(array, (num_rows, *array.shape), chunk_rows, dimension_names(array))


def group_metadata(
    attributes: dict[str, Any], arrays: dict[str, dict[str, Any]] | None = None
) -> dict[str, Any]:
    """With the metadata of all its arrays, where they are known: they need not be listed then."""
    found: dict[str, Any] = {"zarr_format": 3, "node_type": "group", "attributes": attributes}
    if arrays:
        found["consolidated_metadata"] = {"kind": "inline", "must_understand": False, "metadata": arrays}
    return found


def encoded(metadata: dict[str, Any]) -> bytes:
    return msgspec.json.format(msgspec.json.encode(metadata), indent=1) + b"\n"


def chunk_rows_of(content: bytes, array: ArraySpec, where: str) -> int | None:
    """How many rows a chunk has; None where each batch is an array of its own."""
    try:
        found: dict[str, Any] = msgspec.json.decode(content, type=dict)
        if found["node_type"] == "group":
            return None
        if found["node_type"] != "array":
            raise ValueError("it is neither an array nor a group")
        rows, *others = found["chunk_grid"]["configuration"]["chunk_shape"]
        expected = rows_metadata(array, found["shape"][0], rows)
        same = msgspec.json.decode(msgspec.json.encode(expected))
        for about in ("shape", "data_type", "chunk_grid", "chunk_key_encoding", "codecs"):
            if found[about] != same[about]:
                raise ValueError(f"its {about} is {found[about]}, and the manifest says {same[about]}")
        if not isinstance(rows, int) or rows < 1 or math.prod(others) < 1:
            raise ValueError(f"a chunk cannot have {rows} rows")
    except (*NO_JSON, KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise FileFormatError(f"{where}/{metadata_key(folder_of(array))} is damaged: {error}.") from error
    return rows
