"""Running components, against scikit-learn."""

import numpy
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.decomposition import PCA, IncrementalPCA
from torch import Tensor

from torcheer.errors import InputError
from torcheer.features.dimension_reduction import RunningComponents, RunningPCA

BLOCK = 64  # rows that are decomposed together where there are fewer components


def cloud(num_samples: int = 300, num_units: int = 12, seed: int = 0) -> NDArray[numpy.float64]:
    random = numpy.random.default_rng(seed)
    turned = numpy.linalg.qr(random.standard_normal((num_units, num_units)))[0]
    return random.standard_normal((num_samples, num_units)) * numpy.geomspace(9, 0.5, num_units) @ turned + 4


def begun(pca: RunningPCA, values: Tensor) -> RunningComponents:
    part = pca.begin("conv", tuple(values.shape[1:]), values.dtype, ())
    assert isinstance(part, RunningComponents)
    return part


def fitted(pca: RunningPCA, points: NDArray[numpy.float64], num_rows: int = 50) -> RunningComponents:
    values = torch.from_numpy(points)
    part = begun(pca, values)
    for batch in values.split(num_rows):
        part.look(batch)
    part.finish()
    return part


def like(axes: NDArray[numpy.float64], wanted: NDArray[numpy.float64]) -> NDArray[numpy.float64]:
    return numpy.sign((axes * wanted).sum(axis=1))


@pytest.mark.parametrize(("num_components", "num_units"), [(3, 12), (12, 12), (70, 90), (5, 150)])
@pytest.mark.parametrize("num_samples", [BLOCK * 3, 301])
@pytest.mark.parametrize("whiten", [False, True])
def test_it_is_scikit_learns_incremental_one_on_the_same_blocks(
    num_components: int, num_units: int, num_samples: int, whiten: bool
) -> None:
    points = cloud(num_samples, num_units)
    part = fitted(RunningPCA(num_components, whiten=whiten), points)
    wanted = IncrementalPCA(num_components, whiten=whiten)
    for start in range(0, num_samples, max(BLOCK, num_components)):
        wanted.partial_fit(points[start : start + max(BLOCK, num_components)], check_input=False)
    state = part.state()
    signs = like(state["axes"], wanted.components_)
    assert numpy.allclose(state["mean"], wanted.mean_)
    assert numpy.allclose(state["axes"], signs[:, None] * wanted.components_, atol=1e-8)
    assert numpy.allclose(state["variances"], wanted.explained_variance_)
    assert numpy.allclose(state["shares"], wanted.explained_variance_ratio_)
    others = cloud(40, num_units, seed=9)
    assert numpy.allclose(part(torch.from_numpy(others)).numpy(), signs * wanted.transform(others), atol=1e-7)


def test_it_is_the_whole_one_where_no_direction_was_dropped() -> None:
    points = cloud(500, 8)
    part = fitted(RunningPCA(8), points, num_rows=7)
    wanted = PCA(8, svd_solver="full").fit(points)
    state = part.state()
    signs = like(state["axes"], wanted.components_)
    assert numpy.allclose(state["axes"], signs[:, None] * wanted.components_, atol=1e-8)
    assert numpy.allclose(state["variances"], wanted.explained_variance_)
    assert numpy.isclose(state["shares"].sum(), 1)


def test_the_largest_entry_of_each_axis_is_positive() -> None:
    axes = fitted(RunningPCA(6), cloud()).state()["axes"]
    assert (axes[numpy.arange(6), numpy.abs(axes).argmax(axis=1)] > 0).all()
    assert numpy.allclose(axes @ axes.T, numpy.eye(6))


@given(num_rows=st.integers(1, 301))
def test_the_size_of_the_batches_does_not_matter(num_rows: int) -> None:
    points = cloud(301, 20)
    one, other = fitted(RunningPCA(4), points, num_rows), fitted(RunningPCA(4), points, 301)
    for name, found in one.state().items():
        assert numpy.array_equal(found, other.state()[name])


def test_only_the_first_samples_are_looked_at() -> None:
    points = cloud(200, 9)
    part = fitted(RunningPCA(3, num_samples=130), points, num_rows=60)
    assert part.num_samples == 130
    same = fitted(RunningPCA(3, num_samples=130), points[:130], num_rows=60)
    assert numpy.array_equal(part.state()["axes"], same.state()["axes"])
    assert not numpy.array_equal(part.state()["axes"], fitted(RunningPCA(3), points).state()["axes"])


@pytest.mark.parametrize("shape", [(3, 4), (12,), (2, 3, 2)])
def test_samples_may_have_any_shape(shape: tuple[int, ...]) -> None:
    points = cloud(100, 12)
    values = torch.from_numpy(points).reshape(100, *shape)
    part = begun(RunningPCA(2), values)
    part.look(values)
    part.finish()
    assert part.shape == part(values).shape[1:] == (2,)
    assert torch.equal(part(values), fitted(RunningPCA(2), points)(torch.from_numpy(points)))


