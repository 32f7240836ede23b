"""What is done to the values of a layer on their way to the disk: pooled, projected, cast, or your own.

A `Transform` is a description that never changes. `begin` makes of it the function that works on the batches
of one layer. Its words say all that matters for its results: they are a part of what says whether features
on disk are still the ones asked for.
"""

from __future__ import annotations

import difflib
import functools
import pkgutil
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, Protocol, runtime_checkable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from torcheer.errors import InputError
from torcheer.features.dimension_reduction import (
    Applied,
    Project,
    RunningComponents,
    RunningPCA,
    dtype_name,
    working_dtype,
)


@runtime_checkable
class Transform(Protocol):
    """A description of what is done to values."""

    @property
    def words(self) -> str:
        """Such as "pool mean". Equal words must mean equal results."""
        ...

    def begin(self, layer: str, shape: tuple[int, ...], dtype: torch.dtype, dims: tuple[str, ...]) -> Applied:
        """For one layer. `shape` and `dims` are those of one sample as it arrives here."""
        ...

    def dims(self, dims: tuple[str, ...], shape: tuple[int, ...], result: tuple[int, ...]) -> tuple[str, ...]:
        """The names of a sample's dimensions afterwards, given its shape before and afterwards."""
        ...


def open_dtype(dtype: torch.dtype) -> torch.dtype:
    """The dtype of `open_values`: quantised values and floats of one byte become float32."""
    return torch.float32 if dtype_name(dtype).startswith(("float8_", "qint", "quint")) else dtype


def open_values(values: Tensor, layer: str) -> Tensor:
    """Dense, and of a dtype that one can compute with."""
    if values.is_nested:
        raise InputError(
            f"layer {layer!r} gives a nested tensor, whose samples have shapes of their own: give a model "
            "that pads them."
        )
    if values.layout is not torch.strided:
        values = values.to_dense()
    if values.is_quantized:
        values = values.dequantize()
    return values.detach().to(open_dtype(values.dtype))


def numpy_dtype(dtype: torch.dtype, layer: str) -> torch.dtype:
    """The dtype that is kept for one that is computed with."""
    wider = {torch.bfloat16: torch.float32, torch.complex32: torch.complex64}
    if dtype in wider:
        return wider[dtype]
    try:
        torch.empty(0, dtype=dtype, device="cpu").numpy()
    except (TypeError, RuntimeError):
        raise InputError(
            f"layer {layer!r} gives values of {dtype_name(dtype)}, which NumPy does not have: take a "
            "transform such as 'float32'."
        ) from None
    return dtype


CASTS: Final[dict[str, torch.dtype]] = {
    name: getattr(torch, name)
    for name in (
        *("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool"),
        *("complex64", "complex128"),
    )
}


