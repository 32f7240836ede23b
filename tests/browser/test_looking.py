"""Ways of looking at a pass: colours, backward, rolled, zoom, keys, light and dark."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.pages import canvas_text, changed_canvas, expect_equal, place_of
from tests.browser.passes import recurrent
from tests.browser.screen import Screen


@pytest.fixture(scope="module")
def looping(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pages") / "looping.html"
    recurrent().to_html(path)
    return path


@pytest.fixture
def screen(page: Page, file: Path) -> Screen:
    return Screen.opened(page, file)


def test_colours_follow_the_metric_that_is_chosen(screen: Screen) -> None:
    metric = screen.page.get_by_role("combobox", name="Colour by")
    pictures = {}
    names = metric.locator("option").all_inner_texts()
    assert {"Nothing", "Forward time", "Backward time", "FLOPs", "Parameters", "Share of zeros"} <= set(names)
    before = ""
    for name in names:
        metric.select_option(label=name)
        before = pictures[name] = changed(screen, before)

    assert len(set(pictures.values())) == len(names)


def drawing(screen: Screen) -> Locator:
    return screen.page.locator("canvas.graph-canvas")


def changed(screen: Screen, before: str = "") -> str:
    """The drawing, once it is another one than before."""
    return changed_canvas(drawing(screen), before)


def test_the_way_back_can_be_shown(screen: Screen) -> None:
    forward = changed(screen)
    backward = screen.page.get_by_role("button", name="Backward")
    expect(backward).to_have_attribute("aria-pressed", "false")

    backward.click()

    expect(backward).to_have_attribute("aria-pressed", "true")
    expect(screen.page.get_by_role("combobox", name="Colour by").locator("option:checked")).to_have_text(
        re.compile("backward", re.IGNORECASE)
    )
    changed(screen, forward)
    backward.click()
    expect_equal(lambda: canvas_text(drawing(screen)), forward)


def test_buffers_can_be_shown(screen: Screen) -> None:
    before = changed(screen)

    screen.page.get_by_role("button", name="Buffers").click()

    changed(screen, before)


def test_a_loop_rolls_up_and_unrolls(page: Page, looping: Path) -> None:
    screen = Screen.opened(page, looping)
    rolled = page.get_by_role("button", name="Rolled")
    expect(rolled).to_have_attribute("aria-pressed", "false")
    expect(screen.tree.locator(".name", has_text=re.compile("^tanh$"))).to_have_count(4)

    rolled.click()

    expect(rolled).to_have_attribute("aria-pressed", "true")
    expect(screen.tree.locator(".name", has_text=re.compile("^tanh$"))).to_have_count(1)
    screen.item("tanh").click()
    expect(screen.inspector).to_contain_text("pass 1 of 4")
    page.get_by_role("button", name="Pass after").click()
    expect(screen.subtitle).to_contain_text("tanh_1_2:2")
    rolled.click()
    expect(screen.tree.locator(".name", has_text=re.compile("^tanh$"))).to_have_count(4)


def test_zoom_fit_and_the_map(screen: Screen) -> None:
    zoom = screen.page.get_by_label("Zoom", exact=True)
    map_ = screen.page.get_by_role("img", name="Map of the whole graph")
    screen.page.get_by_role("button", name="Fit the graph").click()
    expect(map_).to_have_count(0)  # all of it is there
    changed(screen)
    fitted = zoom.inner_text()

    screen.page.get_by_role("button", name="Zoom in").click()
    screen.page.get_by_role("button", name="Zoom in").click()
    screen.page.get_by_role("button", name="Zoom in").click()
    expect(zoom).not_to_have_text(fitted)
    expect(map_).to_be_visible()
    before = changed(screen)
    x, y = place_of(map_).at(0.5, 1)
    screen.page.mouse.click(x, y - 20)

    changed(screen, before)
    screen.drawing.focus()
    screen.page.keyboard.press("0")
    expect(zoom).to_have_text(fitted)


def test_dragging_and_the_wheel_move_the_drawing(screen: Screen) -> None:
    screen.item("stem").click()
    before = screen.selected_box()
    x, y = before.middle

    screen.page.mouse.move(x - 150, y + 10)
    screen.page.mouse.down()
    screen.page.mouse.move(x - 100, y + 40, steps=3)
    screen.page.mouse.up()

    moved = screen.selected_box_when(f"Math.abs(x - {before.x + 50}) < 3")
    assert abs(moved.y - before.y - 30) < 3
    expect(screen.title).to_have_text("stem")  # a drag is no click
    middle_x, middle_y = moved.middle
    screen.page.mouse.move(middle_x, middle_y)
    screen.page.mouse.wheel(0, -200)
    larger = screen.selected_box_when(f"width > {moved.width + 10}")
    assert abs(larger.middle[0] - middle_x) < 4
    assert abs(larger.middle[1] - middle_y) < 4


# --- keys and theme ----------------------------------------------------------------------------------------


def test_the_arrow_keys_follow_the_edges(screen: Screen, history: Any) -> None:
    screen.drawing.focus()
    for key, title in (
        ("Home", "x"),
        ("ArrowDown", "stem"),
        ("ArrowDown", history["relu_1"].layer_label),
        ("ArrowUp", "stem"),
    ):
        screen.page.keyboard.press(key)
        expect(screen.title).to_have_text(title)

    screen.page.keyboard.press("End")
    expect(screen.title).to_have_text("output")


def test_all_keys_are_listed_and_escape_closes_them(screen: Screen) -> None:
    screen.page.keyboard.press("?")
    dialog = screen.page.get_by_role("dialog", name="Keys")
    expect(dialog).to_be_visible()
    expect(dialog).to_contain_text("Find a module or op")

    screen.page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    screen.page.get_by_role("button", name="Show all keys").click()
    expect(dialog).to_be_visible()
    dialog.get_by_role("button", name="Close").click()
    expect(dialog).to_be_hidden()


def test_letters_in_the_search_field_are_letters(screen: Screen) -> None:
    screen.item("blocks").click()
    screen.search.focus()

    screen.page.keyboard.type("e?[")

    expect(screen.search).to_have_value("e?[")
    expect(screen.page.get_by_role("dialog")).to_be_hidden()
    screen.search.press("Escape")
    expect(screen.item("blocks")).to_have_attribute("aria-expanded", "true")


def test_the_theme_is_switched_and_remembered(screen: Screen) -> None:
    background = "() => getComputedStyle(document.body).backgroundColor"
    light = screen.page.evaluate(background)
    before = changed(screen)

    screen.page.get_by_role("button", name="Switch to the dark theme").click()

    screen.page.wait_for_function(f"(light) => ({background})() !== light", arg=light)
    dark = screen.page.evaluate(background)
    changed(screen, before)
    screen.page.reload()
    screen.is_ready()
    screen.page.wait_for_function(f"(dark) => ({background})() === dark", arg=dark)
    screen.page.get_by_role("button", name="Switch to the light theme").click()
    screen.page.wait_for_function(f"(light) => ({background})() === light", arg=light)


def test_the_theme_follows_the_system_until_somebody_chooses(page: Page, file: Path) -> None:
    page.emulate_media(color_scheme="dark")
    screen = Screen.opened(page, file)
    expect(page.get_by_role("button", name="Switch to the light theme")).to_be_visible()
    before = changed(screen)

    page.emulate_media(color_scheme="light")

    expect(page.get_by_role("button", name="Switch to the dark theme")).to_be_visible()
    changed(screen, before)