def test_whitened_components_have_the_variance_one_and_those_without_variance_stay_zero() -> None:
    flat = cloud(200, 3) @ cloud(3, 10)
    part = fitted(RunningPCA(5, whiten=True), flat)
    deviations = part(torch.from_numpy(flat)).std(0)
    assert torch.allclose(deviations[:3], torch.ones(3, dtype=torch.float64))
    assert (deviations[3:] == 0).all()


def test_samples_that_do_not_differ_are_all_at_zero() -> None:
    part = fitted(RunningPCA(2, whiten=True), numpy.ones((80, 5)))
    assert torch.equal(part(torch.ones(3, 5, dtype=torch.float64)), torch.zeros(3, 2, dtype=torch.float64))


@pytest.mark.parametrize(
    ("dtype", "wanted"), [("float16", "float32"), ("float32", "float32"), ("int64", "float64")]
)
def test_it_gives_float32_unless_values_have_more_digits(dtype: str, wanted: str) -> None:
    values = torch.from_numpy(cloud(100, 6)).to(getattr(torch, dtype))
    part = begun(RunningPCA(2), values)
    part.look(values)
    part.finish()
    assert part.dtype == part(values).dtype == part(values[:0]).dtype == getattr(torch, wanted)
    assert part(values[:0]).shape == (0, 2)
    exact = (values.double() - values.double().mean(0)) @ torch.from_numpy(part.state()["axes"]).T
    assert torch.allclose(part(values).double(), exact, atol=1e-4)


def test_a_restored_one_gives_the_same_bits() -> None:
    points = cloud()
    part = fitted(RunningPCA(4, whiten=True), points)
    other = begun(RunningPCA(4, whiten=True), torch.from_numpy(points))
    other.restore({name: each.copy() for name, each in part.state().items()})
    assert torch.equal(other(torch.from_numpy(points)), part(torch.from_numpy(points)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda state: state.pop("mean"), "'mean' is int64"),
        (
            lambda state: state.update(axes=state["axes"][:3]),
            r"'axes' is float64 of shape \(3, 12\).*\(4, 12\)",
        ),
        (lambda state: state.update(mean=state["mean"].astype("float32")), "'mean' is float32"),
        (lambda state: state.update(shares=state["shares"] * numpy.nan), "'shares'.*finite"),
    ],
)
def test_a_wrong_state_is_refused(change, message: str) -> None:  # type: ignore[no-untyped-def]
    part = fitted(RunningPCA(4), cloud())
    state = part.state()
    change(state)
    other = begun(RunningPCA(4), torch.ones(1, 12, dtype=torch.float64))
    with pytest.raises(InputError, match=message):
        other.restore(state)


def test_words_say_all_that_matters() -> None:
    assert RunningPCA(64).words == "pca 64 (first 2048 samples)"
    assert RunningPCA(500).words == "pca 500 (first 5000 samples)"
    assert RunningPCA(2, num_samples=9, whiten=True).words == "pca 2 (first 9 samples, whitened)"
    assert RunningPCA(2).dims(("channel", "y", "x"), (3, 9, 9), (2,)) == ("component",)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_components": 0}, r"such as RunningPCA\(64\)"),
        ({"num_components": 2.5}, r"such as RunningPCA\(64\)"),
        ({"num_components": 9, "num_samples": 8}, "9 samples at least"),
        ({"num_components": 1, "num_samples": 1}, "2 samples at least"),
        ({"num_components": 1, "num_samples": "all"}, "'auto'"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        RunningPCA(**arguments)  # type: ignore[arg-type]


def test_too_few_units_or_samples_and_complex_values_are_refused() -> None:
    with pytest.raises(InputError, match="layer 'conv': it has only 4 units"):
        RunningPCA(5).begin("conv", (2, 2), torch.float32, ())
    with pytest.raises(InputError, match="complex"):
        RunningPCA(5).begin("conv", (9,), torch.complex64, ())
    with pytest.raises(InputError, match="only 4 samples were seen, and it takes 5 at least"):
        fitted(RunningPCA(5), cloud(4))
    with pytest.raises(InputError, match="only 0 samples"):
        begun(RunningPCA(5), torch.ones(1, 9)).finish()
    assert fitted(RunningPCA(5), cloud(5)).state()["axes"].shape == (5, 12)


def test_values_that_are_not_finite_are_refused_when_looking_and_go_through_afterwards() -> None:
    values = torch.from_numpy(cloud())
    values[3, 2] = torch.nan
    with pytest.raises(InputError, match=r"1 of the first samples.*nan_to_num"):
        begun(RunningPCA(2), values).look(values)
    result = fitted(RunningPCA(2), cloud())(values)
    assert result[3].isnan().all()
    assert result.isnan().sum() == 2
