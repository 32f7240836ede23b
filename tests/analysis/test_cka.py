"""Centred kernel alignment: against the formulas, written out for small arrays."""

from __future__ import annotations

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analysis.counting import CountingRows
from tests.many import examples
from torcheer.analysis import cka, compare_layers
from torcheer.errors import InputError


def two_layers(num: int = 30, *, seed: int = 0) -> tuple[numpy.ndarray, numpy.ndarray]:
    random = numpy.random.default_rng(seed)
    first = random.normal(size=(num, 8))
    return first, first @ random.normal(size=(8, 5)) + random.normal(size=(num, 5))


def plain(k: numpy.ndarray, m: numpy.ndarray) -> float:
    centre = numpy.eye(len(k)) - 1 / len(k)
    return float(numpy.trace(k @ centre @ m @ centre)) / (len(k) - 1) ** 2


def unbiased(k: numpy.ndarray, m: numpy.ndarray) -> float:
    k, m = k - numpy.diag(numpy.diag(k)), m - numpy.diag(numpy.diag(m))
    n, one = len(k), numpy.ones(len(k))
    inner = numpy.trace(k @ m) + (one @ k @ one) * (one @ m @ one) / ((n - 1) * (n - 2))
    return float(inner - 2 / (n - 2) * (one @ k @ m @ one)) / (n * (n - 3))


def direct(k: numpy.ndarray, m: numpy.ndarray, *, is_unbiased: bool) -> float:
    hsic = unbiased if is_unbiased else plain
    return hsic(k, m) / numpy.sqrt(hsic(k, k) * hsic(m, m))


@pytest.mark.parametrize("is_unbiased", [False, True])
@given(
    num=st.integers(5, 20), units=st.tuples(st.integers(1, 30), st.integers(1, 6)), seed=st.integers(0, 99)
)
@settings(max_examples=examples(30), deadline=None)
def test_is_the_formula(is_unbiased: bool, num: int, units: tuple[int, int], seed: int) -> None:
    random = numpy.random.default_rng(seed)
    first = random.normal(size=(num, units[0]))
    second = random.normal(size=(num, units[1])) + first[:, :1]

    found = cka(first, second, unbiased=is_unbiased)

    if is_unbiased and min(unbiased(x @ x.T, x @ x.T) for x in (first, second)) <= 1e-9:
        return  # an estimate of what is never negative may be
    assert found == pytest.approx(
        direct(first @ first.T, second @ second.T, is_unbiased=is_unbiased), abs=1e-8
    )


@pytest.mark.parametrize("is_unbiased", [False, True])
def test_units_and_samples_give_the_same_in_one_pass_over_units(is_unbiased: bool) -> None:
    first, second = two_layers(60)
    pad = numpy.zeros((60, 300))
    wide = numpy.concatenate([second, pad], axis=1)  # too many units for their products: samples are taken
    rows = CountingRows(first), CountingRows(second)

    by_units = cka(*rows, unbiased=is_unbiased)
    by_samples = cka(first, wide, unbiased=is_unbiased)

    assert by_units == pytest.approx(by_samples, abs=1e-12)
    assert by_units == pytest.approx(direct(first @ first.T, second @ second.T, is_unbiased=is_unbiased))
    assert [one.num_rows_read for one in rows] == [120, 120]  # one block more, for the mean


@pytest.mark.parametrize("is_unbiased", [False, True])
def test_small_memory_and_large_means_change_nothing(is_unbiased: bool) -> None:
    first, second = two_layers(40)
    wide = numpy.tile(second, (1, 40))
    rows = CountingRows(wide + 1e6)

    large = cka(first, wide, unbiased=is_unbiased)
    small = cka(first - 1e6, rows, unbiased=is_unbiased, memory_bytes=60_000)

    assert small == pytest.approx(large, abs=1e-7)
    assert rows.largest_bytes <= 60_000 // 8
    assert rows.num_passes > 1


@pytest.mark.parametrize("is_unbiased", [False, True])
def test_rotation_and_size_do_not_matter(is_unbiased: bool) -> None:
    first, second = two_layers()
    turn, _ = numpy.linalg.qr(numpy.random.default_rng(1).normal(size=(8, 8)))

    before = cka(first, second, unbiased=is_unbiased)

    assert cka(first @ turn * 7.5 + 3, second, unbiased=is_unbiased) == pytest.approx(before)
    assert cka(second, first, unbiased=is_unbiased) == pytest.approx(before)
    assert cka(first, first @ turn, unbiased=is_unbiased) == pytest.approx(1)
    assert before < 0.99


def test_unrelated_layers_share_nothing_by_the_unbiased_estimate() -> None:
    random = numpy.random.default_rng(0)
    first, second = random.normal(size=(100, 400)), random.normal(size=(100, 400))

    assert cka(first, second) > 0.7
    assert abs(cka(first, second, unbiased=True)) < 0.05


def test_where_neither_way_fits_fewer_samples_are_named() -> None:
    _first, second = two_layers(300)
    wide = numpy.tile(second, (1, 100))

    with pytest.raises(InputError, match=r"take fewer samples \(samples=…\), or allow more"):
        cka(wide, wide, memory_bytes=500_000)

    assert cka(wide, wide, samples=80, memory_bytes=500_000) == pytest.approx(1)


def test_what_has_no_answer() -> None:
    first, second = two_layers(8)

    assert numpy.isnan(cka(first, numpy.ones((8, 2))))
    for wrong, says in [
        ({"samples": 3, "unbiased": True}, "give 4"),
        ({"memory_bytes": 0}, "memory_bytes"),
    ]:
        with pytest.raises(InputError, match=says):
            cka(first, second, **wrong)
    with pytest.raises(InputError, match="same samples"):
        cka(first, second[:5])


@pytest.mark.parametrize("options", [{}, {"unbiased": True}])
@pytest.mark.parametrize("memory", [1 << 30, 60_000])
def test_layers_are_compared_pair_by_pair(options: dict[str, object], memory: int) -> None:
    first, second = two_layers(40)
    layers = {"a": first, "b": second, "c": second**3}

    found = compare_layers(layers, method="cka", memory_bytes=memory, **options)

    pairs = [[cka(one, other, **options) for other in layers.values()] for one in layers.values()]
    assert numpy.allclose(found.values, pairs)
    assert found.method == "cka"
