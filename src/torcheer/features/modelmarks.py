"""By which it is noticed that a model is no longer the same: weights, modules, their settings, their code."""

from __future__ import annotations

import hashlib
import itertools
import sys
import types
import zlib
from collections.abc import Iterator
from typing import Any, Final

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from torcheer.capture import named_root
from torcheer.errors import InputError
from torcheer.features.hookmarks import hook_words
from torcheer.features.samples import checksum_of

_LONGEST: Final = 80  # of a setting in words; what is longer is summed up
_PLAIN: Final = (bool, int, float, complex, str, type(None), torch.dtype)
# Words in names of what says where a model is or comes from, and not what it computes.
_SAY_WHERE: Final = frozenset(
    "path paths name names file files filename dir folder root url cfg config training device devices rank "
    "world timestamp uuid".split()
)
_HOOKS: Final = "(hooks)"  # of all modules; no attribute can be called so
_OF_EVERY_MODULE: Final = frozenset(vars(nn.Module()))

Settings = dict[str, dict[str, str]]


def weight_marks(model: nn.Module) -> dict[str, str]:
    """Of every parameter and buffer, by name."""
    root = named_root(model)
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
    for name, buffer in named_root(model).named_buffers():
        if f"{checksum_of(buffer):08x}" != before.get(name):
            found[name] = ""
    return found


def structure_mark(model: nn.Module) -> str:
    """Of its modules: their names and types."""
    words = [f"{name}: {_type_of(module)}" for name, module in named_root(model).named_modules()]
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:16]


def setting_marks(model: nn.Module) -> Settings:
    """By module and name: whatever is set in numbers, words or functions; and hooks that change values."""
    root = named_root(model)
    found: Settings = {"": {_HOOKS: hook_words(root)}}
    for address, module in root.named_modules():
        if isinstance(module, torch.jit.ScriptModule):
            continue
        words = {name: _words_of(value) for name, value in vars(module).items() if _is_setting(name)}
        said = {name: text for name, text in sorted(words.items()) if text is not None}
        if said:
            found.setdefault(address, {}).update(said)
    return found


def steady_settings(before: Settings, after: Settings) -> Settings:
    """Those that running the model did not change: no counters, nothing that it remembers."""
    kept = {
        address: {name: text for name, text in own.items() if after.get(address, {}).get(name) == text}
        for address, own in before.items()
    }
    return {address: own for address, own in kept.items() if own}


def code_marks(model: nn.Module) -> dict[str, str]:
    """Of each class of modules that is not torch's own. Another Python has other code for the same."""
    found = {"python": f"{sys.version_info.major}.{sys.version_info.minor}"}
    for module in named_root(model).modules():
        if isinstance(module, torch.jit.ScriptModule):
            found[_type_of(module)] = _sum_of(str(getattr(module, "code", "")))
            continue
        kind = type(module)
        if kind.__qualname__ not in found and not _is_of_torch(kind):
            code: list[str] = []
            for one in kind.__mro__:
                for function in () if _is_of_torch(one) else _functions_of(one):
                    code += _code_of(function, set())
            found[kind.__qualname__] = _sum_of("\n".join(code))
    return found


def _type_of(module: nn.Module) -> str:
    return str(getattr(module, "original_name", "") or type(module).__qualname__)


def _is_of_torch(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in ("torch", "builtins")


def _is_setting(name: str) -> bool:
    is_own = name not in _OF_EVERY_MODULE and not name.startswith("_")
    return is_own and _SAY_WHERE.isdisjoint(name.lower().split("_"))


def _words_of(value: Any) -> str | None:
    """None for what cannot be told in words: tensors are weights, and other things are left out."""
    if isinstance(value, types.FunctionType | types.MethodType):
        return f"{value.__qualname__} {_sum_of(' '.join(_code_of(value, set())))}"
    if isinstance(value, types.BuiltinFunctionType):
        return value.__name__
    if not _is_plain(value):
        return None
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]}… {_sum_of(text)}"


def _is_plain(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return all(map(_is_plain, value))
    return type(value) in _PLAIN


def _functions_of(kind: type) -> Iterator[Any]:
    for _, value in sorted(vars(kind).items()):
        if isinstance(value, property):
            yield value.fget
        elif isinstance(value, types.FunctionType | staticmethod | classmethod):
            yield value


def _code_of(function: Any, seen: set[int]) -> list[str]:
    """What a function does, and those beside it that it calls: not where it stands, nor its docstring."""
    function = getattr(function, "__wrapped__", getattr(function, "__func__", function))
    if not isinstance(function, types.FunctionType) or id(function) in seen:
        return []
    seen.add(id(function))
    words = list(_words_of_code(function.__code__, function.__doc__))
    for name in function.__code__.co_names:
        other = function.__globals__.get(name)
        if isinstance(other, types.FunctionType) and other.__module__ == function.__module__:
            words += _code_of(other, seen)
    return words


def _words_of_code(code: types.CodeType, doc: str | None = None) -> Iterator[str]:
    yield f"{code.co_name} {code.co_code.hex()} {code.co_names} {code.co_varnames}"
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _words_of_code(constant)
        elif isinstance(constant, frozenset):
            yield repr(sorted(map(repr, constant)))  # has another order in every process
        elif doc is None or constant != doc:
            yield repr(constant)


def _sum_of(text: str) -> str:
    return f"{zlib.crc32(text.encode('utf-8', 'backslashreplace')):08x}"
