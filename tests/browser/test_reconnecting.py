"""A page whose server goes and comes: nothing known is lost, and it goes on by itself."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.app.test_serve import viewing
from tests.browser.pages import CONNECTED, LOST, badge, expect_equal, serve
from tests.browser.screen import Screen
from torcheer.app.access import Secret
from torcheer.app.server import Serving


@pytest.fixture(scope="module")
def saved(history: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("passes") / "pictures.safetensors"
    history.save(path)
    return path


@pytest.fixture(scope="module")
def serving(saved: Path) -> Iterator[Serving]:
    with serve(saved) as running:
        yield running


def test_a_page_that_loses_its_server_stays_usable_and_goes_on_by_itself(
    loose: Page, saved: Path, tmp_path: Path, history: Any
) -> None:
    path = str(saved)
    with viewing(path, "--port", "0", state=tmp_path) as (process, url):
        screen = Screen.opened(loose, url)
        screen.show_op(history, "conv2d_1")
        expect(screen.grid).to_be_visible()
        port = str(urlsplit(loose.url).port)
        process.terminate()
        process.wait()

    expect(badge(loose, LOST)).to_be_visible()
    toast = loose.get_by_role("status").filter(has_text="Connection lost.")
    expect(toast).to_contain_text(re.compile(r"Showing values from \d\d:\d\d:\d\d\. Trying again"))
    expect(screen.title).to_have_text("stem")
    screen.expect_numbers(history["conv2d_1"].tensor_contents, "0, 0, 0:")
    screen.item("head").click()  # not looked at before
    expect(screen.inspector).to_contain_text("it comes when the server is back")
    screen.item("blocks").locator(".chevron").click()
    expect(screen.item("blocks")).to_have_attribute("aria-expanded", "false")
    screen.search.fill("pool")
    screen.search.press("Enter")
    expect(screen.title).to_have_text("pool")
    screen.search.press("Escape")
    screen.item("head").click()

    with viewing(path, "--port", port, state=tmp_path):
        expect(badge(loose, CONNECTED)).to_be_visible(timeout=20_000)
        expect(screen.grid).to_be_visible()  # what was asked for came
        screen.expect_numbers(history["linear_1"].tensor_contents, "0:2, 0:")
        expect(toast).to_have_count(0)
        expect(screen.title).to_have_text("head")
        expect(screen.item("blocks")).to_have_attribute("aria-expanded", "false")


def test_a_server_with_another_secret_asks_for_its_address(loose: Page, saved: Path) -> None:
    with serve(saved) as running:
        Screen.opened(loose, running.url)
        port = running.port
    expect(badge(loose, LOST)).to_be_visible()

    with serve(saved, port=port, secret=Secret(value=b"x" * 32)):
        loose.get_by_role("button", name="Try now").click()
        expect(badge(loose, "not admitted")).to_be_visible()
        expect(loose.get_by_text("open the address that the server printed")).to_be_visible()


def test_try_now_does_not_wait_for_the_countdown(loose: Page, saved: Path) -> None:
    loose.clock.install()  # so that no countdown ever ends
    with serve(saved) as running:
        loose.goto(running.url)
        loose.clock.run_for(1000)
        expect(badge(loose, CONNECTED)).to_be_visible()
        port = running.port
        loose.clock.pause_at("2100-01-01")
    expect(badge(loose, LOST)).to_be_visible()

    with serve(saved, port=port):
        loose.get_by_role("button", name="Try now").click()
        expect(badge(loose, CONNECTED)).to_be_visible()


def test_a_socket_that_is_closed_is_opened_again(context: BrowserContext, serving: Serving) -> None:
    page = context.new_page()
    sockets: list[Any] = []

    def relay(route: Any) -> None:
        sockets.append(route)
        route.connect_to_server()

    page.route_web_socket(re.compile("/socket$"), relay)
    screen = Screen.opened(page, serving.url)
    assert len(sockets) == 1

    sockets[0].close(code=1011, reason="gone wrong")

    expect(badge(page, LOST)).to_be_visible()
    page.get_by_role("button", name="Try now").click()
    expect(badge(page, CONNECTED)).to_be_visible()
    expect_equal(lambda: len(sockets), 2)
    screen.item("stem").click()
    expect(screen.grid).to_be_visible()


def test_an_answer_that_makes_no_sense_breaks_nothing(context: BrowserContext, serving: Serving) -> None:
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.route_web_socket(re.compile("/socket$"), lambda route: _with_rubbish(route))

    screen = Screen.opened(page, serving.url)
    screen.item("stem").click()

    expect(screen.grid).to_be_visible()
    assert errors == []


def _with_rubbish(route: Any) -> None:
    """Let a server's answers through, and now and then one that nobody asked for."""
    server = route.connect_to_server()

    def pass_on(message: str | bytes) -> None:
        route.send(json.dumps({"type": "figures", "id": 99_999, "name": "zeros", "values": []}))
        route.send(message)

    server.on_message(pass_on)
