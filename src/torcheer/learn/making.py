"""Tensors that a student writes down: numbers, zeros, weights at random that are the same each time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from torcheer.autograd.engine import tracer
from torcheer.autograd.factories import drawn
from torcheer.learn.faults import Fault
from torcheer.learn.limits import MAX_DIMS, check_number, check_shape


class Maker:
    """Makes leaves of one type of floats. Without a seed, those made first, second, … are always alike."""

    def __init__(self, dtype: torch.dtype) -> None:
        self.dtype = dtype
        self._num_random = 0

    def tensor(self, values: Any, requires_grad: bool) -> tracer:
        """Whole numbers stay whole, for places and classes, unless a gradient is wanted."""
        if isinstance(values, Tensor):
            raise Fault("this is a tensor already.")
        numbers = list(_flat(values, 0))
        check_shape((len(numbers),), "the tensor")
        is_float = requires_grad or any(isinstance(one, float) for one in numbers) or not numbers
        is_mask = bool(numbers) and all(isinstance(one, bool) for one in numbers) and not requires_grad
        dtype = torch.bool if is_mask else self.dtype if is_float else torch.int64
        try:
            made = torch.tensor(values, dtype=dtype)
        except (TypeError, ValueError, RuntimeError):
            raise Fault(
                "rows of a tensor must be equally long: T.tensor([[1.0, 2.0], [3.0, 4.0]])."
            ) from None
        return tracer(made, requires_grad=requires_grad)

    def param(self, sizes: Any, seed: int | None) -> tracer:
        """Weights: as given, or at random. Two digits are enough to learn with, and can be read."""
        if not isinstance(sizes, tuple) or not all(isinstance(one, int) for one in sizes):
            return self.tensor(sizes, True)
        return tracer(self._random(sizes, seed) / 2, requires_grad=True)

    def randn(self, sizes: Sequence[int], seed: int | None, requires_grad: bool) -> tracer:
        return tracer(self._random(sizes, seed), requires_grad=requires_grad)

    def filled(self, sizes: Sequence[int], value: float, requires_grad: bool) -> tracer:
        _check_sizes(sizes)
        return tracer(torch.full(tuple(sizes), value, dtype=self.dtype), requires_grad=requires_grad)

    def eye(self, n: Sequence[int], requires_grad: bool) -> tracer:
        if not 1 <= len(n) <= 2:
            raise Fault("eye() takes the number of rows, and perhaps that of columns.")
        sides = (n[0], n[-1])
        _check_sizes(sides)
        return tracer(torch.eye(*sides, dtype=self.dtype), requires_grad=requires_grad)

    def arange(self, start: float, end: float | None, step: float) -> tracer:
        first, last = (0, start) if end is None else (start, end)
        if not step:
            raise Fault("arange() makes no steps of 0.")
        check_shape((max(0, int((last - first) / step) + 1),), "the range")
        is_whole = all(isinstance(one, int) for one in (first, last, step))
        return tracer(torch.arange(first, last, step, dtype=torch.int64 if is_whole else self.dtype))

    def _random(self, sizes: Sequence[int], seed: int | None) -> Tensor:
        _check_sizes(sizes)
        self._num_random += 1
        return drawn(sizes, self._num_random if seed is None else seed, self.dtype)


def _check_sizes(sizes: Sequence[int]) -> None:
    if any(one < 0 for one in sizes):
        raise Fault("a size is not negative.")
    check_shape(sizes, "the tensor")


def _flat(values: Any, depth: int) -> Iterator[int | float]:
    if isinstance(values, list | tuple):
        if depth == MAX_DIMS:
            raise Fault(f"{MAX_DIMS} dimensions are allowed.")
        for one in values:
            yield from _flat(one, depth + 1)
    elif isinstance(values, int | float):
        check_number(values)
        yield values
    else:
        raise Fault(
            "a tensor is written with numbers: T.tensor([[1.0, 2.0]]); T.stack([a, b]) joins tensors."
        )
