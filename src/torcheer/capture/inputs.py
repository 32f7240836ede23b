"""What a model is given: how it fits forward, and the tensors in nested arguments, inputs and outputs."""

from __future__ import annotations

import copy
import dataclasses
import inspect
from collections import deque
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from functools import partial
from types import BuiltinFunctionType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from torcheer.errors import InputError
from torcheer.models import unwrapped_model

_MAX_DEPTH = 12
# They hold nothing, and cannot change.
ATOMS: frozenset[Any] = frozenset((bool, int, float, complex, str, bytes, type(None), type(...))) | {
    *(torch.dtype, torch.device, torch.Size, torch.memory_format, torch.layout)
}
CODE = (type, FunctionType, BuiltinFunctionType, MethodType, ModuleType)
_LEAVES = (*ATOMS, slice, range)
_NOT_OPENED = (*CODE, partial, nn.Module)  # the tensors of modules are parameters and buffers


def tensors_in(value: Any, path: str = "", *, into_objects: bool = False) -> Iterator[tuple[str, Tensor]]:
    """Each tensor with its place, such as `logits` or `0.hidden`, in order, each object once."""
    yield from _walk(value, path, into_objects, set(), 0, None)


def _walk(
    value: Any, path: str, into_objects: bool, seen: set[int], depth: int, owner: tuple[Any, str] | None
) -> Iterator[tuple[str, Tensor]]:
    """`owner` is the object that keeps the value in a private place, with the path of that object."""
    if isinstance(value, Tensor):
        yield path, value
        return
    if isinstance(value, _LEAVES) or depth > _MAX_DEPTH or id(value) in seen:
        return
    seen.add(id(value))
    is_object = not isinstance(value, Mapping | list | tuple | set | frozenset)
    for name, item in _items(value, into_objects):
        if type(item) in ATOMS:
            continue
        # `data.x` rather than `data._store.x`, where the object gives it by that name.
        base = owner[1] if owner is not None and _gives(owner[0], name, item) else path
        place = f"{base}.{_text(name)}" if base else _text(name)
        is_private = is_object and isinstance(name, str) and name.startswith("_")
        inner = (value, path) if is_private else None
        yield from _walk(item, place, into_objects, seen, depth + 1, inner)


def _gives(thing: Any, name: Any, item: Any) -> bool:
    """Whether an object hands something out as an attribute, or by its key."""
    try:
        if isinstance(name, str) and getattr(thing, name, None) is item:
            return True
        return thing[name] is item
    except Exception:  # whatever the object does with a name that it does not know
        return False


def _text(name: Any) -> str:
    """A key of several parts, as of the edges of a graph, reads like a path."""
    return ".".join(map(str, name)) if isinstance(name, tuple) else str(name)


def _items(value: Any, into_objects: bool) -> list[tuple[Any, Any]]:
    if isinstance(value, Mapping):
        return list(value.items())
    if isinstance(value, list | tuple | set | frozenset | deque):
        names = getattr(value, "_fields", None) or range(len(value))
        return list(zip(names, value, strict=False))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [(f.name, getattr(value, f.name, None)) for f in dataclasses.fields(value)]
    if into_objects and not isinstance(value, _NOT_OPENED):
        own = list(getattr(value, "__dict__", {}).items())
        return own + [(name, getattr(value, name, None)) for name, _ in slots_of(type(value))]
    return []


_slots: WeakKeyDictionary[type, tuple[tuple[str, Any], ...]] = WeakKeyDictionary()


def slots_of(kind: type) -> tuple[tuple[str, Any], ...]:
    """The slots of a class and of those it inherits, by name."""
    found = _slots.get(kind)
    if found is None:
        items = [item for base in reversed(kind.__mro__) for item in vars(base).items()]
        # SimpleNamespace has its `__dict__` there.
        slots = [(name, slot) for name, slot in items if isinstance(slot, MemberDescriptorType)]
        found = tuple((name, slot) for name, slot in slots if not name.endswith("__"))
        _slots[kind] = found
    return found


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
    try:
        again = copy.copy(value)
    except Exception:
        if not isinstance(value, Mapping):
            raise
        return {**value, **changed}  # it does not let itself be copied
    if isinstance(again, MutableMapping | list | deque):
        for name, item in changed.items():
            try:
                again[name] = item
            except Exception:
                if not isinstance(again, dict):
                    raise
                dict.__setitem__(again, name, item)  # it guards itself, and is a copy of ours
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


