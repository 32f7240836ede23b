"""Whether features on disk are those of this model, these data and these options; and if not, why.

A checksum of every weight, the types of the modules, the options in words, and marks of the data. Code,
settings and hooks of the model are told by what they do: a batch that is done is computed again, the first
one where it is, as it is for the plan in any case. It must be what is stored of it: to the last bit on the
machine that computed it, and within some percent of its largest value elsewhere.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import platform
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from torcheer.capture import tensors_in
from torcheer.errors import InputError
from torcheer.features.journal import Done
from torcheer.features.manifest import STEADY, ArraySpec, Fingerprints, Manifest
from torcheer.features.samples import checksum_of
from torcheer.features.stores import Array, Store, raw_bytes
from torcheer.models import unwrapped_model

# Of the largest value: another machine rounds in another way, half precision coarsely.
_TOLERANCE: Final = 2e-2
_FEW: Final = 1e-2  # of whole numbers, which rounding may send to the next one
_WAY_OUT: Final = "Extract to another place, or remove these features first."
_NUM_LOOKED_AT: Final = 8  # samples
_MOST_BYTES: Final = 8 << 30  # in memory, that are summed up
_MOST_FILES: Final = 20_000  # of which the size is asked: a disk far away answers slowly
_DEEPEST: Final = 8
_HASH: Final = re.compile(r" #[0-9a-f]{12}\b")  # of what a function does, in words of version 0.1


def weight_marks(model: nn.Module) -> dict[str, str]:
    """Of every parameter and buffer, by name."""
    root = unwrapped_model(model)
    found = {}
    for name, tensor in itertools.chain(root.named_parameters(), root.named_buffers()):
        if tensor.is_meta:
            raise InputError(
                f"{name} is on the device 'meta' and has no values: load the weights of the model first."
            )
        if is_lazy(tensor):
            raise InputError(f"{name} gets its shape from the first batch: run the model on one before.")
        found[name] = f"{checksum_of(tensor):08x}"
    return found


def steady_weights(model: nn.Module, before: dict[str, str]) -> dict[str, str]:
    """After some passes: a buffer that they changed has no mark."""
    found = dict(before)
    for name, buffer in unwrapped_model(model).named_buffers():
        if f"{checksum_of(buffer):08x}" != before.get(name):
            found[name] = ""
    return found


def structure_mark(model: nn.Module) -> str:
    """Of its modules: their names and types."""
    words = [
        f"{name}: {getattr(module, 'original_name', '') or type(module).__qualname__}"
        for name, module in unwrapped_model(model).named_modules()
    ]
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:16]


def data_marks(
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


def _held_in(value: Any, depth: int, seen: set[int]) -> Iterator[Any]:
    """Arrays, and lists of texts and numbers. Not single numbers: they are counters more often than not."""
    if id(value) in seen or depth > _DEEPEST:
        return
    seen.add(id(value))
    is_list = isinstance(value, list | tuple)
    if isinstance(value, Tensor | numpy.ndarray) or (is_list and value and all(map(_is_plain, value))):
        yield value
        return
    parts = value if is_list else ()
    if isinstance(value, torch.utils.data.Dataset) or type(value) is dict:
        held = value if isinstance(value, dict) else vars(value)
        parts = [held[name] for name in sorted(held, key=str)]
    for part in parts:
        yield from _held_in(part, depth + 1, seen)


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return bool(value) and all(isinstance(one, str | int | float | os.PathLike) for one in value)
    return isinstance(value, str | bytes | int | float | os.PathLike)


def _checksum(value: Any, start: int) -> int:
    if isinstance(value, Tensor | numpy.ndarray):
        if value.nbytes > _MOST_BYTES:
            return zlib.crc32(f"{tuple(value.shape)} {value.dtype}".encode(), start)
        if isinstance(value, Tensor):
            return checksum_of(value, start)
        is_objects = value.dtype == object
        raw = repr(value.tolist()).encode("utf-8", "surrogateescape") if is_objects else raw_bytes(value)
        return zlib.crc32(raw, start)
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


def refuse_other_marks(there: Fingerprints, asked: Fingerprints, where: str) -> None:
    """Model, data and options, as they can be told before the model runs."""
    reason = (
        _other_weights(there.weights, asked.weights)
        or (there.structure != asked.structure and "of another model: its modules are other ones")
        or _other_options(there.call, asked.call)
        or _other_data(there.data, asked.data)
    )
    if reason:
        raise InputError(f"{where} holds features {reason}. {_WAY_OUT}")


def refuse_other_plan(there: Manifest, asked: Manifest, where: str) -> None:
    """What the first pass shows: which layers, which shapes."""
    refuse_other_marks(there.fingerprints, asked.fingerprints, where)
    if there.storage != asked.storage:
        raise InputError(f"{where} holds features as {there.storage}, and not as {asked.storage}. {_WAY_OUT}")
    before = {array.file: array for array in there.arrays}  # a layer may be called as a column is
    for array in asked.arrays:
        if array.file not in before:
            raise InputError(f"{where} holds features without {array.name!r}. {_WAY_OUT}")
        if before[array.file] != array:
            old = before[array.file]
            raise InputError(
                f"{where} holds {array.name!r} as {old.dtype} of the shape {old.shape}, and it is "
                f"{array.dtype} of {array.shape} now. {_WAY_OUT}"
            )
    if len(before) != len(asked.arrays):
        files = {array.file for array in asked.arrays}
        missing = ", ".join(array.name for file, array in before.items() if file not in files)
        raise InputError(f"{where} holds {missing}, too, and that was not asked for now. {_WAY_OUT}")


def _other_weights(there: dict[str, str], asked: dict[str, str]) -> str:
    """An empty mark is that of a buffer which changes while the model runs."""
    changed = [
        name for name, mark in asked.items() if there.get(name) != mark and "" not in (there.get(name), mark)
    ]
    changed += [name for name in there if name not in asked]
    if not changed:
        return ""
    if set(there) != set(asked):
        return f"of another model: {changed[0]!r} is not in both of them"
    more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
    return f"of this model with other weights: {changed[0]!r}{more} changed since"


def _other_options(there: dict[str, str], asked: dict[str, str]) -> str:
    for name, value in asked.items():
        old = _HASH.sub("", there.get(name, ""))
        if old != value:
            return f"that were asked for otherwise: {name} was {old!r}, and is {value!r} now"
    return ""


def _other_data(there: dict[str, str], asked: dict[str, str]) -> str:
    """What is missing on one side could not be told there: it changes while the data are read."""
    for name, value in asked.items():
        old = there.get(name, value)
        if old == value:
            continue
        if name in ("number of samples", "kind"):
            return f"of other data: the {name} was {old}, and is {value} now"
        return f"of other data: their {name} changed since"
    return ""


def machine_mark(device: torch.device) -> str:
    """Of what computes: the same mark gives the same bits. "" where chance may decide on the last ones."""
    if device.type != "cpu":
        return ""
    cpus = Path("/proc/cpuinfo")
    models = re.findall(r"^model name.*$", cpus.read_text(), re.MULTILINE)[:1] if cpus.exists() else []
    words = [torch.__version__, platform.machine(), platform.processor(), *models]
    return f"{zlib.crc32(' '.join(words).encode()):08x}"


def refuse_other_values(
    again: Iterable[tuple[ArraySpec, Array | list[Array]]], store: Store, done: Done, *, is_exact: bool
) -> None:
    """`again`: what a batch gives now; `done`: what the journal says about it.

    Exactly where the same machine computed it. Another one, or a GPU, may round otherwise.
    """
    is_alike = _is_same if is_exact else _is_close
    for array, new in again:
        if isinstance(new, list):
            old = store.ragged(array, done.places[array.file])
        else:
            old, new = [store.rows(array, done.first + done.rows)[done.first :]], [new]
        if len(old) != len(new) or not all(map(is_alike, old, new)):
            which = "first batch" if done.batch == 0 else f"batch {done.batch}"
            raise InputError(
                f"{store.where} holds features that this call would not give: computed again, the {which} of "
                f"{array.name!r} has other values. The code of the model has changed, or a setting or a hook "
                "of it, a transform, or what prepares the data; or the model gives other values each time. "
                f"{_WAY_OUT}"
            )


def _is_same(old: Array, new: Array) -> bool:
    """To the last bit."""
    return old.shape == new.shape and bytes(raw_bytes(old)) == bytes(raw_bytes(new))


def _is_close(old: Array, new: Array) -> bool:
    """Every number within some percent of the largest; of whole numbers and bools, all but a few."""
    if old.shape != new.shape:
        return False
    is_whole = old.dtype.kind in "biu"
    one, other = (values.astype(numpy.result_type(values.dtype, numpy.float64)) for values in (old, new))
    is_finite = numpy.isfinite(one)
    if not numpy.array_equal(is_finite, numpy.isfinite(other)):
        return False
    apart, size = numpy.abs(one - other)[is_finite], float(numpy.abs(one[is_finite]).max(initial=0.0))
    allowed = _TOLERANCE * size + (1.0 if old.dtype.kind in "iu" else 1e-12)
    return int((apart > allowed).sum()) <= (_FEW * apart.size if is_whole else 0)
