"""Layers against layers: how alike each two of them see the same samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy
from numpy.typing import NDArray

from torcheer.analysis.cka import Kernel, Similarity, centred_kernel, check_enough, cka, ratio, samples_bytes
from torcheer.analysis.rows import (
    MEMORY_BYTES,
    Indices,
    Matrix,
    Rows,
    Samples,
    as_size,
    check_memory,
    chosen_samples,
)
from torcheer.analysis.similarity import (
    Metric,
    check_matrix_fits,
    correlation,
    similarity_values,
    standardised,
)
from torcheer.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LayerComparison:
    """Layers by layers: `values[i, j]` is about `names[i]` and `names[j]`."""

    names: tuple[str, ...]
    values: Matrix  # 1 on the diagonal, NaN for a layer that does not vary
    method: Literal["rsa", "cka"]
    num_samples: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    layers: Mapping[str, Rows]
    chosen: Indices
    memory_bytes: int


def compare_layers(
    layers: Mapping[str, Rows],
    *,
    method: Literal["rsa", "cka"] = "rsa",
    samples: Samples = None,
    metric: Metric = "correlation",
    second_order: Literal["spearman", "pearson"] = "spearman",
    unbiased: bool = False,
    kernel: Kernel = "linear",
    batch: int | None = None,
    memory_bytes: int = MEMORY_BYTES,
) -> LayerComparison:
    """Of every layer with every other.

    - `method`: `"rsa"` correlates the distances of all pairs of samples, by `metric` and `second_order`
      (pairs for which one of two layers has no distance are left out); `"cka"` takes `unbiased`, `kernel` and
      `batch`, as `cka` does.
    - `samples`: as for `rsa`; the same of every layer.

    The matrix of a layer is computed once, and half of it is kept: all must fit in `memory_bytes`. Where
    they do not, or with `batch`, CKA is computed for each pair of layers anew.
    """
    check_memory(memory_bytes)
    counts = {name: len(rows) for name, rows in layers.items()}
    if not counts:
        raise InputError("there are no layers to compare: give one at least.")
    if len(set(counts.values())) > 1:
        told = ", ".join(f"{name!r} has {count:,}" for name, count in counts.items())
        raise InputError(f"layers of different samples cannot be compared ({told}): give the same of each.")
    chosen = chosen_samples(next(iter(counts.values())), samples)
    work = _Work(layers=layers, chosen=chosen, memory_bytes=memory_bytes)
    if method == "rsa":
        values = _by_rsa(work, metric, second_order)
    elif method == "cka":
        values = _by_cka(work, unbiased=unbiased, kernel=kernel, batch=batch)
    else:
        raise InputError(f"there is no method {method!r}: take 'rsa' or 'cka'.")
    return LayerComparison(names=tuple(layers), values=values, method=method, num_samples=len(chosen))


def _by_rsa(work: _Work, metric: Metric, second_order: str) -> Matrix:
    if second_order not in ("spearman", "pearson"):
        raise InputError(f"there is no second order {second_order!r}: take 'spearman' or 'pearson'.")
    num = len(work.chosen)
    kept = 4 * num * (num - 1) * len(work.layers)
    check_matrix_fits(num, work.memory_bytes)
    # Ranks need the pairs, sorted, and their places.
    _check_kept(kept + 5 * 8 * num**2, len(work.layers), work)
    above = numpy.triu_indices(num, 1)
    vectors = []
    for rows in work.layers.values():
        left = max(work.memory_bytes - kept, 3 * 8 * num**2)
        values = similarity_values(rows, work.chosen, metric=metric, memory_bytes=left)
        vectors.append(values[above] if metric == "euclidean" else 1.0 - values[above])
    is_there = [~numpy.isnan(vector) for vector in vectors]
    made: set[int] = set()

    def of(number: int, both: NDArray[numpy.bool_]) -> Matrix:
        if not both.all():
            return standardised(vectors[number][both], second_order)
        if number not in made:
            # In place of what they were made of: they have its order.
            made.add(number)
            vectors[number] = standardised(vectors[number], second_order)
        return vectors[number]

    result = numpy.full((len(vectors), len(vectors)), numpy.nan)
    for i in range(len(vectors)):
        for j in range(i, len(vectors)):
            both = is_there[i] & is_there[j]
            one, other = of(i, both), of(j, both)
            result[i, j] = result[j, i] = correlation(one, other)
    return result


def _by_cka(work: _Work, *, unbiased: bool, kernel: Kernel, batch: int | None) -> Matrix:
    num = len(work.chosen)
    wanted = Similarity(kernel=kernel, is_unbiased=unbiased, fraction=1.0, memory_bytes=work.memory_bytes)
    check_enough(num, is_unbiased=unbiased or batch is not None)
    kept = 4 * num * (num + 1) * len(work.layers)
    if batch is not None or kept + samples_bytes(num, 2) > work.memory_bytes:
        return _pair_by_pair(work, wanted, batch)
    above = numpy.triu_indices(num, 1)
    vectors = []
    for rows in work.layers.values():
        values = centred_kernel(rows, work.chosen, wanted, others_bytes=kept)
        vectors.append(numpy.concatenate([values[above] * 2**0.5, numpy.diagonal(values)]))
    dots = numpy.array([[float(one @ other) for other in vectors] for one in vectors])
    return numpy.array(
        [[ratio(dots[i, j], dots[i, i], dots[j, j]) for j in range(len(dots))] for i in range(len(dots))]
    )


def _pair_by_pair(work: _Work, wanted: Similarity, batch: int | None) -> Matrix:
    layers = list(work.layers.values())
    values = numpy.empty((len(layers), len(layers)))
    for i, one in enumerate(layers):
        for j, other in enumerate(layers[i:], i):
            values[i, j] = values[j, i] = cka(
                one,
                other,
                unbiased=wanted.is_unbiased,
                kernel=wanted.kernel,
                samples=work.chosen,
                batch=batch,
                memory_bytes=work.memory_bytes,
            )
    return values


def _check_kept(needed: int, num_layers: int, work: _Work) -> None:
    if needed > work.memory_bytes:
        most = int(len(work.chosen) * (work.memory_bytes / needed) ** 0.5)
        raise InputError(
            f"matrices of {len(work.chosen):,} samples for {num_layers:,} layers need {as_size(needed)}, and "
            f"{as_size(work.memory_bytes)} may be used: take fewer samples (samples={most}) or fewer layers, "
            f"or allow more (memory_bytes={needed})."
        )
