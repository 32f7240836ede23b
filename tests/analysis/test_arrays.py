"""Components, clusters, tuning and fields, against SciPy, scikit-learn and plain loops."""

import subprocess
import sys

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.cluster import hierarchy
from sklearn.decomposition import PCA

from tests.many import examples
from torcheer.errors import InputError
from torcheer.netview import analysis

METRICS = ("correlation", "cosine", "euclidean")


def cloud(num_items: int = 30, num_units: int = 7, seed: int = 0) -> numpy.ndarray:
    return numpy.random.default_rng(seed).standard_normal((num_items, num_units)).astype(numpy.float32)


# --- components ------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(40, 6), (6, 40), (50, 50)])
@pytest.mark.parametrize("is_large", [False, True])
def test_components_are_those_of_scikit_learn(
    shape: tuple[int, int], is_large: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_large:
        monkeypatch.setattr("torcheer.analysis.units._SMALL", 100)
        monkeypatch.setattr("torcheer.analysis.units._CHUNK_NUMBERS", 90)
    points = cloud(*shape) * numpy.geomspace(1, 20, shape[1]) + 3
    found = analysis.principal_components(points, 4)
    wanted = PCA(4, svd_solver="full").fit(points)
    assert numpy.allclose(found.mean, wanted.mean_)
    assert numpy.allclose(found.variances, wanted.explained_variance_)
    assert numpy.allclose(found.shares, wanted.explained_variance_ratio_)
    signs = numpy.sign((found.axes * wanted.components_).sum(axis=1))
    assert numpy.allclose(found.axes, signs[:, None] * wanted.components_, atol=1e-6)
    assert numpy.allclose(found.places, signs * wanted.transform(points), atol=1e-5)
    farthest = numpy.abs(found.axes).argmax(axis=1)
    assert (found.axes[numpy.arange(4), farthest] > 0).all()


def test_there_are_no_more_components_than_directions() -> None:
    points = cloud(20, 2).astype(float) @ cloud(2, 9)
    found = analysis.principal_components(points)
    assert found.axes.shape == (2, 9)
    assert numpy.isclose(found.shares.sum(), 1)
    assert numpy.allclose(found.places @ found.axes + found.mean, points, atol=1e-5)


@pytest.mark.parametrize("points", [numpy.full((5, 3), 0.1), cloud(1, 3)])
def test_items_that_do_not_differ_have_no_components(points: numpy.ndarray) -> None:
    found = analysis.principal_components(points)
    assert found.axes.shape == (0, 3)
    assert found.places.shape == (len(points), 0)


# --- clusters --------------------------------------------------------------------------------


@given(st.integers(2, 40), st.integers(0, 10_000), st.sampled_from(METRICS))
@settings(max_examples=examples(60), deadline=None)
def test_the_tree_is_that_of_scipy(num_items: int, seed: int, metric: str) -> None:
    points = cloud(num_items, 5, seed).astype(float)
    found = analysis.clusters(points, metric=metric)
    wanted = hierarchy.linkage(points, "average", metric)
    assert numpy.array_equal(found.tree[:, [0, 1, 3]], wanted[:, [0, 1, 3]])
    assert numpy.allclose(found.tree[:, 2], wanted[:, 2], atol=1e-12)
    assert numpy.array_equal(found.order, hierarchy.leaves_list(wanted))


@given(
    arrays(
        numpy.float64,
        st.tuples(st.integers(1, 20), st.integers(1, 2)),
        elements=st.sampled_from([0.0, 1.0, 2.0]),
    )
)
@settings(max_examples=examples(60), deadline=None)
def test_items_that_are_alike_still_make_a_tree(points: numpy.ndarray) -> None:
    found = analysis.clusters(points, metric="euclidean")
    assert sorted(found.order) == list(range(len(points)))
    if len(points) > 1:
        assert hierarchy.is_valid_linkage(found.tree)
        assert hierarchy.is_monotonic(found.tree)
        assert numpy.array_equal(found.order, hierarchy.leaves_list(found.tree))


def test_a_matrix_that_is_sorted_by_label_gives_the_tree_of_items() -> None:
    points = cloud()
    matrix = analysis.similarity(points, numpy.arange(30)[::-1] % 4, metric="cosine")
    assert numpy.allclose(analysis.clusters(matrix).tree, analysis.clusters(points, metric="cosine").tree)


def test_a_silent_item_has_no_place_in_a_tree_of_correlations() -> None:
    points = cloud()
    points[7] = 0
    with pytest.raises(InputError, match="item 7"):
        analysis.clusters(points)
    assert analysis.clusters(points, metric="euclidean").num_items == 30


# --- tuning ----------------------------------------------------------------------------------


def test_tuning_is_that_of_plain_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torcheer.analysis.units._CHUNK_NUMBERS", 100)
    labels = numpy.random.default_rng(5).choice(["dog", "cat", "owl"], 30)
    points = numpy.abs(cloud(30, 8)).astype(float)
    found = analysis.tuning(points, labels)
    assert found.labels.tolist() == ["cat", "dog", "owl"]
    assert found.counts.sum() == 30
    for unit in range(8):
        means = []
        for column, label in enumerate(found.labels):
            own, others = points[labels == label, unit], points[labels != label, unit]
            means.append(own.mean())
            deviation = ((own.var(ddof=1) + others.var(ddof=1)) / 2) ** 0.5
            assert numpy.isclose(found.means[unit, column], own.mean())
            assert numpy.isclose(found.d_primes[unit, column], (own.mean() - others.mean()) / deviation)
        best = int(numpy.argmax(means))
        others = (sum(means) - means[best]) / 2
        assert found.best[unit] == found.labels[best]
        assert numpy.isclose(found.selectivity[unit], (means[best] - others) / (means[best] + others))
        assert found.best_d_prime[unit] == found.d_primes[unit, best]


def test_units_at_the_ends_of_selectivity() -> None:
    labels = numpy.array([0, 0, 0, 1, 1, 1, 2, 2, 2])
    only_one = numpy.where(labels == 1, 0.7, 0.0)
    points = numpy.stack([only_one, numpy.full(9, 0.3), numpy.zeros(9), 0.1 + only_one], axis=1)
    found = analysis.tuning(points, labels)
    assert found.selectivity[:2].tolist() == pytest.approx([1.0, 0.0])
    assert numpy.isnan(found.selectivity[2])
    assert found.best[0] == 1
    assert found.best_d_prime[0] == numpy.inf  # it never varies but with the label
    assert found.best_d_prime[3] == numpy.inf
    assert numpy.isnan(found.best_d_prime[1:3]).all()


def test_a_label_of_a_single_item_has_no_d_prime() -> None:
    found = analysis.tuning(cloud(5, 3), [0, 0, 0, 1, 1])
    assert numpy.isfinite(found.d_primes).all()
    found = analysis.tuning(cloud(5, 3), [0, 0, 0, 0, 1])
    assert numpy.isnan(found.d_primes).all()


def test_a_single_label_is_refused() -> None:
    with pytest.raises(InputError, match="two labels"):
        analysis.tuning(cloud(5, 3), [4] * 5)


# --- receptive fields ------------------------------------------------------------------------


@pytest.mark.parametrize("minus_mean", [False, True])
def test_a_field_is_the_mean_of_sources_weighted_by_the_response(
    minus_mean: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torcheer.analysis.units._CHUNK_NUMBERS", 100)
    points = cloud(30, 5)
    sources = cloud(30, 24, seed=3).reshape(30, 2, 3, 4)
    found = analysis.receptive_fields(points, sources, threshold=0.2, minus_mean=minus_mean)
    assert found.shape == (5, 2, 3, 4)
    for unit in range(5):
        weights = numpy.maximum(points[:, unit].astype(float) - 0.2, 0)
        wanted = numpy.average(sources.astype(float), axis=0, weights=weights)
        wanted = wanted - sources.mean(axis=0) if minus_mean else wanted
        assert numpy.allclose(found[unit], wanted, atol=1e-6)
    some = analysis.receptive_fields(points, sources, units=[4, 1], threshold=0.2, minus_mean=minus_mean)
    assert numpy.array_equal(some, found[[4, 1]])


def test_a_unit_that_never_responds_has_no_field() -> None:
    points = cloud(30, 3)
    points[:, 1] = -1
    found = analysis.receptive_fields(points, cloud(30, 4))
    assert numpy.isnan(found[1]).all()
    assert numpy.isfinite(found[[0, 2]]).all()


def test_a_unit_with_a_pattern_of_its_own_shows_it() -> None:
    pictures = numpy.random.default_rng(0).random((4000, 5, 5))
    pattern = numpy.zeros((5, 5))
    pattern[1, 2] = pattern[3, 3] = 1
    responses = numpy.maximum((pictures * pattern).sum(axis=(1, 2)) - 1, 0)
    field = analysis.receptive_fields(responses[:, None], pictures, minus_mean=True)[0]
    assert (field[pattern == 1] > 0.15).all()
    assert (numpy.abs(field[pattern == 0]) < 0.05).all()


def test_fields_that_would_fill_the_memory_are_refused() -> None:
    with pytest.raises(InputError, match="units="):
        analysis.receptive_fields(numpy.zeros((2, 60_000), "f4"), numpy.zeros((2, 60_000), "f4"))


# --- what is given ---------------------------------------------------------------------------


@pytest.mark.parametrize("analyse", [analysis.similarity, analysis.principal_components, analysis.clusters])
def test_what_is_not_finite_is_refused_by_item(analyse: object) -> None:
    points = cloud()
    points[11, 2] = numpy.nan
    points[12, 2] = numpy.inf
    with pytest.raises(InputError, match="first in item 11, in 2 of 30"):
        analyse(points)  # type: ignore[operator]


@pytest.mark.parametrize("points", [numpy.zeros((0, 3)), numpy.zeros((3, 0)), 5.0, cloud() * 1j, ["a", "b"]])
def test_what_is_no_table_of_numbers_is_refused(points: object) -> None:
    for analyse in (analysis.similarity, analysis.principal_components, analysis.clusters):
        with pytest.raises(InputError):
            analyse(points)


def test_labels_must_be_one_for_each_item() -> None:
    with pytest.raises(InputError, match="30 items"):
        analysis.similarity(cloud(), [0, 1])


def test_maps_are_taken_as_rows_of_units() -> None:
    maps = cloud(30, 24).reshape(30, 2, 3, 4)
    flat = analysis.similarity(maps.reshape(30, -1))
    assert numpy.array_equal(analysis.similarity(maps).values, flat.values)


def test_arrays_are_analysed_without_torch() -> None:
    lines = [
        "import sys, numpy",
        "from torcheer.netview import analysis",
        "import torcheer.netview.unit_weights",
        "points = numpy.eye(4)",
        "analysis.similarity(points), analysis.clusters(points), analysis.principal_components(points)",
        "analysis.tuning(points, [0, 0, 1, 1]), analysis.receptive_fields(points, points)",
        "analysis.responses_of",
        "assert 'torch' not in sys.modules",
    ]
    subprocess.run([sys.executable, "-c", "\n".join(lines)], check=True)
