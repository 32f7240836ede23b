"""Centred kernel alignment: how alike two layers, or two models, see the same samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

import numpy

from torcheer.errors import InputError
from torcheer.features.analysis.hsic import centred, check_enough, empty_sums, ratio, side_by_side
from torcheer.features.analysis.pairs import gram, squared_distances
from torcheer.features.analysis.rows import (
    MEMORY_BYTES,
    Indices,
    Rows,
    as_size,
    check_memory,
    shifted,
    source_of,
)
from torcheer.features.analysis.samples import Samples, chosen_samples
from torcheer.netview.analysis.points import Matrix

Kernel = Literal["linear", "rbf"]

_KERNELS: Final = get_args(Kernel)


@dataclass(frozen=True, slots=True, kw_only=True)
class Similarity:
    """Which products of two samples are meant, and which estimate of HSIC."""

    kernel: Kernel
    is_unbiased: bool
    fraction: float
    memory_bytes: int

    def __post_init__(self) -> None:
        check_memory(self.memory_bytes)
        if self.kernel not in _KERNELS:
            raise InputError(f"there is no kernel {self.kernel!r}: take {', '.join(map(repr, _KERNELS))}.")
        if not self.fraction > 0:
            raise InputError(f"fraction is {self.fraction}: give a positive part of the median distance.")


def cka(
    a: Rows,
    b: Rows,
    *,
    unbiased: bool = False,
    kernel: Kernel = "linear",
    samples: Samples = None,
    batch: int | None = None,
    fraction: float = 1.0,
    seed: int = 0,
    memory_bytes: int = MEMORY_BYTES,
) -> float:
    """1 where both see the samples in the same way, up to rotation and size; 0 where they share nothing.

    - `unbiased`: leave out every sample's product with itself (Song et al. 2012). The plain CKA of Kornblith
      et al. (2019) comes out too high where units are many and samples few; this one may be below 0.
    - `kernel`: `"linear"`, or `"rbf"` with a width of `fraction` times the median distance of two samples.
    - `batch`: for layers that are too large: HSIC, unbiased, is averaged over batches of about so many
      samples, drawn by `seed` (Nguyen et al. 2021). Where it is all the samples, the answer is that of
      `unbiased=True`. An rbf takes the median of each batch.

    Linear CKA is computed from products of units (one pass over both layers) or of samples (see `rsa` for
    the passes), by what is smaller and fits in `memory_bytes`; the answer is the same. In batches, each
    sample is read once. NaN where a layer does not vary.
    """
    wanted = Similarity(
        kernel=kernel,
        is_unbiased=unbiased or batch is not None,
        fraction=fraction,
        memory_bytes=memory_bytes,
    )
    if len(a) != len(b):
        raise InputError(
            f"layers of {len(a):,} and {len(b):,} samples cannot be compared: give the same samples of both."
        )
    chosen = chosen_samples(len(a), samples)
    check_enough(len(chosen), is_unbiased=wanted.is_unbiased)
    if batch is not None:
        return _in_batches(a, b, chosen, wanted, batch, seed)
    if _takes_units(a, b, len(chosen), wanted):
        return _by_units(a, b, chosen, wanted)
    vectors = [centred_kernel(rows, chosen, wanted) for rows in (a, b)]
    return _aligned(*vectors)


def centred_kernel(rows: Rows, chosen: Indices, wanted: Similarity, *, others_bytes: int = 0) -> Matrix:
    """Samples by samples. `others_bytes`: of the memory, so much is taken already."""
    source = source_of(rows, chosen, memory_bytes=wanted.memory_bytes)
    left = max(wanted.memory_bytes - others_bytes - samples_bytes(len(chosen), 1), 1)
    if wanted.kernel == "linear":
        return centred(gram(shifted(source), left), is_unbiased=wanted.is_unbiased)
    return centred(_rbf(squared_distances(source, left), wanted.fraction), is_unbiased=wanted.is_unbiased)


def samples_bytes(num_samples: int, num_layers: int) -> int:
    """What `num_layers` matrices of samples by samples need, and the work on one of them."""
    return 8 * num_samples**2 * (num_layers + 1)


def _aligned(one: Matrix, other: Matrix) -> float:
    return ratio(*(float(numpy.vdot(x, y)) for x, y in ((one, other), (one, one), (other, other))))


def _rbf(squares: Matrix, fraction: float) -> Matrix:
    median = float(numpy.median(squares[numpy.triu_indices(len(squares), 1)]))
    if median == 0:
        raise InputError(
            "half of all pairs of samples are the same to this layer, so that an rbf has no width: take the "
            "linear kernel, or leave such samples out."
        )
    squares *= -0.5 / (fraction**2 * median)
    return numpy.exp(squares, out=squares)


def _takes_units(a: Rows, b: Rows, num_samples: int, wanted: Similarity) -> bool:
    by_samples = samples_bytes(num_samples, 2)
    by_units = _units_bytes(a, b)
    fits = [by_samples <= wanted.memory_bytes, by_units <= wanted.memory_bytes and wanted.kernel == "linear"]
    if not any(fits):
        says_units = f" or {as_size(by_units)} for products of units" if wanted.kernel == "linear" else ""
        raise InputError(
            f"CKA of {num_samples:,} samples needs {as_size(by_samples)} for products of samples{says_units}"
            f", and {as_size(wanted.memory_bytes)} may be used: take fewer samples (samples=…), batches "
            f"(batch=512), or allow more (memory_bytes={min(by_samples, by_units)})."
        )
    return fits[1] and (not fits[0] or by_units < by_samples)


def _units_bytes(a: Rows, b: Rows) -> int:
    one, other = (int(numpy.prod(rows.shape[1:], dtype=numpy.int64)) for rows in (a, b))
    # Blocks of both besides, and what is added to the largest.
    return 8 * (one * one + other * other + one * other + 2 * max(one, other) ** 2) + 64 * (one + other)


def _by_units(a: Rows, b: Rows, chosen: Indices, wanted: Similarity) -> float:
    first, second = (
        shifted(source_of(rows, chosen, memory_bytes=wanted.memory_bytes // 2)) for rows in (a, b)
    )
    both = empty_sums(first.num_units, second.num_units)
    one = empty_sums(first.num_units, first.num_units)
    other = empty_sums(second.num_units, second.num_units)
    for x, y in side_by_side(first, second):
        both.add(x, y)
        one.add(x, x)
        other.add(y, y)
    return ratio(*(sums.hsic(is_unbiased=wanted.is_unbiased) for sums in (both, one, other)))


def _in_batches(a: Rows, b: Rows, chosen: Indices, wanted: Similarity, batch: int, seed: int) -> float:
    if batch < 4:
        raise InputError(f"batch is {batch}: an unbiased estimate needs 4 samples at least.")
    num_batches = max(1, len(chosen) // batch)
    largest = -(-len(chosen) // num_batches)
    row_bytes = max(rows.dtype.itemsize * numpy.prod(rows.shape[1:], dtype=numpy.int64) for rows in (a, b))
    needed = int(samples_bytes(largest, 2) + largest * row_bytes)
    if needed > wanted.memory_bytes:
        raise InputError(
            f"batches of {largest:,} samples need {as_size(needed)}, and {as_size(wanted.memory_bytes)} may "
            f"be used: take smaller ones (batch={max(4, batch // 4)}), or allow more (memory_bytes={needed})."
        )
    mixed = numpy.random.default_rng(seed).permutation(chosen)
    totals = numpy.zeros(3)
    for part in numpy.array_split(mixed, num_batches):
        one, other = (centred_kernel(rows, numpy.sort(part), wanted) for rows in (a, b))
        num = len(part)
        totals += numpy.array([numpy.vdot(x, y) for x, y in ((one, other), (one, one), (other, other))]) / (
            num * (num - 3)
        )
    return ratio(*totals.tolist())
