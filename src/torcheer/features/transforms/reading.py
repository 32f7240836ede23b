"""Read transforms as they are given: as words in a shell, as objects or as functions in Python."""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import torch

from torcheer.errors import InputError
from torcheer.features.transforms.casting import CASTS, Cast
from torcheer.features.transforms.flattening import Flatten
from torcheer.features.transforms.functions import Function
from torcheer.features.transforms.pooling import Pool
from torcheer.features.transforms.projecting import Project
from torcheer.features.transforms.protocol import Transform
from torcheer.features.transforms.runningpca import RunningPCA


def read_transforms(given: object) -> tuple[Transform, ...]:
    """None, one or several of: words, a transform, a dtype, any function of a tensor.

    Words are "pool", "pool:max", "pool:mean:2", "pool:mean:2x3", "flatten", "float16", "float16:saturate" and
    other dtypes, "project:512", "project:512:7" with a seed, "pca:64", "pca:64:whiten", and
    "package.module:function" for a function or transform of your own.
    """
    if given is None:
        return ()
    is_one = isinstance(given, str | torch.dtype | Transform) or callable(given)
    if not is_one and isinstance(given, Iterable):
        return tuple(_read(each) for each in given)
    return (_read(given),)


def _read(given: object) -> Transform:
    if isinstance(given, str):
        return _read_words(given)
    if isinstance(given, torch.dtype):
        return Cast(str(given))
    if isinstance(given, type):
        raise InputError(f"{given.__name__} is a class: give an object of it, such as {given.__name__}(…).")
    if isinstance(given, Transform):
        return given
    if callable(given):
        return Function(given)
    raise InputError(f"{given!r} is no transform: give words, a transform or a function. {_known()}")


def _read_words(given: str) -> Transform:
    name, *parts = given.strip().split(":")
    if name in _READERS:
        return _READERS[name](given.strip(), parts)
    if name in CASTS:
        return _cast(given.strip(), name, parts)
    # An empty name, or one of ours that is misspelt, is not worth an import.
    if len(parts) == 1 and parts[0] and not parts[0][0].isdigit() and _is_dotted(name):
        return _imported(given.strip(), name, parts[0])
    raise InputError(f"there is no transform {given!r}.{_nearest(name)} {_known()}")


def _pool(given: str, parts: list[str]) -> Transform:
    kind: Any = "mean"
    if parts and not parts[0][:1].isdigit():
        kind = parts.pop(0)
    if kind not in ("mean", "max") or len(parts) > 1:
        raise InputError(
            f"{given!r}: a pool is 'pool:mean' or 'pool:max', and may have a size: 'pool:max:2'."
        )
    if not parts:
        return Pool(kind)
    sizes = tuple(_number(given, part, "pool:mean:2 or pool:mean:2x3") for part in parts[0].split("x"))
    return Pool(kind, sizes[0] if len(sizes) == 1 else sizes)


def _flatten(given: str, parts: list[str]) -> Transform:
    if parts:
        raise InputError(f"{given!r}: 'flatten' stands by itself.")
    return Flatten()


def _cast(given: str, name: str, parts: list[str]) -> Transform:
    if parts not in ([], ["saturate"]):
        raise InputError(f"{given!r}: write {name!r} or '{name}:saturate'.")
    return Cast(name, saturate=bool(parts))


def _project(given: str, parts: list[str]) -> Transform:
    example = "project:512, or project:512:7 with another seed"
    if len(parts) not in (1, 2):
        raise InputError(f"{given!r}: write {example}.")
    numbers = [_number(given, part, example) for part in parts]
    return Project(numbers[0], seed=numbers[1] if len(numbers) > 1 else 0)


def _pca(given: str, parts: list[str]) -> Transform:
    example = "pca:64 or pca:64:whiten"
    if not parts or parts[1:] not in ([], ["whiten"]):
        raise InputError(f"{given!r}: write {example}.")
    return RunningPCA(_number(given, parts[0], example), whiten=len(parts) > 1)


_READERS: Final[dict[str, Callable[[str, list[str]], Transform]]] = {
    "pool": _pool,
    "flatten": _flatten,
    "project": _project,
    "pca": _pca,
}


def _number(given: str, part: str, example: str) -> int:
    if not (part.isascii() and part.isdigit()):
        raise InputError(f"{given!r}: {part!r} is no whole number. Write {example}.")
    return int(part)


def _imported(given: str, where: str, name: str) -> Transform:
    if str(Path.cwd()) not in sys.path:  # as python itself would have it
        sys.path.insert(0, str(Path.cwd()))
    try:
        found: Any = importlib.import_module(where)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{where}.".startswith(f"{error.name}."):
            raise  # of something that the module itself imports
        raise InputError(
            f"{given!r}: there is no module {where!r} here.{_nearest(where)} {_known()}"
        ) from error
    for part in name.split("."):
        if not hasattr(found, part):
            near = difflib.get_close_matches(part, dir(found), n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise InputError(f"{given!r}: {where} has no {name!r}.{hint}")
        found = getattr(found, part)
    if not callable(found) and not isinstance(found, Transform):
        raise InputError(
            f"{given!r} is a {type(found).__name__}: name a function of a tensor or a transform."
        )
    return _read(found)


def _is_dotted(name: str) -> bool:
    return all(part.isidentifier() for part in name.split("."))


def _nearest(name: str) -> str:
    near = difflib.get_close_matches(name.lower(), [*_READERS, *CASTS], n=1, cutoff=0.5)
    return f" Did you mean {near[0]!r}?" if near else ""


def _known() -> str:
    return (
        "There are pool, pool:max, pool:mean:2, flatten, project:512, pca:64, "
        f"{', '.join(CASTS)}, and package.module:function."
    )
