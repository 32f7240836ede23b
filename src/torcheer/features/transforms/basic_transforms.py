"""Cast, Flatten, Pool and Function: another dtype, fewer places, or what a function makes of values."""

from __future__ import annotations

import difflib
import functools
import types
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from torcheer.errors import InputError
from torcheer.features.transforms.transform import Applied, working_dtype

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
            if not values.dtype.is_complex:
                return self._to_fractions(layer, part, values).to(wanted)
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

    @property
    def words(self) -> str:
        return "flatten"

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


# --- pooling -----------------------------------------------------------------------------------------------

_POOLED_DIMS: Final = ("z", "y", "x", "time", "token")
_ADAPTIVE: Final[dict[tuple[str, int], Callable[..., Tensor]]] = {
    ("mean", 1): F.adaptive_avg_pool1d,
    ("mean", 2): F.adaptive_avg_pool2d,
    ("mean", 3): F.adaptive_avg_pool3d,
    ("max", 1): F.adaptive_max_pool1d,
    ("max", 2): F.adaptive_max_pool2d,
    ("max", 3): F.adaptive_max_pool3d,
}


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
            keeps = not _is_whole(values.dtype) or self.kind == "max"
            return result.to(values.dtype) if keeps else result

        return pooled

    def dims(self, dims: tuple[str, ...], shape: tuple[int, ...], result: tuple[int, ...]) -> tuple[str, ...]:
        return dims if self.size is not None else tuple(name for name in dims if name not in _POOLED_DIMS)


def _is_whole(dtype: torch.dtype) -> bool:
    return not (dtype.is_floating_point or dtype.is_complex)


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
    shrunk = _ADAPTIVE[kind, len(places)](moved.reshape(-1, 1, *lengths), sizes)
    back = [order.index(at) for at in range(values.dim())]
    return shrunk.reshape(*moved.shape[: len(others)], *sizes).permute(back)
