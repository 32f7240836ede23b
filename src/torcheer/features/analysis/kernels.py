"""Products of samples, for probes of layers with more units than samples."""

from __future__ import annotations

from collections.abc import Iterator

import numpy

from torcheer.features.analysis.folds import Fold
from torcheer.features.analysis.moments import Moments, in_groups, moments
from torcheer.features.analysis.pairs import Affine, RawBlock, gram
from torcheer.features.analysis.progress import Told, part
from torcheer.features.analysis.rows import Source
from torcheer.netview.analysis.points import Matrix


def kernels(
    source: Source, folds: list[Fold], *, standardize: bool, memory_bytes: int, told: Told
) -> Iterator[tuple[Matrix, list[int]]]:
    """Samples by samples, and the folds that it is for: one for all, or one for each that is standardised.

    `memory_bytes`: what may be used besides the matrix. See `pairs_of_blocks` for the passes.
    """
    if not standardize:
        yield gram(source, memory_bytes, told=told), list(range(len(folds)))
        return
    unit_bytes = 8 * 6 * source.num_units
    for group in in_groups([fold.train for fold in folds], unit_bytes, 0, memory_bytes // 4):
        trains = [folds[number].train for number in group]
        for number, known in zip(group, moments(source, trains, has_gram=False), strict=True):
            share = part(told, number / len(folds), (number + 1) / len(folds))
            yield gram(source, memory_bytes * 3 // 4, _standard(source, known), told=share), [number]


def coordinates(kernel: Matrix) -> Matrix:
    """As many columns as it takes: rows with the same products with one another.

    A linear model with a penalty on squared weights has its weights in the span of the samples: it is the
    same model in these coordinates.
    """
    squares, turned = numpy.linalg.eigh(kernel)
    least = len(kernel) * float(numpy.finfo(numpy.float64).eps) * max(float(squares[-1]), 0.0)
    kept = squares > least
    if not kept.any():
        return numpy.zeros((len(kernel), 1))
    return numpy.asarray(turned[:, kept] * numpy.sqrt(squares[kept]))


def _standard(source: Source, known: Moments) -> Affine:
    shift = known.mean if source.shift is None else known.mean + source.shift
    scale = known.scale(standardize=True)

    def standardised(_: RawBlock, units: slice, chunk: Matrix) -> Matrix:
        return (chunk - shift[units]) * scale[units]

    return standardised
