"""The words for a function: its name, and a hash of what it does.

The hash is the same in every process of one version of Python: nothing that goes into it depends on
addresses, files, line numbers or the order of sets. Where something cannot be read, such as an open file that
a function closes over, the user is asked for words rather than given some that might lie.
"""

from __future__ import annotations

import dis
import enum
import functools
import hashlib
import operator
import pathlib
import re
import struct
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import numpy
import torch
from torch import Tensor, nn

from torcheer.errors import InputError

_NUM_DIGITS: Final = 12
_ADDRESS: Final = re.compile(r" at 0x[0-9a-fA-F]+")
_BUILTINS: Final = (types.BuiltinFunctionType, types.MethodWrapperType)
_DESCRIPTORS: Final = (
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.WrapperDescriptorType,
    types.MemberDescriptorType,
    types.GetSetDescriptorType,
)
# Of a class: what does not change what it does, or has another order in every process.
_SILENT: Final = frozenset(
    "__doc__ __dict__ __weakref__ __module__ __firstlineno__ __static_attributes__ __annotations__ "
    "__annotate__ __annotate_func__ __annotations_cache__ __abstractmethods__ _abc_impl __slots__".split()
)
# Flags of a type. One written in Python has the first and not the second.
_ON_HEAP: Final = 1 << 9
_IMMUTABLE: Final = 1 << 8
# What says all about itself in its repr, the same in every process.
_PLAIN: Final = (
    type(None),
    bool,
    int,
    str,
    bytes,
    complex,
    range,
    slice,
    type(...),
    torch.dtype,
    torch.device,
    torch.layout,
    torch.Size,
    torch.memory_format,
    numpy.dtype,
    pathlib.PurePath,
)


class _UnreadableError(Exception):
    """Something whose content cannot be told."""


def describe(function: Callable[..., Any]) -> str:
    """Such as "function package.module.name #0123456789ab"."""
    name = _name_of(function)
    try:
        digest = _Reader(_package(_module_name(function))).digest(function)
    except _UnreadableError as error:
        raise InputError(
            f"{name} holds {error}, whose content cannot be told, so that a change would go unnoticed: say "
            "what it does yourself, as in Function(f, words='whitened, 2nd version')."
        ) from None
    kind = "module" if isinstance(function, nn.Module) else "function"
    return f"{kind} {name} #{digest.hex()[:_NUM_DIGITS]}"


def _name_of(thing: Any) -> str:
    if isinstance(thing, functools.partial):
        return f"partial({_name_of(thing.func)})"
    if isinstance(thing, types.MethodType) and not isinstance(thing.__self__, type):
        return f"{_name_of(type(thing.__self__))}.{thing.__name__}"
    if not hasattr(thing, "__qualname__"):
        thing = type(thing)
    module = _module_name(thing)
    name = str(thing.__qualname__)
    if name.startswith("_VariableFunctionsClass."):
        return f"torch.{thing.__name__}"
    return name if module in ("", "builtins") else f"{module}.{name}"


def _module_name(thing: Any) -> str:
    if isinstance(thing, functools.partial):
        return _module_name(thing.func)
    module = getattr(thing, "__module__", None) or getattr(type(thing), "__module__", "")
    # A process that was spawned knows the script under another name.
    return "__main__" if module == "__mp_main__" else str(module)


def _package(module: str) -> str:
    return module.partition(".")[0]


