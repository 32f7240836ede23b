"""A tree of state as plain JSON and tensors with names, and back: exact, and nothing in it can run code.

What JSON knows stands for itself; floats are written so that they come back bit by bit. Anything else is an
object of one key that opens with a dollar: `{"$tuple": [0.9, 0.999]}`, `{"$tensor": "model.conv1.weight"}`.
A tensor is named by its place in the tree. An object of any other class is refused by that name.
"""

from __future__ import annotations

import base64
import math
import struct
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from types import NoneType
from typing import Any

import numpy
import torch
from torch import Tensor

from torcheer.errors import InputError
from torcheer.training.checkpointing.statetensors import (
    TensorTable,
    as_it_was,
    numbers_in,
    read_array,
    read_scalar,
)

MAX_DEPTH = 40
_LONG = 32  # numbers in a row from here on are kept as a tensor
_PLAIN = frozenset((NoneType, bool))
_INT64 = range(-(2**63), 2**63)
_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_FACTORIES: dict[str, Callable[[], Any]] = {kind.__name__: kind for kind in (dict, float, int, list, set)}
_DTYPES = {str(one): one for one in vars(torch).values() if isinstance(one, torch.dtype)}

Path = tuple[str, ...]
Inner = Callable[[Any, str], Any]  # an inner value and its name


# --- to JSON ------------------------------------------------------------------------------------------------


def encoded(tree: Mapping[str, Any]) -> tuple[dict[str, Any], TensorTable]:
    """The tree as JSON, and its tensors by name, as they are: nothing is copied yet."""
    writer = _TreeWriter()
    return {name: writer.node(value, (name,)) for name, value in tree.items()}, writer.tensors


class _TreeWriter:
    def __init__(self) -> None:
        self.tensors = TensorTable()
        self._open: list[int] = []  # the containers that are being written: one inside itself has no end

    def node(self, value: Any, path: Path) -> Any:
        kind = type(value)
        if kind in _PLAIN or (kind is int and value in _INT64) or (kind is float and math.isfinite(value)):
            return value
        if isinstance(value, Tensor):
            return self.tensors.add(value, _name(path))
        if isinstance(value, numpy.ndarray | numpy.generic):
            return self.tensors.add_numpy(value, _name(path))
        write = _WRITERS.get(kind)
        if write is None:
            raise _cannot_be_kept(value, path)
        if id(value) in self._open:
            raise InputError(
                f"'{'.'.join(path)}' contains itself: a checkpoint keeps trees only. Take it out."
            )
        if len(path) > MAX_DEPTH:
            raise InputError(f"'{'.'.join(path[:4])}…' is nested over {MAX_DEPTH} deep: keep it flatter.")
        self._open.append(id(value))
        node = self._numbers(value, path) or write(value, lambda inner, name: self.node(inner, (*path, name)))
        self._open.pop()
        return node

    def _numbers(self, value: Any, path: Path) -> Any:
        """Many numbers in a row, as they stand in a random state or a history, as one tensor."""
        if not isinstance(value, list | tuple) or len(value) < _LONG:
            return None
        tensor = numbers_in(value)
        if tensor is None:
            return None
        name = self.tensors.add(tensor, _name(path))["$tensor"]
        return {"$numbers": [type(value).__name__, name]}


def _name(path: Path) -> str:
    return ".".join(path).encode(errors="replace").decode()


def _cannot_be_kept(value: Any, path: Path) -> InputError:
    what = f"a {type(value).__module__}.{type(value).__qualname__}".replace(" builtins.", " ")
    name = getattr(value, "__qualname__", "")
    what += f" ({name})" if isinstance(name, str) and name else ""
    do = "Leave it out of what is saved, or give numbers, text, tensors or containers of them in its place."
    if path[0] in ("model", "optimizer", "scheduler", "scaler", "callbacks"):
        do = f"Leave it out of the {path[0].removesuffix('s')}'s state_dict(), and make it anew on loading."
    return InputError(f"a checkpoint cannot keep '{'.'.join(path)}': it is {what}. Nothing was written. {do}")


def _write_float(value: float, inner: Inner) -> Any:
    """Only those that JSON does not know. Not all NaNs have the same bits."""
    bits = struct.pack(">d", value)
    named = next((name for name, one in _FLOATS.items() if struct.pack(">d", one) == bits), None)
    return {"$float": named or bits.hex()}


def _write_text(value: str, inner: Inner) -> Any:
    return value if _is_whole(value) else {"$text": value.encode("utf-16-le", "surrogatepass").hex()}


