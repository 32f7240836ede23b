"""Figures, histograms and windows of tensors: torch is the oracle."""

import math
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from torch import Tensor

from tests.many import examples
from torcheer.errors import InputError
from torcheer.tensorfile import (
    MAX_WINDOW_VALUES,
    RAW_TYPES,
    TensorView,
    Window,
    as_numbers,
    default_window,
    figures_of,
    grid_of,
    item_bytes_of,
    look_at,
    num_values,
)
from torcheer.tensorfile import tensor_figures as tensorfigures
from torcheer.tensorfile.reader import check_window
from torcheer.tensorfile.tensor_figures import COMPLEX_NOTE, NUM_BINS, ROUNDED_NOTE

SHAPES = st.lists(st.integers(0, 6), max_size=5).map(tuple)
LARGE_SHAPES = st.lists(st.integers(1, 3000) | st.integers(1, 2**60), max_size=5).map(tuple)
FLOATS = ["float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"]
WHOLE = ["uint8", "int8", "int16", "int32", "int64", "uint16", "uint32"]
DTYPES = st.sampled_from([*FLOATS, *WHOLE, "bool"])


def as_given(tensor: Tensor) -> Any:
    """As a source hands it over: types that NumPy has not as integers of their size."""
    name = str(tensor.dtype).removeprefix("torch.")
    raw = RAW_TYPES.get(name)
    return (tensor if raw is None else tensor.view(torch.uint8 if raw == 1 else torch.int16)).numpy()


def random_tensor(shape: tuple[int, ...], dtype: str, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    spread = torch.randn(shape, generator=generator, dtype=torch.float64) * 10 ** (seed % 5 - 2)
    spread[torch.rand(shape, generator=generator) < 0.2] = 0
    if dtype in FLOATS:
        for odd in (math.nan, math.inf, -math.inf):
            spread[torch.rand(shape, generator=generator) < 0.1] = odd
        return spread.to(getattr(torch, dtype))
    return spread.abs().clamp(max=100).to(getattr(torch, dtype))


def values_of(view: TensorView, data: bytes) -> Any:
    window = view.window
    shape = (window.num_tiles, window.num_rows, window.num_columns)
    return np.frombuffer(data, dtype=f"<{view.encoding}").reshape(shape)


# --- figures -----------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=examples(150))
@given(SHAPES, DTYPES, st.integers(0, 1000))
def test_figures_are_those_of_torch(shape: tuple[int, ...], dtype: str, seed: int) -> None:
    tensor = random_tensor(shape, dtype, seed)
    exact = tensor.to(torch.float64)
    finite = exact[torch.isfinite(exact)]

    figures = figures_of(as_given(tensor), dtype)

    assert figures.num_elements == tensor.numel()
    assert figures.num_zeros == int((exact == 0).sum())
    assert figures.num_nan == int(exact.isnan().sum())
    assert figures.num_inf == int(exact.isinf().sum())
    assert sum(figures.histogram) == finite.numel()
    if not finite.numel():
        assert figures.mean is figures.std is figures.min is figures.max is None
        return
    assert figures.min == finite.min().item()
    assert figures.max == finite.max().item()
    assert figures.mean == pytest.approx(finite.mean().item(), rel=1e-12, abs=1e-12)
    if finite.numel() > 1:
        assert figures.std == pytest.approx(finite.std().item(), rel=1e-9, abs=1e-12)
    else:
        assert figures.std is None


@settings(deadline=None, max_examples=examples(100))
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=60))
def test_a_histogram_counts_each_value_where_it_lies(numbers: list[float]) -> None:
    array = np.array(numbers)

    figures = figures_of(array, "float64")

    assert figures.histogram_low == min(numbers)
    assert figures.histogram_high == max(numbers)
    assert len(figures.histogram) == (1 if min(numbers) == max(numbers) else NUM_BINS)
    # Halves, so that the range of the largest numbers is a number too; a value on a border may go either way.
    halves, low, high = array / 2, min(numbers) / 2, max(numbers) / 2
    slack = (high - low) * 1e-9
    for count in range(1, len(figures.histogram)):
        border = low + (high - low) * (count / NUM_BINS)
        below = sum(figures.histogram[:count])
        assert np.sum(halves < border - slack) <= below <= np.sum(halves <= border + slack)


