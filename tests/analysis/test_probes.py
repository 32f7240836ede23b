"""Probes against scikit-learn: the same folds, the same models, in whatever way they are computed."""

from __future__ import annotations

import sys
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier, RidgeCV
from sklearn.metrics import confusion_matrix, r2_score

from tests.analysis.counting import CountingRows
from tests.many import examples
from torcheer.analysis import Probe, clusters, probe, probe_layers
from torcheer.errors import InputError

SMALL = 600_000


def numbers_of(num: int, units: int, *, seed: int = 0) -> tuple[numpy.ndarray, numpy.ndarray]:
    random = numpy.random.default_rng(seed)
    points = random.normal(size=(num, units)) * random.uniform(0.1, 4, units)
    return points, points @ random.normal(size=(units, 2)) + random.normal(size=(num, 2))


def classes_of(num: int, units: int, count: int, *, seed: int = 0) -> tuple[numpy.ndarray, numpy.ndarray]:
    random = numpy.random.default_rng(seed)
    names = numpy.arange(num) % count
    points = random.normal(size=(num, units)) * random.uniform(0.1, 3, units)
    return points + random.normal(size=(count, units))[names], names


def standardised(train: numpy.ndarray, test: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    varies = numpy.ptp(train, axis=0) > 0
    mean, deviation = train[:, varies].mean(axis=0), train[:, varies].std(axis=0)
    return (train[:, varies] - mean) / deviation, (test[:, varies] - mean) / deviation


def by_sklearn(
    found: Probe, points: numpy.ndarray, targets: numpy.ndarray, model: Any, standardize: bool
) -> Any:
    """What scikit-learn predicts with the same folds."""
    points = points.reshape(len(points), -1).astype(numpy.float64)
    predicted = []
    for fold in range(len(found.scores)):
        train, test = found.samples[found.folds != fold], found.samples[found.folds == fold]
        x, other = points[train], points[test]
        if standardize:
            x, other = standardised(x, other)
        model.fit(x, targets[train])
        predicted.append(model.predict(other))
    result = numpy.empty((len(found.samples), *predicted[0].shape[1:]), predicted[0].dtype)
    for fold, part in enumerate(predicted):
        result[found.folds == fold] = part
    return result


def logistic(alpha: float) -> LogisticRegression:
    return LogisticRegression(C=1 / alpha, tol=1e-7, max_iter=5000)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("memory", [1 << 30, SMALL])
@pytest.mark.parametrize(("num", "units"), [(90, 12), (50, 600)])
def test_ridge_is_that_of_sklearn(num: int, units: int, memory: int, standardize: bool) -> None:
    points, targets = numbers_of(num, units)

    found = probe(points, targets, alpha=2.5, standardize=standardize, memory_bytes=memory)

    expected = by_sklearn(found, points, targets, Ridge(alpha=2.5), standardize)
    assert numpy.allclose(found.predictions, expected, atol=1e-9)
    folds = [(targets[found.folds == k], expected[found.folds == k]) for k in range(5)]
    assert numpy.allclose(found.scores, [r2_score(true, said) for true, said in folds])
    each = [r2_score(true, said, multioutput="raw_values") for true, said in folds]
    assert found.target_scores is not None
    assert numpy.allclose(found.target_scores, each)
    assert found.kind == "ridge"
    assert found.metric == "r2"
    assert found.chance == 0
    assert found.mean == pytest.approx(numpy.mean(found.scores))
    assert found.std > 0


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("memory", [1 << 30, SMALL])
@pytest.mark.parametrize(("num", "units"), [(90, 12), (50, 500)])
def test_several_alphas_are_chosen_from_as_sklearn_does(
    num: int, units: int, memory: int, standardize: bool
) -> None:
    points, targets = numbers_of(num, units)
    targets = targets + 20 * numpy.random.default_rng(1).normal(size=targets.shape)
    alphas = [0.01, 1.0, 30.0, 1000.0]

    found = probe(points, targets[:, 0], alpha=alphas, standardize=standardize, memory_bytes=memory)

    for fold in range(5):
        x, y = points[found.folds != fold], targets[found.folds != fold, 0]
        x = standardised(x, x)[0] if standardize else x
        assert found.alphas[fold] == RidgeCV(alphas=alphas).fit(x, y).alpha_
    assert found.predictions.shape == (num,)


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("memory", [1 << 30, SMALL])
@pytest.mark.parametrize("units", [10, 250])
def test_ridge_for_classes_is_that_of_sklearn(units: int, memory: int, count: int) -> None:
    points, targets = classes_of(80, units, count)
    names = numpy.array(["ant", "bee", "cat", "dog"])[targets]

    found = probe(points, names, kind="ridge", memory_bytes=memory)

    expected = by_sklearn(found, points, names, RidgeClassifier(), False)
    assert (found.predictions == expected).all()
    assert found.metric == "accuracy"
    assert found.chance == 1 / count


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("memory", [1 << 30, 500_000])
@pytest.mark.parametrize("units", [10, 250])
def test_logistic_is_that_of_sklearn(units: int, memory: int, count: int, standardize: bool) -> None:
    points, targets = classes_of(60, units, count)
    points[:, 3] = 4.0  # constant: left out where units are standardised

    found = probe(points, targets, alpha=0.5, standardize=standardize, memory_bytes=memory)

    expected = by_sklearn(found, points, targets, logistic(0.5), standardize)
    assert (found.predictions == expected).all()
    assert found.kind == "logistic"
    assert found.is_converged
    assert found.confusion is not None
    assert (found.confusion == confusion_matrix(targets[found.samples], found.predictions)).all()


def test_digits_end_to_end() -> None:
    points, targets = load_digits(return_X_y=True)
    images = points.reshape(-1, 1, 8, 8).astype(numpy.float16)
    parts: list[float] = []

    found = probe(images, targets, samples=600, folds=3, alpha=100.0, progress=parts.append)

    expected = by_sklearn(found, points, targets, logistic(100.0), False)
    assert (found.predictions == expected).all()
    assert found.mean > 0.9
    assert found.chance == pytest.approx(0.1)
    assert found.num_units == 64
    assert found.num_samples == 600
    assert (numpy.bincount(targets[found.samples]) == 60).all()
    assert parts[0] == 0
    assert parts[-1] == 1
    assert parts == sorted(parts)
    assert len(parts) > 3


@pytest.mark.parametrize("kind", ["ridge", "logistic"])
@pytest.mark.parametrize("units", [10, 200])
def test_large_means_and_small_blocks_change_nothing(kind: str, units: int) -> None:
    points, targets = classes_of(70, units, 3)

    plain = probe(points, targets, kind=kind, alpha=[1.0, 10.0])
    moved = probe(points + 1e6, targets, kind=kind, alpha=[1.0, 10.0], memory_bytes=SMALL)

    assert (plain.predictions == moved.predictions).all()
    assert (plain.alphas == moved.alphas).all()


def test_predicted_numbers_keep_their_digits_beside_large_means() -> None:
    points, targets = numbers_of(80, 6)

    plain, moved = probe(points, targets), probe(points + 1e6, targets)

    assert numpy.allclose(plain.predictions, moved.predictions, atol=1e-7)


def test_ridge_by_units_reads_twice_in_bounded_blocks() -> None:
    points, targets = numbers_of(3000, 30)
    rows, wide = CountingRows(points.astype(numpy.float32)), CountingRows(points.astype(numpy.float32))

    found = probe(rows, targets, memory_bytes=SMALL)

    assert rows.largest_bytes <= SMALL // 8
    assert 2 <= rows.num_passes < 2.2
    assert numpy.allclose(found.predictions, probe(wide, targets).predictions, atol=1e-9)
    assert wide.num_passes <= 2  # the block for the mean, and all


def test_a_logistic_probe_of_what_does_not_fit_is_refused() -> None:
    points, targets = classes_of(2000, 30, 3)

    with pytest.raises(InputError, match=r"needs 1.4 MB.*take kind='ridge'.*memory_bytes=2880000"):
        probe(points, targets, memory_bytes=SMALL)
    assert probe(points, targets, kind="ridge", memory_bytes=SMALL).mean > 0.5


@pytest.mark.parametrize("kind", ["ridge", "logistic"])
def test_layers_are_probed_with_the_same_folds(kind: str) -> None:
    points, targets = classes_of(60, 8, 3)
    parts: list[float] = []

    found = probe_layers({"a": points, "b": points * 0 + 1.0}, targets, kind=kind, progress=parts.append)

    assert list(found) == ["a", "b"]
    assert (found["a"].folds == found["b"].folds).all()
    assert found["a"].mean > 0.5 > found["b"].mean
    assert parts == sorted(parts)
    assert parts[-1] == 1


def test_given_folds_are_taken_and_only_what_is_tested_is_predicted() -> None:
    points, targets = numbers_of(40, 5)
    train, test = numpy.arange(0, 25), numpy.arange(30, 40)

    found = probe(points, targets[:, 0], folds=[(train, test)])

    model = Ridge().fit(points[train], targets[train, 0])
    assert numpy.allclose(found.predictions, model.predict(points[test]))
    assert (found.samples == test).all()
    assert (found.folds == 0).all()


def test_overlapping_training_sets_are_each_summed_up_right() -> None:
    points, targets = numbers_of(60, 5)
    folds = [(numpy.arange(20, 60), numpy.arange(0, 10)), (numpy.arange(0, 40), numpy.arange(50, 60))]

    found = probe(points, targets, folds=folds)

    for place, (train, test) in enumerate(folds):
        expected = Ridge().fit(points[train], targets[train]).predict(points[test])
        assert numpy.allclose(found.predictions[found.folds == place], expected)


@given(
    num=st.integers(12, 40),
    shape=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    memory=st.sampled_from([100_000, 300_000, 1 << 28]),
    seed=st.integers(0, 50),
    standardize=st.booleans(),
)
@settings(max_examples=examples(25), deadline=None)
def test_whatever_the_shape_it_is_the_ridge_of_sklearn(
    num: int, shape: list[int], memory: int, seed: int, standardize: bool
) -> None:
    random = numpy.random.default_rng(seed)
    points = random.integers(-3, 4, (num, *shape)).astype(numpy.float16)
    targets = random.normal(size=num)

    found = probe(points, targets, folds=3, standardize=standardize, memory_bytes=memory, seed=seed)

    expected = by_sklearn(found, points, targets, Ridge(), standardize)
    assert numpy.allclose(found.predictions, expected, atol=1e-8)


def test_standardised_folds_do_not_see_what_they_are_tested_on() -> None:
    points, targets = numbers_of(40, 5)
    spoilt = points.copy()
    spoilt[30:] *= 1e3
    folds = [(numpy.arange(30), numpy.arange(30, 40))]

    one = probe(points, targets, folds=folds, standardize=True)
    other = probe(spoilt, targets, folds=folds, standardize=True)

    model = Ridge().fit(standardised(points[:30], points)[0], targets[:30])
    assert numpy.allclose(one.predictions, model.predict(standardised(points[:30], points[30:])[1]))
    assert numpy.allclose(other.predictions, model.predict(standardised(points[:30], spoilt[30:])[1]))


# --- no single solution -----------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(40, 5), (24, 60)], ids=["by units", "by samples"])
@pytest.mark.parametrize("alpha", [1e-20, 1e-300, 5e-324])
def test_units_that_say_the_same_are_read_without_a_penalty(shape: tuple[int, int], alpha: float) -> None:
    """An alpha that is nothing: of all that fit as well, it is the shortest, as of scikit-learn."""
    random = numpy.random.default_rng(0)
    points = random.normal(size=shape)
    points = numpy.concatenate([points, points, numpy.ones((len(points), 1))], axis=1)
    targets = points[:, :2] @ random.normal(size=2) + random.normal(size=len(points))
    halves = numpy.array_split(random.permutation(len(points)), 2)
    folds = [(halves[0], halves[1]), (halves[1], halves[0])]

    found = probe(points, targets, alpha=alpha, folds=folds)

    for train, test in folds:
        expected = LinearRegression().fit(points[train], targets[train]).predict(points[test])
        numpy.testing.assert_allclose(numpy.ravel(found.predictions)[test], expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", ["ridge", "logistic"])
@pytest.mark.parametrize("alpha", [1e-300, 5e-324, [1e-300, 1e-12, 1.0]], ids=str)
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.filterwarnings("error")
def test_a_singular_layer_can_be_probed(kind: Any, alpha: Any, standardize: bool) -> None:
    points, names = classes_of(40, 3, 2)
    for layer in (numpy.concatenate([points, points], axis=1), numpy.ones((40, 4)), numpy.tile(points, 30)):
        found = probe(layer, names, kind=kind, alpha=alpha, standardize=standardize)
        assert 0.0 <= found.mean <= 1.0


@pytest.mark.parametrize("kind", ["ridge", "logistic"])
@pytest.mark.parametrize("num_units", [3, 90])
def test_values_whose_squares_are_no_numbers_are_told(kind: Any, num_units: int) -> None:
    points, names = classes_of(40, num_units, 2)

    with pytest.raises(InputError, match=r"cannot be computed .*Divide the layer"):
        probe(points * 1e200, names, kind=kind)


@pytest.mark.parametrize(
    ("targets", "num", "words"),
    [
        (numpy.zeros(0, int), 0, "there are no samples"),
        ([], 0, "there are no samples"),
        (["a"] * 12, 12, "two classes at least"),
        ([[1], [2, 3]] * 6, 12, "different lengths"),
    ],
    ids=["no classes", "nothing", "one class", "lists"],
)
def test_targets_without_classes_are_told(targets: Any, num: int, words: str) -> None:
    with pytest.raises(InputError, match=words):
        probe(numpy.ones((num, 3)), targets)


@pytest.mark.parametrize("standardize", [False, True])
def test_several_alphas_are_chosen_from_alike_where_the_layer_is_streamed(standardize: bool) -> None:
    points, targets = classes_of(1500, 20, 3)
    points += 10 * numpy.random.default_rng(1).normal(size=points.shape)
    points[:, 4] = 0.1  # constant
    options: Any = {"kind": "ridge", "folds": 3, "alpha": [0.1, 30.0, 3000.0], "standardize": standardize}

    streamed, held = (
        probe(points, targets, memory_bytes=250_000, **options),
        probe(points, targets, **options),
    )

    assert (streamed.alphas == held.alphas).all()
    assert (streamed.predictions != held.predictions).mean() < 0.002
    assert streamed.is_converged


def test_a_missing_library_is_told_with_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.model_selection", None)
    monkeypatch.setitem(sys.modules, "scipy.cluster.hierarchy", None)
    points, targets = classes_of(30, 4, 2)

    with pytest.raises(InputError, match=r"probe needs scikit-learn: pip install 'torcheer\[analysis\]'"):
        probe(points, targets)
    with pytest.raises(InputError, match=r"tree of clusters needs SciPy: pip install 'torcheer\[analysis\]'"):
        clusters(points)
