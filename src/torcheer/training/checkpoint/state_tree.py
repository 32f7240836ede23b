"""A tree of state as plain JSON and tensors with names, and back: exact, and nothing in it can run code.

What JSON knows stands for itself; floats are written so that they come back bit by bit. Anything else is an
object of one key that opens with a dollar: `{"$tuple": [0.9, 0.999]}`, `{"$tensor": "model.conv1.weight"}`.
A tensor is named by its place in the tree. An object of any other class is refused by that name.
"""

from __future__ import annotations

import base64
import math
import re
import struct
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from torcheer.capture import FILE_TYPES
from torcheer.errors import InputError

_OWN_CLASSES = (Tensor, nn.Parameter, nn.Buffer)
_DTYPES = {str(one): one for one in vars(torch).values() if isinstance(one, torch.dtype)}
# What stands for a type in NumPy's own short spelling: no objects, no records.
_NUMPY_TYPE = re.compile(r"[<>|][biufcmMSU]\d*(\[[a-zA-Z0-9]+\])?")
_NUMPY_TWINS = frozenset(
    "bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 float32 float64 complex64".split()
)

Node = dict[str, Any]


def _check(tensor: Tensor, name: str) -> None:
    problem, do = "", "Leave it out, or give an ordinary tensor with its values."
    if is_lazy(tensor):
        problem, do = "it has no values yet", "Run a batch through the lazy module first."
    elif type(tensor) not in _OWN_CLASSES:
        problem = f"it is a {type(tensor).__module__}.{type(tensor).__qualname__}"
        if type(tensor).__name__ == "DTensor":
            do = "Its values lie in several processes: torch.distributed.checkpoint is made for that."
    elif tensor.is_meta:
        problem, do = "it is on the meta device and has no values", "Move the model to a real device first."
    elif tensor.is_quantized or tensor.is_nested or tensor.layout not in (torch.strided, torch.sparse_coo):
        problem = f"it is a {'nested' if tensor.is_nested else tensor.layout} {tensor.dtype} tensor"
    if problem:
        raise InputError(f"a checkpoint cannot keep '{name}': {problem}. Nothing was written. {do}")


def _note(tensor: Tensor) -> Node:
    """What the file of tensors cannot say: a type that it does not know, an order in memory."""
    note: Node = {} if tensor.dtype in FILE_TYPES else {"dtype": str(tensor.dtype)}
    # The order in memory decides which numbers a processor takes together, and so the last bit of a sum.
    if not tensor.is_contiguous() and _is_dense(tensor):
        note["strides"] = list(tensor.stride())
    return note


def _is_dense(tensor: Tensor) -> bool:
    """Whether it fills its memory without gaps, in whatever order of its dimensions."""
    expected = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


def file_shape(tensor: Tensor) -> tuple[str, tuple[int, ...]]:
    """What a file calls its type, and its shape there."""
    if tensor.dtype in FILE_TYPES:
        return FILE_TYPES[tensor.dtype], tuple(tensor.shape)
    if tensor.dtype is torch.complex128:
        return "F64", (*tensor.shape, 2)
    return "U8", (*tensor.shape, tensor.element_size())


def file_tensor(tensor: Tensor) -> Tensor:
    """Its values in their order, on the CPU."""
    return tensor.detach().resolve_conj().resolve_neg().cpu().contiguous()


def numbers_in(values: Sequence[Any]) -> Tensor | None:
    """Whole numbers, or floats, of Python's own kind as a tensor; None for anything else."""
    kinds = set(map(type, values))
    if kinds == {float}:
        return torch.tensor(values, dtype=torch.float64, device="cpu")
    if kinds == {int} and min(values) >= -(2**63) and max(values) < 2**63:
        return torch.tensor(values, dtype=torch.int64, device="cpu")
    return None


def as_it_was(tensor: Tensor, note: Mapping[str, Any]) -> Tensor:
    """A tensor as it was, from what the file could hold of it."""
    if "dtype" in note:
        dtype = _DTYPES[note["dtype"]]
        if tensor.element_size() * tensor.shape[-1] != dtype.itemsize:
            raise ValueError("it has a tensor of another type than it says")
        shape = tensor.shape[:-1]
        strides = torch.empty(shape, device="meta").stride()
        empty = torch.empty(0, dtype=dtype, device=tensor.device)
        tensor = empty.set_(tensor.untyped_storage(), 0, shape, strides)
    if "strides" in note:
        laid_out = torch.empty_like(tensor).as_strided(tensor.shape, note["strides"])
        if not _is_dense(laid_out):
            raise ValueError("it has a tensor that does not lie in its memory")
        tensor = laid_out.copy_(tensor)
    return tensor


