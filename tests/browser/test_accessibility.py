"""Everything has a name and can be reached without a mouse."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.pages import expect_equal, place_of
from tests.browser.screen import Screen, assert_numbers

_NAMED_ROLES = (
    "application|button|combobox|complementary|dialog|grid|img|link|listbox|navigation|option|region"
    "|separator|slider|tab|tablist|tabpanel|textbox|toolbar|tree|treeitem"
)
_NAMELESS = re.compile(rf"^\s*- (?:{_NAMED_ROLES})(?::| \[|$)", re.MULTILINE)

# What has the focus, and whether one sees that it has.
_FOCUSED = """() => {
  const one = document.activeElement;
  const row = document.getElementById(one.getAttribute("aria-activedescendant") ?? "");
  const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(row ?? one);
  return {
    name: one.getAttribute("aria-label") ?? one.textContent.trim().slice(0, 40),
    place: one.closest("aside, header, section.canvas")?.getAttribute("aria-label") ?? "",
    role: one.getAttribute("role") ?? one.tagName.toLowerCase(),
    isSeen: (outlineStyle !== "none" && parseFloat(outlineWidth) > 0) || boxShadow !== "none",
  };
}"""


@pytest.fixture
def screen(page: Page, file: Path) -> Screen:
    return Screen.opened(page, file)


def test_everything_that_can_be_used_has_a_name(screen: Screen, history: Any) -> None:
    def nameless() -> list[str]:
        return [found[0].strip() for found in _NAMELESS.finditer(screen.page.locator("body").aria_snapshot())]

    assert nameless() == []
    screen.show_op(history, "conv2d_4")
    for tab in ("Weight", "Gradient", "Output"):
        screen.choose_tab(tab)
        assert nameless() == []
    screen.inspector.get_by_role("button", name=re.compile("set limits")).click()
    screen.search.fill("relu")
    screen.page.get_by_role("button", name="Show all keys").click()
    assert nameless() == []


def test_landmarks_are_there(screen: Screen) -> None:
    for role, name in (
        ("banner", None),
        ("main", None),
        ("navigation", "Views"),
        ("complementary", "Modules"),
        ("complementary", "Inspector"),
        ("region", "Graph"),
        ("toolbar", "View"),
    ):
        found = screen.page.get_by_role(role, name=name) if name else screen.page.get_by_role(role)  # type: ignore[arg-type]
        expect(found).to_have_count(1)
    assert screen.page.locator("html").get_attribute("lang") == "en"


def test_the_tree_is_a_tree(screen: Screen) -> None:
    rows = screen.tree.get_by_role("treeitem")
    levels = [int(level) for level in rows.evaluate_all("(all) => all.map((one) => one.ariaLevel)")]

    assert levels[0] == 1
    assert all(later <= earlier + 1 for earlier, later in itertools.pairwise(levels))
    assert screen.item("blocks").get_attribute("aria-expanded") == "true"
    assert screen.item("stem").get_attribute("aria-expanded") is None
    screen.item("pool").click()
    chosen = screen.tree.locator("[aria-selected=true]")
    expect(chosen).to_contain_text("pool")
    expect(chosen).to_have_count(1)
    expect(screen.tree).to_have_attribute("aria-activedescendant", chosen.get_attribute("id") or "")


def test_the_selection_is_said_aloud(screen: Screen) -> None:
    screen.item("stem").click()

    said = screen.page.get_by_role("status").filter(has_text="ancestor")
    expect(said).to_contain_text("stem, Conv2d 3×3 s2, op 2 of 27, 2×8×12×10, 1 ancestor")


def test_tab_reaches_everything_and_the_focus_is_seen(screen: Screen) -> None:
    screen.page.keyboard.press("Home")  # nothing has the focus yet: the drawing takes the keys
    screen.page.keyboard.press("ArrowDown")
    expect(screen.title).to_have_text("stem")
    seen: dict[tuple[str, str], bool] = {}
    for _ in range(70):
        screen.page.keyboard.press("Tab")
        focused = screen.page.evaluate(_FOCUSED)
        key = (focused["place"], focused["name"])
        if focused["role"] != "body":
            seen.setdefault(key, focused["isSeen"])

    names = [name for _, name in seen]
    wanted = ["Show all keys", "Find module or op", "Module tree", "Fit the graph", "Go to index"]
    assert [name for name in wanted if name not in names] == []
    assert any(name.startswith("Computational graph of Pictures") for name in names)
    assert "Output" in names
    assert [key for key, is_seen in seen.items() if not is_seen] == []
    order = [names.index(name) for name in ("Find module or op", "Module tree", "Zoom out", "Output")]
    assert order == sorted(order)


def test_an_op_can_be_found_and_read_without_a_mouse(screen: Screen, history: Any) -> None:
    keys = screen.page.keyboard
    screen.tree.focus()
    for key in ("Home", "ArrowDown", "ArrowDown", "Enter"):
        keys.press(key)
    expect(screen.title).to_have_text("stem")
    keys.press("ArrowUp")
    keys.press("ArrowUp")
    keys.press("End")
    keys.press("Enter")
    expect(screen.title).to_have_text("output")

    screen.drawing.focus()
    keys.press("ArrowUp")
    expect(screen.title).to_have_text("head")
    screen.inspector.get_by_role("tab", name="Output").focus()
    keys.press("ArrowRight")
    expect(screen.inspector.get_by_role("tab", name="Input")).to_be_focused()
    keys.press("ArrowLeft")
    keys.press("Escape")
    expect(screen.title).to_have_text("Pictures")


def test_the_arrow_keys_walk_through_the_numbers(screen: Screen, history: Any) -> None:
    keys = screen.page.keyboard
    screen.show_op(history, "linear_1")
    screen.grid.locator("[tabindex='0']").focus()

    keys.press("ArrowDown")
    keys.press("ArrowRight")

    exact = screen.section("Numbers").locator(".exact")
    expect(exact).to_contain_text("[1, 1] = ")
    value = history["linear_1"].tensor_contents
    assert_numbers([[exact.inner_text().split(" = ")[1]]], value[1:2, 1:2])
    for _ in range(8):
        keys.press("ArrowRight")
    expect(exact).to_contain_text("[1, 9] = ")
    expect(screen.section("Numbers").locator(".remark")).to_contain_text(":10]")
    screen.expect_numbers(value, "0:2, ")


def test_modules_open_and_close_by_the_arrows_of_the_tree(screen: Screen) -> None:
    screen.item("blocks").click()
    screen.tree.focus()

    screen.page.keyboard.press("ArrowLeft")
    expect(screen.item("blocks")).to_have_attribute("aria-expanded", "false")
    screen.page.keyboard.press("ArrowRight")

    expect(screen.item("blocks")).to_have_attribute("aria-expanded", "true")


def test_a_hit_is_called_by_its_whole_name(screen: Screen) -> None:
    screen.search.fill("running_mean")

    name = re.compile(r"^blocks\.0\.norm\.running_mean\b")
    expect(screen.hits.get_by_role("option", name=name)).to_have_count(1)


def test_panels_are_resized_by_keys_and_the_width_is_remembered(screen: Screen) -> None:
    edge = screen.page.get_by_role("separator", name="Width of the inspector")
    before = int(edge.get_attribute("aria-valuenow") or 0)

    edge.focus()
    for _ in range(3):
        screen.page.keyboard.press("ArrowLeft")

    expect(edge).to_have_attribute("aria-valuenow", str(before + 48))
    screen.page.reload()
    screen.is_ready()
    expect(edge).to_have_attribute("aria-valuenow", str(before + 48))
    expect_equal(lambda: place_of(screen.inspector).width, pytest.approx(before + 48, abs=1))
