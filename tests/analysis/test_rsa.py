"""Similarity of samples, read in blocks: against scipy, and against what is computed at once."""

from __future__ import annotations

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist, squareform
from scipy.stats import spearmanr

from tests.analysis.counting import CountingRows
from tests.many import examples
from torcheer.analysis import compare_layers, compare_similarity, label_contrast, rsa
from torcheer.analysis.layer_samples import chosen_samples
from torcheer.analysis.layer_similarity import similarity
from torcheer.errors import InputError

METRICS = ("correlation", "cosine", "euclidean")


def layer(num: int = 40, units: int = 30, *, seed: int = 0) -> numpy.ndarray:
    return numpy.random.default_rng(seed).normal(size=(num, units))


@pytest.mark.parametrize("metric", METRICS)
def test_distances_are_those_of_scipy(metric: str) -> None:
    points = layer()

    found = rsa(points, metric=metric)

    assert numpy.allclose(found.distances, squareform(pdist(points, metric)), atol=1e-12)


@pytest.mark.parametrize("metric", METRICS)
@given(
    num=st.integers(2, 25),
    shape=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    memory=st.sampled_from([1 << 15, 1 << 17, 1 << 26]),
    seed=st.integers(0, 99),
)
@settings(max_examples=examples(25), deadline=None)
def test_blocks_change_nothing(metric: str, num: int, shape: list[int], memory: int, seed: int) -> None:
    points = numpy.random.default_rng(seed).integers(-2, 3, (num, *shape)).astype(numpy.float16)
    labels = numpy.arange(num) % 3

    found = rsa(points, labels, metric=metric, memory_bytes=memory)
    at_once = similarity(points, labels, metric=metric)

    assert numpy.allclose(found.values, at_once.values, atol=1e-9, equal_nan=True)
    assert numpy.array_equal(found.order, at_once.order)
    assert numpy.array_equal(found.labels, at_once.labels)
    assert numpy.array_equal(found.values, found.values.T, equal_nan=True)


def test_a_sample_without_a_direction_has_no_similarity() -> None:
    points = layer(6)
    points[2], points[4] = 0.1, 0.0

    with pytest.warns(UserWarning, match="item 2 .* its units are all alike .2 of 6 items"):
        correlated = rsa(points).values
    with pytest.warns(UserWarning, match="item 4 .* all its units are 0 .1 of 6 items"):
        cosines = rsa(points, metric="cosine").values

    assert numpy.isnan(correlated[[2, 4]]).all()
    assert numpy.isnan(correlated[:, [2, 4]]).all()
    assert numpy.isnan(cosines[4]).all()
    assert not numpy.isnan(cosines[2, [0, 1, 2, 3, 5]]).any()


@pytest.mark.parametrize("memory", [1 << 30, 40_000])
def test_near_points_far_from_the_others_have_exact_distances(memory: int) -> None:
    points = layer(30)
    points[10:] += 1e6
    points[20] = points[11]
    points[21] = points[12] + 1e-7

    found = rsa(points, metric="euclidean", memory_bytes=memory).values

    assert found[20, 11] == 0
    assert found[21, 12] == pytest.approx(numpy.linalg.norm(points[21] - points[12]), rel=1e-12)
    assert numpy.allclose(found, squareform(pdist(points)), rtol=1e-6)


def test_large_means_do_not_spoil_correlations() -> None:
    points = layer()

    moved = rsa(points + 1e6).values

    assert numpy.allclose(moved, rsa(points).values, atol=1e-8)


def test_reads_bounded_blocks_and_each_row_once_where_it_fits() -> None:
    points = layer(200, 500).astype(numpy.float32)
    wide, narrow = CountingRows(points), CountingRows(points)

    at_once = rsa(wide, memory_bytes=1 << 24)
    in_blocks = rsa(narrow, memory_bytes=1_100_000)

    assert wide.num_passes == 1
    assert narrow.largest_bytes <= 1_100_000 // 8
    assert 1 < narrow.num_passes < 4
    assert numpy.allclose(at_once.values, in_blocks.values, atol=1e-12)


def test_refuses_a_matrix_that_does_not_fit_and_says_how_many_samples_do() -> None:
    points = layer(200, 2)

    with pytest.raises(InputError, match=r"samples=91\)"):
        rsa(points, memory_bytes=200_000)

    assert rsa(points, samples=91, memory_bytes=200_000).values.shape == (91, 91)


