"""How alike items are to a layer, against SciPy and plain loops."""

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import pdist, squareform
from scipy.stats import rankdata, spearmanr

from torcheer.netview import analysis

METRICS = ("correlation", "cosine", "euclidean")


def cloud(num_items: int = 30, num_units: int = 7, seed: int = 0) -> numpy.ndarray:
    return numpy.random.default_rng(seed).standard_normal((num_items, num_units)).astype(numpy.float32)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("shape", [(30, 7), (4, 3000), (2, 2)])
def test_distances_are_those_of_scipy(metric: str, shape: tuple[int, int]) -> None:
    points = cloud(*shape)
    found = analysis.similarity(points, metric=metric)
    assert numpy.allclose(found.distances, squareform(pdist(points.astype(float), metric)), atol=1e-12)


def test_a_layer_that_is_taken_in_pieces_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    points = cloud(20, 301)
    whole = [analysis.similarity(points, metric=metric).values for metric in METRICS]
    monkeypatch.setattr("torcheer.analysis.layer_samples._CHUNK_BYTES", 200)
    for metric, before in zip(METRICS, whole, strict=True):
        assert numpy.allclose(analysis.similarity(points, metric=metric).values, before, atol=1e-12)


def test_points_near_one_another_and_far_from_all_else_have_their_distance() -> None:
    points = numpy.array([[1e8, 0.0], [1e8, 1e-3], [-1e8, 0.0], [1e8, 0.0]])
    found = analysis.similarity(points, metric="euclidean").values
    assert numpy.isclose(found[0, 1], 1e-3, rtol=1e-9)
    assert found[0, 3] == 0
    assert numpy.isclose(found[0, 2], 2e8)


@pytest.mark.parametrize(("metric", "row"), [("cosine", 0.0), ("correlation", 0.1)])
def test_an_item_to_which_all_units_respond_alike_is_like_nothing(metric: str, row: float) -> None:
    points = cloud()
    points[3] = row
    values = analysis.similarity(points, metric=metric).values
    assert numpy.isnan(values[3]).all()
    assert numpy.isnan(values[:, 3]).all()
    assert numpy.isnan(values).sum() == 2 * 30 - 1


def test_rows_are_sorted_by_label_and_stay_in_their_order_within_it() -> None:
    points, labels = cloud(6), numpy.array(["b", "a", "b", "a", "c", "a"])
    plain = analysis.similarity(points)
    found = analysis.similarity(points, labels)
    assert found.order.tolist() == [1, 3, 5, 0, 2, 4]
    assert "".join(found.labels) == "aaabbc"
    for row, item in enumerate(found.order):
        for column, other in enumerate(found.order):
            assert found.values[row, column] == plain.values[item, other]


@pytest.mark.parametrize("metric", ["correlation", "euclidean"])
def test_the_contrast_is_that_of_pairs_within_and_between_labels(metric: str) -> None:
    labels = numpy.array([0, 1, 2, 0, 1, 0])
    matrix = analysis.similarity(cloud(6), labels, metric=metric)
    found = analysis.label_contrast(matrix)
    pairs: dict[bool, list[float]] = {True: [], False: []}
    for row in range(6):
        for column in range(row):
            pairs[matrix.labels[row] == matrix.labels[column]].append(matrix.values[row, column])
    assert numpy.isclose(found.within, numpy.mean(pairs[True]))
    assert numpy.isclose(found.between, numpy.mean(pairs[False]))
    sign = -1 if metric == "euclidean" else 1
    assert numpy.isclose(found.contrast, sign * (found.within - found.between))
    zeros, ones = matrix.labels == 0, matrix.labels == 1
    assert numpy.isclose(found.means[0, 1], matrix.values[numpy.ix_(zeros, ones)].mean())
    assert numpy.isclose(
        found.means[0, 0], matrix.values[numpy.ix_(zeros, zeros)][~numpy.eye(3, dtype=bool)].mean()
    )
    assert numpy.isnan(found.means[2, 2])  # a single item has no pair


def test_labels_that_group_items_show_in_the_contrast() -> None:
    labels = numpy.arange(30) % 3
    points = cloud() * 0.1 + 5 * numpy.eye(7)[labels]
    for metric in METRICS:
        grouped = analysis.label_contrast(analysis.similarity(points, labels, metric=metric)).contrast
        mixed = analysis.label_contrast(
            analysis.similarity(points, numpy.arange(30) // 15, metric=metric)
        ).contrast
        assert grouped > 0.5 > abs(mixed)


def test_two_layers_are_compared_by_the_ranks_of_their_distances() -> None:
    one, other = cloud(seed=1), cloud(seed=2)
    found = analysis.compare_similarity(
        analysis.similarity(one, metric="cosine"), analysis.similarity(other, metric="euclidean")
    )
    wanted = spearmanr(pdist(one.astype(float), "cosine"), pdist(other.astype(float))).statistic
    assert numpy.isclose(found, wanted, atol=1e-12)


def test_items_are_compared_with_themselves_however_the_matrices_are_sorted() -> None:
    points = cloud()
    plain = analysis.similarity(points, metric="euclidean")
    shuffled = analysis.similarity(points, numpy.random.default_rng(3).permutation(30), metric="euclidean")
    assert numpy.isclose(analysis.compare_similarity(plain, shuffled), 1)
    assert numpy.isclose(analysis.compare_similarity(plain, shuffled, method="pearson"), 1)
    other = analysis.similarity(points[::-1], metric="euclidean")
    assert analysis.compare_similarity(plain, other) < 0.5


def test_pairs_that_are_not_defined_are_not_compared() -> None:
    points = cloud()
    with_silent = points.copy()
    with_silent[4] = 0
    rest = numpy.arange(30) != 4
    found = analysis.compare_similarity(
        analysis.similarity(with_silent, metric="cosine"), analysis.similarity(points, metric="euclidean")
    )
    wanted = analysis.compare_similarity(
        analysis.similarity(points[rest], metric="cosine"),
        analysis.similarity(points[rest], metric="euclidean"),
    )
    assert numpy.isclose(found, wanted, atol=1e-12)


@given(arrays(numpy.float64, st.integers(1, 30), elements=st.sampled_from([-1.0, 0.0, 0.5, 2.0, 7.0])))
def test_ranks_share_ties(values: numpy.ndarray) -> None:
    from torcheer.analysis.layer_similarity import ranks

    assert numpy.array_equal(ranks(values), rankdata(values))


def test_an_item_to_which_all_units_respond_alike_is_like_nothing_whatever_its_mean_rounds_to() -> None:
    points = numpy.random.default_rng(0).normal(size=(4, 30))
    points[2] = 0.1  # whose mean is not 0.1 to the last digit

    found = analysis.similarity(points).values

    assert numpy.isnan(found[2]).all()
    assert numpy.isnan(found[:, 2]).all()
    assert numpy.isfinite(numpy.delete(numpy.delete(found, 2, 0), 2, 1)).all()
