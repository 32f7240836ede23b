"""The transforms of one layer, one after the other; and how words, objects and functions become some."""

from __future__ import annotations

import difflib
import importlib
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

from torcheer.errors import InputError
from torcheer.features.transforms.pca import RunningPCA
from torcheer.features.transforms.pool import Pool
from torcheer.features.transforms.project import Project
from torcheer.features.transforms.storable_values import CASTS, Cast, Flatten, Function
from torcheer.features.transforms.transform import (
    Applied,
    Fitted,
    Transform,
    notes_on,
    numpy_dtype,
    open_dtype,
    open_values,
    refuse_nested,
)

_TRIED_ROWS: Final = 2  # of an example: enough to tell the samples from the rest


class BegunChain:
    """Does the work for one layer. Made by `begin_all`.

    Parts that have to look at data first are fitted in their order, as a later one sees what the earlier ones
    give:

        for key, part in chain.fitted:
            for values in first_batches(part.num_samples):
                chain.look(part, values)
            part.finish()

    or restored: `part.restore(state)`.
    """

    def __init__(self, layer: str, transforms: Sequence[Transform]) -> None:
        self.layer = layer
        self.words = tuple(transform.words for transform in transforms)
        self.shape: tuple[int, ...] = ()  # of a sample afterwards
        self.dtype = torch.float32  # afterwards, one that NumPy has
        self.dims: tuple[str, ...] = ()  # the names of the sample's dimensions afterwards
        self.notes: tuple[str, ...] = ()  # for the user: what is kept in another way than it came
        self.fitted: list[tuple[str, Fitted]] = []
        self._parts: list[Applied] = []

    def __call__(self, values: Tensor) -> Tensor:
        """What is kept of a batch: dense, of `dtype`, with samples of `shape`."""
        refuse_nested(values, self.layer)
        if not len(values):
            return torch.empty(0, *self.shape, dtype=self.dtype, device=values.device)
        result = self._through(values, len(self._parts))
        result = result.detach().resolve_conj().resolve_neg()
        result = result.to(numpy_dtype(result.dtype, self.layer))
        if result.shape != (len(values), *self.shape):
            raise InputError(
                f"layer {self.layer!r}: a sample was of shape {self.shape}, and now one is of "
                f"{tuple(result.shape[1:])}. The features of a layer need one shape: pool the places or "
                "tokens (transform='pool'), or give samples of one size."
            )
        if result.dtype != self.dtype:
            raise InputError(
                f"layer {self.layer!r}: values were {_name(self.dtype)}, and now are {_name(result.dtype)}. "
                f"Keep one dtype with a transform such as {_name(self.dtype)!r}."
            )
        return result

    def as_it_comes(self, values: Tensor) -> Tensor:
        """The same for a sample whose shape is its own."""
        result = self._through(values, len(self._parts)).detach().resolve_conj().resolve_neg()
        return result.to(numpy_dtype(result.dtype, self.layer))

    def look(self, part: Fitted, values: Tensor) -> None:
        """Show a batch of the first samples to a fitted part, through those before it, which are ready."""
        part.look(self._through(values, self._parts.index(part)))

    def _through(self, values: Tensor, num_parts: int) -> Tensor:
        values = open_values(values, self.layer)
        for words, part in zip(self.words[:num_parts], self._parts[:num_parts], strict=True):
            with _named(words, self.layer), torch.no_grad():
                values = open_values(part(values), self.layer)
        return values


def begin_all(
    transforms: Sequence[Transform],
    layer: str,
    shape: tuple[int, ...],
    dtype: torch.dtype,
    dims: tuple[str, ...],
    *,
    example: Tensor | None = None,
) -> BegunChain:
    """For one layer, whose samples arrive with this shape, dtype and these names of dimensions.

    - `example`: a batch as it arrives. Its first rows are sent through to learn what comes out; zeros when
      left out.
    """
    if len(dims) != len(shape):
        raise InputError(f"layer {layer!r}: {len(dims)} names {dims} for a sample of shape {shape}.")
    if transforms and not math.prod(shape):
        raise InputError(f"layer {layer!r}: a sample {shape} has no values that could be transformed.")
    if example is not None:
        refuse_nested(example, layer)
    if example is None or not len(example):
        example = torch.zeros(_TRIED_ROWS, *shape, dtype=open_dtype(dtype))
    is_sparse = example.layout is not torch.strided
    values = open_values(example, layer)[:_TRIED_ROWS]
    chain = BegunChain(layer, transforms)
    notes = []
    for at, transform in enumerate(transforms):
        with _named(transform.words, layer), torch.no_grad():
            arriving = tuple(values.shape[1:])
            part = transform.begin(layer, arriving, values.dtype, dims)
            chain._parts.append(part)
            notes.append(getattr(part, "note", ""))
            if isinstance(part, Fitted):
                chain.fitted.append((f"{at}_{type(transform).__name__.lower()}", part))
                values = torch.zeros(len(values), *part.shape, dtype=part.dtype)
            else:
                values = open_values(part(values), layer)
            dims = transform.dims(dims, arriving, tuple(values.shape[1:]))
    chain.shape, chain.dims = tuple(values.shape[1:]), dims
    chain.dtype = numpy_dtype(values.dtype, layer)
    chain.notes = (*filter(None, notes), *notes_on(dtype, is_sparse, values.dtype))
    return chain


@contextmanager
def _named(words: str, layer: str) -> Iterator[None]:
    """What a function of the user's raises goes through, and says where it was."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        error.add_note(f"in the transform {words!r} of layer {layer!r}")
        raise


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


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