@settings(deadline=None, max_examples=examples(100))
@given(st.sampled_from(WHOLE), st.data())
def test_a_histogram_of_whole_numbers_has_bins_of_whole_numbers(dtype: str, data: st.DataObject) -> None:
    limits = np.iinfo(dtype)
    numbers = data.draw(st.lists(st.integers(int(limits.min), int(limits.max)), min_size=1, max_size=40))

    figures = figures_of(np.array(numbers, dtype=dtype), dtype)

    width = -(-(max(numbers) - min(numbers) + 1) // NUM_BINS)
    expected = [0] * len(figures.histogram)
    for number in numbers:
        expected[(number - min(numbers)) // width] += 1
    assert list(figures.histogram) == expected
    assert len(figures.histogram) <= NUM_BINS
    assert figures.histogram_low == min(numbers) - 0.5
    assert figures.histogram_high == min(numbers) + width * len(expected) - 0.5


def test_booleans_have_two_bins_even_if_all_are_alike() -> None:
    figures = figures_of(np.ones((2, 3), dtype=bool), "bool")

    assert figures.histogram == (0, 6)
    assert (figures.histogram_low, figures.histogram_high) == (-0.5, 1.5)
    assert (figures.mean, figures.min, figures.max) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("magnitude", [1e-320, 1e-200, 1.0, 1e200, 1.5e308])
def test_figures_hold_at_both_ends_of_what_a_float_can_be(magnitude: float) -> None:
    array = np.array([0.25, 0.5, 1.0, 0.0]) * magnitude

    figures = figures_of(array, "float64")

    assert figures.mean == pytest.approx(0.4375 * magnitude, rel=1e-3)
    assert figures.std == pytest.approx(np.std([0.25, 0.5, 1.0, 0.0], ddof=1) * magnitude, rel=1e-3)
    assert sum(figures.histogram) == 4


def test_a_large_mean_costs_the_spread_no_digits() -> None:
    array = 1e9 + np.tile([0.0, 1.0], 100_000)

    figures = figures_of(array, "float64")

    assert figures.mean == pytest.approx(1e9 + 0.5, rel=1e-15)
    assert figures.std == pytest.approx(0.5, rel=1e-5)


def test_a_spread_that_no_float_can_be_is_not_given() -> None:
    figures = figures_of(np.array([1.7e308, -1.7e308]), "float64")

    assert figures.std is None
    assert figures.mean == 0.0
    assert figures.histogram[0] == figures.histogram[-1] == 1


@pytest.mark.parametrize("name", RAW_TYPES)
def test_every_number_of_a_raw_type_is_read_as_torch_reads_it(name: str) -> None:
    bits = torch.arange(256, dtype=torch.int32).to(torch.uint8)
    if RAW_TYPES[name] == 2:
        bits = torch.arange(65536, dtype=torch.int32).to(torch.int16)
    expected = bits.view(getattr(torch, name)).float().numpy()

    assert np.array_equal(as_numbers(bits.numpy(), name), expected, equal_nan=True)


def test_complex_numbers_are_shown_by_their_magnitude_and_say_so() -> None:
    tensor = torch.tensor([3 + 4j, 0j, complex(math.nan, 1), complex(1, math.inf)])

    view, data = look_at(tensor.numpy(), "complex64")

    assert view.note == COMPLEX_NOTE
    assert np.array_equal(values_of(view, data)[0, 0], tensor.abs().numpy(), equal_nan=True)
    assert (view.num_zeros, view.num_nan, view.num_inf, view.max) == (1, 1, 1, 5.0)


def test_whole_numbers_that_a_float_cannot_hold_are_said_to_be_rounded() -> None:
    assert figures_of(np.array([2**53]), "int64").note == ""
    assert figures_of(np.array([2**53 + 1]), "int64").note == ROUNDED_NOTE


@settings(deadline=None, max_examples=examples(60))
@given(st.lists(st.integers(2, 5), min_size=1, max_size=4), st.data())
def test_figures_do_not_depend_on_how_a_tensor_lies_in_memory(sizes: list[int], data: st.DataObject) -> None:
    tensor = torch.randn([size + 1 for size in sizes])
    order = data.draw(st.permutations(range(tensor.dim())))
    view = tensor.permute(order)[:, ...] if data.draw(st.booleans()) else tensor.permute(order)[1:]
    if data.draw(st.booleans()):
        view = view.unsqueeze(-1).expand(*view.shape, 3)
    chunk = data.draw(st.sampled_from([1, 2, 5, 1000]))

    original, tensorfigures._CHUNK = tensorfigures._CHUNK, chunk
    try:
        strided = figures_of(view.numpy(), "float32")
    finally:
        tensorfigures._CHUNK = original
    plain = figures_of(view.contiguous().numpy(), "float32")

    assert strided.histogram == plain.histogram
    assert (strided.min, strided.max, strided.num_elements) == (plain.min, plain.max, plain.num_elements)
    assert strided.mean == pytest.approx(plain.mean, rel=1e-9, abs=1e-12)
    assert strided.std == pytest.approx(plain.std, rel=1e-9)


def test_an_expanded_tensor_is_not_gone_through_again_and_again() -> None:
    array = np.broadcast_to(np.array([1.0, 3.0], dtype=np.float32), (2**40, 2))

    figures = figures_of(array, "float32")

    assert figures.num_elements == 2**41
    assert figures.mean == 2.0
    assert sum(figures.histogram) == 2**41


# --- windows -----------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=examples(200))
@given(LARGE_SHAPES, st.integers(1, 1 << 22), st.sampled_from([4, 8]))
def test_the_window_that_is_chosen_fits_the_budget_and_the_tensor(
    shape: tuple[int, ...], budget: int, item_bytes: int
) -> None:
    window = default_window(shape, budget, item_bytes=item_bytes)

    check_window(shape, window)
    assert 1 <= num_values(window) * item_bytes <= max(budget, item_bytes)


@settings(deadline=None, max_examples=examples(100))
@given(SHAPES)
def test_a_window_with_room_for_all_of_an_item_has_all_of_it(shape: tuple[int, ...]) -> None:
    grid = grid_of(shape)

    window = default_window(shape, 1 << 20)

    expected = 0 if 0 in shape else grid.tiles * grid.rows * grid.columns
    assert num_values(window) == expected


def test_a_long_row_is_thinned_out_along_itself_only() -> None:
    window = default_window((1, 12, 50257), 4096)

    assert (window.num_rows, window.row_step) == (12, 1)
    assert window.column_step > 500


@pytest.mark.parametrize("shape", [(100_000,), (1, 100_000), (1, 1, 100_000, 1)])
def test_a_line_of_values_is_shown_from_its_beginning(shape: tuple[int, ...]) -> None:
    window = default_window(shape, 4096)

    assert (window.row_step, window.column_step) == (1, 1)
    assert num_values(window) == 1024


def test_a_picture_keeps_its_form() -> None:
    window = default_window((1, 3, 480, 640), 64 * 1024)

    assert window.row_step == window.column_step > 1
    assert window.num_tiles == 3


@settings(deadline=None, max_examples=examples(150))
@given(SHAPES, DTYPES, st.data())
def test_the_values_of_a_window_stand_in_the_tensor(
    shape: tuple[int, ...], dtype: str, data: st.DataObject
) -> None:
    tensor = random_tensor(shape, dtype, 3)
    window = data.draw(windows(shape))

    view, raw = look_at(as_given(tensor), dtype, window)

    assert view.window == window
    assert len(raw) == num_values(window) * item_bytes_of(dtype)
    tiled = tensor.double().reshape((1,) * (3 - len(shape)) + shape)
    for index in window.item:
        tiled = tiled[index] if num_values(window) else tiled
    for tile in range(window.num_tiles if num_values(window) else 0):
        rows = [window.first_row + i * window.row_step for i in range(window.num_rows)]
        columns = [window.first_column + i * window.column_step for i in range(window.num_columns)]
        expected = tiled[window.first_tile + tile][rows][:, columns].numpy()
        assert np.array_equal(values_of(view, raw)[tile], expected, equal_nan=True)


@st.composite
def windows(draw: st.DrawFn, shape: tuple[int, ...]) -> Window:
    grid = grid_of(shape)
    sides = []
    for size in (grid.tiles, grid.rows, grid.columns):
        first = draw(st.integers(0, max(size - 1, 0)))
        step = draw(st.integers(1, 3))
        sides.append(
            (first, step, draw(st.integers(0, -(-(size - first) // step))) if math.prod(shape) else 0)
        )
    return Window(
        item=[draw(st.integers(0, max(size - 1, 0))) for size in grid.items],
        first_tile=sides[0][0],
        num_tiles=0 if sides[0][2] == 0 else draw(st.integers(0, grid.tiles - sides[0][0])),
        first_row=sides[1][0],
        row_step=sides[1][1],
        num_rows=sides[1][2],
        first_column=sides[2][0],
        column_step=sides[2][1],
        num_columns=sides[2][2],
    )


@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (4, 5, 6), (2, 3, 4, 5, 6)])
def test_a_window_outside_of_the_tensor_is_refused(shape: tuple[int, ...]) -> None:
    good = default_window(shape)
    fields = ["first_tile", "num_tiles", "first_row", "row_step", "num_rows", "first_column", "num_columns"]
    for field in fields:
        for wrong in (-1, 10**6, 2**63, 10**400):
            window = Window(**{name: getattr(good, name) for name in good.__struct_fields__} | {field: wrong})
            if field == "row_step" and wrong > 0 and good.num_rows == 1:
                continue  # a single row has no step
            with pytest.raises(InputError):
                check_window(shape, window)


@pytest.mark.parametrize("item", [[], [2], [-1], [0, 0], [2**70]])
def test_an_item_that_is_not_there_is_refused(item: list[int]) -> None:
    shape = (2, 3, 4, 5)
    good = default_window(shape)
    window = Window(**{name: getattr(good, name) for name in good.__struct_fields__} | {"item": item})

    with pytest.raises(InputError):
        check_window(shape, window)


def test_a_window_of_too_many_values_is_refused() -> None:
    shape = (1000, 1000)
    good = default_window(shape)
    fields = {name: getattr(good, name) for name in good.__struct_fields__}
    large = Window(**fields | {"row_step": 1, "column_step": 1, "num_rows": 1000, "num_columns": 1000})

    assert MAX_WINDOW_VALUES < 1000 * 1000
    with pytest.raises(InputError, match="too many values"):
        check_window(shape, large)


@pytest.mark.parametrize("name", [*FLOATS, *WHOLE, "bool", "complex64", "complex128"])
def test_the_size_of_a_value_is_known_from_its_type_alone(name: str) -> None:
    numbers = as_numbers(as_given(torch.zeros(2, dtype=getattr(torch, name))), name).dtype
    is_exact = np.can_cast(numbers, np.complex64 if numbers.kind == "c" else np.float32)

    assert item_bytes_of(name) == (4 if is_exact else 8)


def test_many_different_values_fall_into_fifty_bins() -> None:
    assert len(figures_of(np.linspace(-1, 1, 1001), "float64").histogram) == 50
    assert len(figures_of(np.arange(50), "int64").histogram) == 50
    assert len(figures_of(np.arange(51), "int64").histogram) == 26  # two whole numbers to a bin
