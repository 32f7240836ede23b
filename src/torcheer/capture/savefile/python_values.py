"""Python values as plain JSON and back: what stands among the arguments of a recorded call.

None, booleans, strings, whole numbers and finite floats stand for themselves. Anything else is an array that
opens with a word: `["tuple", 1, 2]`, `["dtype", "float32"]`. Nothing is imported or called by name, so
an object of an unknown class is only described.
"""

from __future__ import annotations

import base64
import keyword
import math
from collections.abc import Callable, Sequence
from operator import itemgetter
from types import EllipsisType, NoneType
from typing import Any

import numpy
import torch
from torch import Tensor

from torcheer.capture.aliasing import Geometry, plain_size
from torcheer.capture.function_mode import Unkept
from torcheer.capture.tape import TENSOR

_MAX_DEPTH = 40
_MAX_TEXT = 200
_MAX_KEYS = 1000  # that are not strings: numbers can be chosen so that a table of them is slow
_PLAIN = frozenset((NoneType, bool, str))
_MAX_BITS = 128  # torch itself takes 64
_INT64 = range(-(2**63), 2**63)
_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_NUMPY = frozenset(
    (
        "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64 complex128"
    ).split()
)


def _named(kind: type) -> dict[str, Any]:
    """What torch itself calls its types, layouts and memory formats."""
    return {str(value).removeprefix("torch."): value for value in vars(torch).values() if type(value) is kind}


DTYPES: dict[str, torch.dtype] = _named(torch.dtype)
_LAYOUTS = _named(torch.layout)
_FORMATS = _named(torch.memory_format)
DTYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()}

PackTensor = Callable[[Tensor], Any]
UnpackTensor = Callable[[Any], Any]


def described(value: Any) -> str:
    """A few words for an object that cannot be kept: the same words every time, so without addresses."""
    kind = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
    try:
        text = repr(value)
    except Exception:
        return kind
    if " at 0x" in text or "\n" in text:
        name = getattr(value, "__qualname__", None)
        return f"{kind} {name}" if isinstance(name, str) else kind
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}…"


def packed(value: Any, pack_tensor: PackTensor | None = None, depth: int = 0) -> Any:
    """A value as JSON. Tensors are packed by the function given; without one they are described."""
    kind = type(value)
    if kind in _PLAIN or (kind is int and value in _INT64) or (kind is float and math.isfinite(value)):
        return value
    if value is TENSOR:
        return ["tensor"]
    if depth >= _MAX_DEPTH:
        return ["unkept", f"{kind.__name__}, nested too deeply"]
    write = _WRITERS.get(kind)
    if write is not None:
        return write(value, lambda inner: packed(inner, pack_tensor, depth + 1))
    if isinstance(value, Tensor):
        what = "a tensor" if pack_tensor is None else pack_tensor(value)
        return what if isinstance(what, list) else ["unkept", what]
    return _pack_other(value, lambda inner: packed(inner, pack_tensor, depth + 1))


def _pack_other(value: Any, pack: Callable[[Any], Any]) -> Any:
    """Values of classes that are kept as what they stand for."""
    if isinstance(value, numpy.ndarray | numpy.generic):
        if value.dtype.name not in _NUMPY or not value.dtype.isnative:
            return ["unkept", described(value)]
        items = [pack(item) for item in value.reshape(-1).tolist()]
        shape = " ".join(map(str, value.shape)) if isinstance(value, numpy.ndarray) else None
        return ["numpy", value.dtype.name, shape, *items]
    if isinstance(value, tuple):
        name, fields = type(value).__name__, getattr(value, "_fields", ())
        if fields and _are_proper(name, fields, len(value)):
            return ["named", name, " ".join(fields), *map(pack, value)]
        return ["tuple", *map(pack, value)]
    if isinstance(value, list):
        return ["list", *map(pack, value)]
    for plain in (bool, int, float, str):
        if isinstance(value, plain):  # an enum, most often
            return pack(plain(value) if plain is not str else str.__str__(value))
    return ["unkept", described(value)]


def _pack_keys(word: str, value: Any, items: list[Any]) -> Any:
    if len(value) > _MAX_KEYS and not all(type(key) is str for key in value):
        return ["unkept", f"{word} of {len(value)} items"]
    return [word, *items]


Write = Callable[[Any, Callable[[Any], Any]], Any]
_WRITERS: dict[type, Write] = {
    int: lambda v, _: (
        ["int", hex(v)] if v.bit_length() <= _MAX_BITS else ["unkept", "a number of many digits"]
    ),
    float: lambda v, _: ["float", str(v)],  # nan, inf or -inf
    complex: lambda v, pack: ["complex", pack(v.real), pack(v.imag)],
    bytes: lambda v, _: ["bytes", base64.b64encode(v).decode()],
    EllipsisType: lambda v, _: ["ellipsis"],
    list: lambda v, pack: ["list", *map(pack, v)],
    tuple: lambda v, pack: ["tuple", *map(pack, v)],
    dict: lambda v, pack: _pack_keys("dict", v, [pack(one) for pair in v.items() for one in pair]),
    set: lambda v, pack: _pack_keys("set", v, sorted(map(pack, v), key=repr)),
    frozenset: lambda v, pack: _pack_keys("frozenset", v, sorted(map(pack, v), key=repr)),
    slice: lambda v, pack: ["slice", pack(v.start), pack(v.stop), pack(v.step)],
    range: lambda v, pack: ["range", pack(v.start), pack(v.stop), pack(v.step)],
    torch.Size: lambda v, pack: ["size", *map(plain_size, v)],
    torch.dtype: lambda v, _: ["dtype", DTYPE_NAMES[v]],
    torch.device: lambda v, _: ["device", str(v)],
    torch.layout: lambda v, _: ["layout", str(v).removeprefix("torch.")],
    torch.memory_format: lambda v, _: ["memory_format", str(v).removeprefix("torch.")],
    torch.SymInt: lambda v, _: plain_size(v),
    Geometry: lambda v, pack: ["geometry", pack(v.shape), pack(v.stride), v.offset],
    Unkept: lambda v, _: ["unkept", v.what],
}


