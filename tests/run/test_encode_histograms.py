"""Histograms are those of torch.utils.tensorboard, and hold every value."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.many import examples
from tests.run.encode_checks import FakeRun, encoded, logged, refused, written_by_tensorboard
from torcheer.run.records import Encoded

FLOATS = st.floats(allow_nan=False, allow_infinity=False, width=64)


def parts(made: Encoded) -> tuple[np.ndarray, np.ndarray]:
    """Edges and counts out of a record."""
    numbers = np.frombuffer(made.data, dtype="<f8")
    assert len(numbers) == 2 * made.head.num_bins + 1
    return numbers[: made.head.num_bins + 1], numbers[made.head.num_bins + 1 :]


def histogram(values: Any, **options: Any) -> Encoded:
    return logged(lambda run: run.log_histogram(0, "h", values, **options))


VALUES = {
    "normal": torch.randn(1000),
    "positive": torch.rand(100) + 1,
    "negative": -torch.rand(100) - 1,
    "zeros": torch.zeros(5),
    "one": torch.tensor(3.0),
    "whole": torch.randint(-5, 5, (7, 8)),
    "bfloat16": torch.randn(300).bfloat16(),
    "bool": torch.tensor([True, False, True]),
    "tiny": torch.tensor([1e-30, -1e-30, 1e-13]),
}
BINS: list[Any] = ["tensorflow", "auto", "fd", "sqrt", 10, [-2.0, 0.0, 0.5, 4.0]]


@pytest.mark.parametrize("bins", BINS)
def test_a_histogram_is_the_one_that_torch_utils_tensorboard_writes(bins: Any, tmp_path: Path) -> None:
    def write(writer: Any) -> None:
        for name, values in VALUES.items():
            writer.add_histogram(name, values.float() if values.dtype == torch.bool else values, bins=bins)
            writer.add_histogram(f"{name}, few", values.double(), bins=bins, max_bins=4)

    theirs = written_by_tensorboard(tmp_path, write)

    for name, values in VALUES.items():
        for tag, options in ((name, {}), (f"{name}, few", {"max_bins": 4})):
            (event,) = theirs.Histograms(tag)
            value = event.histogram_value
            made = histogram(values, bins=bins, **options)
            edges, counts = parts(made)
            head = made.head
            # Their first bin is empty and ends where the first with values begins.
            assert edges.tolist() == list(value.bucket_limit)
            assert [0, *counts.tolist()] == list(value.bucket)
            assert head.num == value.num
            assert (head.min, head.max) == (value.min, value.max)
            assert head.sum == pytest.approx(value.sum, abs=1e-9)
            assert head.sum_squares == pytest.approx(value.sum_squares)


def test_edges_that_no_value_lies_between_stay_as_they_are() -> None:
    edges, counts = parts(histogram(torch.ones(3), bins=[5.0, 6.0, 7.0]))

    assert edges.tolist() == [5, 6, 7]
    assert counts.tolist() == [0, 0]


@settings(max_examples=examples(60), deadline=None)
@given(
    values=st.lists(FLOATS, min_size=1, max_size=50),
    bins=st.sampled_from(["tensorflow", "sturges", 7]),
    max_bins=st.none() | st.integers(1, 20),
)
def test_every_finite_value_is_in_one_bin(values: list[float], bins: Any, max_bins: int | None) -> None:
    made = histogram(np.array(values), bins=bins, max_bins=max_bins)
    edges, counts = parts(made)

    assert counts.sum() == made.head.num == len(values)
    assert (np.diff(edges) >= 0).all()
    assert np.isfinite(edges).all()
    assert edges[0] <= min(values) <= max(values) <= edges[-1]


@settings(max_examples=examples(40), deadline=None)
@given(values=st.lists(st.floats(width=32), min_size=1, max_size=30))
def test_what_is_not_finite_is_counted_apart(values: list[float]) -> None:
    made = histogram(torch.tensor(values, dtype=torch.float32))
    finite = [value for value in values if math.isfinite(value)]

    assert parts(made)[1].sum() == made.head.num == len(finite)
    assert made.head.num_nan == sum(map(math.isnan, values))
    assert made.head.num_inf == sum(map(math.isinf, values))
    assert (made.head.min is None) == (not finite)


def test_a_large_tensor_is_counted_in_pieces_as_in_one() -> None:
    values = torch.randn(200_000, dtype=torch.float64)
    for bins in ("tensorflow", 13):
        edges, counts = parts(histogram(values, bins=bins))
        whole, _ = np.histogram(values.numpy(), bins=edges)

        assert counts.tolist() == whole.tolist()


def test_an_expanded_tensor_counts_each_of_its_elements() -> None:
    made = histogram(torch.tensor([[1.0], [2.0]]).expand(2, 50))

    assert (made.head.num, made.head.sum) == (100, 150)
    assert parts(made)[1].sum() == 100


def test_more_values_than_can_be_copied_are_counted_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    huge = histogram(torch.tensor([[1.0], [2.0]], dtype=torch.bfloat16).expand(2, 10**9))
    monkeypatch.setattr("torcheer.run.encode.histograms.MOST_COPIED", 0)
    for values in (torch.randn(6, 5)[:, ::2], np.random.default_rng(0).normal(size=(6, 5)).T):
        run = FakeRun()
        run.log_histogram(0, "h", values)
        expected = float(values.max())
        values[:] = 7.0

        assert encoded(run.only()).head.max == expected

    assert (huge.head.num, huge.head.sum) == (2 * 10**9, 3 * 10**9)


def test_as_many_values_as_no_rule_can_look_at_need_a_number_of_bins() -> None:
    values = torch.tensor([1.0, 2.0])[:, None].expand(2, 10**9)

    assert parts(histogram(values, bins=4))[1].tolist() == [10**9, 0, 0, 10**9]
    assert "give a number of bins" in refused(lambda run: run.log_histogram(0, "h", values, bins="auto"))


@pytest.mark.parametrize("rule", ["auto", "fd"])
def test_outliers_do_not_make_bins_without_end(rule: str) -> None:
    values = np.append(np.random.default_rng(0).normal(size=1000), [1e12])

    made = histogram(values, bins=rule)

    assert made.head.num_bins <= 65_536
    assert parts(made)[1].sum() == 1001


def test_sums_beyond_all_floats_are_not_known() -> None:
    made = histogram(np.array([1e200, 1.7e308, 1.7e308]))

    assert (made.head.sum, made.head.sum_squares) == (None, None)
    assert parts(made)[1].sum() == 3


@pytest.mark.parametrize(
    ("values", "bins", "what"),
    [
        (torch.zeros(0), "tensorflow", "no values"),
        (torch.ones(2, dtype=torch.complex64), "tensorflow", "x.abs()"),
        (torch.ones(2), "nearest", "bins='nearest'"),
        (torch.ones(2), 0, "from 1 to"),
        (torch.ones(2), 10**9, "from 1 to"),
        (torch.ones(2), [3.0, 1.0], "smaller than the one before"),
        (torch.ones(2), [1.0], "at least two"),
        (torch.ones(2), [0.0, math.nan], "at least two"),
    ],
)
def test_what_cannot_be_counted_is_told(values: Any, bins: Any, what: str) -> None:
    assert what in refused(lambda run: run.log_histogram(0, "h", values, bins=bins))


# --- counted elsewhere -----------------------------------------------------------------------------------


def raw(limits: Any, counts: Any, **known: float) -> Encoded:
    figures = {"min": 0.0, "max": 9.0, "num": 3, "sum": 1.0, "sum_squares": 2.0, **known}
    return logged(lambda run: run.log_histogram_raw(0, "h", limits=limits, counts=counts, known=figures))


def test_a_histogram_that_was_counted_elsewhere_gets_edges_all_around() -> None:
    edges, counts = parts(raw([1.0, 2.0, 3.0], [5, 0, 2]))

    assert edges.tolist() == [0, 1, 2, 3]
    assert counts.tolist() == [5, 0, 2]


def test_an_empty_first_bin_says_where_the_next_one_begins() -> None:
    edges, counts = parts(raw(torch.tensor([1.0, 2.0, 3.0]), np.array([0, 4, 2])))

    assert edges.tolist() == [1, 2, 3]
    assert counts.tolist() == [4, 2]


def test_a_last_bin_that_ends_nowhere_ends_at_the_largest_value() -> None:
    for end in (math.inf, np.finfo(np.float64).max):
        edges, counts = parts(raw([1.0, end], [1, 2]))

        assert edges.tolist() == [0, 1, 9]
        assert counts.tolist() == [1, 2]


def test_a_histogram_that_cannot_be_is_told() -> None:
    def log(limits: Any, counts: Any) -> str:
        known = {"min": 0.0, "max": 9.0, "num": 3, "sum": 1.0, "sum_squares": 2.0}
        return refused(lambda run: run.log_histogram_raw(0, "h", limits=limits, counts=counts, known=known))

    assert "2 limits and 1 counts" in log([1, 2], [1])
    assert "rising order" in log([2, 1], [1, 1])
    assert "0 limits" in log([], [])
    assert "from 0 on" in log([1, 2], [1, -1])
    assert "from 0 on" in log([1, 2], [1, math.nan])


def test_what_is_not_known_of_a_histogram_may_be_left_out() -> None:
    made = logged(
        lambda run: run.log_histogram_raw(
            0, "h", limits=[-math.inf, 1.0, math.inf], counts=[0, 4, 2], known={"num": math.nan}
        )
    )

    assert (made.head.num, made.head.min, made.head.sum) == (6, None, None)
    edges, counts = parts(made)
    assert (edges.tolist(), counts.tolist()) == ([1, 1, 1], [4, 2])
