"""A pass of five thousand ops: it opens closed, and each part of it can be reached."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.pages import place_of
from tests.browser.passes import large
from tests.browser.screen import Screen

# Milliseconds between frames while the drawing is dragged.
_FRAMES = """() => new Promise((done) => {
  const canvas = document.querySelector("canvas.graph-canvas");
  const place = canvas.getBoundingClientRect();
  const send = (type, x) => canvas.dispatchEvent(new PointerEvent(type, {
    pointerId: 1, button: 0, clientX: place.left + x, clientY: place.top + 400, bubbles: true }));
  canvas.setPointerCapture = () => undefined;
  const times = [];
  send("pointerdown", 300);
  const frame = (now) => {
    times.push(now);
    send("pointermove", 300 + times.length * 5);
    if (times.length < 40) requestAnimationFrame(frame);
    else {
      send("pointerup", 300);
      done(times.slice(1).map((time, at) => time - times[at]));
    }
  };
  requestAnimationFrame(frame);
})"""


@pytest.fixture(scope="module")
def huge() -> Any:
    return large()


@pytest.fixture(scope="module")
def huge_file(huge: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pages") / "large.html"
    huge.to_html(path, max_bytes=0)
    return path


@pytest.fixture
def screen(page: Page, huge_file: Path) -> Screen:
    return Screen.opened(page, huge_file)


def test_it_opens_closed_and_a_module_of_it_can_be_opened(screen: Screen, huge: Any) -> None:
    assert huge.num_tensors_total > 5000
    assert screen.tree.get_by_role("treeitem").count() < 60
    part = screen.item("parts.4")
    expect(part).to_have_attribute("aria-expanded", "false")

    part.click()
    before = screen.selected_box_when("height < 60")
    screen.drawing.focus()
    screen.page.keyboard.press("e")

    expect(part).to_have_attribute("aria-expanded", "true")
    after = screen.selected_box_when("height > 200")
    assert after.height > before.height


def test_the_last_op_is_found(screen: Screen, huge: Any) -> None:
    index = screen.show_op(huge, "cos_1")

    assert index == huge.num_tensors_total - 2
    box, area = screen.selected_box_when("height < 60"), place_of(screen.drawing)
    assert area.y <= box.y <= area.y + area.height - box.height
    screen.search.fill("body.parts.9.parts.9.parts.9")
    expect(screen.page.locator(".hit-count")).not_to_have_text("none")
    screen.search.press("ArrowUp")
    screen.search.press("Escape")
    screen.selected_box_when("height < 60")
    assert screen.tree.get_by_role("treeitem").count() < 200  # only rows in view are in the page


def test_everything_can_be_open_at_once(screen: Screen) -> None:
    screen.page.get_by_role("combobox", name="Expand to depth").select_option(label="Expand all")
    expect(screen.page.get_by_role("img", name="Map of the whole graph")).to_be_visible()
    screen.drawing.focus()
    screen.page.keyboard.press("0")
    expect(screen.page.get_by_label("Zoom", exact=True)).not_to_have_text("100 %")

    frames = screen.page.evaluate(_FRAMES)

    print(f"frames with all ops open: median {statistics.median(frames):.1f} ms, most {max(frames):.1f} ms")
    assert len(frames) == 39