class Call(NamedTuple):
    """The arguments with which the model is called."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def check_model(model: Any) -> None:
    if isinstance(model, type) and issubclass(model, nn.Module):
        raise InputError(
            f"{model.__name__} is a class, not a model: pass an instance, {model.__name__}(...)."
        )
    if not isinstance(model, nn.Module):
        given = f"{type(model).__name__} {model!r}"[:80]
        raise InputError(
            f"the first argument must be a torch.nn.Module, not {given}: log_forward_pass(model, x)."
        )


def bind(model: nn.Module, input_args: Any, input_kwargs: Mapping[str, Any] | None) -> Call:
    """Decide how the input fits forward: one argument, several, or by name."""
    kwargs = dict(input_kwargs or {})
    root = unwrapped_model(model)
    name = type(root).__name__
    try:
        signature: inspect.Signature | None = inspect.signature(root.forward)
    except (TypeError, ValueError):
        signature = None
    choices = _choices(input_args, kwargs)
    if signature is None:
        return choices[0]
    for call in choices:
        if _fits(signature, call):
            return call
    if input_args is None and not kwargs:
        raise InputError(f"there is no input: {name}.forward takes {signature}.")
    first = choices[0]
    given = [*map(_brief, first.args), *(f"{key}={_brief(value)}" for key, value in first.kwargs.items())]
    raise InputError(f"the input does not fit {name}.forward{signature}: it was given ({', '.join(given)}).")


def _choices(value: Any, kwargs: dict[str, Any]) -> list[Call]:
    if value is None:
        return [Call((), kwargs)]
    if isinstance(value, Tensor):
        return [Call((value,), kwargs)]
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return [Call(tuple(value), kwargs), Call((value,), kwargs)]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return [Call((), {**value, **kwargs}), Call((value,), kwargs)]
    return [Call((value,), kwargs)]


def _fits(signature: inspect.Signature, call: Call) -> bool:
    try:
        signature.bind(*call.args, **call.kwargs)
    except TypeError:
        return False
    return True


def copied_call(call: Call) -> Call:
    """The same call with lists, dicts and objects of its own: forward may change those it was given."""
    if all(type(value) in ATOMS for value in _values(call)):
        return call
    memo: dict[int, Any] = {}
    for _, tensor in tensors_in((call.args, call.kwargs), into_objects=True):
        memo[id(tensor)] = tensor
    for value in _values(call):
        if isinstance(value, nn.Module):
            memo[id(value)] = value
    try:
        return copy.deepcopy(call, memo)
    except Exception:  # an object that cannot be copied is used as it is
        return call


def copy_of_input(value: Tensor, like: Tensor) -> Tensor:
    """A copy of an input that a model may do with what it may do with the input itself."""
    copy = value.detach().clone().requires_grad_(like.requires_grad)
    # A leaf that requires grad must not be written into.
    return copy if like.is_leaf else copy.clone()


def call_with_copied_tensors(call: Call, make_copy: Callable[[Tensor], Tensor] | None = None) -> Call:
    """The same call with tensors of its own, for a pass that may write into them."""
    again = copied_call(call)
    copies: dict[int, Tensor] = {}  # a tensor that is given twice stays one tensor

    def copied(tensor: Tensor) -> Tensor:
        if id(tensor) not in copies:
            copies[id(tensor)] = make_copy(tensor) if make_copy else copy_of_input(tensor, tensor)
        return copies[id(tensor)]

    return Call(*map_tensors((again.args, again.kwargs), copied, into_objects=True))


def _values(call: Call) -> list[Any]:
    return [value for value in (*call.args, *call.kwargs.values()) if not isinstance(value, Tensor)]


def input_tensors(model: nn.Module, call: Call) -> list[tuple[str, Tensor]]:
    """Each tensor of the input with its name: that of forward's parameter, and the place inside it."""
    names = _parameter_names(model, len(call.args))
    found: list[tuple[str, Tensor]] = []
    for name, value in (*zip(names, call.args, strict=True), *call.kwargs.items()):
        found.extend(tensors_in(value, name, into_objects=True))
    unique = {id(tensor): (path, tensor) for path, tensor in reversed(found)}
    return list(unique.values())[::-1]


def _parameter_names(model: nn.Module, num_args: int) -> list[str]:
    try:
        parameters = list(inspect.signature(unwrapped_model(model).forward).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "args")
    return (names + [f"{rest}.{i}" for i in range(num_args)])[:num_args]


def _brief(value: Any) -> str:
    return f"Tensor{tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
