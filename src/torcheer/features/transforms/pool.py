"""Pool: one number for each channel instead of one for each place, or a coarser grid of places."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from torcheer.errors import InputError
from torcheer.features.transforms.transform import Applied, working_dtype

POOLED_DIMS: Final = ("z", "y", "x", "time", "token")
_KINDS: Final = ("mean", "max")
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
        if self.kind not in _KINDS:
            raise InputError(f"a pool is of the kind 'mean' or 'max', not {self.kind!r}.")
        if self.size is None:
            return
        sizes = self.size if isinstance(self.size, tuple) else (self.size,)
        if not sizes or not all(type(size) is int and size >= 1 for size in sizes):
            raise InputError(
                f"the size of a pool is a whole number such as 2, or one for each dimension such as (2, 3), "
                f"not {self.size!r}."
            )

    @property
    def words(self) -> str:
        if self.size is None:
            return f"pool {self.kind}"
        if isinstance(self.size, int):
            return f"pool {self.kind} to {self.size}"
        return f"pool {self.kind} to ({', '.join(map(str, self.size))})"

    def begin(self, layer: str, shape: tuple[int, ...], dtype: torch.dtype, dims: tuple[str, ...]) -> Applied:
        # One further in a batch, whose first dimension is that of samples.
        places = tuple(at + 1 for at, name in enumerate(dims) if name in POOLED_DIMS)
        if not places:
            return _unchanged
        if dtype.is_complex and (self.kind == "max" or self.size is not None):
            working_dtype(dtype, layer, self.words)
        pooled = _Pooled(layer=layer, pool=self, places=places, num_dims=len(shape) + 1, dtype=dtype)
        if self.size is None:
            return pooled
        return _Shrunk(pooled, self._sizes(layer, dims, len(places)))

    def dims(self, dims: tuple[str, ...], shape: tuple[int, ...], result: tuple[int, ...]) -> tuple[str, ...]:
        if self.size is not None:
            return dims
        return tuple(name for name in dims if name not in POOLED_DIMS)

    def _sizes(self, layer: str, dims: tuple[str, ...], num_places: int) -> tuple[int, ...]:
        if num_places > 3:
            raise InputError(
                f"{self.words} of layer {layer!r}: at most three dimensions can be made smaller, and "
                f"{dims} has {num_places} of them. Pool without a size."
            )
        if not isinstance(self.size, tuple):
            assert self.size is not None
            return (self.size,) * num_places
        if len(self.size) != num_places:
            raise InputError(
                f"{self.words} of layer {layer!r}: the size has {len(self.size)} numbers, and a sample "
                f"{dims} has {num_places} dimension{'s' if num_places > 1 else ''} to pool. "
                "Give one number for all of them."
            )
        return self.size


def _unchanged(values: Tensor) -> Tensor:
    return values


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pooled:
    """All places become one."""

    layer: str
    pool: Pool
    places: tuple[int, ...]  # dimensions of a batch
    num_dims: int  # of a batch
    dtype: torch.dtype  # at the beginning

    def __call__(self, values: Tensor) -> Tensor:
        self.check(values)
        # In one order in memory, so that it is added up in one order.
        values = values.contiguous()
        if self.pool.kind == "max":
            return values.amax(self.places)
        if values.dtype.is_complex:
            return _mean(values, self.places)
        mean = _mean(values.to(self.working), self.places)
        return mean.to(values.dtype) if values.dtype.is_floating_point else mean

    @property
    def working(self) -> torch.dtype:
        return working_dtype(self.dtype, self.layer, self.pool.words)

    def check(self, values: Tensor) -> None:
        if values.dim() != self.num_dims:
            raise InputError(
                f"{self.pool.words} of layer {self.layer!r}: a batch began with {self.num_dims} dimensions, "
                f"and now is {tuple(values.shape)}."
            )


def _mean(values: Tensor, places: tuple[int, ...]) -> Tensor:
    if len(values) == 1:
        # Torch shares the sum for one single number out among its threads, in another order than for more.
        return torch.cat([values, values]).mean(places)[:1]
    return values.mean(places)


@dataclass(frozen=True, slots=True)
class _Shrunk:
    """Fewer places, each the mean or the maximum of those around it."""

    pooled: _Pooled
    sizes: tuple[int, ...]

    def __call__(self, values: Tensor) -> Tensor:
        self.pooled.check(values)
        places, kind = self.pooled.places, self.pooled.pool.kind
        others = [at for at in range(values.dim()) if at not in places]
        order = [*others, *places]
        moved = values.to(self.pooled.working).permute(order).contiguous()
        lengths = moved.shape[len(others) :]
        sizes = tuple(min(size, length) for size, length in zip(self.sizes, lengths, strict=True))
        # A batch and one dimension of channels is what these functions of torch want.
        shrunk = _ADAPTIVE[kind, len(places)](moved.reshape(-1, 1, *lengths), sizes)
        back = [order.index(at) for at in range(values.dim())]
        result = shrunk.reshape(*moved.shape[: len(others)], *sizes).permute(back)
        keeps = values.dtype.is_floating_point or kind == "max"
        return result.to(values.dtype) if keeps else result
