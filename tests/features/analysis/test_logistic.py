"""The logistic fit itself: its weights, and that fewer coordinates change nothing."""

from __future__ import annotations

import numpy
import pytest
from sklearn.linear_model import LogisticRegression

from tests.features.analysis.test_probes import classes_of
from torcheer.features.analysis.kernels import coordinates
from torcheer.features.analysis.lbfgs import Minimum, minimizing
from torcheer.features.analysis.logistic import Classified, Fit, Weights, fitted
from torcheer.features.analysis.rows import in_memory


def weights_of(points: numpy.ndarray, targets: numpy.ndarray, alpha: float) -> Weights:
    data = Classified(source=in_memory(points), codes=targets, num_classes=int(targets.max()) + 1)
    units = points.shape[1]
    fit = Fit(
        train=numpy.ones(len(points), bool), alpha=alpha, mean=points.mean(axis=0), scale=numpy.ones(units)
    )
    return fitted(data, [fit], standardize=False)[0]


@pytest.mark.parametrize("count", [2, 3, 5])
@pytest.mark.parametrize("alpha", [0.01, 1.0, 100.0])
def test_weights_are_those_of_sklearn(count: int, alpha: float) -> None:
    points, targets = classes_of(120, 9, count)

    found = weights_of(points, targets, alpha)

    model = LogisticRegression(C=1 / alpha, solver="newton-cholesky", tol=1e-12, max_iter=300)
    model.fit(points, targets)
    scale = numpy.abs(model.coef_).max()
    assert found.is_exact
    assert numpy.allclose(found.weights.T, model.coef_, atol=1e-5 * scale)
    assert numpy.allclose(found.intercepts, model.intercept_, atol=1e-4 * max(scale, 1))


def test_coordinates_of_samples_give_the_same_outputs() -> None:
    points, targets = classes_of(30, 200, 3)
    short = coordinates(points @ points.T)

    wide, narrow = weights_of(points, targets, 1.0), weights_of(short, targets, 1.0)

    assert short.shape[1] <= 30
    outputs = points @ wide.weights + wide.intercepts
    assert numpy.allclose(short @ narrow.weights + narrow.intercepts, outputs, atol=1e-5)


def test_fits_that_run_together_are_those_that_run_alone() -> None:
    points, targets = classes_of(60, 6, 3)
    data = Classified(source=in_memory(points), codes=targets, num_classes=3)
    half = numpy.arange(60) < 30
    fits = [
        Fit(train=train, alpha=alpha, mean=points.mean(axis=0), scale=numpy.ones(6))
        for train, alpha in [(half, 1.0), (~half, 0.1)]
    ]

    together = fitted(data, fits, standardize=False)

    for fit, found in zip(fits, together, strict=True):
        (alone,) = fitted(data, [fit], standardize=False)
        assert numpy.allclose(found.weights, alone.weights, atol=1e-5)


def minimum_of(start: numpy.ndarray, function: object, size: float) -> Minimum:
    run = minimizing(
        start, lambda slope: slope * size, lambda _, slope: bool(numpy.linalg.norm(slope) < 1e-9)
    )
    point = next(run)
    while True:
        try:
            point = run.send(function(point))  # type: ignore[operator]
        except StopIteration as end:
            return end.value


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_the_lowest_point_is_found_however_wrong_the_first_step(size: float) -> None:
    bends = numpy.array([1e-3, 1.0, 1e3])
    lowest = numpy.array([3.0, -2.0, 0.5])

    def bowl(point: numpy.ndarray) -> tuple[float, numpy.ndarray]:
        apart = point - lowest
        return float(apart @ (bends * apart)) / 2, bends * apart

    found = minimum_of(numpy.zeros(3), bowl, size)

    assert found.is_exact
    assert numpy.allclose(found.point, lowest, atol=1e-5)


def test_steep_at_first_and_flat_afterwards_is_no_trap() -> None:
    def valley(point: numpy.ndarray) -> tuple[float, numpy.ndarray]:
        steep = numpy.logaddexp(0, -50 * point) * 20
        return float((steep + 1e-3 * point**2).sum()), -1000 / (
            1 + numpy.exp(numpy.minimum(50 * point, 700))
        ) + 2e-3 * point

    found = minimum_of(numpy.full(2, -0.1), valley, 10.0)

    assert found.is_exact
