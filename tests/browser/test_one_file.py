"""The page as one file, opened from disk with the network off: everything in it works."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.pages import one_page, place_of
from tests.browser.screen import Screen


@pytest.fixture(scope="module")
def asked() -> list[str]:
    """All that the page has asked for."""
    return []


@pytest.fixture(scope="module")
def shared(browser: Browser, file: Path, asked: list[str]) -> Iterator[Screen]:
    with one_page(browser, offline=True) as page:
        page.on("request", lambda request: asked.append(request.url))
        yield Screen.opened(page, file)


@pytest.fixture
def screen(shared: Screen) -> Screen:
    return shared.as_opened()


# --- the file -------------------------------------------------------------------------------------------


def test_it_shows_the_model_and_the_file_is_all_that_is_read(
    screen: Screen, history: Any, file: Path, asked: list[str]
) -> None:
    expect(screen.page).to_have_title("Pictures · torcheer")
    for name in ("Pictures", "stem", "blocks", "pool", "head"):
        expect(screen.item(name)).to_be_visible()
    expect(screen.title).to_have_text("Pictures")
    expect(screen.page.get_by_role("status").filter(has_text="one file")).to_be_visible()
    expect(screen.drawing).to_have_attribute("aria-label", re.compile(f"{history.num_tensors_total} ops"))
    screen.item("stem").click()
    expect(screen.grid).to_be_visible()

    assert [url for url in asked if not url.startswith(("blob:", "data:"))] == [file.as_uri()]


# --- modules open and close -----------------------------------------------------------------------------


def test_a_module_closes_and_opens_in_the_tree(screen: Screen) -> None:
    blocks = screen.item("blocks")
    expect(blocks).to_have_attribute("aria-expanded", "true")
    num_rows = screen.tree.get_by_role("treeitem").count()

    blocks.locator(".chevron").click()

    expect(blocks).to_have_attribute("aria-expanded", "false")
    expect(screen.item("conv1")).to_have_count(0)
    blocks.locator(".chevron").click()
    expect(screen.item("conv1")).to_be_visible()
    expect(screen.tree.get_by_role("treeitem")).to_have_count(num_rows)


def test_a_module_closes_and_opens_by_double_click_in_the_drawing(screen: Screen) -> None:
    screen.item("blocks").click()
    frame = screen.selected_box()

    screen.page.mouse.dblclick(frame.x + 80, frame.y + 14)  # the head of an open module

    expect(screen.item("blocks")).to_have_attribute("aria-expanded", "false")
    box = screen.selected_box_when("height < 60")
    assert abs(box.x - frame.x) < 200  # it stays near where it was
    screen.page.mouse.dblclick(*box.middle)
    expect(screen.item("blocks")).to_have_attribute("aria-expanded", "true")
    assert screen.selected_box_when("height > 200").height > 200


@pytest.mark.parametrize("key", ["e", "Enter"])
def test_a_module_closes_and_opens_by_key(screen: Screen, key: str) -> None:
    screen.item("blocks").click()
    screen.drawing.focus()

    screen.page.keyboard.press(key)
    expect(screen.item("blocks")).to_have_attribute("aria-expanded", "false")
    screen.selected_box_when("height < 60")
    screen.page.keyboard.press(key)

    expect(screen.item("blocks")).to_have_attribute("aria-expanded", "true")


def test_everything_opens_to_a_depth(screen: Screen) -> None:
    depth = screen.page.get_by_role("combobox", name="Expand to depth")

    depth.select_option(label="Collapse all")
    expect(screen.item("blocks")).to_have_attribute("aria-expanded", "false")
    depth.select_option(label="Expand to depth 1")
    expect(screen.item("blocks")).to_have_attribute("aria-expanded", "true")
    expect(screen.item("0")).to_have_attribute("aria-expanded", "false")
    depth.select_option(label="Expand all")
    expect(screen.item("0")).to_have_attribute("aria-expanded", "true")


# --- selection ------------------------------------------------------------------------------------------


def test_a_click_in_the_drawing_selects_what_is_there(screen: Screen) -> None:
    screen.item("stem").click()
    expect(screen.title).to_have_text("stem")
    box = screen.selected_box()
    screen.page.keyboard.press("Escape")
    expect(screen.title).to_have_text("Pictures")

    screen.page.mouse.click(*box.middle)

    expect(screen.title).to_have_text("stem")
    expect(screen.item("stem")).to_have_attribute("aria-selected", "true")
    screen.page.mouse.click(box.x - 60, box.y - 30)  # where nothing is
    expect(screen.title).to_have_text("Pictures")


def test_ancestors_and_descendants_are_those_of_the_history(screen: Screen, history: Any) -> None:
    for label in ("conv2d_1", "add_2", "linear_1"):
        op = history[label]
        screen.show_op(history, label)
        up = len([one for one in ancestors(history, op) if history[one].layer_type != "buffer"])
        down = sum(op.layer_label in ancestors(history, other) for other in history)
        expect(screen.page.get_by_role("group", name="Selection").locator("span")).to_have_text(
            ["selected tensor", counted(up, "ancestor"), counted(down, "descendant")]
        )


def ancestors(history: Any, op: Any) -> list[str]:
    """By walking the links of the history, not by what the page was told."""
    found: dict[str, None] = {}
    waiting = list(op.parent_layers)
    while waiting:
        label = waiting.pop()
        if label not in found:
            found[label] = None
            waiting.extend(history[label].parent_layers)
    return list(found)


def counted(count: int, one: str) -> str:
    return f"{count} {one if count == 1 else one + 's'}"


def test_what_only_keeps_count_has_no_descendants(screen: Screen, history: Any) -> None:
    assert not history["add_1"].child_layers
    screen.show_op(history, "add_1")

    expect(screen.page.get_by_role("group", name="Selection")).to_contain_text("0 descendants")


def test_links_lead_along_the_edges(screen: Screen, history: Any) -> None:
    op = history["add_2"]
    screen.show_op(history, "add_2")

    around = screen.section("Around it")
    for label in op.parent_layers:
        expect(around.get_by_role("button", name=label)).to_be_visible()
    around.get_by_role("button", name=op.child_layers[0]).click()

    expect(screen.subtitle).to_contain_text(f"op {history[op.child_layers[0]].index + 1} of")


# --- search ---------------------------------------------------------------------------------------------


def test_search_finds_steps_and_brings_into_view(screen: Screen, history: Any) -> None:
    screen.page.get_by_role("combobox", name="Expand to depth").select_option(label="Collapse all")
    screen.page.keyboard.press("Escape")
    screen.drawing.focus()
    screen.page.keyboard.press("/")
    screen.page.keyboard.type("relu")
    expect(screen.search).to_be_focused()
    expect(screen.hits.get_by_role("option")).to_have_count(5)

    relus = [op.index + 1 for op in history if op.layer_type == "relu"]
    for key, at in (("Enter", 0), ("ArrowDown", 1), ("ArrowDown", 2), ("ArrowUp", 1)):
        screen.page.keyboard.press(key)
        expect(screen.subtitle).to_contain_text(f" · op {relus[at]} of {len(history)}")

    expect(screen.page.locator(".hit-count")).to_have_text("2 of 5")
    box, area = screen.selected_box_when("height < 60"), place_of(screen.drawing)
    assert area.x <= box.x <= area.x + area.width - box.width
    assert area.y <= box.y <= area.y + area.height - box.height
    screen.page.keyboard.press("Escape")
    expect(screen.item("0")).to_have_attribute("aria-expanded", "true")  # the modules around it were opened


FOUND_FIRST = {
    "blocks.1.norm": "blocks.1.norm",
    "AdaptiveAvgPool2d": "pool",
    "8x3x3x3": "stem",
    "2×8×1×1": "pool",
    "2, 3, 24, 20": "x",
    "conv2d_1_1": "stem",
}


def test_search_knows_addresses_classes_shapes_and_labels(screen: Screen) -> None:
    for query, expected in FOUND_FIRST.items():
        screen.search.fill(query)
        screen.search.press("Enter")
        expect(screen.title).to_have_text(expected)


def test_a_search_without_hits_says_so(screen: Screen) -> None:
    screen.search.fill("there is no such op")

    expect(screen.page.get_by_text("Nothing found")).to_be_visible()
    screen.search.press("Enter")
    screen.search.press("Escape")
    expect(screen.tree).to_be_visible()
