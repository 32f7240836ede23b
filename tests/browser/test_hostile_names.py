"""Names that would like to be more than names: they are shown as text, and nothing else happens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from playwright.sync_api import BrowserContext, Page, expect
from torch import Tensor, nn

import torcheer as tl
from tests.browser.pages import expect_equal, place_of
from tests.browser.screen import Screen

IMAGE = "<img src=x onerror=alert(1)>"
SCRIPT = "</script><script>alert(2)</script>"
QUOTES = "\"'`${alert(3)}\\&quot;&lt;"
ARABIC = "\u202eكسر\u202c"
LONG = "long_" + "x" * 10_000
NAMES = (IMAGE, SCRIPT, QUOTES, ARABIC, LONG)
FILE = "a <img src=x onerror=alert(4)>.py"


class Named(nn.Module):
    """Modules whose names were chosen by somebody who means harm."""

    def __init__(self) -> None:
        super().__init__()
        for name in NAMES:
            self._modules[name] = nn.Linear(2, 2)
        self._odd = odd_function()

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        for name in NAMES:
            module = self._modules[name]
            assert module is not None
            x = torch.relu(module(x))
        return {IMAGE: self._odd(x)}


def odd_function() -> Any:
    """A function that comes from a file of a hostile name."""
    namespace: dict[str, Any] = {}
    exec(compile("def odd(x):\n    return x.cos()", FILE, "exec"), namespace)
    return namespace["odd"]


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pages") / f"{IMAGE}.html"
    Named.__name__ = IMAGE
    tl.log_forward_pass(Named(), torch.ones(1, 2)).to_html(path)
    return path


@pytest.fixture
def screen(page: Page, context: BrowserContext, named: Path) -> Iterator[Screen]:
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    context.set_offline(True)
    screen = Screen.opened(page, named)
    yield screen
    assert dialogs == []
    made = page.evaluate("() => [...document.querySelectorAll('img, iframe, object, embed, base')].length")
    assert made == 0
    assert page.locator("script").count() == 3  # the data, the worker, the page


def test_hostile_module_names_are_text_in_the_tree(screen: Screen) -> None:
    names = screen.tree.locator(".name").evaluate_all("(all) => all.map((one) => one.textContent)")

    assert set(NAMES) <= set(names)
    assert names[0] == IMAGE  # the model's own class
    expect(screen.page).to_have_title(f"{IMAGE} · torcheer")


def test_hostile_names_are_text_wherever_a_module_is_looked_at(screen: Screen) -> None:
    for at, name in enumerate(NAMES):
        screen.tree.locator(".name").get_by_text(name, exact=True).last.click()
        expect_equal(lambda: screen.title.evaluate("(title) => title.textContent"), name)
        screen.choose_tab("Weight")
        names = screen.inspector.get_by_role("combobox", name="Weight to show").locator("option")
        expect(names.nth(0)).to_have_text(re.compile(rf"^{re.escape(name)}\.weight"))
        expect(screen.subtitle).to_contain_text(f"linear_{at + 1}")


def test_hostile_names_are_text_among_the_hits_and_in_the_tip(screen: Screen) -> None:
    screen.search.fill("<img src=x")
    screen.search.press("Enter")
    expect(screen.hits.get_by_role("option").first).to_be_visible()
    expect(screen.title).to_have_text(IMAGE)

    screen.page.mouse.move(*screen.selected_box().middle)
    expect(screen.page.get_by_role("tooltip")).to_contain_text(IMAGE)


def test_a_hostile_file_name_is_text(screen: Screen) -> None:
    screen.item("cos").click()

    expect(screen.section("Source").locator(".remark")).to_have_text(f"{FILE}:2")


def test_a_name_of_ten_thousand_letters_does_not_push_anything_away(screen: Screen) -> None:
    screen.item(LONG).click()

    wide = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
    expect_equal(lambda: screen.page.evaluate(wide), 0)
    for name in ("Modules", "Inspector"):
        panel = screen.page.get_by_role("complementary", name=name)
        assert panel.evaluate("(one) => one.scrollWidth - one.clientWidth") == 0, name
    assert place_of(screen.title).height < 120