def unpacked(data: Any, unpack_tensor: UnpackTensor | None = None, depth: int = 0) -> Any:
    """The value again. Raises ValueError for what `packed` could not have written."""
    if type(data) is not list:
        if type(data) is dict:
            raise ValueError("an argument is written as a JSON object")
        return data
    if depth > _MAX_DEPTH or not data:
        raise ValueError("an argument is empty, or nested too deeply")
    word, *items = data
    if word == "value" and unpack_tensor is not None:
        return unpack_tensor(items[0] if len(items) == 1 else None)
    read = _READERS.get(word) if type(word) is str else None
    if read is None:
        raise ValueError(f"an argument is of an unknown kind, {str(word)[:40]!r}")
    values = [unpacked(item, unpack_tensor, depth + 1) for item in items]
    try:
        return read(*values)
    except (TypeError, ValueError, LookupError, ArithmeticError, AttributeError, RuntimeError) as error:
        raise ValueError(f"an argument of the kind {word!r} makes no sense ({str(error)[:80]})") from None


def plain_device(name: str) -> torch.device:
    kind, colon, number = name.partition(":")
    if not kind.isalpha() or (colon and not (number.isdigit() and len(number) < 5)):
        raise ValueError(f"there is no device {name[:40]!r}")
    try:
        return torch.device(name)
    except RuntimeError:
        raise ValueError(f"there is no device {name[:40]!r}") from None


def _size(*sizes: int) -> torch.Size:
    if not all(type(size) is int and size in _INT64 for size in sizes):
        raise ValueError("a size is no number")
    return torch.Size(sizes)


def _keys(keys: Sequence[Any]) -> Sequence[Any]:
    if len(keys) > _MAX_KEYS and not all(type(key) is str for key in keys):
        raise ValueError("too many keys")
    if len(set(keys)) < len(keys):
        raise ValueError("a key stands twice")
    return keys


def _numpy(name: str, shape: str | None, *items: Any) -> Any:
    sizes = [] if shape is None else [int(size) for size in shape.split()]
    if name not in _NUMPY or min(sizes, default=0) < 0 or math.prod(sizes) != len(items):
        raise ValueError("an array does not fit its shape")
    array = numpy.array(items, dtype=name)
    return array.reshape(sizes) if shape is not None else array[0]


def _are_proper(name: Any, fields: Sequence[Any], num_items: int) -> bool:
    """Whether these can be the names of a named tuple and its fields."""
    words = all(type(w) is str and w.isidentifier() and not keyword.iskeyword(w) for w in (name, *fields))
    return words and len(set(fields)) == len(fields) == num_items and not any(f[0] == "_" for f in fields)


def _named_tuple(name: str, joined: str, *items: Any) -> Any:
    """A tuple that can be asked by name. Made by hand: collections.namedtuple runs source text."""
    fields = joined.split()
    if not _are_proper(name, fields, len(items)):
        raise ValueError("the fields do not fit the items")
    inside: dict[str, Any] = {field: property(itemgetter(i)) for i, field in enumerate(fields)}
    return type(name, (KeptTuple,), {**inside, "_fields": tuple(fields)})(*items)


class KeptTuple(tuple[Any, ...]):
    """Stands for a named tuple whose class is not known here."""

    _fields: tuple[str, ...] = ()

    def __new__(cls, *items: Any) -> KeptTuple:
        return super().__new__(cls, items)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map('{}={!r}'.format, self._fields, self))})"


_READERS: dict[str, Callable[..., Any]] = {
    "tensor": lambda: TENSOR,
    "ellipsis": lambda: ...,
    "int": lambda text: int(text[: 3 + _MAX_BITS // 4], 16),
    "float": lambda word: _FLOATS[word],
    "complex": lambda real, imag: complex(real, imag),
    "bytes": lambda text: base64.b64decode(text, validate=True),
    "list": lambda *items: list(items),
    "tuple": lambda *items: items,
    "named": _named_tuple,
    "dict": lambda *items: dict(zip(_keys(items[::2]), items[1::2], strict=True)),
    "set": lambda *items: set(_keys(items)),
    "frozenset": lambda *items: frozenset(_keys(items)),
    "slice": lambda start, stop, step: slice(start, stop, step),
    "range": lambda start, stop, step: range(start, stop, step),
    "size": _size,
    "dtype": lambda name: DTYPES[name],
    "device": plain_device,
    "layout": lambda name: _LAYOUTS[name],
    "memory_format": lambda name: _FORMATS[name],
    "geometry": lambda shape, stride, offset: Geometry(shape, stride, offset),
    "numpy": _numpy,
    "unkept": lambda what: Unkept(str(what)),
}