def _from_bytes(data: bytes, dtype: str, shape: Sequence[int]) -> Any:
    if not _NUMPY_TYPE.fullmatch(dtype):
        raise ValueError(f"it has an array of an unknown type, {dtype[:40]!r}")
    if math.prod(shape) * numpy.dtype(dtype).itemsize != len(data):
        raise ValueError("it has an array of another size than it says")
    return numpy.ndarray(shape, dtype, buffer=bytearray(data) if data else None)


MAX_DEPTH = 40
_LONG = 32  # numbers in a row from here on are kept as a tensor
_INT64 = range(-(2**63), 2**63)
_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_FACTORIES: dict[str, Callable[[], Any]] = {kind.__name__: kind for kind in (dict, float, int, list, set)}

Path = tuple[str, ...]
Inner = Callable[[Any, str], Any]  # an inner value and its name


class Codec(NamedTuple):
    """How what JSON does not know is written behind a tag, and read again."""

    tag: str
    write: Callable[[Any, Inner], Any]
    read: Callable[[Any], Any]


def _pairs(value: Mapping[Any, Any], inner: Inner) -> list[Any]:
    return [[inner(key, "key"), inner(one, str(key))] for key, one in value.items()]


def _items(value: Iterable[Any], inner: Inner) -> list[Any]:
    return [inner(one, str(number)) for number, one in enumerate(value)]


def _read_float(text: str) -> float:
    """Its bits: not all NaNs have the same. Older files name infinity and the common NaN."""
    if text in _FLOATS:
        return _FLOATS[text]
    (value,) = struct.unpack(">d", bytes.fromhex(text))
    return float(value)


def _write_default(value: defaultdict[Any, Any], inner: Inner) -> Any:
    factory: Any = value.default_factory
    name = getattr(factory, "__name__", "")
    if factory is not None and _FACTORIES.get(name) is not factory:
        inner(factory, "default_factory")  # is refused there, by its name
    return [name or None, _pairs(value, inner)]


# By exact class: a subclass may hold what its parent does not.
_CODECS: dict[type, Codec] = {
    int: Codec("$int", lambda value, _: f"{value:x}", lambda text: int(text, 16)),
    float: Codec("$float", lambda value, _: struct.pack(">d", value).hex(), _read_float),
    complex: Codec(
        "$complex",
        lambda value, inner: [inner(value.real, "real"), inner(value.imag, "imag")],
        lambda parts: complex(*parts),
    ),
    str: Codec(
        "$text",
        lambda value, _: value.encode("utf-16-le", "surrogatepass").hex(),
        lambda text: bytes.fromhex(text).decode("utf-16-le", "surrogatepass"),
    ),
    bytes: Codec(
        "$bytes",
        lambda value, _: base64.b64encode(value).decode(),
        lambda text: base64.b64decode(text, validate=True),
    ),
    tuple: Codec("$tuple", _items, tuple),
    set: Codec("$set", _items, set),
    frozenset: Codec("$frozenset", _items, frozenset),
    deque: Codec(
        "$deque",
        lambda value, inner: [value.maxlen, _items(value, inner)],
        lambda parts: deque(parts[1], maxlen=parts[0]),
    ),
    dict: Codec("$dict", _pairs, dict),
    OrderedDict: Codec("$ordered", _pairs, OrderedDict),
    Counter: Codec("$counter", _pairs, lambda pairs: Counter(dict(pairs))),
    defaultdict: Codec(
        "$defaultdict",
        _write_default,
        lambda parts: defaultdict(None if parts[0] is None else _FACTORIES[parts[0]], parts[1]),
    ),
    torch.Size: Codec("$size", lambda value, _: list(value), torch.Size),
    torch.dtype: Codec("$dtype", lambda value, _: str(value), _DTYPES.__getitem__),
    torch.device: Codec("$device", lambda value, _: str(value), torch.device),
}
_BY_TAG = {codec.tag: codec for codec in _CODECS.values()}
_BY_TAG["$scalar"] = Codec(  # written by `TreeWriter`
    "$scalar", lambda value, _: None, lambda parts: _from_bytes(bytes.fromhex(parts[1]), parts[0], [])[()]
)


def encoded(tree: Mapping[str, Any]) -> tuple[dict[str, Any], TreeWriter]:
    """The tree as JSON, and its tensors by name, as they are: nothing is copied yet."""
    writer = TreeWriter()
    return {name: writer.node(value, (name,)) for name, value in tree.items()}, writer


