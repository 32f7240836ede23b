"""How much two layers depend on one another (HSIC): centred matrices of samples, and their products."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy

from torcheer.errors import InputError
from torcheer.features.analysis.rows import Source
from torcheer.netview.analysis.points import Matrix


def centred(kernel: Matrix, *, is_unbiased: bool) -> Matrix:
    """In place: such that the sum of the products of two of them is their HSIC, up to a factor.

    The unbiased one is that of Song et al. (2012), which leaves out every sample's product with itself. In
    this form, its rows sum to 0 without the diagonal.
    """
    num = len(kernel)
    if not is_unbiased:
        means = kernel.mean(axis=0)
        kernel -= means[:, None]
        kernel -= means - means.mean()
        return kernel
    numpy.fill_diagonal(kernel, 0.0)
    sums = kernel.sum(axis=0) / (num - 2)
    kernel -= sums[:, None]
    kernel -= sums - sums.sum() / (num - 1)
    numpy.fill_diagonal(kernel, 0.0)
    return kernel


def check_enough(num_samples: int, *, is_unbiased: bool) -> None:
    least = 4 if is_unbiased else 2
    if num_samples < least:
        raise InputError(f"CKA of {num_samples} samples is not defined: give {least} at least.")


def ratio(both: float, first: float, second: float) -> float:
    """CKA. NaN where a layer does not vary, or where an estimate of its own HSIC is not above 0."""
    if not (first > 0 and second > 0):
        return float("nan")
    return both / float(numpy.sqrt(first) * numpy.sqrt(second))


@dataclass(slots=True, kw_only=True, eq=False)
class CrossSums:
    """What linear HSIC of two layers needs, summed over samples: units by units, filled block by block."""

    products: Matrix  # x yᵀ
    sums: tuple[Matrix, Matrix]  # x, and y
    weighted: tuple[Matrix, Matrix]  # x |y|², and y |x|²
    lengths: tuple[float, float] = (0.0, 0.0)  # |x|², and |y|²
    joint: float = 0.0  # |x|² |y|²
    num: int = 0

    def add(self, x: Matrix, y: Matrix) -> None:
        of_x, of_y = numpy.einsum("ij,ij->i", x, x), numpy.einsum("ij,ij->i", y, y)
        self.products += x.T @ y
        self.sums[0][:] += x.sum(axis=0)
        self.sums[1][:] += y.sum(axis=0)
        self.weighted[0][:] += of_y @ x
        self.weighted[1][:] += of_x @ y
        self.lengths = self.lengths[0] + float(of_x.sum()), self.lengths[1] + float(of_y.sum())
        self.joint += float(of_x @ of_y)
        self.num += len(x)

    def hsic(self, *, is_unbiased: bool) -> float:
        """As the sum of the products of two `centred` matrices."""
        x, y = self.sums
        if not is_unbiased:
            left = self.products - numpy.outer(x / self.num, y)
            return float(numpy.vdot(left, left))
        own = float(numpy.vdot(self.products, self.products)) - self.joint
        totals = (float(x @ x) - self.lengths[0]) * (float(y @ y) - self.lengths[1])
        rows = float(x @ self.products @ y - x @ self.weighted[0] - y @ self.weighted[1]) + self.joint
        return own + totals / ((self.num - 1) * (self.num - 2)) - 2 * rows / (self.num - 2)


def empty_sums(num_first: int, num_second: int) -> CrossSums:
    return CrossSums(
        products=numpy.zeros((num_first, num_second)),
        sums=(numpy.zeros(num_first), numpy.zeros(num_second)),
        weighted=(numpy.zeros(num_first), numpy.zeros(num_second)),
    )


def side_by_side(first: Source, second: Source) -> Iterator[tuple[Matrix, Matrix]]:
    """The same samples of both, block by block."""
    step = min(first.rows_at_once(), second.rows_at_once())
    for one, other in zip(first.blocks(step), second.blocks(step), strict=True):
        yield one.values, other.values
