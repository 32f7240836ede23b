"""How far two tensors are apart, and how far they may be."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from torcheer.capture.examining.readable import CHUNK


class Tolerance(NamedTuple):
    """Two values are close when they differ by no more than atol + rtol × the second."""

    rtol: float
    atol: float


# Those of torch.testing.assert_close.
_TOLERANCES = {
    torch.float16: Tolerance(1e-3, 1e-5),
    torch.bfloat16: Tolerance(1.6e-2, 1e-5),
    torch.float32: Tolerance(1.3e-6, 1e-5),
    torch.float64: Tolerance(1e-7, 1e-7),
    torch.complex32: Tolerance(1e-3, 1e-5),
    torch.complex64: Tolerance(1.3e-6, 1e-5),
    torch.complex128: Tolerance(1e-7, 1e-7),
}
EXACT = Tolerance(0.0, 0.0)  # whole numbers and truth values


def usual_tolerance(dtype: torch.dtype) -> Tolerance:
    """What torch.testing allows for a type."""
    known = _TOLERANCES.get(dtype)
    if known is not None:
        return known
    if dtype.is_floating_point:  # the eight-bit types, for which torch.testing has none
        return Tolerance(torch.finfo(dtype).eps, 1e-5)
    return EXACT


def wider(one: Tolerance, other: Tolerance) -> Tolerance:
    return Tolerance(max(one.rtol, other.rtol), max(one.atol, other.atol))


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Figures of |a - b|, element by element. NaN in the same place, and the same Inf, count as equal."""

    max_abs: float | None  # infinite where only one of the two is NaN; None for empty tensors
    max_rel: float | None  # of |a - b| / |b|, over the elements where b is not zero
    relative: float | None  # the largest |a - b| over the largest magnitude in either of the two
    mean_abs: float | None
    cosine: float | None  # of the elements that are finite in both
    num_far: int  # elements beyond the tolerance
    num_both_nan: int
    num_one_nan: int

    @property
    def is_close(self) -> bool:
        return self.num_far == 0


def difference(a: Tensor, b: Tensor, tolerance: Tolerance) -> Difference:
    """Of two plain tensors of the same shape, in double precision, piece by piece."""
    gathered = Gathered()
    for dim in range(a.dim()):
        if a.size(dim) > 1 and a.stride(dim) == 0 and b.stride(dim) == 0:
            a, b = a.narrow(dim, 0, 1), b.narrow(dim, 0, 1)  # expanded: the rest are copies of the first
    with torch.no_grad():
        flat_a, flat_b = a.reshape(-1), b.reshape(-1)
        for start in range(0, flat_a.numel(), CHUNK):
            gathered.add(flat_a[start : start + CHUNK].cpu(), flat_b[start : start + CHUNK].cpu(), tolerance)
    return gathered.difference()


def difference_of(a: Tensor | None, b: Tensor | None, tolerance: Tolerance) -> Difference | None:
    """Of two plain tensors; None where one is missing, or they have different shapes."""
    if a is None or b is None or a.shape != b.shape:
        return None
    return difference(a, b, tolerance)


class Gathered:
    """The figures while pieces are added. A plain record: it is filled piece by piece."""

    def __init__(self) -> None:
        self._num = self._num_far = self._num_both_nan = self._num_one_nan = 0
        self._max_abs = self._sum_abs = 0.0
        self._max_rel: float | None = None
        self._largest = 0.0
        self._dot = self._square_a = self._square_b = 0.0

    def add(self, a: Tensor, b: Tensor, tolerance: Tolerance) -> None:
        self._num += a.numel()
        are_whole = not any(t.is_floating_point() or t.is_complex() for t in (a, b))
        same = a == b  # before whole numbers lose digits
        wide = torch.complex128 if a.is_complex() or b.is_complex() else torch.float64
        a, b = a.to(wide), b.to(wide)
        distance, size = (a - b).abs(), b.abs()
        if are_whole:
            distance = torch.where(same, 0.0, distance.clamp(min=1.0))
        if not bool(distance.isfinite().all()):
            a, b, distance, size = self._without_odd(a, b, distance, size)
        self._num_far += int(torch.count_nonzero(distance > tolerance.atol + tolerance.rtol * size))
        if a.numel():
            self._max_abs = max(self._max_abs, distance.max().item())
            self._sum_abs += distance.sum().item()
            self._largest = max(self._largest, a.abs().max().item(), size.max().item())
            self._add_relative(distance, size)
            self._add_angle(a, b)

    def _without_odd(
        self, a: Tensor, b: Tensor, distance: Tensor, size: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Count the elements that are NaN or Inf in one of the two, and go on with the others."""
        nan_a, nan_b = a.isnan(), b.isnan()
        finite = a.isfinite() & b.isfinite()
        num_both, num_one = int((nan_a & nan_b).sum()), int((nan_a ^ nan_b).sum())
        # The same Inf is equal; beside any other value it is infinitely far.
        num_far = int((~finite & ~(nan_a & nan_b) & (a != b)).sum())
        self._num_both_nan += num_both
        self._num_one_nan += num_one
        self._num_far += num_far
        if num_far:
            self._max_abs = self._sum_abs = math.inf
        return a[finite], b[finite], distance[finite], size[finite]

    def _add_relative(self, distance: Tensor, size: Tensor) -> None:
        usable = size > 0
        if not bool(usable.all()):
            distance, size = distance[usable], size[usable]
        if size.numel():
            self._max_rel = max(self._max_rel or 0.0, (distance / size).max().item())

    def _add_angle(self, a: Tensor, b: Tensor) -> None:
        product = torch.vdot if a.is_complex() else torch.dot
        self._dot += product(a, b).real.item()
        self._square_a += product(a, a).real.item()
        self._square_b += product(b, b).real.item()

    def difference(self) -> Difference:
        return Difference(
            max_abs=self._max_abs if self._num else None,
            max_rel=self._max_rel,
            relative=self._relative() if self._num else None,
            mean_abs=self._sum_abs / self._num if self._num else None,
            cosine=self._cosine(),
            num_far=self._num_far,
            num_both_nan=self._num_both_nan,
            num_one_nan=self._num_one_nan,
        )

    def _relative(self) -> float:
        if not self._max_abs or math.isinf(self._max_abs):
            return self._max_abs
        return self._max_abs / self._largest if self._largest else math.inf

    def _cosine(self) -> float | None:
        if not self._square_a or not self._square_b:
            return None  # a vector of zeros has no direction
        ratio = self._dot / math.sqrt(self._square_a) / math.sqrt(self._square_b)
        return min(1.0, max(-1.0, ratio))