def test_some_samples_are_spaced_evenly_and_balanced_over_labels() -> None:
    labels = numpy.array(["a"] * 50 + ["b"] * 4 + ["c"] * 46)

    assert chosen_samples(100, 4).tolist() == [0, 25, 50, 75]
    chosen = rsa(layer(100), labels, samples=20)

    assert {name: int((chosen.labels == name).sum()) for name in "abc"} == {"a": 8, "b": 4, "c": 8}
    assert (labels[chosen.order] == chosen.labels).all()


@given(counts=st.lists(st.integers(1, 12), min_size=1, max_size=6), data=st.data())
@settings(max_examples=examples(50), deadline=None)
def test_no_label_has_two_more_unless_the_others_have_no_more(counts: list[int], data: st.DataObject) -> None:
    labels = numpy.repeat(numpy.arange(len(counts)), counts)
    wanted = data.draw(st.integers(1, len(labels)))

    taken = numpy.bincount(labels[chosen_samples(len(labels), wanted, labels)], minlength=len(counts))

    assert taken.sum() == wanted
    assert all(few >= taken.max() - 1 or few == size for few, size in zip(taken, counts, strict=True))


def test_named_samples_are_compared_as_if_they_were_all() -> None:
    points, labels = layer(50), numpy.arange(50) % 4
    chosen = numpy.array([40, 3, 17, 22, 8, 9])

    found = rsa(points, labels, samples=chosen)
    alone = similarity(points[numpy.sort(chosen)], labels[numpy.sort(chosen)])

    assert numpy.allclose(found.values, alone.values)
    assert numpy.array_equal(found.order, numpy.sort(chosen)[alone.order])
    assert label_contrast(found).contrast == pytest.approx(label_contrast(alone).contrast)


@pytest.mark.parametrize(
    ("samples", "says"),
    [
        (0, "take 1 to 10"),
        (11, "take 1 to 10"),
        (2.5, "give their number"),
        ([1, 1], "more than once"),
        ([3, 10], "no sample 10"),
        ([-1, 2], "no sample -1"),
        ([0.5], "names no samples"),
    ],
)
def test_samples_that_mean_nothing_are_refused(samples: object, says: str) -> None:
    with pytest.raises(InputError, match=says):
        rsa(layer(10), samples=samples)


def test_wrong_layers_are_refused() -> None:
    points = layer(10)
    points[7, 3] = numpy.inf

    with pytest.raises(InputError, match="sample 7 "):
        rsa(points)
    assert rsa(points, samples=[0, 1, 8]).values.shape == (3, 3)
    with pytest.raises(InputError, match="complex"):
        rsa(points.astype(numpy.complex128))
    with pytest.raises(InputError, match="holds nothing"):
        rsa(numpy.zeros((4, 0)))
    with pytest.raises(InputError, match="no metric"):
        rsa(points, metric="manhattan")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="labels"):
        rsa(points, [1, 2])


@pytest.mark.parametrize("second_order", ["spearman", "pearson"])
@pytest.mark.parametrize("metric", METRICS)
def test_layers_are_compared_as_their_matrices_are(metric: str, second_order: str) -> None:
    first = layer(20)
    layers = {"one": first, "two": first[:, :4] + layer(20, 4, seed=1), "three": layer(20, 9, seed=2)}
    if metric == "correlation":
        layers["three"][5] = 2.0  # no similarity with anything

    found = compare_layers(layers, metric=metric, second_order=second_order)

    matrices = [rsa(points, metric=metric) for points in layers.values()]
    direct = [[compare_similarity(a, b, method=second_order) for b in matrices] for a in matrices]
    assert found.names == ("one", "two", "three")
    assert found.num_samples == 20
    assert found.method == "rsa"
    assert numpy.allclose(found.values, direct)


def test_the_second_order_is_that_of_scipy() -> None:
    first, second = layer(20), layer(20, seed=1)[:, :7]

    found = compare_layers({"a": first, "b": second}, metric="euclidean")

    assert found.values[0, 1] == pytest.approx(spearmanr(pdist(first), pdist(second)).statistic)


def test_each_layer_is_read_once_however_many_there_are() -> None:
    layers = {str(seed): CountingRows(layer(20, seed=seed)) for seed in range(4)}

    compare_layers(layers)

    assert [rows.num_passes for rows in layers.values()] == [1] * 4


def test_layers_that_cannot_be_compared_are_refused() -> None:
    with pytest.raises(InputError, match="no layers"):
        compare_layers({})
    with pytest.raises(InputError, match="different samples"):
        compare_layers({"a": layer(10), "b": layer(11)})
    with pytest.raises(InputError, match="no method"):
        compare_layers({"a": layer(10)}, method="svcca")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="samples="):
        compare_layers({"a": layer(200), "b": layer(200)}, memory_bytes=1_000_000)
