"""Linear probes: what can be read from a layer, by a ridge or a logistic regression."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy
from numpy.typing import ArrayLike

from torcheer.analysis.linear_models import (
    Kind,
    Progress,
    Task,
    fit_in_memory,
    logistic_in_blocks,
    memory_bytes_in_blocks,
    ridge_in_blocks,
    scalers_of,
)
from torcheer.analysis.rows import (
    MEMORY_BYTES,
    Affine,
    Array,
    Block,
    Indices,
    Matrix,
    Rows,
    Samples,
    Source,
    as_size,
    check_memory,
    gram,
    shifted,
    source_of,
)
from torcheer.analysis.targets import Fold, Folds, Targets, folds_of, groups_of, targets_of
from torcheer.errors import InputError

_LARGEST: Final = 1e100  # values whose squares, summed up, are still numbers


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Probe:
    """How well a linear model reads the targets from a layer, on samples that it has not learnt from."""

    kind: Kind
    metric: Literal["accuracy", "r2"]
    scores: Matrix  # of each fold; of several targets, the mean of theirs
    target_scores: Matrix | None  # r2: folds by columns of targets; NaN where one does not vary in a fold
    alphas: Matrix  # of each fold, the one that was chosen
    samples: Indices  # that were tested: with a number of folds, all that were chosen
    folds: Indices  # in which fold each of them was tested
    predictions: Array  # one for each of them, by the model that has not seen it
    classes: Array | None
    confusion: Indices | None  # classes by classes: row the true one, column the predicted one
    num_units: int
    num_samples: int
    chance: float  # accuracy of naming the most frequent class; r2 of naming the mean
    is_converged: bool  # False: a logistic fit ended before its weights were exact

    def __repr__(self) -> str:
        return (
            f"<Probe, {self.kind}: {self.metric} {self.mean:.3f} ± {self.std:.3f} over {len(self.scores)} "
            f"folds, chance {self.chance:.3f}; {self.num_samples:,} samples, {self.num_units:,} units>"
        )

    @property
    def mean(self) -> float:
        return float(self.scores.mean())

    @property
    def std(self) -> float:
        """Over folds."""
        return float(self.scores.std())


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
    progress: Progress | None = None,
) -> Probe:
    """Cross-validated: every sample is predicted by a model that has not learnt from it.

    Needs `pip install 'torcheer[analysis]'`.

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

    scikit-learn fits the models where the layer fits in `memory_bytes` three times. Otherwise, where products
    of all samples do, it is read as by `rsa`; and where those of all units do, ridge reads it twice, or three
    times with several alphas, and logistic regression once for each of some dozens to hundreds of steps. The
    predictions are the same.
    """
    check_memory(memory_bytes)
    told: Progress = progress or (lambda _: None)
    told(0.0)
    wanted = targets_of(targets, len(rows), samples)
    task = Task(
        kind=_kind(kind, wanted),
        targets=wanted,
        candidates=_alphas(alpha),
        folds=folds_of(folds, wanted, groups, len(rows), seed),
        standardize=standardize,
        groups=None if groups is None else groups_of(groups, len(rows))[wanted.samples],
        seed=seed,
    )
    source = shifted(source_of(rows, wanted.samples, memory_bytes=memory_bytes))
    with _says_what_to_do():
        _fit(source, task, memory_bytes, told)
    told(1.0)
    return _judged(task, num_units=source.num_units)


def probe_layers(layers: Mapping[str, Rows], targets: ArrayLike, **options: Any) -> dict[str, Probe]:
    """`probe` of each layer, with the same folds. `progress` goes once from 0 to 1."""
    told: Progress = options.pop("progress", None) or (lambda _: None)
    return {
        name: probe(
            rows, targets, progress=_part(told, place / len(layers), (place + 1) / len(layers)), **options
        )
        for place, (name, rows) in enumerate(layers.items())
    }


# --- which way -------------------------------------------------------------------------------------------


def _fit(source: Source, task: Task, memory_bytes: int, progress: Progress) -> None:
    by_units = memory_bytes_in_blocks(task, source.num_units)
    by_samples = 8 * 5 * source.num_samples**2
    # The layer, what one fold learns from, and the room to solve it.
    in_memory = 8 * 3 * source.num_samples * source.num_units
    # Four blocks are on their way: as they are stored, as float64, without the mean, and those of one fold.
    usable = memory_bytes - 4 * source.block_bytes
    ways: list[tuple[bool, Callable[[Source, Task, int, Progress], None]]] = [
        (in_memory <= memory_bytes, _whole),
        (by_samples <= memory_bytes, _by_samples),
        (by_units <= usable, ridge_in_blocks if task.kind == "ridge" else logistic_in_blocks),
    ]
    if source.num_samples < source.num_units:
        ways[:2] = reversed(ways[:2])
    fit = next((fit for fits_in, fit in ways if fits_in), None)
    if fit is None:
        raise InputError(
            f"a {task.kind} probe of {source.num_samples:,} samples and {source.num_units:,} units needs "
            f"{as_size(by_units)} for units or {as_size(by_samples)} for samples, and {as_size(usable)} of "
            f"{as_size(memory_bytes)} are left for it: take fewer samples (samples=…), pool or project the "
            f"layer when it is extracted, or allow more (memory_bytes={2 * min(by_units, by_samples)})."
        )
    fit(source, task, usable, progress)


def _whole(source: Source, task: Task, _: int, progress: Progress) -> None:
    values = numpy.empty((source.num_samples, source.num_units))
    for block in source.blocks():
        values[block.at] = block.values
    _check_sizes(values)
    for number in range(len(task.folds)):
        fit_in_memory(values, task, number, is_scaled=task.standardize)
        progress((number + 1) / len(task.folds))


def _by_samples(source: Source, task: Task, memory_bytes: int, progress: Progress) -> None:
    """In coordinates from products of samples, computed once; of standardised units, once for each fold."""
    left = max(1, memory_bytes - 8 * 2 * source.num_samples**2)
    numbers = list(range(len(task.folds)))
    for group in [[number] for number in numbers] if task.standardize else [numbers]:
        affine = _standard(source, task.folds[group[0]]) if task.standardize else None
        start, stop = group[0] / len(numbers), (group[-1] + 1) / len(numbers)
        products = gram(source, left, affine, progress=_part(progress, start, (start + stop) / 2))
        _check_sizes(products)
        values = _coordinates(products)
        del products
        for number in group:
            fit_in_memory(values, task, number, is_scaled=False)
            progress((start + stop) / 2 + (stop - start) / 2 * (number + 1 - group[0]) / len(group))


def _coordinates(products: Matrix) -> Matrix:
    """As many columns as it takes: rows with the same products with one another.

    A linear model with a penalty on squared weights has its weights in the span of the samples: it is the
    same model in these coordinates.
    """
    squares, turned = numpy.linalg.eigh(products)
    least = len(products) * float(numpy.finfo(numpy.float64).eps) * max(float(squares[-1]), 0.0)
    kept = squares > least
    if not kept.any():
        return numpy.zeros((len(products), 1))
    return numpy.asarray(turned[:, kept] * numpy.sqrt(squares[kept]))


def _standard(source: Source, fold: Fold) -> Affine:
    (scaler,) = scalers_of(source, [fold])
    shift = scaler.mean_ if source.shift is None else scaler.mean_ + source.shift
    # Units that are constant in the training samples are left out.
    scale = numpy.where(scaler.var_ > 0, 1.0 / scaler.scale_, 0.0)

    def standardised(_: Block, units: slice, chunk: Matrix) -> Matrix:
        return numpy.asarray((chunk - shift[units]) * scale[units])

    return standardised


def _check_sizes(values: Matrix) -> None:
    if not float(numpy.abs(values).max()) < _LARGEST:
        raise FloatingPointError("overflow")


# --- what is asked for -----------------------------------------------------------------------------------


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
    alphas = numpy.atleast_1d(numpy.asarray(given))
    is_number = alphas.ndim == 1 and len(alphas) and alphas.dtype.kind in "fiu"
    if not is_number or not (numpy.isfinite(alphas) & (alphas > 0)).all():
        raise InputError(f"alpha is {given!r}: give a positive number, or several.")
    return numpy.maximum(alphas.astype(numpy.float64), numpy.finfo(numpy.float64).tiny)  # of less: no inverse


@contextmanager
def _says_what_to_do() -> Iterator[None]:
    """Where values are so large that NumPy cannot compute with their squares, or finds no solution."""
    try:
        with numpy.errstate(over="raise"):
            yield
    except (FloatingPointError, numpy.linalg.LinAlgError) as error:
        raise InputError(
            f"the probe cannot be computed ({error}): values of the layer are too large, or too different in "
            "size. Divide the layer by its largest value before, or take a larger alpha."
        ) from error


def _part(progress: Progress, start: float, stop: float) -> Progress:
    """For a step that goes from `start` to `stop` of the whole."""
    return lambda fraction: progress(start + (stop - start) * fraction)


# --- what was found --------------------------------------------------------------------------------------


def _judged(task: Task, *, num_units: int) -> Probe:
    targets, folds = task.targets, task.folds
    tested = numpy.sort(numpy.concatenate([fold.test for fold in folds]))
    number = numpy.full(len(targets.samples), -1)
    for place, fold in enumerate(folds):
        number[fold.test] = place
    answers = task.answers[tested]
    target_scores = confusion = None
    if targets.classes is None:
        target_scores = numpy.array([_r2(task.answers, targets.numbers, fold.test) for fold in folds])
        scores = target_scores.mean(axis=1)
        predictions = answers[:, 0] if targets.is_flat else answers
    else:
        predictions = targets.classes[answers]
        is_right = task.answers == targets.codes
        scores = numpy.array([is_right[fold.test].mean() for fold in folds])
        confusion = numpy.zeros((targets.num_classes, targets.num_classes), numpy.int64)
        numpy.add.at(confusion, (targets.codes[tested], answers), 1)
    return Probe(
        kind=task.kind,
        metric="r2" if targets.classes is None else "accuracy",
        scores=scores,
        target_scores=target_scores,
        alphas=task.alphas,
        samples=targets.samples[tested],
        folds=number[tested],
        predictions=predictions,
        classes=targets.classes,
        confusion=confusion,
        num_units=num_units,
        num_samples=len(targets.samples),
        chance=float(numpy.bincount(targets.codes, minlength=1).max() / max(1, len(targets.codes))),
        is_converged=task.is_converged,
    )


def _r2(outputs: Matrix, numbers: Matrix, test: Indices) -> Matrix:
    true = numbers[test]
    wrong = numpy.square(true - outputs[test]).sum(axis=0)
    total = numpy.square(true - true.mean(axis=0)).sum(axis=0)
    varies = true.max(axis=0) > true.min(axis=0)
    return numpy.where(varies, 1.0 - wrong / numpy.where(varies, total, 1.0), numpy.nan)
