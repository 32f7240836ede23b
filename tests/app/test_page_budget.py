"""How much of a pass goes into a page of limited size, and in which order."""

import re
from typing import Any

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given, settings

import torcheer as tl
from tests.app.reading_pages import Stack, data_of, page_of
from tests.many import examples
from torcheer.app.passes.page import Wanted, level_of, share_out
from torcheer.errors import InputError
from torcheer.tensorfile import grid_of, item_bytes_of


@pytest.fixture(scope="module")
def stack() -> Any:
    return tl.log_forward_pass(Stack(), torch.randn(2, 3, 40, 40))


@pytest.mark.parametrize("max_bytes", [0, 50_000, 100_000, 200_000, 400_000, 1_000_000, 4_000_000])
def test_a_page_is_not_larger_than_it_may_be(stack: Any, max_bytes: int) -> None:
    structure = len(page_of(stack, 0).encode())

    html = page_of(stack, max_bytes)

    assert len(html.encode()) <= max(max_bytes, structure + 2500)
    data = data_of(html)
    assert len(data["document"]["ops"]) == len(stack)
    if max_bytes >= 400_000:
        assert data["notes"] == []
        assert len(data["tensors"]) == len(stack) + len(data["document"]["params"])


def test_structure_only_says_so(stack: Any) -> None:
    data = data_of(page_of(stack, 0))

    assert data["tensors"] == []
    assert data["figures"] == {}
    assert "the structure only" in data["notes"][0]
    assert "max_bytes" in data["notes"][0]


def test_outputs_come_before_weights_where_not_all_fit(stack: Any) -> None:
    structure = len(page_of(stack, 0).encode())

    few, some = (data_of(page_of(stack, structure + extra)) for extra in (30_000, 60_000))

    assert {one["kind"] for one in few["tensors"]} == {"output"}
    assert "of 62 outputs, all 60 weights" in few["notes"][0]
    kinds = [one["kind"] for one in some["tensors"]]
    assert kinds[:62] == ["output"] * 62
    assert 62 < len(kinds) < 122
    assert re.search(r": \d+ of 60 weights\.", some["notes"][0])


def test_a_larger_budget_shows_more_of_each(stack: Any) -> None:
    sizes = [
        sum(len(one["data"]) for one in data_of(page_of(stack, n))["tensors"]) for n in (300_000, 1_000_000)
    ]

    assert sizes[1] > 2 * sizes[0]


@settings(deadline=None, max_examples=examples(200))
@given(st.lists(st.integers(0, 10_000)), st.integers(-10, 100_000), st.integers(1, 20_000))
def test_a_level_is_the_largest_that_fits(sizes: list[int], budget: int, most: int) -> None:
    level = level_of(sizes, budget, most)

    assert sum(min(size, level) for size in sizes) <= max(budget, 0)
    if level < most:
        assert sum(min(size, level + 1) for size in sizes) > budget


@settings(deadline=None, max_examples=examples(60))
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["output", "grad", "param"]),
            st.lists(st.integers(0, 300), max_size=4),
            st.sampled_from(["float32", "int64"]),
        ),
        max_size=30,
    ),
    st.integers(0, 500_000),
)
def test_shares_are_within_the_budget_and_no_larger_than_what_they_are_of(
    tensors: list[tuple[Any, list[int], str]], budget: int
) -> None:
    wanted = [
        Wanted(kind=kind, index=i, shape=shape, dtype=dtype, num_bytes=0)
        for i, (kind, shape, dtype) in enumerate(tensors)
    ]

    given_bytes = share_out(wanted, budget)

    assert len(given_bytes) <= len(wanted)
    for one, num_bytes in zip(wanted, given_bytes, strict=False):
        grid = grid_of(one.shape)
        assert 0 <= num_bytes <= grid.tiles * grid.rows * grid.columns * item_bytes_of(one.dtype)


@pytest.mark.parametrize("wrong", [-1, "many", None, True, float("nan"), float("inf")])
def test_a_budget_that_is_no_number_of_bytes_is_refused(stack: Any, wrong: Any) -> None:
    with pytest.raises(InputError, match="max_bytes"):
        page_of(stack, wrong)
