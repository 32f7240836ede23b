"""What the tensors of a program are called: by the variables around a call, and by the modules there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, Final

from torch import Tensor

_MAX_NAMES: Final = 2000  # variables that are looked at
_MAX_PARTS: Final = 64  # of a list or a dictionary of tensors
_NO_SIGNS: Final = str.maketrans("", "", "{}\\")  # they would end a name in a formula


def tensor_names(variables: Mapping[str, Any]) -> Iterator[tuple[str, Tensor]]:
    """Names and the tensors that have them: what is nearer first, variables before parameters of modules."""
    near = _nearest(variables)
    for name, value in near:
        if isinstance(value, Tensor):
            yield name, value
    for name, value in near:
        for part, tensor in _parts(value):
            yield f"{name}[{part}]".translate(_NO_SIGNS), tensor
    for address, module in _modules(near):
        for kind in ("named_parameters", "named_buffers"):
            for name, tensor in getattr(module, kind)():
                yield _joined(address, name), tensor


def module_names(variables: Mapping[str, Any]) -> dict[int, str]:
    """The addresses of all modules, by their identity."""
    found: dict[int, str] = {}
    for address, module in _modules(_nearest(variables)):
        for name, inner in module.named_modules():
            found.setdefault(id(inner), _joined(address, name))
    return found


def _nearest(variables: Mapping[str, Any]) -> Sequence[tuple[str, Any]]:
    """Locals were put after globals, so from the end. In a notebook, _ and _12 are results, not names."""
    own = [
        (name, value) for name, value in variables.items() if name.isidentifier() and not name.startswith("_")
    ]
    return own[::-1][:_MAX_NAMES]


def _parts(value: Any) -> Iterator[tuple[object, Tensor]]:
    if isinstance(value, list | tuple):
        items: Iterator[tuple[object, Any]] = enumerate(value[:_MAX_PARTS])
    elif isinstance(value, dict) and len(value) <= _MAX_PARTS:
        items = iter(value.items())
    else:
        return
    for part, tensor in items:
        if isinstance(tensor, Tensor):
            yield part, tensor


def _modules(near: Sequence[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Those of ours and those of torch are alike in this. Within a method, `self` goes without saying."""
    for name, value in near:
        if isinstance(value, type | ModuleType | Tensor):
            continue
        if callable(getattr(type(value), "named_parameters", None)):
            yield ("" if name == "self" else name), value


def _joined(address: str, name: str) -> str:
    return ".".join(part for part in (address, name) if part).translate(_NO_SIGNS)