class _Reader:
    """Turns what it is given into digests. Functions and classes of other packages count by name only."""

    def __init__(self, package: str) -> None:
        # What torch does is the business of its version, not of the function.
        self._package = "" if package in ("torch", "builtins", "functools") else package
        self._read: dict[int, int] = {}  # functions and classes, by the order in which they came
        self._open: list[int] = []  # what is being read, so that a circle ends

    def digest(self, thing: Any) -> bytes:
        if isinstance(thing, _PLAIN):
            return _hash(_type_name(thing), repr(thing))
        if isinstance(thing, float):
            return _hash("float", struct.pack("<d", thing))
        if id(thing) in self._read:
            return _hash("read", str(self._read[id(thing)]))
        if id(thing) in self._open:
            return _hash("open", str(self._open.index(id(thing))))
        # Only of these is it sure that one process does not share what another has twice, as it may be with
        # constants. Whoever holds the function keeps them alive, so an id is not given away again.
        if isinstance(thing, types.FunctionType | type):
            self._read[id(thing)] = len(self._read)
        self._open.append(id(thing))
        try:
            read = next((read for kinds, read in _READERS if isinstance(thing, kinds)), _Reader._object)
            return read(self, thing)
        finally:
            self._open.pop()

    def _digests(self, things: Iterable[Any]) -> list[bytes]:
        return [self.digest(thing) for thing in things]

    def _row(self, things: Any) -> bytes:
        return _hash(_type_name(things), *self._digests(things))

    def _set(self, things: Any) -> bytes:
        # In the order of their digests: a set has another order in every process. Its members hold no circle.
        return _hash("set", *sorted(self._digests(things)))

    def _mapping(self, things: Mapping[Any, Any]) -> bytes:
        return _hash("dict", *self._digests(part for item in things.items() for part in item))

    def _enum(self, thing: enum.Enum) -> bytes:
        return _hash("enum", _name_of(type(thing)), thing.name, self.digest(thing.value))

    def _named(self, thing: Any) -> bytes:
        return _hash("named", _name_of(thing))

    def _builtin(self, thing: Any) -> bytes:
        owner = getattr(thing, "__self__", None)
        if owner is None or isinstance(owner, type | types.ModuleType):
            return self._named(thing)
        return _hash("bound", _name_of(thing), self.digest(owner))

    def _pattern(self, thing: re.Pattern[Any]) -> bytes:
        return _hash("pattern", repr(thing.pattern), str(thing.flags))

    def _reduced(self, thing: Any) -> bytes:
        return _hash(_type_name(thing), self.digest(thing.__reduce__()[1:]))

    def _module_file(self, thing: types.ModuleType) -> bytes:
        return _hash("import", thing.__name__)

    def _tensor(self, tensor: Tensor) -> bytes:
        plain = tensor.detach()
        if plain.layout is not torch.strided:
            plain = plain.to_dense()
        if plain.is_quantized:
            plain = plain.dequantize()
        raw = plain.cpu().resolve_conj().resolve_neg().contiguous().reshape(-1).view(torch.uint8)
        return _hash("tensor", str(tensor.dtype), str(tuple(tensor.shape)), raw.numpy().tobytes())

    def _array(self, array: Any) -> bytes:
        array = numpy.asarray(array)
        if array.dtype.hasobject:
            return _hash("array", str(array.shape), self.digest(array.tolist()))
        return _hash("array", str(array.dtype), str(array.shape), numpy.ascontiguousarray(array).tobytes())

    def _partial(self, thing: functools.partial[Any]) -> bytes:
        return _hash("partial", *self._digests([thing.func, thing.args, thing.keywords]))

    def _method(self, thing: types.MethodType) -> bytes:
        return _hash("method", *self._digests([thing.__func__, thing.__self__]))

    def _wrapped(self, thing: Any) -> bytes:
        return _hash(_type_name(thing), self.digest(thing.__func__))

    def _property(self, thing: property) -> bytes:
        return _hash("property", *self._digests([thing.fget, thing.fset]))

    def _function(self, function: types.FunctionType) -> bytes:
        if not self._is_own(function):
            return self._named(function)
        code = function.__code__
        cells = [_content(cell) for cell in function.__closure__ or ()]
        return _hash(
            "function",
            self._code(code, doc=function.__doc__),
            *self._digests([function.__defaults__, function.__kwdefaults__, cells]),
            *self._globals(code, function.__globals__),
        )

    def _code(self, code: types.CodeType, doc: str | None = None) -> bytes:
        constants = code.co_consts
        if doc is not None and constants[0] == doc and not _loads_first(code):
            constants = (None, *constants[1:])  # what is said about it is not what it does
        num_arguments = code.co_argcount + code.co_kwonlyargcount
        return _hash(
            "code",
            code.co_code,
            code.co_exceptiontable,
            repr((code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)),
            repr(code.co_names),
            repr(code.co_varnames[:num_arguments]),
            *self._digests(constants),
        )

    def _globals(self, code: types.CodeType, known: Mapping[str, Any]) -> list[bytes]:
        """The values behind the global names: simple ones, and functions and classes of the same package."""
        return [self._leniently(name, known[name]) for name in sorted(_names_in(code)) if name in known]

    def _class(self, thing: type) -> bytes:
        if not self._is_own(thing):
            return self._named(thing)
        parts = [_hash("class", _name_of(thing)), *self._digests(thing.__bases__)]
        for name, value in sorted(vars(thing).items()):
            if name not in _SILENT and not name.startswith("__dataclass_"):
                parts.append(self._leniently(name, value))
        return _hash(*parts)

    def _leniently(self, name: str, value: Any) -> bytes:
        """For what the result hardly depends on if it cannot be read: a logger, a lock."""
        try:
            return _hash(name, self.digest(value))
        except _UnreadableError:
            return _hash(name, _type_name(value))

    def _nn_module(self, module: nn.Module) -> bytes:
        if isinstance(module, torch.jit.ScriptModule):
            raise _UnreadableError("a scripted module")
        parts = [_ADDRESS.sub("", repr(module)).encode()]
        for name, part in [*module.named_parameters(), *module.named_buffers()]:
            parts.append(_hash(name, self._tensor(part)))
        for name, each in module.named_modules():
            parts.append(_hash(name, str(each.training), self._named(type(each)), self.digest(type(each))))
            own = {key: value for key, value in vars(each).items() if not key.startswith("_")}
            parts.extend(self._leniently(key, value) for key, value in sorted(own.items()))
        return _hash("module", *parts)

    def _object(self, thing: Any) -> bytes:
        if isinstance(getattr(thing, "__wrapped__", None), types.FunctionType):  # of functools.cache
            return _hash(_type_name(thing), self.digest(thing.__wrapped__))
        state = _state_of(thing)
        if state is None:
            raise _UnreadableError(f"a {_name_of(type(thing))}")
        return _hash("object", _name_of(type(thing)), self.digest(type(thing)), self.digest(state))

    def _is_own(self, thing: Any) -> bool:
        return bool(self._package) and _package(_module_name(thing)) == self._package


