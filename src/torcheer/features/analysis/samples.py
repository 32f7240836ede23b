"""Which samples are analysed: all, so many of them, or those that are named."""

from __future__ import annotations

import operator

import numpy
from numpy.typing import ArrayLike

from torcheer.errors import InputError
from torcheer.features.analysis.rows import Indices
from torcheer.netview.analysis.points import Array

Samples = int | ArrayLike | None


def chosen_samples(num_rows: int, samples: Samples, labels: Array | None = None) -> Indices:
    """Sorted, each once.

    A number takes that many, evenly spaced; with `labels`, as many of each label as it goes.
    """
    if samples is None:
        return numpy.arange(num_rows)
    if numpy.ndim(samples) == 0:
        return _so_many(num_rows, _count_of(samples, num_rows), labels)
    return _named(num_rows, numpy.asarray(samples))


def _count_of(samples: object, num_rows: int) -> int:
    try:
        count = operator.index(samples)  # type: ignore[arg-type]
    except TypeError:
        raise InputError(
            f"samples is {samples!r}: give a number of samples, an array of their indices, or None for all."
        ) from None
    if not 0 < count <= num_rows:
        raise InputError(f"samples is {count:,}, and there are {num_rows:,}: take 1 to {num_rows:,}.")
    return count


def _so_many(num_rows: int, count: int, labels: Array | None) -> Indices:
    if labels is None:
        return _spaced(count, num_rows)
    _, number, sizes = numpy.unique(labels, return_inverse=True, return_counts=True)
    shares = _even_shares(sizes, count)
    taken = [
        numpy.flatnonzero(number == label)[_spaced(int(share), int(size))]
        for label, (share, size) in enumerate(zip(shares, sizes, strict=True))
    ]
    return numpy.sort(numpy.concatenate(taken))


def _even_shares(sizes: Indices, count: int) -> Indices:
    """The same of each, as far as there are so many; what is left goes to the first that have more."""
    shares = numpy.zeros(len(sizes), numpy.int64)
    while (left := count - int(shares.sum())) > 0:
        has_more = numpy.flatnonzero(shares < sizes)
        each = left // len(has_more)
        if not each:
            shares[has_more[:left]] += 1
        shares[has_more] = numpy.minimum(shares[has_more] + each, sizes[has_more])
    return shares


def _spaced(count: int, size: int) -> Indices:
    return numpy.arange(count) * size // max(count, 1)


def _named(num_rows: int, given: Array) -> Indices:
    if given.dtype.kind == "b" and given.shape == (num_rows,):
        return numpy.flatnonzero(given)
    if given.ndim != 1 or given.dtype.kind not in "iu" or not len(given):
        raise InputError(
            f"samples of the shape {given.shape} and {given.dtype} name no samples: give their indices, or "
            f"True and False for each of {num_rows:,}."
        )
    chosen = numpy.unique(given).astype(numpy.int64)
    if chosen[0] < 0 or chosen[-1] >= num_rows:
        wrong = chosen[0] if chosen[0] < 0 else chosen[-1]
        raise InputError(f"there is no sample {wrong}: indices go from 0 to {num_rows - 1:,}.")
    if len(chosen) != len(given):
        raise InputError(
            f"samples names {len(given) - len(chosen):,} of them more than once: take numpy.unique of them."
        )
    return chosen