class TreeWriter:
    """A tree as JSON, and its tensors by name. Memory that is shared is there once."""

    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}
        self.aliases: dict[str, str] = {}  # other names of a tensor that is there
        self._names: dict[tuple[Any, ...], str] = {}  # by where a tensor lies in memory
        self._nodes: dict[str, Node] = {}
        self._open: list[int] = []  # the containers that are being written: one inside itself has no end

    def node(self, value: Any, path: Path) -> Any:
        if _is_plain(value):
            return value
        if isinstance(value, Tensor):
            return self.add(value, _name(path))
        if isinstance(value, numpy.ndarray | numpy.generic):
            return self.add_numpy(value, _name(path))
        if type(value) not in _CODECS and type(value) is not list:
            raise _cannot_be_kept(value, path)
        if id(value) in self._open:
            raise InputError(f"'{'.'.join(path)}' contains itself: a checkpoint keeps trees only.")
        if len(path) > MAX_DEPTH:
            raise InputError(f"'{'.'.join(path[:4])}…' is nested over {MAX_DEPTH} deep: keep it flatter.")
        self._open.append(id(value))
        node = self._written(value, path)
        self._open.pop()
        return node

    def _written(self, value: Any, path: Path) -> Any:
        def inner(one: Any, name: str) -> Any:
            return self.node(one, (*path, name))

        if isinstance(value, list | tuple) and len(value) >= _LONG:
            # As they stand in a random state or a history: one tensor.
            tensor = numbers_in(value)
            if tensor is not None:
                return {"$numbers": [type(value).__name__, self.add(tensor, _name(path))["$tensor"]]}
        if type(value) is list:
            return _items(value, inner)
        if type(value) is dict and all(
            type(key) is str and _is_plain(key) and key[:1] != "$" for key in value
        ):
            return {key: inner(one, key) for key, one in value.items()}
        codec = _CODECS[type(value)]
        return {codec.tag: codec.write(value, inner)}

    def add(self, tensor: Tensor, name: str) -> Node:
        _check(tensor, name)
        if tensor.layout is torch.sparse_coo:
            indices = self.add(tensor._indices(), f"{name}.indices")["$tensor"]
            values = self.add(tensor._values(), f"{name}.values")["$tensor"]
            return {"$sparse": [indices, values, list(tensor.shape), tensor.is_coalesced()]}
        where = str(tensor.device), tensor.untyped_storage().data_ptr(), tensor.storage_offset()
        kind = tensor.dtype, tuple(tensor.shape), tensor.stride(), tensor.is_conj(), tensor.is_neg()
        place = (*where, *kind)
        known = self._names.get(place) if tensor.numel() else None
        if known is not None:
            self.aliases[name] = known
            return self._nodes[known]
        name = self._free(name)
        self._names[place] = name
        self.tensors[name] = tensor.detach()
        self._nodes[name] = node = {"$tensor": [name, note] if (note := _note(tensor)) else name}
        return node

    def add_numpy(self, value: Any, name: str) -> Node:
        """An array, or a single number of NumPy's."""
        array = numpy.asarray(value)
        if not _NUMPY_TYPE.fullmatch(array.dtype.str):
            raise InputError(
                f"a checkpoint cannot keep '{name}': it is an array of {array.dtype}. Nothing was written. "
                "Give numbers or text, or one array for each field of a record."
            )
        if isinstance(value, numpy.generic):
            return {"$scalar": [array.dtype.str, array.tobytes().hex()]}
        name = self._free(name)
        # C order, and not ascontiguousarray: that one makes an array of no dimensions one of one.
        array = numpy.array(array, order="C", copy=True)
        if array.dtype.name in _NUMPY_TWINS and array.dtype.isnative:
            self.tensors[name] = torch.from_numpy(array)
            return {"$array": [name, None]}
        flat = numpy.frombuffer(array.tobytes(), dtype=numpy.uint8)
        self.tensors[name] = torch.from_numpy(flat.copy())
        return {"$array": [name, [array.dtype.str, list(array.shape)]]}

    def _free(self, name: str) -> str:
        """The name, unless it is taken: a dictionary may have the key 'a.b' beside an 'a' with a 'b'."""
        free, number = name, 2
        while free in self.tensors:
            free, number = f"{name}~{number}", number + 1
        return free


def _is_plain(value: Any) -> bool:
    """Whether JSON knows it."""
    kind = type(value)
    if kind is str:  # half a character UTF-8 cannot say
        return not any("\ud800" <= character <= "\udfff" for character in value)
    if kind is float:
        return math.isfinite(value)
    return value is None or kind is bool or (kind is int and value in _INT64)


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
        if len(node) > 1 or tag not in _BY_TAG:
            raise ValueError(f"it has something of an unknown kind, {tag[:40]!r}")
        return _BY_TAG[tag].read(self.value(inner, depth + 1))

    def tensor(self, name: Any) -> Tensor:
        if type(name) is str:
            return self._tensors[name]
        name, note = name
        if name not in self._made:
            self._made[name] = as_it_was(self._tensors[name], note)
        return self._made[name]

    def array(self, inner: Any) -> Any:
        name, note = inner
        array = self._tensors[name].cpu().numpy().copy()
        return array if note is None else _from_bytes(array.tobytes(), *note)

    def numbers(self, inner: Any) -> Any:
        kind, name = inner
        return {"list": list, "tuple": tuple}[kind](self._tensors[name].tolist())

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
