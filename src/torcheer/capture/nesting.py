"""Find, and replace, the tensors inside nested arguments, inputs and outputs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

_MAX_DEPTH = 12
_LEAVES = (
    str,
    bytes,
    int,
    float,
    complex,
    bool,
    type(None),
    torch.dtype,
    torch.device,
    torch.Size,
    slice,
    range,
)


def tensors_in(value: Any, path: str = "", *, into_objects: bool = False) -> Iterator[tuple[str, Tensor]]:
    """Each tensor with its place, such as `logits` or `0.hidden`, in order, each object once."""
    yield from _walk(value, path, into_objects, set(), 0)


def _walk(
    value: Any, path: str, into_objects: bool, seen: set[int], depth: int
) -> Iterator[tuple[str, Tensor]]:
    if isinstance(value, Tensor):
        yield path, value
        return
    if isinstance(value, _LEAVES) or depth > _MAX_DEPTH or id(value) in seen:
        return
    seen.add(id(value))
    for name, item in _items(value, into_objects):
        yield from _walk(item, f"{path}.{name}" if path else str(name), into_objects, seen, depth + 1)


def _items(value: Any, into_objects: bool) -> list[tuple[Any, Any]]:
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, list | tuple | set | frozenset):
        names = getattr(value, "_fields", None) or range(len(value))
        return list(zip(names, value, strict=False))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [(f.name, getattr(value, f.name, None)) for f in dataclasses.fields(value)]
    if into_objects and not isinstance(value, type | nn.Module) and not callable(value):
        return list(getattr(value, "__dict__", {}).items())
    return []


def map_leaves(value: Any, change: Callable[[Any], Any]) -> Any:
    """The same nesting with every leaf changed: lists, tuples and dicts are made anew."""
    if isinstance(value, torch.Size):
        return value
    if isinstance(value, tuple):
        items = [map_leaves(item, change) for item in value]
        return _like_tuple(value, items)
    if isinstance(value, list):
        return [map_leaves(item, change) for item in value]
    if type(value) is dict:
        return {key: map_leaves(item, change) for key, item in value.items()}
    if isinstance(value, slice):
        return slice(change(value.start), change(value.stop), change(value.step))
    return change(value)


def _like_tuple(original: tuple[Any, ...], items: list[Any]) -> Any:
    if type(original) is tuple:
        return tuple(items)
    if hasattr(original, "_fields"):
        return type(original)(*items)
    try:
        return type(original)(items)
    except TypeError:
        return tuple(items)
