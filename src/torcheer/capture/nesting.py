"""Find, and replace, the tensors inside nested arguments, inputs and outputs."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterator, Mapping, MutableMapping
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


def collect_tensors(value: Any) -> list[Tensor]:
    """The tensors in lists, tuples and dicts, in order: the quick way, for what calls take and give."""
    found: list[Tensor] = []
    collect_into(value, found)
    return found


def collect_into(value: Any, into: list[Tensor]) -> None:
    if isinstance(value, Tensor):
        into.append(value)
    elif isinstance(value, tuple | list):
        for item in value:
            collect_into(item, into)
    elif isinstance(value, dict):
        for item in value.values():
            collect_into(item, into)


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


Instead = Mapping[int, tuple[Tensor, Tensor]]  # by the id of a tensor: itself, and the one in its place


def swap_tensors(value: Any, instead: Instead, *, into_objects: bool = False) -> Any:
    """The same nesting with some tensors replaced. What has none of them in it stays the same object."""

    def change(tensor: Tensor) -> Tensor:
        found = instead.get(id(tensor))
        return tensor if found is None or found[0] is not tensor else found[1]

    return map_tensors(value, change, into_objects=into_objects)


def map_tensors(value: Any, change: Callable[[Tensor], Tensor], *, into_objects: bool = False) -> Any:
    """The same nesting with each tensor changed, in the order of `tensors_in`."""
    return _map(value, change, into_objects, {}, 0)


def _map(value: Any, change: Callable[[Tensor], Tensor], into: bool, seen: dict[int, Any], depth: int) -> Any:
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, _LEAVES) or depth > _MAX_DEPTH:
        return value
    if id(value) in seen:
        return seen[id(value)]
    seen[id(value)] = value
    changed = {}
    for name, item in _items(value, into):
        new = _map(item, change, into, seen, depth + 1)
        if new is not item:
            changed[name] = new
    if changed:
        seen[id(value)] = _with_items(value, changed)
    return seen[id(value)]


def _with_items(value: Any, changed: dict[Any, Any]) -> Any:
    """A shallow copy of a container with some of its items changed."""
    if isinstance(value, tuple | set | frozenset):
        names = getattr(value, "_fields", None) or range(len(value))
        items = [changed.get(name, item) for name, item in zip(names, value, strict=False)]
        return _like_tuple(value, items) if isinstance(value, tuple) else type(value)(items)
    if isinstance(value, Mapping) and not isinstance(value, MutableMapping):
        return {**value, **changed}  # it cannot be changed, nor perhaps copied
    again = copy.copy(value)
    if isinstance(again, MutableMapping | list):
        for name, item in changed.items():
            again[name] = item
    else:
        for name, item in changed.items():
            object.__setattr__(again, name, item)
    return again


def _like_tuple(original: tuple[Any, ...], items: list[Any]) -> Any:
    if type(original) is tuple:
        return tuple(items)
    if hasattr(original, "_fields"):
        return type(original)(*items)
    try:
        return type(original)(items)
    except TypeError:
        return tuple(items)
