"""The page at several sizes: the drawing keeps its room, and nothing lies on anything else."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.pages import Rect, eventually, expect_equal, one_page, place_of, scrolled_size
from tests.browser.screen import Screen

SIZES = [(1440, 900), (1280, 800), (1000, 800), (700, 900)]
MIN_DRAWING = 480


@pytest.fixture(scope="module", params=SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def sized(browser: Browser, file: Path, request: pytest.FixtureRequest) -> Iterator[Screen]:
    width, height = request.param
    with one_page(browser, size={"width": width, "height": height}) as page:
        yield Screen.opened(page, file)


def overlap(one: Rect, other: Rect) -> bool:
    across = min(one.x + one.width, other.x + other.width) - max(one.x, other.x)
    down = min(one.y + one.height, other.y + other.height) - max(one.y, other.y)
    return across > 0.5 and down > 0.5


def page_width(screen: Screen) -> int:
    assert screen.page.viewport_size is not None
    return int(screen.page.viewport_size["width"])


def test_nothing_overlaps_and_nothing_scrolls_sideways(sized: Screen) -> None:
    width = page_width(sized)
    expect_equal(lambda: scrolled_size(sized.page), [width, sized.page.viewport_size["height"]])  # type: ignore[index]

    drawing = place_of(sized.drawing)
    assert drawing.width >= MIN_DRAWING
    panels = sized.page.get_by_role("complementary").all()
    for panel in panels:
        assert not overlap(place_of(panel), drawing)
    floats = [place_of(one) for one in sized.page.locator(".graph-view > .float").all() if one.is_visible()]
    for at, one in enumerate(floats):
        assert not any(overlap(one, other) for other in floats[at + 1 :])
        assert one.x >= drawing.x
        assert one.x + one.width <= drawing.x + drawing.width + 0.5


def test_the_bar_at_the_top_fits(sized: Screen) -> None:
    bar = sized.page.get_by_role("banner")
    assert bar.evaluate("(bar) => bar.scrollWidth <= bar.clientWidth")
    parts = [place_of(one) for one in bar.locator("> *").all() if one.is_visible()]
    for one, other in itertools.pairwise(parts):
        assert not overlap(one, other)


def test_both_panels_can_be_reached_and_put_away(sized: Screen) -> None:
    page, width = sized.page, page_width(sized)
    if width >= 1100:
        expect(sized.tree).to_be_visible()
        expect(sized.inspector).to_be_visible()
        return
    names = ("Modules", "Inspector") if width < 800 else ("Show modules", "Show inspector")
    panel = page.get_by_role("complementary", name="Modules")
    expect(panel).to_have_count(0)
    page.get_by_role("button", name=names[0], exact=True).click()
    expect(sized.tree).to_be_visible()
    assert place_of(sized.drawing).width >= (MIN_DRAWING if width < 800 else 0)
    page.get_by_role("button", name="Hide modules").click()
    expect(panel).to_have_count(0)


def test_what_is_selected_can_be_read(sized: Screen) -> None:
    sized.page.keyboard.press("Home")

    expect(sized.title).to_have_text("x")
    expect(sized.grid).to_be_visible()
    panel = place_of(sized.inspector)
    assert panel.x >= 0
    assert panel.x + panel.width <= page_width(sized) + 0.5
    assert sized.inspector.evaluate("(one) => one.scrollWidth <= one.clientWidth")
    assert sized.grid.evaluate("(one) => one.getBoundingClientRect().right") <= panel.x + panel.width


def test_no_digit_is_cut_off_in_a_narrow_inspector(page: Page, file: Path) -> None:
    screen = Screen.opened(page, file)
    screen.item("stem").click()
    edge = page.get_by_role("separator", name="Width of the inspector")
    edge.focus()
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    expect(edge).to_have_attribute("aria-valuenow", "232")
    cut = "(all) => all.filter((one) => one.scrollWidth > one.clientWidth).map((one) => one.textContent)"
    for texts in (screen.grid.locator("td"), screen.inspector.locator("[data-figure]")):
        expect_equal(lambda texts=texts: texts.evaluate_all(cut), [])


def test_what_is_brought_into_view_lies_under_nothing(page: Page, file: Path) -> None:
    page.set_viewport_size({"width": 1000, "height": 800})
    screen = Screen.opened(page, file)
    page.keyboard.press("/")
    screen.search.fill("relu")

    def lies_free() -> None:
        box = screen.selected_box_when("height < 60")
        floats = [one for one in page.locator(".graph-view > .float").all() if one.is_visible()]
        assert not any(overlap(box, place_of(one)) for one in floats)

    for at in range(1, 6):
        screen.search.press("Enter")
        expect(page.locator(".hit-count")).to_have_text(f"{at} of 5")
        eventually(lies_free)
