"""How a shape becomes a grid of units, and where each unit lies in it."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.netview.grid_cells import cell_of
from torcheer.errors import InputError
from torcheer.netview import grid_of, plate_size
from torcheer.netview.scene import manual_grid, near_square
from torcheer.run import Grid

SHAPES = st.lists(st.integers(1, 12), max_size=4)


@given(SHAPES)
def test_every_unit_has_a_cell_of_its_own(shape: list[int]) -> None:
    grid = grid_of(shape)
    cells = [cell_of(grid, unit) for unit in range(grid.num_units)]
    columns, rows = plate_size(grid)
    assert grid.num_units == math.prod(shape)
    assert len(set(cells)) == grid.num_units
    assert all(0 <= column < columns and 0 <= row < rows for column, row in cells)


@given(st.integers(17, 5000))
def test_a_vector_is_near_square(num_units: int) -> None:
    rows, columns = near_square(num_units)
    assert rows * columns >= num_units
    assert (rows - 1) * columns < num_units
    assert rows <= columns <= 4 * rows + 1


def test_few_units_stand_in_one_row() -> None:
    assert plate_size(grid_of([10])) == (10, 1)


def test_maps_lie_side_by_side_upright() -> None:
    grid = grid_of([6, 4, 5])
    assert (grid.tiles_down, grid.tiles_across, grid.rows, grid.columns) == (3, 2, 4, 5)
    # Row 2, column 3 of map 3, which is the second of the second row of maps.
    assert cell_of(grid, 3 * 20 + 2 * 5 + 3) == (5 + grid.gap + 3, 4 + grid.gap + 2)


def test_tokens_are_rows_and_features_columns() -> None:
    assert plate_size(grid_of([20, 64])) == (64, 20)


def test_a_long_row_of_features_is_folded_token_by_token() -> None:
    grid = grid_of([4, 768])
    assert grid.tiles_across * grid.tiles_down == 4
    assert grid.rows * grid.columns == 768


def test_what_is_one_long_is_left_out() -> None:
    assert grid_of([512, 1, 1]) == grid_of([512])
    assert grid_of([1, 28, 28]) == grid_of([28, 28])


def test_three_maps_of_a_picture_are_one_tile_in_colour() -> None:
    grid = grid_of([3, 8, 9], is_picture=True)
    assert grid.is_colour
    assert plate_size(grid) == (9, 8)
    assert grid.num_units == 216
    assert {cell_of(grid, place) for place in (10, 72 + 10, 144 + 10)} == {(1, 1)}
    assert not grid_of([4, 8, 9], is_picture=True).is_colour


@pytest.mark.parametrize("shape", [[0], [4, 5, 0], [4, 0, 5], [0, 5]])
def test_a_layer_without_units_has_an_empty_plate(shape: list[int]) -> None:
    grid = grid_of(shape)
    assert grid.num_units == 0
    assert plate_size(grid) == (1, 1)


def test_a_shape_by_hand_is_rows_and_columns_or_tiles_of_them() -> None:
    assert plate_size(manual_grid([20], (4, 5))) == (5, 4)
    grid = manual_grid([10, 25], (2, 5, 5, 5))
    assert grid == Grid(num_units=250, tiles_across=5, tiles_down=2, columns=5, rows=5, gap=1)


@pytest.mark.parametrize("wanted", [(3, 3), (20,), (0, 20), (1, 2, 10)])
def test_a_shape_without_room_for_all_units_is_refused(wanted: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="no room for 20 units"):
        manual_grid([20], wanted)
