"""Numbers as levels of two bytes: none is further from its level than half of one, and the ends are exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

from torcheer.app.net.messages import LEVELS, MINUS_INFINITY, NOT_A_NUMBER, NOT_THERE, PLUS_INFINITY
from torcheer.app.net.reader import levels_of, numbers_in

FLOATS = st.sampled_from(["float16", "float32", "float64"])
ARRAYS = FLOATS.flatmap(lambda dtype: st_numpy.arrays(dtype, st.integers(1, 40)))


@given(ARRAYS)
def test_every_number_is_within_half_a_level_and_the_ends_are_exact(values: np.ndarray) -> None:
    exact = values.astype(np.float64)
    is_number = np.abs(exact) <= np.finfo(np.float64).max / 2
    found = levels_of(values.astype(np.float32) if values.dtype == np.float16 else values)

    assert np.array_equal(found.codes <= LEVELS, is_number)
    assert (found.codes[np.isnan(exact)] == NOT_A_NUMBER).all()
    assert (found.codes[~is_number & (exact > 0)] == PLUS_INFINITY).all()
    assert (found.codes[~is_number & (exact < 0)] == MINUS_INFINITY).all()
    numbers, codes = exact[is_number], found.codes[is_number].astype(np.float64)
    if not len(numbers):
        assert (found.low, found.high) == (0.0, 0.0)
        return
    assert (found.low, found.high) == (numbers.min(), numbers.max())
    if found.low == found.high:
        assert not codes.any()
        return
    assert (codes[numbers == found.low] == 0).all()
    assert (codes[numbers == found.high] == LEVELS).all()
    span = found.high - found.low
    wanted = (numbers - found.low) / span * LEVELS
    assert np.abs(codes - wanted).max() <= 0.53


@pytest.mark.parametrize(
    "dtype", ["bfloat16", "float16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"]
)
def test_floats_of_all_types_are_read_as_torch_has_them(dtype: str) -> None:
    tensor = torch.randn(50).to(getattr(torch, dtype))
    data = tensor.view(torch.uint8).numpy().tobytes()
    assert np.array_equal(numbers_in(data, dtype).astype(np.float64), tensor.to(torch.float64).numpy())


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"])
def test_whole_numbers_of_all_types_are_read(dtype: str) -> None:
    info = np.iinfo(dtype)
    array = np.array([info.min, 0, 1, 77, info.max], dtype=dtype)
    numbers = numbers_in(array.astype(np.dtype(dtype).newbyteorder("<")).tobytes(), dtype)
    assert numbers.tolist() == array.tolist()
    found = levels_of(numbers)
    assert (found.low, found.high) == (float(info.min), float(info.max))
    assert (found.codes[0], found.codes[-1]) == (0, LEVELS)


@pytest.mark.parametrize("dtype", [torch.complex32, torch.complex64, torch.complex128])
@pytest.mark.filterwarnings("ignore:ComplexHalf")
def test_complex_numbers_are_shown_by_their_magnitude(dtype: torch.dtype) -> None:
    tensor = torch.tensor([3 + 4j, 0, -1j, 1], dtype=torch.complex64).to(dtype)
    data = torch.view_as_real(tensor).contiguous().view(torch.uint8).numpy().tobytes()
    assert numbers_in(data, str(dtype).removeprefix("torch.")).tolist() == [5.0, 0.0, 1.0, 1.0]


def test_truths_are_one_and_zero() -> None:
    found = levels_of(numbers_in(bytes([0, 1, 7, 0]), "bool"))
    assert (found.codes.tolist(), found.low, found.high) == ([0, LEVELS, LEVELS, 0], 0.0, 1.0)


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        ([], []),
        ([3.5, 3.5, 3.5], [0, 0, 0]),
        ([np.nan, np.nan], [NOT_A_NUMBER] * 2),
        ([np.inf, -np.inf, 2.0], [PLUS_INFINITY, MINUS_INFINITY, 0]),
        (
            [-1.7e308, 1.7e308, 0.0, 1.0],
            [MINUS_INFINITY, PLUS_INFINITY, 0, LEVELS],
        ),  # beyond what a page holds
        ([-3e38, 3e38, 0.0], [0, LEVELS, 32_766]),
        ([0.0, 5e-324], [0, LEVELS]),
        ([1.0, 1.0 + 2**-52], [0, LEVELS]),
    ],
)
def test_the_odd_cases(values: Any, codes: list[int]) -> None:
    found = levels_of(np.array(values, dtype=np.float64))
    assert found.codes.tolist() == codes
    assert np.isfinite(found.high - found.low)


def test_the_widest_float32_has_levels() -> None:
    limits = np.finfo(np.float32)
    found = levels_of(np.array([limits.min, limits.max, 0.0], dtype=np.float32))
    assert found.codes.tolist()[:2] == [0, LEVELS]
    assert levels_of(np.array([0, 1e-45], dtype=np.float32)).codes.tolist() == [0, LEVELS]


def test_what_is_not_there_has_its_code_and_does_not_count() -> None:
    values = np.array([-100.0, 1.0, np.nan, 3.0, 2.0])
    found = levels_of(values, np.array([False, True, True, True, False]))
    assert found.codes.tolist() == [NOT_THERE, 0, NOT_A_NUMBER, LEVELS, NOT_THERE]
    assert (found.low, found.high) == (1.0, 3.0)