@dataclass(frozen=True, slots=True)
class Cast:
    """To a dtype that NumPy has, too. Whole numbers take no fractions: they would be cut off unnoticed.

    - `saturate`: a value that is too large becomes the largest that there is. Otherwise it is an error, as it
      would be infinite or wrap around. What was infinite already stays so, and is an error for whole numbers.
    """

    dtype: str
    saturate: bool = False

    def __post_init__(self) -> None:
        name = str(self.dtype).removeprefix("torch.")
        if name not in CASTS:
            near = difflib.get_close_matches(name, CASTS, n=1)
            hint = f"Did you mean {near[0]!r}? " if near else ""
            raise InputError(f"features cannot be kept as {name!r}: {hint}There are {', '.join(CASTS)}.")
        object.__setattr__(self, "dtype", name)

    @property
    def words(self) -> str:
        return f"{self.dtype} (saturated)" if self.saturate else self.dtype

    def begin(self, layer: str, shape: tuple[int, ...], dtype: torch.dtype, dims: tuple[str, ...]) -> Applied:
        wanted = CASTS[self.dtype]
        if dtype.is_complex and not wanted.is_complex and wanted is not torch.bool:
            raise InputError(
                f"{self.words} of layer {layer!r}: its values are complex, and the imaginary part would be "
                "lost. Take a function such as torch.abs first, or 'complex64'."
            )
        return partial(self._cast, layer, wanted)

    def dims(self, dims: tuple[str, ...], shape: tuple[int, ...], result: tuple[int, ...]) -> tuple[str, ...]:
        return dims

    def _cast(self, layer: str, wanted: torch.dtype, values: Tensor) -> Tensor:
        if wanted is torch.bool or values.dtype is wanted:
            return values.to(wanted)
        if wanted.is_complex:
            part = torch.float32 if wanted is torch.complex64 else torch.float64
            values = values.to(torch.promote_types(values.dtype, wanted))
            parts = torch.view_as_real(values.resolve_conj())
            return torch.view_as_complex(self._to_fractions(layer, part, parts).contiguous())
        change = self._to_fractions if wanted.is_floating_point else self._to_whole_numbers
        return change(layer, wanted, values)

    def _to_fractions(self, layer: str, wanted: torch.dtype, values: Tensor) -> Tensor:
        result = values.to(wanted)
        is_lost = result.isinf() & values.isfinite()
        largest = torch.finfo(wanted).max
        self._refuse_lost(layer, values, is_lost, f"beyond ±{largest:g}")
        # Of those that were lost only: what was infinite before stays so.
        return torch.where(is_lost, result.sign() * largest, result) if is_lost.any() else result

    def _to_whole_numbers(self, layer: str, wanted: torch.dtype, values: Tensor) -> Tensor:
        limits = torch.iinfo(wanted)
        if values.dtype.is_floating_point:
            # Half floats cannot hold the limits that they are compared with.
            values = values.to(torch.promote_types(values.dtype, torch.float32))
            self._refuse(layer, values, ~values.isfinite(), "not finite", "Take 'float16' or wider.")
            hint = (
                "Take 'float16', or make whole numbers of them first: lambda values: (100 * values).round()."
            )
            self._refuse(layer, values, values != values.trunc(), "fractions", hint)
            # One more than the largest is a power of two, and so exact in every float.
            is_high, is_low = values >= float(limits.max + 1), values < float(limits.min)
        else:
            values = values.to(torch.int64)
            is_high, is_low = values > limits.max, values < limits.min
        is_lost = is_high | is_low
        self._refuse_lost(layer, values, is_lost, f"outside {limits.min} to {limits.max}")
        result = values.masked_fill(is_lost, 0).to(wanted)
        return result.masked_fill(is_high, limits.max).masked_fill(is_low, limits.min)

    def _refuse_lost(self, layer: str, values: Tensor, is_lost: Tensor, where: str) -> None:
        if not self.saturate:
            hint = f"Take a wider dtype, or '{self.dtype}:saturate'."
            self._refuse(layer, values, is_lost, where, hint)

    def _refuse(self, layer: str, values: Tensor, is_bad: Tensor, what: str, hint: str) -> None:
        if is_bad.any():
            farthest = float(values[is_bad].abs().max())
            raise InputError(
                f"{self.words} of layer {layer!r}: {int(is_bad.sum()):,} of {values.numel():,} values are "
                f"{what}, the farthest ±{farthest:g}. {hint}"
            )


@dataclass(frozen=True, slots=True)
class Flatten:
    """Each sample becomes one row of units, in the order that they lie in memory."""

    words: ClassVar[str] = "flatten"

    def begin(self, layer: str, shape: tuple[int, ...], dtype: torch.dtype, dims: tuple[str, ...]) -> Applied:
        return lambda values: values.reshape(len(values), -1)

    def dims(self, dims: tuple[str, ...], shape: tuple[int, ...], result: tuple[int, ...]) -> tuple[str, ...]:
        return ("unit",)


