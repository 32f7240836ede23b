"""Pooling by the names of dimensions, and flattening, against torch."""

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from torcheer.errors import InputError
from torcheer.features.transforms import Flatten, Pool

POOLED_DIMS = ("z", "y", "x", "time", "token")
IMAGE = ("channel", "y", "x")
TOKENS = ("token", "unit")


def pooled(pool: Pool, values: Tensor, dims: tuple[str, ...]) -> Tensor:
    return pool.begin("conv", tuple(values.shape[1:]), values.dtype, dims)(values)


@given(
    dims=st.lists(st.sampled_from([*POOLED_DIMS, "channel", "unit", "head"]), max_size=4, unique=True),
    sizes=st.tuples(*[st.integers(1, 5)] * 4),
    num_samples=st.integers(1, 4),
    kind=st.sampled_from(["mean", "max"]),
)
def test_places_go_and_channels_stay(
    dims: list[str], sizes: tuple[int, ...], num_samples: int, kind: Any
) -> None:
    shape = sizes[: len(dims)]
    values = torch.randn(num_samples, *shape)
    result = pooled(Pool(kind), values, tuple(dims))
    wanted = values
    for at in reversed(range(len(dims))):
        if dims[at] in POOLED_DIMS:
            wanted = wanted.mean(at + 1) if kind == "mean" else wanted.max(at + 1).values
    assert torch.allclose(result, wanted, atol=1e-6)
    after = Pool(kind).dims(tuple(dims), shape, tuple(result.shape[1:]))
    assert after == tuple(name for name in dims if name not in POOLED_DIMS)
    assert len(after) == result.dim() - 1


@pytest.mark.parametrize(
    ("kind", "one", "two", "three"),
    [
        ("mean", F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d),
        ("max", F.adaptive_max_pool1d, F.adaptive_max_pool2d, F.adaptive_max_pool3d),
    ],
)
def test_a_size_leaves_a_coarser_grid(kind: Any, one: Any, two: Any, three: Any) -> None:
    image, film = torch.randn(2, 3, 7, 5), torch.randn(2, 3, 4, 7, 5)
    assert torch.allclose(pooled(Pool(kind, 2), image, IMAGE), two(image, 2))
    assert torch.allclose(pooled(Pool(kind, (3, 2)), image, IMAGE), two(image, (3, 2)))
    last = pooled(Pool(kind, (3, 2)), image.permute(0, 2, 3, 1), ("y", "x", "channel"))
    assert torch.allclose(last, two(image, (3, 2)).permute(0, 2, 3, 1))
    assert torch.allclose(pooled(Pool(kind, 2), film, ("channel", "time", "y", "x")), three(film, 2))
    tokens = torch.randn(2, 9, 4)
    assert torch.allclose(pooled(Pool(kind, 3), tokens, TOKENS), one(tokens.mT, 3).mT)
    assert Pool(kind, 2).dims(IMAGE, (3, 7, 5), (3, 2, 2)) == IMAGE


def test_a_dimension_that_is_short_already_stays() -> None:
    values = torch.randn(2, 3, 1, 6)
    assert torch.allclose(pooled(Pool("mean", 4), values, IMAGE), F.adaptive_avg_pool2d(values, (1, 4)))


@pytest.mark.parametrize("pool", [Pool(), Pool("max"), Pool("mean", 2), Pool("max", (2, 2))])
def test_a_sample_with_nothing_to_pool_is_left_as_it_is(pool: Pool) -> None:
    values = torch.randn(2, 5)
    assert pooled(pool, values, ("unit",)) is values
    assert pool.dims(("unit",), (5,), (5,)) == ("unit",)


