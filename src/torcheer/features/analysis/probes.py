"""Linear probes: what can be read from a layer, by a ridge or a logistic regression."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import ArrayLike

from torcheer.errors import InputError
from torcheer.features.analysis import classifying, ridge
from torcheer.features.analysis.classifying import LogisticTask
from torcheer.features.analysis.folds import Folds, folds_of, groups_of
from torcheer.features.analysis.progress import Told, part, rising
from torcheer.features.analysis.results import Fitted, Kind, Probe, judged
from torcheer.features.analysis.ridge import RidgeTask
from torcheer.features.analysis.rows import (
    MEMORY_BYTES,
    Rows,
    Source,
    as_size,
    check_memory,
    held,
    shifted,
    source_of,
)
from torcheer.features.analysis.samples import Samples
from torcheer.features.analysis.targets import Targets, targets_of
from torcheer.netview.analysis.points import Matrix


def probe(
    rows: Rows,
    targets: ArrayLike,
    *,
    kind: Kind | None = None,
    folds: Folds = 5,
    alpha: float | ArrayLike = 1.0,
    standardize: bool = False,
    samples: Samples = None,
    groups: ArrayLike | None = None,
    seed: int = 0,
    memory_bytes: int = MEMORY_BYTES,
    progress: Told | None = None,
) -> Probe:
    """Cross-validated: every sample is predicted by a model that has not learnt from it.

    - `targets`: for each sample of the layer a class (ints, strings, bools) or a number, or a row of numbers
      (floats).
    - `kind`: logistic regression for classes and ridge regression for numbers, unless told otherwise. Ridge
      for classes is fitted to 1 and -1, one class against the others.
    - `folds`: so many, at random by `seed`, with the same share of each class in all; or pairs of indices
      (training, testing).
    - `alpha`: the weight of the penalty on squared weights; the intercept has none. Of several, each fold
      chooses one from what it learns from: ridge by leaving out one sample at a time, logistic by the loss in
      three parts.
    - `standardize`: each unit by its mean and deviation in the training samples of a fold; units that are
      constant there are left out.
    - `samples`: all unless told otherwise; a number takes that many, as many of each class as it goes; or
      their indices.
    - `groups`: samples of the same group are never on both sides of a fold.
    - `progress`: called with the fraction that is done, from 0 to 1.

    The layer is read into memory where it fits besides the rest. Otherwise, where products of all units fit
    in `memory_bytes`, ridge reads it twice, or three times with several alphas, and logistic regression once
    for each of some dozens to hundreds of steps; where products of all samples do, both read it as `rsa`.
    """
    check_memory(memory_bytes)
    told = rising(progress)
    told(0.0)
    wanted = targets_of(targets, len(rows), samples)
    chosen_kind = _kind(kind, wanted)
    alphas = _alphas(alpha)
    parts = folds_of(folds, wanted, groups, len(rows), seed)
    source = shifted(source_of(rows, wanted.samples, memory_bytes=memory_bytes))
    if chosen_kind == "ridge":
        work: _Work = _RidgeWork(
            task=RidgeTask(targets=wanted, folds=parts, alphas=alphas, standardize=standardize)
        )
    else:
        task = LogisticTask(
            targets=wanted,
            folds=parts,
            alphas=alphas,
            standardize=standardize,
            groups=None if groups is None else groups_of(groups, len(rows))[wanted.samples],
            seed=seed,
        )
        work = _LogisticWork(task=task)
    with _told_what_to_do():
        fitted = _fitted(source, work, memory_bytes, told)
    told(1.0)
    return judged(fitted, wanted, parts, kind=chosen_kind, num_units=source.num_units)


def probe_layers(layers: Mapping[str, Rows], targets: ArrayLike, **options: Any) -> dict[str, Probe]:
    """`probe` of each layer, with the same folds. `progress` goes once from 0 to 1."""
    told = rising(options.pop("progress", None))
    return {
        name: probe(
            rows, targets, progress=part(told, place / len(layers), (place + 1) / len(layers)), **options
        )
        for place, (name, rows) in enumerate(layers.items())
    }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _RidgeWork:
    task: RidgeTask
    name: str = "ridge"

    def needs(self, source: Source) -> tuple[int, int]:
        """Bytes, by units and by samples."""
        num_alphas = len(self.task.alphas)
        return ridge.square_bytes(source.num_units, num_alphas), ridge.square_bytes(
            source.num_samples, num_alphas
        )

    def run(self, source: Source, memory_bytes: int, told: Told, *, is_by_units: bool) -> Fitted:
        fit = ridge.by_units if is_by_units else ridge.by_samples
        return fit(source, self.task, memory_bytes, told)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _LogisticWork:
    task: LogisticTask
    name: str = "logistic"

    def needs(self, source: Source) -> tuple[int, int]:
        columns = self.task.targets.num_columns
        return classifying.units_bytes(source.num_units, columns), classifying.samples_bytes(
            source.num_samples, columns
        )

    def run(self, source: Source, memory_bytes: int, told: Told, *, is_by_units: bool) -> Fitted:
        fit = classifying.by_units if is_by_units else classifying.by_samples
        return fit(source, self.task, memory_bytes, told)


_Work = _RidgeWork | _LogisticWork


def _fitted(source: Source, work: _Work, memory_bytes: int, told: Told) -> Fitted:
    # Four blocks are on their way: as they are stored, as float64, without the mean, and those of one fold.
    usable = memory_bytes - 4 * source.block_bytes
    by_units, by_samples = work.needs(source)
    if min(by_units, by_samples) > usable:
        raise InputError(
            f"a {work.name} probe of {source.num_samples:,} samples and {source.num_units:,} units needs "
            f"{as_size(by_units)} for units or {as_size(by_samples)} for samples, and {as_size(usable)} of "
            f"{as_size(memory_bytes)} are left for it: take fewer samples (samples=…), pool or project the "
            f"layer when it is extracted, or allow more (memory_bytes={2 * min(by_units, by_samples)})."
        )
    is_small = source.num_units <= source.num_samples
    is_by_units = by_units <= usable if is_small else by_samples > usable
    needed = by_units if is_by_units else by_samples
    before = source
    source = held(source, usable - needed)
    if source is not before:
        usable -= source.num_samples * source.num_units * source.item_bytes
    return work.run(source, usable, told, is_by_units=is_by_units)


def _kind(kind: Kind | None, targets: Targets) -> Kind:
    if kind not in (None, "ridge", "logistic"):
        raise InputError(f"there is no probe {kind!r}: take 'ridge' or 'logistic'.")
    if kind == "logistic" and targets.classes is None:
        raise InputError(
            "floats are numbers, and a logistic probe predicts classes: give ints or strings, or take "
            "kind='ridge'."
        )
    return kind or ("ridge" if targets.classes is None else "logistic")


def _alphas(given: float | ArrayLike) -> Matrix:
    try:
        alphas = numpy.atleast_1d(numpy.asarray(given, numpy.float64))
    except (TypeError, ValueError):
        raise InputError(f"alpha is {given!r}: give a positive number, or several.") from None
    if alphas.ndim != 1 or not len(alphas) or not (numpy.isfinite(alphas) & (alphas > 0)).all():
        raise InputError(f"alpha is {given!r}: give a positive number, or several.")
    return numpy.maximum(alphas, numpy.finfo(numpy.float64).tiny)  # of less there is no inverse


@contextmanager
def _told_what_to_do() -> Iterator[None]:
    """Where values are so large that NumPy cannot compute with their squares, or finds no solution."""
    try:
        with numpy.errstate(over="raise"):
            yield
    except (FloatingPointError, numpy.linalg.LinAlgError) as error:
        raise InputError(
            f"the probe cannot be computed ({error}): values of the layer are too large, or too different in "
            "size. Divide the layer by its largest value before, or take a larger alpha."
        ) from error