@dataclass(frozen=True, slots=True)
class Function:
    """A function of a batch of values, which keeps the first dimension: that of samples.

    - `words`: what it is called beside the features; its name when left out. Whether it still does the same
      is seen on the first batch, which is computed again when an extraction goes on.

    A module runs as it is: put it into eval mode first.
    """

    call: Callable[[Tensor], Tensor]
    words: str = ""

    def __post_init__(self) -> None:
        if not callable(self.call):
            raise InputError(f"Function takes a function of a tensor, not {self.call!r}.")
        kind = "module" if isinstance(self.call, nn.Module) and not self.words else "function"
        object.__setattr__(self, "words", f"{kind} {self.words or _name_of(self.call)}")

    def begin(self, layer: str, shape: tuple[int, ...], dtype: torch.dtype, dims: tuple[str, ...]) -> Applied:
        return partial(self._called, layer)

    def dims(self, dims: tuple[str, ...], shape: tuple[int, ...], result: tuple[int, ...]) -> tuple[str, ...]:
        """The same for the same shape. Otherwise only one dimension has a name that means something."""
        if result == shape:
            return dims
        return ("unit",) if len(result) == 1 else tuple(f"dim_{at}" for at in range(1, len(result) + 1))

    def _called(self, layer: str, values: Tensor) -> Tensor:
        with torch.no_grad():
            result: Any = self.call(values)
        where = f"{self.words} of layer {layer!r}"
        if not isinstance(result, Tensor):
            raise InputError(f"{where}: it gave a {type(result).__name__}, and must give a tensor.")
        if result.dim() == 0 or len(result) != len(values):
            raise InputError(
                f"{where}: it was given {tuple(values.shape)} and gave {tuple(result.shape)}. The first "
                f"dimension is that of samples, and must stay {len(values)}."
            )
        return result


def _name_of(thing: Any) -> str:
    """Such as "package.module.name"."""
    if isinstance(thing, functools.partial):
        return f"partial({_name_of(thing.func)})"
    if isinstance(thing, types.MethodType) and not isinstance(thing.__self__, type):
        return f"{_name_of(type(thing.__self__))}.{thing.__name__}"
    if not hasattr(thing, "__qualname__"):
        thing = type(thing)
    module, name = str(getattr(thing, "__module__", "") or ""), str(thing.__qualname__)
    if name.startswith("_VariableFunctionsClass."):
        return f"torch.{thing.__name__}"
    if module == "__mp_main__":  # a process that was spawned knows the script under another name
        module = "__main__"
    return name if module in ("", "builtins") else f"{module}.{name}"


_POOLED_DIMS: Final = ("z", "y", "x", "time", "token")


@dataclass(frozen=True, slots=True)
class Pool:
    """Over space, time or tokens: the dimensions named z, y, x, time and token. All others stay.

    - `size`: how many places are left along each of these, such as 2 or (2, 3), instead of none at all. A
      dimension that is no longer than that stays as it is.

    A sample without such a dimension is left as it is. The dtype stays; only the mean of whole numbers has
    a fraction.
    """

    kind: Literal["mean", "max"] = "mean"
    size: int | tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.kind not in ("mean", "max"):
            raise InputError(f"a pool is of the kind 'mean' or 'max', not {self.kind!r}.")
        sizes = self.size if isinstance(self.size, tuple) else (1 if self.size is None else self.size,)
        if not sizes or not all(type(size) is int and size >= 1 for size in sizes):
            raise InputError(
                f"the size of a pool is a whole number such as 2, or one for each dimension such as (2, 3), "
                f"not {self.size!r}."
            )

    @property
    def words(self) -> str:
        return f"pool {self.kind}" + ("" if self.size is None else f" to {self.size}")

    def begin(self, layer: str, shape: tuple[int, ...], dtype: torch.dtype, dims: tuple[str, ...]) -> Applied:
        # One further in a batch, whose first dimension is that of samples.
        places = tuple(at + 1 for at, name in enumerate(dims) if name in _POOLED_DIMS)
        if not places:
            return lambda values: values
        is_plain_mean = self.kind == "mean" and self.size is None
        working = dtype if dtype.is_complex and is_plain_mean else working_dtype(dtype, layer, self.words)
        if self.size is None:
            change = partial(_away, places, self.kind, working)
        else:
            sizes = self.size if isinstance(self.size, tuple) else (self.size,) * len(places)
            if len(sizes) != len(places) or len(places) > 3:
                raise InputError(
                    f"{self.words} of layer {layer!r}: a sample {dims} has {len(places)} dimensions to "
                    "pool. Give one number for all of them, or one for each; of more than three, pool "
                    "without a size."
                )
            change = partial(_to_size, places, self.kind, working, sizes)

        def pooled(values: Tensor) -> Tensor:
            if values.dim() != len(shape) + 1:
                raise InputError(
                    f"{self.words} of layer {layer!r}: a batch began with {len(shape) + 1} dimensions, and "
                    f"now is {tuple(values.shape)}."
                )
            result = change(values)
            keeps = values.is_floating_point() or values.is_complex() or self.kind == "max"
            return result.to(values.dtype) if keeps else result

        return pooled

    def dims(self, dims: tuple[str, ...], shape: tuple[int, ...], result: tuple[int, ...]) -> tuple[str, ...]:
        return dims if self.size is not None else tuple(name for name in dims if name not in _POOLED_DIMS)


