"""Cast, Flatten, Function: values in another dtype or shape, or as a function of the user's has them."""

from __future__ import annotations

import difflib
import functools
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor, nn

from torcheer.errors import InputError
from torcheer.features.transforms.transform import Applied

CASTS: Final[dict[str, torch.dtype]] = {
    "float16": torch.float16,
    "float32": torch.float32,
    "float64": torch.float64,
    "int8": torch.int8,
    "int16": torch.int16,
    "int32": torch.int32,
    "int64": torch.int64,
    "uint8": torch.uint8,
    "bool": torch.bool,
    "complex64": torch.complex64,
    "complex128": torch.complex128,
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
            lacks = "NumPy has no such dtype. " if name.startswith(("bfloat", "float8", "q")) else ""
            raise InputError(
                f"features cannot be kept as {name!r}: {lacks}{hint}There are {', '.join(CASTS)}."
            )
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
        return _Casting(layer, self, wanted)

    def dims(self, dims: tuple[str, ...], shape: tuple[int, ...], result: tuple[int, ...]) -> tuple[str, ...]:
        return dims


@dataclass(frozen=True, slots=True)
class _Casting:
    layer: str
    cast: Cast
    wanted: torch.dtype

    def __call__(self, values: Tensor) -> Tensor:
        if self.wanted is torch.bool or values.dtype is self.wanted:
            return values.to(self.wanted)
        if self.wanted.is_complex:
            return self._complex(values)
        return self._fractions(values) if self.wanted.is_floating_point else self._whole(values)

    def _complex(self, values: Tensor) -> Tensor:
        part = torch.float32 if self.wanted is torch.complex64 else torch.float64
        if not values.dtype.is_complex:
            return self._fractions(values, part).to(self.wanted)
        parts = torch.view_as_real(values.resolve_conj())
        return torch.view_as_complex(self._fractions(parts, part).contiguous())

    def _fractions(self, values: Tensor, wanted: torch.dtype | None = None) -> Tensor:
        wanted = wanted or self.wanted
        result = values.to(wanted)
        is_lost = result.isinf() & values.isfinite()
        if not is_lost.any():
            return result
        largest = torch.finfo(wanted).max
        self._refuse_unless_saturated(values, is_lost, f"beyond ±{largest:g}")
        # Of those that were lost only: what was infinite before stays so.
        return torch.where(is_lost, result.sign() * largest, result)

    def _whole(self, values: Tensor) -> Tensor:
        limits = torch.iinfo(self.wanted)
        if values.dtype.is_floating_point:
            # Half floats cannot hold the limits that they are compared with.
            values = values.to(torch.promote_types(values.dtype, torch.float32))
            self._refuse_nan(values)
            self._refuse_fractions(values)
            # One more than the largest is a power of two, and so exact in every float.
            is_high, is_low = values >= float(limits.max + 1), values < float(limits.min)
        else:
            values = values.to(torch.int64)
            is_high, is_low = values > limits.max, values < limits.min
        is_lost = is_high | is_low
        if not is_lost.any():
            return values.to(self.wanted)
        self._refuse_unless_saturated(values, is_lost, f"outside {limits.min} to {limits.max}")
        result = values.masked_fill(is_lost, 0).to(self.wanted)
        return result.masked_fill(is_high, limits.max).masked_fill(is_low, limits.min)

    def _refuse_nan(self, values: Tensor) -> None:
        num_bad = int((~values.isfinite()).sum())
        if num_bad:
            raise InputError(
                f"{self.cast.words} of layer {self.layer!r}: {num_bad:,} of {values.numel():,} values are "
                "not finite, and a whole number always is. Take 'float16' or wider."
            )

    def _refuse_fractions(self, values: Tensor) -> None:
        is_fraction = values != values.trunc()
        if is_fraction.any():
            one = float(values[is_fraction][0])
            raise InputError(
                f"{self.cast.words} of layer {self.layer!r}: {int(is_fraction.sum()):,} of "
                f"{values.numel():,} values have fractions, such as {one:g}, and would lose them. Take "
                "'float16', or make whole numbers of them first: lambda values: (100 * values).round()."
            )

    def _refuse_unless_saturated(self, values: Tensor, is_lost: Tensor, where: str) -> None:
        if self.cast.saturate:
            return
        farthest = float(values[is_lost].abs().max())
        name = self.cast.dtype
        raise InputError(
            f"{name} of layer {self.layer!r}: {int(is_lost.sum()):,} of {values.numel():,} values are "
            f"{where} (the farthest is ±{farthest:g}). Take a wider dtype, or '{name}:saturate'."
        )


@dataclass(frozen=True, slots=True)
class Flatten:
    """Each sample becomes one row of units, in the order that they lie in memory."""

    @property
    def words(self) -> str:
        return "flatten"

    def begin(self, layer: str, shape: tuple[int, ...], dtype: torch.dtype, dims: tuple[str, ...]) -> Applied:
        return _flat

    def dims(self, dims: tuple[str, ...], shape: tuple[int, ...], result: tuple[int, ...]) -> tuple[str, ...]:
        return ("unit",)


def _flat(values: Tensor) -> Tensor:
    return values.reshape(len(values), -1)


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
        said = f"function {self.words}" if self.words else _described(self.call)
        object.__setattr__(self, "words", said)

    def begin(self, layer: str, shape: tuple[int, ...], dtype: torch.dtype, dims: tuple[str, ...]) -> Applied:
        return _Call(layer, self)

    def dims(self, dims: tuple[str, ...], shape: tuple[int, ...], result: tuple[int, ...]) -> tuple[str, ...]:
        """The same for the same shape. Otherwise only one dimension has a name that means something."""
        if result == shape:
            return dims
        if len(result) == 1:
            return ("unit",)
        return tuple(f"dim_{at}" for at in range(1, len(result) + 1))


def _described(function: Any) -> str:
    """Such as "function package.module.name"."""
    kind = "module" if isinstance(function, nn.Module) else "function"
    return f"{kind} {_name_of(function)}"


def _name_of(thing: Any) -> str:
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


@dataclass(frozen=True, slots=True)
class _Call:
    layer: str
    function: Function

    def __call__(self, values: Tensor) -> Tensor:
        with torch.no_grad():
            result: Any = self.function.call(values)
        where = f"{self.function.words} of layer {self.layer!r}"
        if not isinstance(result, Tensor):
            hint = " torch.from_numpy makes one." if type(result).__module__ == "numpy" else ""
            raise InputError(f"{where}: it gave a {type(result).__name__}, and must give a tensor.{hint}")
        if result.dim() == 0 or len(result) != len(values):
            raise InputError(
                f"{where}: it was given {tuple(values.shape)} and gave {tuple(result.shape)}. The first "
                f"dimension is that of samples, and must stay {len(values)}."
            )
        return result
