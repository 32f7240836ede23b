"""The page from a server: who comes in, values on demand, several passes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from playwright.sync_api import BrowserContext, Page, expect
from torch import Tensor, nn

import torcheer as tl
from tests.app.serving import origin_of
from tests.browser.pages import CONNECTED, badge, expect_equal, expect_true, serve
from tests.browser.passes import recurrent
from tests.browser.screen import Screen, says
from torcheer.app.server import Serving


class Wide(nn.Module):
    """More values than come with a first look."""

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        return {"plane": x * 2, "batch": x.reshape(3, 5, 10, 20, 40) + 1}


@pytest.fixture(scope="module")
def wide() -> Any:
    torch.manual_seed(3)
    return tl.log_forward_pass(Wide(), torch.randn(300, 400))


@pytest.fixture(scope="module")
def folder(history: Any, wide: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("passes")
    history.save(path / "pictures.safetensors")
    recurrent().save(path / "recurrent.safetensors")
    wide.save(path / "wide.safetensors")
    shutil.copy(path / "recurrent.safetensors", path / "<img src=x onerror=alert(1)>.safetensors")
    return path


@pytest.fixture(scope="module")
def serving(folder: Path) -> Iterator[Serving]:
    with serve(folder / "pictures.safetensors") as running:
        yield running


@pytest.fixture(scope="module")
def serving_wide(folder: Path) -> Iterator[Serving]:
    with serve(folder / "wide.safetensors") as running:
        yield running


@pytest.fixture(scope="module")
def serving_all(folder: Path) -> Iterator[Serving]:
    with serve(folder) as running:
        yield running


@pytest.fixture
def watched(context: BrowserContext, page: Page) -> Iterator[Page]:
    """A page in which the policy must never be in the way."""
    page.add_init_script(
        "window.violations = []; addEventListener('securitypolicyviolation', "
        "(event) => window.violations.push(`${event.violatedDirective} ${event.blockedURI}`), true)"
    )
    yield page
    assert page.evaluate("() => window.violations") == []


# --- coming in --------------------------------------------------------------------------------------------


def test_the_token_leaves_the_address_and_the_cookie_is_out_of_reach(
    watched: Page, context: BrowserContext, serving: Serving
) -> None:
    assert "token=" in serving.url
    Screen.opened(watched, serving.url)

    expect(watched).to_have_url(f"{origin_of(serving)}/")
    (cookie,) = context.cookies()
    assert cookie["httpOnly"]
    assert cookie["sameSite"] == "Strict"
    assert watched.evaluate("() => document.cookie") == ""
    expect(badge(watched, CONNECTED)).to_be_visible()


def test_a_page_opened_without_the_token_is_told_what_to_do(loose: Page, serving: Serving) -> None:
    answer = loose.goto(origin_of(serving))

    assert answer is not None
    assert answer.status == 403
    expect(loose.locator("body")).to_contain_text("Open the address that the server printed")


def test_nothing_is_asked_of_anybody_else(watched: Page, serving: Serving) -> None:
    asked: list[str] = []
    watched.on("request", lambda request: asked.append(request.url))

    Screen.opened(watched, serving.url)

    elsewhere = [url for url in asked if not url.startswith((f"{origin_of(serving)}/", "data:", "blob:"))]
    assert elsewhere == []


def test_a_second_tab_and_a_reload_need_no_token(
    watched: Page, context: BrowserContext, serving: Serving, history: Any
) -> None:
    first = Screen.opened(watched, serving.url)
    second = Screen.opened(context.new_page(), origin_of(serving))
    first.show_op(history, "conv2d_1")
    second.show_op(history, "linear_1")

    expect(first.title).to_have_text("stem")
    expect(second.title).to_have_text("head")
    first.page.reload()
    first.is_ready()
    expect(badge(first.page, CONNECTED)).to_be_visible()
    expect(second.title).to_have_text("head")


# --- values -----------------------------------------------------------------------------------------------


def test_values_that_are_asked_for_are_those_of_the_history(
    watched: Page, serving: Serving, history: Any
) -> None:
    screen = Screen.opened(watched, serving.url)
    value = history["conv2d_4"].tensor_contents
    screen.show_op(history, "conv2d_4")

    expect(screen.grid).to_be_visible()
    screen.expect_numbers(value, "0, 0, 0:")
    expect_true(lambda: says(screen.figure("mean"), value.double().mean().item()))
    screen.page.get_by_role("button", name="Item after").click()
    screen.expect_numbers(value, "1, 0, 0:")
    screen.choose_tab("Gradient")
    screen.expect_numbers(history["conv2d_4"].grad_contents, "0, 0, 0:")
    # What a saved pass does not have is explained.
    screen.choose_tab("Weight")
    expect(screen.inspector.get_by_text("Not saved")).to_be_visible()
    expect(screen.inspector).to_contain_text("parameters")


def test_any_part_of_a_large_tensor_and_any_item_of_a_batch_can_be_reached(
    watched: Page, serving_wide: Serving, wide: Any
) -> None:
    screen = Screen.opened(watched, serving_wide.url)
    screen.show_output("plane")
    value = wide.output["plane"]
    field = screen.inspector.get_by_role("textbox", name="Go to index")

    for index, start in (("299, 399", "295:300, 39"), ("7, 203", "7:12, 203:")):
        field.fill(index)
        field.press("Enter")
        screen.expect_numbers(value, start)

    # And each item of a batch.
    screen.show_output("batch")
    expect(screen.grid).to_be_visible()
    screen.drawing.focus()

    for item in ("0, 1", "0, 2", "0, 3", "0, 4", "1, 0"):
        screen.page.keyboard.press("]")
        expect(screen.page.get_by_role("group", name="Item", exact=True)).to_contain_text(f"[{item}]")

    screen.expect_numbers(wide.output["batch"], "1, 0, 0, 0:")
    screen.page.keyboard.press("[")
    screen.expect_numbers(wide.output["batch"], "0, 4, 0, 0:")

    # Quick steps are all taken, from 0, 4 on.
    watched.evaluate(
        "() => { for (let i = 0; i < 6; i += 1) dispatchEvent(new KeyboardEvent('keydown', { key: ']' })); }"
    )

    stepper = watched.get_by_role("group", name="Item", exact=True)
    expect(stepper).to_contain_text("[2, 0]")


# --- several passes ---------------------------------------------------------------------------------------


def test_one_of_several_passes_is_chosen_from_a_list(watched: Page, serving_all: Serving) -> None:
    watched.on("dialog", lambda dialog: pytest.fail(dialog.message))
    screen = Screen.opened(watched, serving_all.url)
    picker = watched.get_by_role("banner").locator("[aria-haspopup=listbox]")
    picker.click()
    options = watched.get_by_role("listbox", name="Passes").get_by_role("option")
    names = ["<img src=x onerror=alert(1)>", "pictures", "recurrent", "wide"]
    expect_equal(options.locator("span:first-child").all_inner_texts, names)

    options.filter(has_text="pictures").click()
    expect(screen.title).to_have_text("Pictures")
    expect(screen.item("stem")).to_be_visible()
    picker.press("Enter")
    watched.keyboard.press("End")
    # What a browser sends when a list opens under a mouse that rests.
    for event in ("mouseenter", "mouseover", "mousemove"):
        options.filter(has_text="pictures").dispatch_event(event)
    watched.keyboard.press("Enter")

    expect(screen.title).to_have_text("Wide")
    expect(screen.item("stem")).to_have_count(0)
    expect(watched.locator("img")).to_have_count(0)


def test_a_damaged_pass_does_not_take_the_shown_one_away(loose: Page, folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / "pictures.safetensors", tmp_path / "a.safetensors")
    damaged = (folder / "recurrent.safetensors").read_bytes()[:-60]
    (tmp_path / "b.safetensors").write_bytes(damaged)
    with serve(tmp_path) as running:
        screen = Screen.opened(loose, running.url)
        loose.get_by_role("banner").locator("[aria-haspopup=listbox]").click()
        loose.get_by_role("listbox", name="Passes").get_by_role("option").nth(1).click()

        failure = loose.get_by_role("alert").filter(has_text="b cannot be shown")
        expect(failure).to_be_visible()
        failure.get_by_role("button", name="Stay with the pass shown").click()
        expect(failure).to_have_count(0)
        screen.item("stem").click()
        expect(screen.grid).to_be_visible()