def _away(places: tuple[int, ...], kind: str, working: torch.dtype, values: Tensor) -> Tensor:
    """All places become one."""
    values = values.contiguous()  # in one order in memory, so that it is added up in one order
    if kind == "max":
        return values.amax(places)
    values = values.to(working)
    if len(values) == 1:
        # Torch shares the sum for one single number out among its threads, in another order than for more.
        return torch.cat([values, values]).mean(places)[:1]
    return values.mean(places)


def _to_size(
    places: tuple[int, ...], kind: str, working: torch.dtype, sizes: tuple[int, ...], values: Tensor
) -> Tensor:
    """Fewer places, each the mean or the maximum of those around it."""
    others = [at for at in range(values.dim()) if at not in places]
    order = [*others, *places]
    moved = values.to(working).permute(order).contiguous()
    lengths = moved.shape[len(others) :]
    sizes = tuple(map(min, sizes, lengths))
    # A batch and one dimension of channels is what these functions of torch want.
    pool = getattr(F, f"adaptive_{'max' if kind == 'max' else 'avg'}_pool{len(places)}d")
    shrunk: Tensor = pool(moved.reshape(-1, 1, *lengths), sizes)
    back = [order.index(at) for at in range(values.dim())]
    return shrunk.reshape(*moved.shape[: len(others)], *sizes).permute(back)


_TRIED_ROWS: Final = 2  # of an example: enough to tell the samples from the rest
_NAMES: Final = ("pool", "flatten", "project", "pca", *CASTS)
_KNOWN: Final = (
    "There are pool, pool:max, pool:mean:2, pool:mean:2x3, flatten, project:512, project:512:7, pca:64, "
    f"pca:64:whiten, {', '.join(CASTS)}, float16:saturate, and package.module:function."
)


class BegunChain:
    """Does the work for one layer.

    Parts that have to look at data first are fitted in their order, as a later one sees what the earlier ones
    give: `chain.look(part, values)` for the first batches, then `part.finish()`; or `part.restore(state)`.
    """

    def __init__(
        self, transforms: Sequence[Transform], layer: str, example: Tensor, dims: tuple[str, ...]
    ) -> None:
        """`example`: a batch, whose first rows are sent through; `dims`: what a sample's dimensions are."""
        values = open_values(example, layer)[:_TRIED_ROWS]
        if transforms and not values.numel():
            shape = tuple(values.shape[1:])
            raise InputError(f"layer {layer!r}: a sample {shape} has no values that could be transformed.")
        notes = ["sparse values are kept as dense ones."] if example.layout is not torch.strided else []
        self.layer = layer
        self.words = tuple(transform.words for transform in transforms)
        self.fitted: list[tuple[str, RunningComponents]] = []  # with the names of what they find out
        self._parts: list[Applied] = []
        for at, transform in enumerate(transforms):
            with _named(transform.words, layer), torch.no_grad():
                arriving = tuple(values.shape[1:])
                part = transform.begin(layer, arriving, values.dtype, dims)
                self._parts.append(part)
                notes.append(getattr(part, "note", ""))
                if isinstance(part, RunningComponents):
                    self.fitted.append((f"{at}_{type(transform).__name__.lower()}", part))
                    values = torch.zeros(len(values), *part.shape, dtype=part.dtype)
                else:
                    values = open_values(part(values), layer)
                dims = transform.dims(dims, arriving, tuple(values.shape[1:]))
        self.shape = tuple(values.shape[1:])  # of a sample afterwards
        self.dims = dims  # their names afterwards
        self.dtype = numpy_dtype(values.dtype, layer)  # afterwards, one that NumPy has
        for given, kept in ((example.dtype, open_dtype(example.dtype)), (values.dtype, self.dtype)):
            if given != kept:
                words = f"{dtype_name(given)} is kept as {dtype_name(kept)}, exactly: NumPy has none of it."
                notes.append(words)
        self.notes = tuple(filter(None, notes))  # for the user: what is kept in another way than it came

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