@pytest.mark.parametrize("size", [None, 2])
@pytest.mark.parametrize(
    ("dtype", "mean"),
    [
        ("float16", "float16"),
        ("bfloat16", "bfloat16"),
        ("float64", "float64"),
        ("uint8", "float32"),
        ("bool", "float32"),
        ("int64", "float64"),
    ],
)
def test_the_dtype_stays_but_for_means_of_whole_numbers(size: int | None, dtype: str, mean: str) -> None:
    values = (torch.rand(2, 3, 4, 4) * 3).to(getattr(torch, dtype))
    averaged, largest = (pooled(Pool(kind, size), values, IMAGE) for kind in ("mean", "max"))  # type: ignore[arg-type]
    assert averaged.dtype == getattr(torch, mean)
    assert largest.dtype == values.dtype
    exact = (
        F.adaptive_avg_pool2d(values.double(), size or 1),
        F.adaptive_max_pool2d(values.double(), size or 1),
    )
    wanted = [each if size else each.flatten(1) for each in exact]
    assert torch.allclose(averaged.double(), wanted[0], rtol=1e-2)
    assert torch.equal(largest.double(), wanted[1])


@pytest.mark.parametrize("pool", [Pool(), Pool("max"), Pool("mean", 2)])
def test_neither_the_rest_of_the_batch_nor_the_order_in_memory_matters(pool: Pool) -> None:
    values = torch.randn(9, 6, 13, 11)
    begun = pool.begin("conv", (6, 13, 11), values.dtype, IMAGE)
    whole = begun(values)
    assert torch.equal(begun(values.to(memory_format=torch.channels_last)), whole)
    for start, stop in ((0, 1), (3, 4), (2, 7)):
        assert torch.equal(begun(values[start:stop]), whole[start:stop])


def test_a_single_mean_does_not_depend_on_the_number_of_threads() -> None:
    values = torch.randn(3, 1, 50_000)
    begun = Pool().begin("conv", (1, 50_000), values.dtype, ("channel", "time"))
    whole, num_threads = begun(values), torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        alone = torch.cat([begun(each) for each in values.split(1)])
    finally:
        torch.set_num_threads(num_threads)
    assert torch.equal(alone, whole)


def test_samples_of_other_sizes_can_be_pooled_but_not_with_other_dimensions() -> None:
    begun = Pool().begin("conv", (3, 4, 4), torch.float32, IMAGE)
    assert begun(torch.ones(2, 3, 9, 5)).shape == (2, 3)
    for pool in (Pool(), Pool("mean", 2)):
        with pytest.raises(InputError, match=r"layer 'conv': a batch began with 4 dimensions"):
            pool.begin("conv", (3, 4, 4), torch.float32, IMAGE)(torch.ones(2, 3, 4))


def test_complex_values_have_a_mean_but_no_maximum() -> None:
    values = torch.randn(2, 3, 4, 4, dtype=torch.complex64)
    assert torch.allclose(pooled(Pool(), values, IMAGE), values.mean((2, 3)))
    for pool in (Pool("max"), Pool("mean", 2)):
        with pytest.raises(InputError, match="complex"):
            pooled(pool, values, IMAGE)


def test_words_say_all_that_matters() -> None:
    assert [Pool().words, Pool("max").words] == ["pool mean", "pool max"]
    assert [Pool("max", 2).words, Pool("mean", (2, 3)).words] == ["pool max to 2", "pool mean to (2, 3)"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "sum"}, "'mean' or 'max', not 'sum'"),
        ({"size": 0}, "such as 2"),
        ({"size": ()}, "such as 2"),
        ({"size": (2, 0.5)}, "such as 2"),
        ({"size": "2"}, "such as 2"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Pool(**arguments)


def test_a_size_must_fit_the_dimensions() -> None:
    with pytest.raises(InputError, match="1 dimensions to pool"):
        pooled(Pool("mean", (2, 2)), torch.ones(2, 9, 4), TOKENS)
    with pytest.raises(InputError, match="of more than three"):
        pooled(Pool("mean", 2), torch.ones(2, 3, 3, 3, 3), ("time", "z", "y", "x"))


@given(shape=st.lists(st.integers(1, 4), max_size=3), num_samples=st.integers(1, 3))
def test_flatten_makes_rows_of_units(shape: list[int], num_samples: int) -> None:
    values = torch.randn(num_samples, *shape)
    flat = Flatten().begin("conv", tuple(shape), values.dtype, ())(values)
    assert flat.shape == (num_samples, values[0].numel())
    assert torch.equal(flat.reshape(values.shape), values)
    assert Flatten().dims(IMAGE, (1, 2, 3), (6,)) == ("unit",)
    assert Flatten().words == "flatten"