def _is_whole(text: str) -> bool:
    """Whether UTF-8 can say it: half a character it cannot."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _write_dict(value: dict[Any, Any], inner: Inner) -> Any:
    if all(type(key) is str and not key.startswith("$") and _is_whole(key) for key in value):
        return {key: inner(one, key) for key, one in value.items()}
    return {"$dict": _pairs(value, inner)}


def _pairs(value: Mapping[Any, Any], inner: Inner) -> list[Any]:
    return [[inner(key, "key"), inner(one, str(key))] for key, one in value.items()]


def _items(value: Iterable[Any], inner: Inner) -> list[Any]:
    return [inner(one, str(number)) for number, one in enumerate(value)]


def _write_default(value: defaultdict[Any, Any], inner: Inner) -> Any:
    factory: Any = value.default_factory
    name = getattr(factory, "__name__", "")
    if factory is not None and _FACTORIES.get(name) is not factory:
        inner(factory, "default_factory")  # is refused there, by its name
    return {"$defaultdict": [name or None, _pairs(value, inner)]}


# By exact class: a subclass may hold what its parent does not.
_WRITERS: dict[type, Callable[[Any, Inner], Any]] = {
    int: lambda value, inner: {"$int": f"{value:x}"},
    float: _write_float,
    complex: lambda value, inner: {"$complex": [inner(value.real, "real"), inner(value.imag, "imag")]},
    str: _write_text,
    bytes: lambda value, inner: {"$bytes": base64.b64encode(value).decode()},
    list: _items,
    tuple: lambda value, inner: {"$tuple": _items(value, inner)},
    set: lambda value, inner: {"$set": _items(value, inner)},
    frozenset: lambda value, inner: {"$frozenset": _items(value, inner)},
    deque: lambda value, inner: {"$deque": [value.maxlen, _items(value, inner)]},
    dict: _write_dict,
    OrderedDict: lambda value, inner: {"$ordered": _pairs(value, inner)},
    Counter: lambda value, inner: {"$counter": _pairs(value, inner)},
    defaultdict: _write_default,
    torch.Size: lambda value, inner: {"$size": list(value)},
    torch.dtype: lambda value, inner: {"$dtype": str(value)},
    torch.device: lambda value, inner: {"$device": str(value)},
}


# --- and back -----------------------------------------------------------------------------------------------


def decoded(json: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> dict[str, Any]:
    """The tree again. ValueError where it says what cannot be."""
    reader = _TreeReader(tensors)
    try:
        return {name: reader.value(node, 0) for name, node in json.items()}
    except (ValueError, TypeError, LookupError, OverflowError, RuntimeError) as error:
        raise ValueError(f"its state is not what it should be: {type(error).__name__}, {error}") from None


class _TreeReader:
    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        self._tensors = tensors
        self._made: dict[str, Tensor] = {}  # tensors that are shared stay shared

    def value(self, node: Any, depth: int) -> Any:
        if depth > 4 * MAX_DEPTH:  # a dictionary of pairs is three levels
            raise ValueError("it is nested without end")
        if isinstance(node, list):
            return [self.value(one, depth + 1) for one in node]
        if not isinstance(node, dict):
            return node
        tag, inner = next(iter(node.items()), ("", None))
        if not tag.startswith("$"):
            return {key: self.value(one, depth + 1) for key, one in node.items()}
        if tag in _TENSOR_READERS:
            return _TENSOR_READERS[tag](self, inner)
        if len(node) > 1 or tag not in _READERS:
            raise ValueError(f"it has something of an unknown kind, {tag[:40]!r}")
        make, holds_nodes = _READERS[tag]
        return make(self.value(inner, depth + 1) if holds_nodes else inner)

    def tensor(self, name: Any) -> Tensor:
        if type(name) is str:
            return self._tensors[name]
        name, note = name
        if name not in self._made:
            self._made[name] = as_it_was(self._tensors[name], note)
        return self._made[name]

    def array(self, inner: Any) -> Any:
        name, note = inner
        return read_array(self._tensors[name], note)

    def numbers(self, inner: Any) -> Any:
        kind, name = inner
        numbers = self._tensors[name].tolist()
        return {"list": list, "tuple": tuple}[kind](numbers)

    def sparse(self, inner: Any) -> Tensor:
        indices, values, size, is_coalesced = inner
        return torch.sparse_coo_tensor(
            self.tensor(indices),
            self.tensor(values),
            size,
            is_coalesced=bool(is_coalesced),
            check_invariants=True,
        )


_TENSOR_READERS: dict[str, Callable[[_TreeReader, Any], Any]] = {
    "$tensor": _TreeReader.tensor,
    "$sparse": _TreeReader.sparse,
    "$array": _TreeReader.array,
    "$numbers": _TreeReader.numbers,
}


def _read_float(text: str) -> float:
    if text in _FLOATS:
        return _FLOATS[text]
    (value,) = struct.unpack(">d", bytes.fromhex(text))
    return float(value)


def _read_default(inner: list[Any]) -> defaultdict[Any, Any]:
    name, pairs = inner
    return defaultdict(None if name is None else _FACTORIES[name], pairs)


# By tag: how it is made, and whether there are other nodes in it.
_READERS: dict[str, tuple[Callable[[Any], Any], bool]] = {
    "$int": (lambda text: int(text, 16), False),
    "$float": (_read_float, False),
    "$complex": (lambda parts: complex(*parts), True),
    "$text": (lambda text: bytes.fromhex(text).decode("utf-16-le", "surrogatepass"), False),
    "$bytes": (lambda text: base64.b64decode(text, validate=True), False),
    "$tuple": (tuple, True),
    "$set": (set, True),
    "$frozenset": (frozenset, True),
    "$deque": (lambda parts: deque(parts[1], maxlen=parts[0]), True),
    "$dict": (dict, True),
    "$ordered": (OrderedDict, True),
    "$counter": (lambda pairs: Counter(dict(pairs)), True),
    "$defaultdict": (_read_default, True),
    "$size": (torch.Size, False),
    "$dtype": (_DTYPES.__getitem__, False),
    "$device": (torch.device, False),
    "$scalar": (read_scalar, False),
}
