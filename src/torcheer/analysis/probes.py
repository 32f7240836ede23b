"""Linear probes: what can be read from a layer, by a ridge or a logistic regression."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import numpy
from numpy.typing import ArrayLike

from torcheer.analysis.layer_samples import (
    MEMORY_BYTES,
    Affine,
    Array,
    Block,
    Indices,
    Matrix,
    Rows,
    Samples,
    Source,
    check_memory,
    gram,
    needed,
    shifted,
    source_of,
)
from torcheer.analysis.targets import (
    Fold,
    Folds,
    Mask,
    Targets,
    fold_numbers,
    folds_of,
    groups_of,
    targets_of,
)
from torcheer.errors import InputError
from torcheer.graph import readable_bytes

# scikit-learn fits them where the samples are in memory, or products of all samples are. Ridge regression
# of a larger layer is ours, from sums over samples that are read block by block.


Kind = Literal["ridge", "logistic"]
Progress = Callable[[float], object]

_EPSILON: Final = float(numpy.finfo(numpy.float64).eps)
_TINY: Final = float(numpy.finfo(numpy.float64).tiny)
_INNER: Final = 3  # parts of what a fold learns from, to choose among alphas
_FEW_WEIGHTS: Final = 500  # for Newton's method
_EXACT: Final = 1e-7  # of the slope of the mean loss
_MOST_STEPS: Final = 3000


@dataclass(slots=True, kw_only=True, eq=False)
class Task:
    """What is to be fitted, and what comes out of it."""

    kind: Kind
    targets: Targets
    folds: list[Fold]
    candidates: Matrix  # alphas to choose from
    standardize: bool
    groups: Indices | None
    seed: int
    answers: Array = field(init=False)  # of each chosen sample: the number of a class, or a row of numbers
    alphas: Matrix = field(init=False)  # of each fold
    is_converged: bool = True

    def __post_init__(self) -> None:
        self.alphas = numpy.empty(len(self.folds))
        if self.targets.classes is None:
            self.answers = numpy.full(self.targets.numbers.shape, numpy.nan)
        else:
            self.answers = numpy.zeros(len(self.targets.codes), numpy.int64)

    def answer(self, samples: Indices, outputs: Matrix) -> None:
        """Numbers as they are, or the class for which most speaks; of two, one column says it by its sign."""
        if self.targets.classes is None:
            self.answers[samples] = outputs
        elif outputs.shape[1] == 1:
            self.answers[samples] = outputs[:, 0] > 0
        else:
            self.answers[samples] = outputs.argmax(axis=1)


def fit_in_memory(values: Matrix, task: Task, number: int, *, is_scaled: bool) -> None:
    """Fit one fold, and answer for its test samples. `values`: samples by units, or by other coordinates."""
    fold = task.folds[number]
    scaler = needed("sklearn.preprocessing", "a probe").StandardScaler(copy=False, with_std=is_scaled)
    train = scaler.fit_transform(values[fold.train])
    test = scaler.transform(values[fold.test])
    fit = _ridge if task.kind == "ridge" else _logistic
    model = fit(train, task, number)
    outputs = model.predict(test) if task.kind == "ridge" else model.decision_function(test)
    task.answer(fold.test, outputs.reshape(len(test), -1))


def _ridge(train: Matrix, task: Task, number: int) -> Any:
    linear = needed("sklearn.linear_model", "a probe")
    targets = task.targets.columns(task.folds[number].train)
    # What is less is lost among the digits of the products: it has no single solution.
    least = max(_TINY, len(train) * _EPSILON * float(numpy.vdot(train, train)))
    alphas = numpy.maximum(task.candidates, least)
    if len(alphas) == 1:
        task.alphas[number] = task.candidates[0]
        solver = "auto" if alphas[0] > 1e3 * least else "svd"
        return linear.Ridge(alpha=float(alphas[0]), solver=solver, copy_X=False).fit(train, targets)
    model = linear.RidgeCV(alphas=alphas).fit(train, targets)
    task.alphas[number] = task.candidates[int(numpy.argmin(numpy.abs(alphas - model.alpha_)))]
    return model


def _logistic(train: Matrix, task: Task, number: int) -> Any:
    linear = needed("sklearn.linear_model", "a probe")
    codes = task.targets.codes[task.folds[number].train]
    num_weights = (train.shape[1] + 1) * task.targets.num_columns
    model = linear.LogisticRegression(
        solver="newton-cholesky" if num_weights <= _FEW_WEIGHTS else "lbfgs",
        tol=_EXACT,
        max_iter=_MOST_STEPS,
    )
    alpha = float(task.candidates[0])
    if len(task.candidates) > 1:
        search = needed("sklearn.model_selection", "a probe").GridSearchCV(
            model,
            {"C": 1.0 / task.candidates},
            scoring="neg_log_loss",
            cv=[(numpy.flatnonzero(~part), numpy.flatnonzero(part)) for part in _inner_parts(task, number)],
            refit=False,
            error_score="raise",
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            search.fit(train, codes)
        alpha = float(task.candidates[search.best_index_])
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        model.set_params(C=1.0 / alpha).fit(train, codes)
    task.is_converged &= not any("onverge" in str(warning.message) for warning in raised)
    task.alphas[number] = alpha
    return model


def _inner_parts(task: Task, number: int) -> list[Mask]:
    """Of the samples that a fold learns from: those on which alphas are judged, part by part."""
    train = task.folds[number].train
    codes = task.targets.codes[train]
    groups = None if task.groups is None else task.groups[train]
    fix = f"to choose among alphas, fold {number} is split again, in {_INNER}: give one alpha, or fewer folds"
    try:
        part_of = fold_numbers(_INNER, len(codes), codes=codes, groups=groups, seed=task.seed)
    except InputError as error:
        raise InputError(f"{fix}. {error}") from None
    parts = [part_of == part for part in range(_INNER)]
    if any(len(numpy.unique(codes[~part])) < task.targets.num_classes for part in parts):
        raise InputError(f"{fix}: there, a class has all its samples in one part.")
    return parts


def _bytes_by_units(source: Source) -> int:
    """For one fold: the products, those of a block, their eigenvectors and the room to find these."""
    return 8 * 5 * source.num_units**2


class _Sums:
    """Over the samples that a fold learns from; then, what follows from them."""

    weights: Matrix

    def __init__(self, fold: Fold, num_units: int, num_columns: int) -> None:
        self.fold = fold
        self.num = int(fold.train.sum())
        self.total = numpy.zeros(num_units)
        self.target_total = numpy.zeros(num_columns)
        self.products = numpy.zeros((num_units, num_units))  # then, their eigenvectors
        self.cross = numpy.zeros((num_units, num_columns))  # then, along the eigenvectors

    def add(self, values: Matrix, targets: Matrix) -> None:
        self.total += values.sum(axis=0)
        self.target_total += targets.sum(axis=0)
        self.products += values.T @ values
        self.cross += values.T @ targets

    def decompose(self, shift: Matrix, *, standardize: bool) -> None:
        self.mean, self.target_mean = self.total / self.num, self.target_total / self.num
        self.products -= numpy.outer(self.total, self.mean)
        self.cross -= numpy.outer(self.total, self.target_mean)
        self.scale = numpy.ones(len(self.total))  # by which each unit is multiplied
        if standardize:
            deviation = numpy.sqrt(numpy.maximum(numpy.diagonal(self.products), 0.0) / self.num)
            varies = deviation > 16 * _EPSILON * numpy.abs(shift + self.mean)
            self.scale = numpy.where(varies, 1.0 / numpy.where(varies, deviation, 1.0), 0.0)
            self.products *= self.scale
            self.products *= self.scale[:, None]
        squares, self.products = numpy.linalg.eigh(self.products)
        self.squares = numpy.maximum(squares, 0.0)  # the eigenvalues
        self.cross = self.products.T @ (self.cross * self.scale[:, None])

    def scaled(self, values: Matrix) -> Matrix:
        return numpy.asarray((values - self.mean) * self.scale)


def ridge_in_blocks(source: Source, task: Task, memory_bytes: int, progress: Progress) -> None:
    """Two passes, sums and predictions; with several alphas, one between them. More where memory is short."""
    spare = memory_bytes - _bytes_by_units(source)
    together = 1 + max(0, spare) // (8 * source.num_units**2)
    for start in range(0, len(task.folds), together):
        numbers = range(start, min(start + together, len(task.folds)))
        folds = [_Sums(task.folds[one], source.num_units, task.targets.num_columns) for one in numbers]
        for block in source.blocks():
            targets = task.targets.columns(block.at)
            for sums in folds:
                train = sums.fold.train[block.at]
                sums.add(block.values[train], targets[train])
        shift = numpy.zeros(source.num_units) if source.shift is None else source.shift
        for sums in folds:
            sums.decompose(shift, standardize=task.standardize)
        progress((numbers[0] + 0.5 * len(numbers)) / len(task.folds))
        chosen = numpy.zeros(len(folds), numpy.int64)
        if len(task.candidates) > 1:
            chosen = _left_out_errors(source, task, folds).argmin(axis=1)
        for sums, number, place in zip(folds, numbers, chosen, strict=True):
            task.alphas[number] = task.candidates[place]
            shrunk = _shrunk(sums.squares, float(task.alphas[number]))
            sums.weights = sums.products @ (sums.cross * shrunk[:, None])
        for block in source.blocks():
            for sums in folds:
                first, end = numpy.searchsorted(sums.fold.test, [block.at.start, block.at.stop])
                test = sums.fold.test[first:end]
                outputs = sums.scaled(block.values[test - block.at.start]) @ sums.weights
                task.answer(test, outputs + sums.target_mean)
        progress((numbers[-1] + 1) / len(task.folds))


def _left_out_errors(source: Source, task: Task, folds: list[_Sums]) -> Matrix:
    """Folds by alphas: squared errors when every sample that is learnt from is left out once.

    It has a formula: residual / (1 - leverage).
    """
    errors = numpy.zeros((len(folds), len(task.candidates)))
    for block in source.blocks(source.rows_at_once(extra_columns=2 * source.num_units)):
        for place, sums in enumerate(folds):
            train = sums.fold.train[block.at]
            turned = sums.scaled(block.values[train]) @ sums.products
            apart = task.targets.columns(block.at)[train] - sums.target_mean
            for number, alpha in enumerate(task.candidates):
                shrunk = _shrunk(sums.squares, float(alpha))
                left = 1.0 - 1.0 / sums.num - numpy.square(turned) @ shrunk
                # Where a fit goes through a sample, nobody knows: that counts as worst.
                if (left > sums.num * _EPSILON).all():
                    wrong = (apart - turned @ (sums.cross * shrunk[:, None])) / left[:, None]
                    errors[place, number] += numpy.vdot(wrong, wrong)
                else:
                    errors[place, number] = numpy.inf
    return errors


def _shrunk(squares: Matrix, alpha: float) -> Matrix:
    """1 / (squares + alpha), and 0 for directions that are nothing but rounding."""
    is_there = squares + alpha > len(squares) * _EPSILON * float(squares.max(initial=0.0))
    return numpy.divide(1.0, squares + alpha, out=numpy.zeros_like(squares), where=is_there)


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
    times with several alphas. The predictions are the same. A logistic probe of a layer that fits neither way
    is refused.
    """
    check_memory(memory_bytes)
    told: Progress = progress or (lambda _: None)
    told(0.0)
    wanted = targets_of(targets, len(rows), samples)
    alphas = numpy.atleast_1d(numpy.asarray(alpha))
    is_number = alphas.ndim == 1 and len(alphas) and alphas.dtype.kind in "fiu"
    if not is_number or not (numpy.isfinite(alphas) & (alphas > 0)).all():
        raise InputError(f"alpha is {alpha!r}: give a positive number, or several.")
    alphas = numpy.maximum(alphas.astype(numpy.float64), _TINY)  # of less: no inverse
    task = Task(
        kind=_kind(kind, wanted),
        targets=wanted,
        candidates=alphas,
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


def _fit(source: Source, task: Task, memory_bytes: int, progress: Progress) -> None:
    by_samples = 8 * 5 * source.num_samples**2
    # The layer, what one fold learns from, and the room to solve it.
    in_memory = 8 * 3 * source.num_samples * source.num_units
    # Four blocks are on their way: as they are stored, as float64, without the mean, and those of one fold.
    usable = memory_bytes - 4 * source.block_bytes
    ways: list[tuple[int, int, Callable[[Source, Task, int, Progress], None]]] = [
        (in_memory, memory_bytes, _whole),
        (by_samples, memory_bytes, _by_samples),
    ]
    if source.num_samples < source.num_units:
        ways.reverse()
    if task.kind == "ridge":
        ways.append((_bytes_by_units(source), usable, ridge_in_blocks))
    fit = next((fit for num_bytes, most, fit in ways if num_bytes <= most), None)
    if fit is None:
        least = min(num_bytes for num_bytes, _, _ in ways)
        other = "" if task.kind == "ridge" else "take kind='ridge', which reads it block by block, "
        raise InputError(
            f"a {task.kind} probe of {source.num_samples:,} samples and {source.num_units:,} units needs "
            f"{readable_bytes(least)}, and {readable_bytes(usable)} of {readable_bytes(memory_bytes)} are "
            f"left for it: {other}take fewer samples (samples=…), pool or project the layer when it is "
            f"extracted, or allow more (memory_bytes={2 * least})."
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
    """Each unit by its mean and deviation in the training samples of a fold."""
    scaler = needed("sklearn.preprocessing", "a probe").StandardScaler()
    for block in source.blocks():
        train = fold.train[block.at]
        if train.any():
            scaler.partial_fit(block.values[train])
    shift = scaler.mean_ if source.shift is None else scaler.mean_ + source.shift
    # Units that are constant in the training samples are left out.
    scale = numpy.where(scaler.var_ > 0, 1.0 / scaler.scale_, 0.0)

    def standardised(_: Block, units: slice, chunk: Matrix) -> Matrix:
        return numpy.asarray((chunk - shift[units]) * scale[units])

    return standardised


def _check_sizes(values: Matrix) -> None:
    if not float(numpy.abs(values).max()) < _LARGEST:
        raise FloatingPointError("overflow")


def _kind(kind: Kind | None, targets: Targets) -> Kind:
    if kind not in (None, "ridge", "logistic"):
        raise InputError(f"there is no probe {kind!r}: take 'ridge' or 'logistic'.")
    if kind == "logistic" and targets.classes is None:
        raise InputError(
            "floats are numbers, and a logistic probe predicts classes: give ints or strings, or take "
            "kind='ridge'."
        )
    return kind or ("ridge" if targets.classes is None else "logistic")


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
