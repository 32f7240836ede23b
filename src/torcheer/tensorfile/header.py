"""The header of a safetensors file, held against the size of the file before any of it is believed."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from msgspec import Meta

CHECKSUMS = "torcheer.checksums"
MAX_HEADER_BYTES = 100_000_000  # the limit of the safetensors library
MAX_DIMS = 64  # torch's own
LENGTH_BYTES = 8  # the file begins with the length of its header

# By what safetensors calls them.
ITEM_BYTES = {
    **dict.fromkeys(("BOOL", "U8", "I8", "F8_E4M3", "F8_E5M2"), 1),
    **dict.fromkeys(("I16", "U16", "F16", "BF16"), 2),
    **dict.fromkeys(("I32", "U32", "F32"), 4),
    **dict.fromkeys(("I64", "U64", "F64", "C64"), 8),
}

Size = Annotated[int, Meta(ge=0, le=2**62)]


class NotSafetensors(ValueError):  # noqa: N818  # says what it is, and is turned into an error with a file's name
    """These bytes are no safetensors file at all."""


class HeaderEntry(msgspec.Struct, frozen=True, gc=False):
    """A tensor as the header names it. The defaults are for the metadata, which stand among the tensors."""

    dtype: str = ""
    shape: list[Size] = []
    data_offsets: tuple[Size, Size] = (0, 0)


class _Head(msgspec.Struct, frozen=True):
    """What the header says besides."""

    metadata: dict[str, str] = msgspec.field(name="__metadata__", default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What is in a file, once it is known that it can be."""

    metadata: dict[str, str]
    places: dict[str, tuple[int, int]]  # by name: the first byte in the file, and how many there are
    types: dict[str, tuple[str, tuple[int, ...]]]  # by name: type and shape


def header_length(first_bytes: bytes, num_bytes: int) -> int:
    """How long the header is that follows the first eight bytes of a file of that size."""
    length = int.from_bytes(first_bytes, "little")
    if len(first_bytes) != LENGTH_BYTES or not 2 <= length <= min(num_bytes - LENGTH_BYTES, MAX_HEADER_BYTES):
        raise NotSafetensors
    return length


def read_header(header: bytes, num_bytes: int) -> Header:
    """ValueError where it says what cannot be."""
    try:
        metadata = msgspec.json.decode(header, type=_Head).metadata
        entries = msgspec.json.decode(header, type=dict[str, HeaderEntry])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise NotSafetensors from None
    entries.pop("__metadata__", None)
    # Without escapes, a name that stands twice shows in the count: quicker, for a pass of many tensors.
    if b"\\" in header or header.count(b'"data_offsets"') != len(entries):
        try:
            json.loads(header, object_pairs_hook=unique)
        except NamedTwice as error:
            raise ValueError(f"its header names {str(error)[:80]!r} twice") from None
        except (ValueError, RecursionError):
            raise NotSafetensors from None
    places = _places(LENGTH_BYTES + len(header), entries, num_bytes)
    types = {name: (entry.dtype, tuple(entry.shape)) for name, entry in entries.items()}
    return Header(metadata=metadata, places=places, types=types)


class NamedTwice(Exception):  # noqa: N818  # no ValueError: the JSON would be taken for broken
    """A name stands twice in one object: two readers could read it in two ways."""


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """What json.loads makes of an object, as object_pairs_hook, where no name stands twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise NamedTwice(next(name for name in found if names.count(name) > 1))
    return found


def _places(base: int, entries: dict[str, HeaderEntry], num_bytes: int) -> dict[str, tuple[int, int]]:
    """Where each tensor lies, once they fill the file without a gap or an overlap."""
    places: dict[str, tuple[int, int]] = {}
    at = 0
    for name, entry in sorted(entries.items(), key=lambda item: item[1].data_offsets):
        start, end = entry.data_offsets
        size = ITEM_BYTES.get(entry.dtype, -1) * math.prod(entry.shape[:MAX_DIMS])
        if len(entry.shape) > MAX_DIMS or start != at or end - start != size:
            raise ValueError(f"its header says of {name[:80]!r} what cannot be")
        places[name] = (base + start, size)
        at = end
    if base + at != num_bytes:
        raise ValueError(f"it has {num_bytes:,} bytes and should have {base + at:,}")
    return places
