"""What the page says of a tensor is what stands in it: torch is the oracle."""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from playwright.sync_api import Browser, Page, expect
from torch import Tensor

import torcheer as tl
from tests.browser import passes
from tests.browser.pages import canvas_text, changed_canvas, eventually, expect_equal, one_page, place_of
from tests.browser.screen import Screen, assert_numbers, expect_figures, says


@pytest.fixture(scope="module")
def model() -> passes.Pictures:
    return passes.pictures_model()


@pytest.fixture(scope="module")
def files(history: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    for name, one in {"pictures": history, "broken": passes.broken()}.items():
        one.to_html(folder / f"{name}.html")
    history.to_html(folder / "structure.html", max_bytes=0)
    room = (folder / "structure.html").stat().st_size + 45_000  # for a little of each tensor
    history.to_html(folder / "small.html", max_bytes=room)
    return {path.stem: path for path in folder.iterdir()}


@pytest.fixture(scope="module")
def shared(browser: Browser, files: dict[str, Path]) -> Iterator[Screen]:
    with one_page(browser) as page:
        yield Screen.opened(page, files["pictures"])


@pytest.fixture
def screen(shared: Screen) -> Screen:
    return shared.as_opened()


# --- one op, every tensor of it --------------------------------------------------------------------------


def test_an_op_shows_its_shape_figures_and_numbers(screen: Screen, history: Any) -> None:
    value = history["conv2d_4"].tensor_contents
    screen.show_op(history, "conv2d_4")

    expect(screen.title).to_have_text("blocks.1.conv1")
    screen.expect_figure("shape", "2×8×12×10")
    screen.expect_figure("dtype", "float32")
    expect_figures(screen, value)
    screen.expect_numbers(value, "0, 0, 0:")
    # What is rounded in a cell is the value beside it.
    for row, numbers in enumerate(screen.rounded_cells()):
        assert all(says(text, value[0, 0, row, i].item(), 1) for i, text in enumerate(numbers)), numbers
    screen.grid.get_by_role("row").nth(1).get_by_role("gridcell").nth(2).click()
    exact = screen.section("Numbers").locator(".exact")
    expect(exact).to_contain_text("[0, 0, 1, 2] = ")
    assert_numbers([[exact.inner_text().split(" = ")[1]]], value[0, 0, 1:2, 2:3])


def test_inputs_weights_and_gradients_are_those_of_the_pass(
    screen: Screen, history: Any, model: passes.Pictures
) -> None:
    op = history["conv2d_4"]
    screen.show_op(history, "conv2d_4")

    screen.choose_tab("Input")
    given = history[op.parent_layers[0]].tensor_contents
    expect_figures(screen, given)
    screen.expect_numbers(given, "0, 0, 0:")

    screen.choose_tab("Gradient")
    expect_figures(screen, op.grad_contents)
    screen.expect_numbers(op.grad_contents, "0, 0, 0:")

    screen.choose_tab("Weight")
    conv = model.blocks[1].conv1
    expect_figures(screen, conv.weight)
    screen.expect_numbers(conv.weight, "0, 0, 0:")
    screen.inspector.get_by_role("combobox", name="Weight to show").select_option(index=1)
    screen.expect_numbers(conv.bias, "0:8")


def test_gradients_of_weights_can_be_looked_at(screen: Screen, history: Any, model: passes.Pictures) -> None:
    screen.show_op(history, "linear_1")
    screen.choose_tab("Gradient")
    choices = screen.inspector.get_by_role("combobox", name="Gradient to show")

    expect(choices).to_be_visible()
    names = choices.locator("option").all_inner_texts()

    assert [name.split(" · ")[0] for name in names if "head" in name] == ["of head.weight", "of head.bias"]
    choices.select_option(index=next(i for i, name in enumerate(names) if "head.weight" in name))
    assert model.head.weight.grad is not None
    screen.expect_numbers(model.head.weight.grad, "0:5, 0:")


def test_the_grid_moves_over_the_tensor(screen: Screen, history: Any) -> None:
    value = history["conv2d_4"].tensor_contents
    screen.show_op(history, "conv2d_4")

    screen.inspector.get_by_role("button", name="Rows after").click()
    screen.expect_numbers(value, "0, 0, 5:")
    screen.inspector.get_by_role("button", name="Columns after").click()
    expect(screen.section("Numbers").locator(".remark")).to_have_text(re.compile(r"[1-9]:10\]$"))
    screen.expect_numbers(value, "0, 0, 5:")

    field = screen.inspector.get_by_role("textbox", name="Go to index")
    field.fill("0, 6, 11, 2")
    field.press("Enter")
    screen.expect_numbers(value, "0, 6, 7:12, 2:")
    for wrong, sentence in (("0, 8, 0, 0", "from 0 to 7"), ("3", "4 dimensions"), ("a", "whole numbers")):
        field.fill(wrong)
        field.press("Enter")
        expect(screen.inspector.get_by_role("alert")).to_contain_text(sentence)
    screen.expect_window("0, 6, 7:12, 2:")


def test_the_histogram_counts_every_value(screen: Screen, history: Any) -> None:
    value = history["conv2d_4"].tensor_contents
    screen.show_op(history, "conv2d_4")
    expect(screen.section("Histogram").locator("rect")).not_to_have_count(0)
    bars = screen.section("Histogram").locator("rect").count()

    counts = screen.histogram_counts()

    assert sum(counts) == value.numel()
    assert len(counts) == bars
    expected = torch.histc(value.double(), len(counts), value.min().item(), value.max().item())
    # A value at the edge of two bins may fall to either side.
    assert (expected - torch.tensor(counts)).abs().sum() <= 4


_PIXELS = """(canvas, [rows, columns]) => {
  const context = canvas.getContext("2d");
  const middle = (at, count, size) => Math.floor(((at + 0.5) * size) / count);
  return Array.from({ length: rows * columns }, (_, at) => [...context.getImageData(
    middle(at % columns, columns, canvas.width), middle(Math.floor(at / columns), rows, canvas.height), 1, 1
  ).data]);
}"""


def test_a_picture_has_the_colours_of_its_signs(screen: Screen, history: Any, model: passes.Pictures) -> None:
    screen.show_op(history, "linear_1")
    screen.choose_tab("Weight")
    expect(screen.picture()).to_be_visible()

    eventually(lambda: assert_signs(screen.picture().evaluate(_PIXELS, [10, 8]), model.head.weight.flatten()))


def assert_signs(pixels: list[list[int]], weight: Tensor) -> None:
    limit = weight.abs().max().item()
    for value, (red, _, blue, alpha) in zip(weight.tolist(), pixels, strict=True):
        assert alpha == 255
        if abs(value) > limit / 10:
            assert (red > blue) == (value > 0), value
    # The larger, the darker.
    order = weight.abs().argsort().tolist()
    assert sum(pixels[order[-1]][:3]) < sum(pixels[order[0]][:3])


def test_the_pointer_reads_values_and_chooses_tiles(screen: Screen, history: Any) -> None:
    value = history["conv2d_4"].tensor_contents
    screen.show_op(history, "conv2d_4")
    expect(screen.section("Picture").locator(".remark")).to_have_text("tiles 0–7 of 8 · 12×10")
    screen.expect_colourful()
    x, y = place_of(screen.picture()).at(3.5 / 8, 0.45)

    screen.page.mouse.move(x, y)

    remark = screen.section("Picture").locator(".remark")
    expect(remark).to_contain_text("[0, 3, 5, ")
    index, shown = re.fullmatch(r"\[(.*)\]\s+(\S+)", remark.inner_text()).groups()  # type: ignore[union-attr]
    at = tuple(int(part) for part in index.split(", "))
    assert_numbers([[shown]], value[at][None, None])
    screen.page.mouse.click(x, y)
    screen.expect_numbers(value, "0, 3, 0:")


def test_the_limits_of_the_colours_can_be_fixed(screen: Screen, history: Any) -> None:
    screen.show_op(history, "conv2d_4")
    screen.expect_colourful()
    before = changed_canvas(screen.picture(), "")
    screen.inspector.get_by_role("button", name=re.compile("set limits")).click()

    high = screen.inspector.get_by_role("textbox", name="High limit")
    high.fill("100")
    high.press("Enter")

    expect(screen.inspector.get_by_text("fixed")).to_be_visible()
    changed_canvas(screen.picture(), before)
    screen.inspector.get_by_role("button", name="Auto").click()
    expect(screen.inspector.get_by_text("fixed")).to_have_count(0)
    expect_equal(lambda: canvas_text(screen.picture()), before)


def test_the_source_line_is_the_one_that_made_the_op(screen: Screen, history: Any) -> None:
    screen.show_op(history, "add_2")

    source = screen.section("Source")
    expect(source).to_contain_text("self.conv2(y) + x")
    marked = source.locator("[aria-current=true]")
    number, text = re.fullmatch(r"\s*(\d+)(.*)", marked.inner_text()).groups()  # type: ignore[union-attr]

    assert text.strip() == "return torch.relu(self.conv2(y) + x)"
    assert linecache.getline(passes.__file__, int(number)).strip() == text.strip()
    expect(source.locator(".remark")).to_have_text(f"browser/passes.py:{number}")


# --- what is no number ------------------------------------------------------------------------------------


def test_nan_and_infinity_are_counted_shown_and_marked(page: Page, files: dict[str, Path]) -> None:
    value = torch.tensor(passes.BROKEN_INPUT).log()
    screen = Screen.opened(page, files["broken"])
    screen.item("log").click()

    screen.expect_figure("NaN / Inf", "2 / 2")
    expect_figures(screen, value)
    screen.expect_numbers(value, "0:2, 0:3")
    shown = [text for row in screen.rounded_cells() for text in row]
    assert shown[1] == "NaN"
    assert shown[2] == "−∞"
    classes = screen.grid.locator("td").evaluate_all("(cells) => cells.map((cell) => cell.className)")
    assert ["nan" in name.split() for name in classes] == value.isnan().flatten().tolist()
    assert ["inf" in name.split() for name in classes] == value.isinf().flatten().tolist()
    assert sum(screen.histogram_counts()) == 2  # the finite ones


# --- values that are not there ------------------------------------------------------------------------------


def test_a_value_that_had_no_room_is_said_to_be_missing(
    page: Page, files: dict[str, Path], history: Any
) -> None:
    screen = Screen.opened(page, files["structure"])
    expect(screen.section("Notes")).to_contain_text("max_bytes")
    screen.item("stem").click()

    expect(screen.inspector.get_by_text("No values to show")).to_be_visible()
    expect(screen.inspector).to_contain_text("Not in this file")
    screen.expect_figure("shape", "2×8×12×10")
    expect(screen.grid).to_have_count(0)


def test_a_part_of_a_tensor_says_which_part_it_is(page: Page, files: dict[str, Path], history: Any) -> None:
    value = history["input_1"].tensor_contents
    screen = Screen.opened(page, files["small"])
    screen.item("x").click()

    expect_figures(screen, value)  # always of the whole
    screen.expect_numbers(value, "0, ")
    expect(screen.section("Picture").locator(".remark")).to_contain_text("every")
    expect(screen.page.get_by_role("button", name="Item after")).to_be_disabled()


def test_values_that_were_not_saved_say_what_would_save_them(page: Page, tmp_path: Path) -> None:
    torch.manual_seed(0)
    history = tl.log_forward_pass(passes.Pictures(), torch.randn(1, 3, 8, 8), layers_to_save=["linear_1"])
    history.to_html(tmp_path / "some.html")
    screen = Screen.opened(page, tmp_path / "some.html")

    screen.item("stem").click()
    expect(screen.inspector.get_by_text("Not saved")).to_be_visible()
    expect(screen.inspector).to_contain_text("layers_to_save")
    screen.item("head").click()
    expect_figures(screen, history["linear_1"].tensor_contents)