_READERS: Final[tuple[tuple[Any, Callable[[_Reader, Any], bytes]], ...]] = (
    (enum.Enum, _Reader._enum),
    ((tuple, list), _Reader._row),
    ((set, frozenset), _Reader._set),
    ((dict, types.MappingProxyType), _Reader._mapping),
    (nn.Module, _Reader._nn_module),
    (Tensor, _Reader._tensor),
    ((numpy.ndarray, numpy.generic), _Reader._array),
    (functools.partial, _Reader._partial),
    (types.CodeType, _Reader._code),
    (types.FunctionType, _Reader._function),
    (types.MethodType, _Reader._method),
    ((staticmethod, classmethod), _Reader._wrapped),
    (property, _Reader._property),
    (type, _Reader._class),
    (types.ModuleType, _Reader._module_file),
    (_BUILTINS, _Reader._builtin),
    (_DESCRIPTORS, _Reader._named),
    (numpy.ufunc, lambda _, ufunc: _hash("ufunc", ufunc.__name__)),
    (re.Pattern, _Reader._pattern),
    ((operator.itemgetter, operator.attrgetter, operator.methodcaller), _Reader._reduced),
)


def _names_in(code: types.CodeType) -> set[str]:
    inner = (part for part in code.co_consts if isinstance(part, types.CodeType))
    return set(code.co_names).union(*map(_names_in, inner))


def _loads_first(code: types.CodeType) -> bool:
    return any(step.opcode in dis.hasconst and step.arg == 0 for step in dis.get_instructions(code))


def _content(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return ...  # not filled yet


def _state_of(thing: Any) -> dict[str, Any] | None:
    """The attributes of an object whose classes were all written in Python; others hide what they hold."""
    kinds = type(thing).__mro__[:-1]
    if not all(kind.__flags__ & _ON_HEAP and not kind.__flags__ & _IMMUTABLE for kind in kinds):
        return None
    slots = [vars(kind)["__slots__"] for kind in kinds if "__slots__" in vars(kind)]
    if not slots and not hasattr(thing, "__dict__"):
        return None
    names = {name for each in slots for name in ((each,) if isinstance(each, str) else each)}
    state = {name: getattr(thing, name, None) for name in names - {"__dict__", "__weakref__"}}
    state.update(getattr(thing, "__dict__", {}))
    return dict(sorted(state.items()))


def _type_name(thing: Any) -> str:
    return type(thing).__qualname__


def _hash(*parts: str | bytes) -> bytes:
    total = hashlib.sha256()
    for part in parts:
        raw = part.encode() if isinstance(part, str) else part
        total.update(len(raw).to_bytes(8, "little"))
        total.update(raw)
    return total.digest()
