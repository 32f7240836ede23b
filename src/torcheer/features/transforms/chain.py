"""The transforms of one layer, one after the other; and how words, objects and functions become some."""

from __future__ import annotations

import difflib
import math
import pkgutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

from torcheer.errors import InputError
from torcheer.features.transforms.basic_transforms import CASTS, Cast, Flatten, Function, Pool
from torcheer.features.transforms.dimension_reduction import Project, RunningComponents, RunningPCA
from torcheer.features.transforms.transform import (
    Applied,
    Transform,
    dtype_name,
    numpy_dtype,
    open_dtype,
    open_values,
)

_TRIED_ROWS: Final = 2  # of an example: enough to tell the samples from the rest
_NAMES: Final = ("pool", "flatten", "project", "pca", *CASTS)
_KNOWN: Final = (
    "There are pool, pool:max, pool:mean:2, pool:mean:2x3, flatten, project:512, project:512:7, pca:64, "
    f"pca:64:whiten, {', '.join(CASTS)}, float16:saturate, and package.module:function."
)


class BegunChain:
    """Does the work for one layer. Made by `begin_all`.

    Parts that have to look at data first are fitted in their order, as a later one sees what the earlier ones
    give: `chain.look(part, values)` for the first batches, then `part.finish()`; or `part.restore(state)`.
    """

    def __init__(self, layer: str, transforms: Sequence[Transform]) -> None:
        self.layer = layer
        self.words = tuple(transform.words for transform in transforms)
        self.shape: tuple[int, ...] = ()  # of a sample afterwards
        self.dtype = torch.float32  # afterwards, one that NumPy has
        self.dims: tuple[str, ...] = ()  # the names of the sample's dimensions afterwards
        self.notes: tuple[str, ...] = ()  # for the user: what is kept in another way than it came
        self.fitted: list[tuple[str, RunningComponents]] = []
        self._parts: list[Applied] = []

    def __call__(self, values: Tensor) -> Tensor:
        """What is kept of a batch: dense, of `dtype`, with samples of `shape`."""
        result = self.as_it_comes(values)
        if result.shape != (len(values), *self.shape):
            raise InputError(
                f"layer {self.layer!r}: a sample was of shape {self.shape}, and now one is of "
                f"{tuple(result.shape[1:])}. The features of a layer need one shape: pool the places or "
                "tokens (transform='pool'), or give samples of one size."
            )
        return result

    def as_it_comes(self, values: Tensor) -> Tensor:
        """The same for a sample whose shape is its own."""
        if not values.is_nested and not len(values):
            return torch.empty(0, *self.shape, dtype=self.dtype, device=values.device)
        result = self._through(values, len(self._parts)).detach().resolve_conj().resolve_neg()
        result = result.to(numpy_dtype(result.dtype, self.layer))
        if result.dtype != self.dtype:
            raise InputError(
                f"layer {self.layer!r}: values were {dtype_name(self.dtype)}, and now are "
                f"{dtype_name(result.dtype)}. Keep one dtype with a transform such as "
                f"{dtype_name(self.dtype)!r}."
            )
        return result

    def look(self, part: RunningComponents, values: Tensor) -> None:
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
    if transforms and not math.prod(shape):
        raise InputError(f"layer {layer!r}: a sample {shape} has no values that could be transformed.")
    if example is None or not (example.is_nested or len(example)):
        example = torch.zeros(_TRIED_ROWS, *shape, dtype=open_dtype(dtype))
    notes = []
    if not example.is_nested and example.layout is not torch.strided:
        notes.append("sparse values are kept as dense ones.")
    values = open_values(example, layer)[:_TRIED_ROWS]
    chain = BegunChain(layer, transforms)
    for at, transform in enumerate(transforms):
        with _named(transform.words, layer), torch.no_grad():
            arriving = tuple(values.shape[1:])
            part = transform.begin(layer, arriving, values.dtype, dims)
            chain._parts.append(part)
            notes.append(getattr(part, "note", ""))
            if isinstance(part, RunningComponents):
                chain.fitted.append((f"{at}_{type(transform).__name__.lower()}", part))
                values = torch.zeros(len(values), *part.shape, dtype=part.dtype)
            else:
                values = open_values(part(values), layer)
            dims = transform.dims(dims, arriving, tuple(values.shape[1:]))
    chain.shape, chain.dims = tuple(values.shape[1:]), dims
    chain.dtype = numpy_dtype(values.dtype, layer)
    for given, kept in ((dtype, open_dtype(dtype)), (values.dtype, chain.dtype)):
        if given != kept:
            notes.append(f"{dtype_name(given)} is kept as {dtype_name(kept)}, exactly: NumPy has none of it.")
    chain.notes = tuple(filter(None, notes))
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
        return _read_words(given.strip())
    if isinstance(given, torch.dtype):
        return Cast(str(given))
    if isinstance(given, type):
        raise InputError(f"{given.__name__} is a class: give an object of it, such as {given.__name__}(…).")
    if isinstance(given, Transform):
        return given
    if callable(given):
        return Function(given)
    raise InputError(f"{given!r} is no transform: give words, a transform or a function. {_KNOWN}")


def _read_words(given: str) -> Transform:
    name, *options = given.split(":")
    try:
        if name in _NAMES:
            return _made(name, options)
        if len(options) == 1:
            return _imported(given)
    except (ValueError, TypeError, IndexError) as error:
        raise InputError(f"{given!r} is no transform ({error}). {_KNOWN}") from error
    near = difflib.get_close_matches(name.lower(), _NAMES, n=1, cutoff=0.5)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise InputError(f"there is no transform {given!r}.{hint} {_KNOWN}")


def _made(name: str, options: list[str]) -> Transform:
    if name in CASTS and options in ([], ["saturate"]):
        return Cast(name, saturate=bool(options))
    if name == "flatten" and not options:
        return Flatten()
    if name == "pool" and len(options) <= 2:
        kind: Any = options.pop(0) if options and not options[0][:1].isdigit() else "mean"
        sizes = tuple(int(size) for option in options for size in option.split("x"))
        return Pool(kind, None if not sizes else sizes[0] if len(sizes) == 1 else sizes)
    if name == "project" and len(options) <= 2:
        return Project(int(options[0]), seed=int(options[1]) if len(options) > 1 else 0)
    if name == "pca" and options[1:] in ([], ["whiten"]):
        return RunningPCA(int(options[0]), whiten=len(options) > 1)
    raise ValueError(f"{name} takes no {':'.join(options)}")


def _imported(given: str) -> Transform:
    if str(Path.cwd()) not in sys.path:  # as python itself would have it
        sys.path.insert(0, str(Path.cwd()))
    where = given.partition(":")[0]
    try:
        found: Any = pkgutil.resolve_name(given)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{where}.".startswith(f"{error.name}."):
            raise  # of something that the module itself imports
        raise ValueError(error) from error
    except AttributeError as error:
        raise ValueError(error) from error
    return _read(found)
