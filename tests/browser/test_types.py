"""Tensors of many types and shapes: each is shown as it is, or the page says why not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.pages import expect_true, one_page
from tests.browser.passes import many_shapes
from tests.browser.screen import Screen, expect_figures, says


@pytest.fixture(scope="module")
def shapes() -> Any:
    return many_shapes()


@pytest.fixture(scope="module")
def gallery(browser: Browser, shapes: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Screen]:
    path = tmp_path_factory.mktemp("pages") / "shapes.html"
    shapes.to_html(path)
    with one_page(browser) as page:
        yield Screen.opened(page, path)


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("double", "0:4, 0:"),
        ("brain", "0:4, 0:"),
        ("half", "0:4, 0:"),
        ("truth", "0:4, 0:"),
        ("tiny", "0:4, 0:"),
        ("huge", "0:4, 0:"),
        ("negative", "0:4, 0:"),
        ("same", "0:4, 0:"),
        ("five", "0, 0, 0, 0:3, 0:5"),
    ],
)
def test_tensors_of_many_types_are_shown_as_they_are(
    gallery: Screen, shapes: Any, name: str, start: str
) -> None:
    value = shapes.output[name]
    gallery.show_output(name)

    gallery.expect_figure("shape", "×".join(map(str, value.shape)))
    gallery.expect_figure("dtype", str(value.dtype).removeprefix("torch."))
    gallery.expect_numbers(value, start)
    expect_figures(gallery, value)
    assert sum(gallery.histogram_counts()) == value.numel()


@pytest.mark.parametrize(("name", "start"), [("line", "0:11"), ("whole", "0:15")])
def test_a_line_of_values_is_shown_in_order(gallery: Screen, shapes: Any, name: str, start: str) -> None:
    value = shapes.output[name]
    gallery.show_output(name)

    gallery.expect_numbers(value, start)
    expect_figures(gallery, value)


@pytest.mark.parametrize("name", ["scalar", "negative_scalar"])
def test_a_single_number_is_shown(gallery: Screen, shapes: Any, name: str) -> None:
    gallery.show_output(name)

    gallery.expect_figure("shape", "scalar")
    gallery.expect_numbers(shapes.output[name])
    expect_true(lambda: says(gallery.figure("mean"), shapes.output[name].item()))


def test_an_empty_tensor_is_said_to_be_empty(gallery: Screen) -> None:
    gallery.show_output("empty")

    expect(gallery.inspector.get_by_text("This tensor has no elements.")).to_be_visible()
    gallery.expect_figure("shape", "0×15")
    gallery.expect_figure("mean", "none")
    expect(gallery.section("Histogram")).to_have_count(0)


def test_complex_numbers_are_shown_by_their_magnitude_and_a_note_says_so(
    gallery: Screen, shapes: Any
) -> None:
    value = shapes.output["complex"]
    gallery.show_output("complex")

    expect(gallery.inspector).to_contain_text("complex numbers: their magnitude is shown")
    gallery.expect_numbers(value.abs(), "0:4, 0:")
    expect_figures(gallery, value.abs())


def test_whole_numbers_too_large_for_a_float_are_right_or_a_note_says_that_they_are_not(
    gallery: Screen, shapes: Any
) -> None:
    gallery.show_output("large")

    expect(gallery.grid.get_by_role("gridcell")).to_have_count(3)
    shown = [text.replace("−", "-") for text in gallery.values()]
    notes = gallery.inspector.locator(".note").all_inner_texts()

    assert [int(float(text)) for text in shown][1:] == shapes.output["large"].tolist()[1:]
    assert notes or shown[0] == str(shapes.output["large"][0].item())


def test_the_items_of_a_batch_are_named(gallery: Screen) -> None:
    gallery.show_output("five")

    expect(gallery.page.get_by_role("group", name="Item", exact=True)).to_contain_text("item [0, 0] of 2×1")
