"""Sums over the samples of each fold, in one pass: means, deviations, products of units."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy

from torcheer.features.analysis.folds import Mask
from torcheer.features.analysis.progress import Told, silent
from torcheer.features.analysis.rows import Indices, Source
from torcheer.netview.analysis.points import Array, Matrix


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Moments:
    """Of the samples that a model learns from."""

    num: int
    mean: Matrix  # of each unit, without the shift of the source
    deviation: Matrix  # of each unit; 0 exactly for one that is constant
    gram: Matrix | None  # units by units, centred
    target_mean: Matrix
    cross: Matrix  # units by targets, centred

    def scale(self, *, standardize: bool) -> Matrix:
        """By what each unit is multiplied. Constant units are left out of a standardised layer."""
        if not standardize:
            return numpy.ones(len(self.mean))
        varies = self.deviation > 0
        return numpy.where(varies, 1.0 / numpy.where(varies, self.deviation, 1.0), 0.0)


@dataclass(slots=True, kw_only=True, eq=False)
class _Sums:
    """Of the samples that are learnt from in the same folds."""

    totals: Matrix
    squares: Matrix
    lowest: Matrix
    highest: Matrix
    target_totals: Matrix
    cross: Matrix
    gram: Matrix | None
    num: int = 0

    def add(self, values: Matrix, targets: Matrix) -> None:
        self.num += len(values)
        self.totals += values.sum(axis=0)
        self.squares += numpy.einsum("ij,ij->j", values, values)
        numpy.minimum(self.lowest, values.min(axis=0), out=self.lowest)
        numpy.maximum(self.highest, values.max(axis=0), out=self.highest)
        self.target_totals += targets.sum(axis=0)
        self.cross += values.T @ targets
        if self.gram is not None:
            self.gram += values.T @ values


def moments(
    source: Source,
    trains: Sequence[Mask],
    columns: Callable[[slice], Matrix] | None = None,
    *,
    has_gram: bool,
    told: Told = silent,
) -> Iterator[Moments]:
    """Of each training set. One pass; a sample is added up once, however many sets it is in.

    `columns`: targets of a block.
    """
    patterns, pattern = _patterns(trains)
    num_columns = columns(slice(0, 1)).shape[1] if columns else 0
    sums = {
        place: _empty(source.num_units, num_columns, has_gram=has_gram)
        for place in numpy.flatnonzero(patterns.any(axis=1)).tolist()
    }
    for block in source.blocks():
        targets = columns(block.at) if columns else numpy.zeros((len(block.values), 0))
        for place in set(pattern[block.at].tolist()) & set(sums):
            chosen = pattern[block.at] == place
            is_all = bool(chosen.all())
            sums[place].add(block.values if is_all else block.values[chosen], targets[chosen])
        told(block.at.stop / source.num_samples)
    for train in range(len(trains)):
        # The sum of the others, not all less one: nothing cancels.
        yield _joined([part for place, part in sums.items() if patterns[place, train]])


def _patterns(trains: Sequence[Mask]) -> tuple[Array, Indices]:
    """In which sets samples are: each combination once, and which of them a sample has."""
    patterns, pattern = numpy.unique(numpy.stack(trains, axis=1), axis=0, return_inverse=True)
    return patterns, pattern.reshape(-1)


def in_groups(
    trains: Sequence[Mask], pattern_bytes: int, set_bytes: int, limit_bytes: int
) -> list[list[int]]:
    """Which sets go in one pass, the most that fit; one by one where nothing else does."""
    groups: list[list[int]] = []
    for size in range(len(trains), 0, -1):
        groups = [list(range(start, min(start + size, len(trains)))) for start in range(0, len(trains), size)]
        patterns = [_patterns([trains[number] for number in group])[0] for group in groups]
        needed = [
            int(pattern.any(axis=1).sum()) * pattern_bytes + len(group) * set_bytes
            for pattern, group in zip(patterns, groups, strict=True)
        ]
        if max(needed) <= limit_bytes:
            break
    return groups


def _empty(num_units: int, num_targets: int, *, has_gram: bool) -> _Sums:
    return _Sums(
        totals=numpy.zeros(num_units),
        squares=numpy.zeros(num_units),
        lowest=numpy.full(num_units, numpy.inf),
        highest=numpy.full(num_units, -numpy.inf),
        target_totals=numpy.zeros(num_targets),
        cross=numpy.zeros((num_units, num_targets)),
        gram=numpy.zeros((num_units, num_units)) if has_gram else None,
    )


def _joined(parts: list[_Sums]) -> Moments:
    num = sum(part.num for part in parts)
    mean = numpy.sum([part.totals for part in parts], axis=0) / num
    target_mean = numpy.sum([part.target_totals for part in parts], axis=0) / num
    cross = numpy.sum([part.cross for part in parts], axis=0) - num * numpy.outer(mean, target_mean)
    lowest = numpy.min([part.lowest for part in parts], axis=0)
    highest = numpy.max([part.highest for part in parts], axis=0)
    variance = numpy.sum([part.squares for part in parts], axis=0) / num - numpy.square(mean)
    return Moments(
        num=num,
        mean=mean,
        deviation=numpy.where(highest > lowest, numpy.sqrt(numpy.maximum(variance, 0.0)), 0.0),
        gram=_centred_gram(parts, mean, num),
        target_mean=target_mean,
        cross=cross,
    )


def _centred_gram(parts: list[_Sums], mean: Matrix, num: int) -> Matrix | None:
    grams = [part.gram for part in parts if part.gram is not None]
    if not grams:
        return None
    total = grams[0].copy()
    for more in grams[1:]:
        total += more
    total -= numpy.outer(num * mean, mean)
    return total
