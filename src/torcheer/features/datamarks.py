"""By which it is noticed that data are no longer the same, without reading all of them again.

What a data set holds in memory is summed up whole, files by their names and sizes. Of the rest some samples
are read: the first, the last and some between. Each batch that goes through the model is summed up in the
journal.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy
import torch
from numpy.typing import NDArray
from torch import Tensor

from torcheer.capture import tensors_in
from torcheer.features.manifest import STEADY
from torcheer.features.rawbytes import raw_bytes
from torcheer.features.samples import checksum_of

_NUM_LOOKED_AT: Final = 8
_MOST_BYTES: Final = 8 << 30  # in memory, that are summed up
_MOST_FILES: Final = 20_000  # of which the size is asked: a disk far away answers slowly
_DEEPEST: Final = 8


def marks_of(
    dataset: Any, order: NDArray[numpy.int64], looked_at: Callable[[list[int]], list[int]]
) -> dict[str, str]:
    """What identifies data, as far as it can be had cheaply: each in words of its own.

    `looked_at` gives the checksums of some samples.
    """
    held = _content_marks(dataset)
    places = numpy.unique(numpy.linspace(0, len(order) - 1, min(_NUM_LOOKED_AT, len(order))).astype(int))
    numbers = [int(order[place]) for place in places]
    *sums, again = looked_at([*numbers, numbers[0]])
    found = {
        "kind": type(dataset).__name__,
        "number of samples": str(len(order)),
        "order": f"{zlib.crc32(numpy.ascontiguousarray(order).tobytes()):08x}",
    }
    # What reading changes is a cache or a counter, and no content.
    after = _content_marks(dataset)
    found |= {name: mark for name, mark in held.items() if after.get(name) == mark}
    if sums[0] == again:
        found[STEADY] = f"{zlib.crc32(repr(sums).encode()):08x}"
    return found


def _content_marks(dataset: Any) -> dict[str, str]:
    """Of what each attribute holds."""
    found = {}
    for name, part in sorted(getattr(dataset, "__dict__", {"": dataset}).items()):
        total = zlib.crc32(b"")
        for value in _held_in(part, 1, set()):
            total = _checksum(value, total)
        found[f"content ({name})" if name else "content"] = f"{total:08x}"
    return found


def names_of_samples(dataset: Any) -> Sequence[str] | None:
    """File names, where a data set of files has them: of ImageFolder and its kin, and of parts of one."""
    inner, indices = getattr(dataset, "dataset", None), getattr(dataset, "indices", None)
    if inner is not None and indices is not None:
        names = names_of_samples(inner)
        return None if names is None else [names[int(number)] for number in indices]
    for attribute in ("samples", "imgs", "files", "paths"):
        found = getattr(dataset, attribute, None)
        if isinstance(found, list | tuple) and found and len(found) == _length(dataset):
            names = [one[0] if isinstance(one, tuple | list) and one else one for one in found]
            if all(isinstance(one, str | os.PathLike) for one in names):
                return _short([os.fspath(one) for one in names])
    return None


def class_names(dataset: Any) -> tuple[str, ...]:
    """Of a data set that names its classes, and of parts of one; of several in a row, if they agree."""
    found = getattr(dataset, "classes", None)
    if isinstance(found, list | tuple) and found and all(isinstance(one, str) for one in found):
        return tuple(found)
    inner = getattr(dataset, "dataset", None)
    parts = [inner] if inner is not None else getattr(dataset, "datasets", None) or []
    named = {class_names(part) for part in parts} if isinstance(parts, list | tuple) else set()
    return named.pop() if len(named) == 1 else ()


def _short(names: list[Any]) -> list[str]:
    """Below the folder that they have in common."""
    texts = [str(name) for name in names]
    folders = {os.path.dirname(text) for text in texts}
    are_alike = len(set(map(os.path.isabs, texts))) == 1
    common = os.path.commonpath(folders) if are_alike and "" not in folders else ""
    return [Path(os.path.relpath(text, common)).as_posix() if common else text for text in texts]


def _length(dataset: Any) -> int:
    try:
        return len(dataset)
    except TypeError:
        return -1


def _held_in(value: Any, depth: int, seen: set[int]) -> Iterator[Any]:
    """Arrays, and lists of texts and numbers. Not single numbers: they are counters more often than not."""
    if id(value) in seen or depth > _DEEPEST:
        return
    seen.add(id(value))
    is_list_of_words = isinstance(value, list | tuple) and bool(value) and all(map(_is_plain, value))
    if isinstance(value, Tensor | numpy.ndarray) or is_list_of_words:
        yield value
        return
    for part in _parts_of(value):
        yield from _held_in(part, depth + 1, seen)


def _parts_of(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, torch.utils.data.Dataset):
        held = vars(value)
        return [held[name] for name in sorted(held)]
    if type(value) is dict:
        return [value[name] for name in sorted(value, key=str)]
    return []


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return bool(value) and all(isinstance(one, str | int | float | os.PathLike) for one in value)
    return isinstance(value, str | bytes | int | float | os.PathLike)


def _checksum(value: Any, start: int) -> int:
    if isinstance(value, numpy.ndarray):
        if value.dtype == object:
            return zlib.crc32(repr(value.tolist()).encode("utf-8", "surrogateescape"), start)
        if value.nbytes > _MOST_BYTES:
            return zlib.crc32(f"{value.shape} {value.dtype}".encode(), start)
        return zlib.crc32(raw_bytes(value), start)
    if isinstance(value, Tensor):
        if value.element_size() * value.nelement() > _MOST_BYTES:
            return zlib.crc32(f"{tuple(value.shape)} {value.dtype}".encode(), start)
        return checksum_of(value, start)
    every = max(1, len(value) // _MOST_FILES)
    for place, one in enumerate(value):
        words = _words_of(one, with_size=place % every == 0)
        start = zlib.crc32(words.encode("utf-8", "surrogateescape"), start)
    return start


def _words_of(one: Any, *, with_size: bool) -> str:
    """A text; a file also by its size. Where the data were moved to another folder they are the same data."""
    parts = one if isinstance(one, tuple | list) else (one,)
    words = []
    for part in parts:
        is_path = isinstance(part, os.PathLike) or (isinstance(part, str) and "/" in part)
        if is_path:
            try:
                size = os.stat(part).st_size if with_size else 0
                words.append(f"{os.path.basename(os.fspath(part))}:{size}")
                continue
            except (OSError, ValueError):
                pass  # a text with a stroke in it
        words.append(str(part))
    return "\0".join(words) + "\n"


def checksum_of_item(item: Any) -> int:
    """Of one sample as a data set gives it."""
    start = zlib.crc32(b"")
    for name, tensor in tensors_in(item):
        start = checksum_of(tensor, zlib.crc32(name.encode(), start))
    parts = item.values() if isinstance(item, dict) else item if isinstance(item, tuple | list) else (item,)
    for part in parts:
        if isinstance(part, str | bytes | int | float | bool | numpy.generic):
            start = zlib.crc32(repr(part).encode("utf-8", "surrogateescape"), start)
        elif isinstance(part, numpy.ndarray):
            start = _checksum(part, start)
        elif hasattr(part, "tobytes") and not isinstance(part, Tensor):  # a picture of PIL
            start = zlib.crc32(part.tobytes(), start)
    return start
