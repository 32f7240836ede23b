"""A real Chromium for the pages: one a worker, and a page of it that is put back after each test."""

from __future__ import annotations

import contextlib
import os
import random
import socket
from collections.abc import Iterator

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    Frame,
    Page,
    ViewportSize,
    expect,
    sync_playwright,
)

from tests.browser.chromium import ARGUMENTS, MISSING, find_chromium
from tests.browser.netviewpage import NEVER_SLOW
from torcheer.app import addresses
from torcheer.errors import InputError

# For a machine that is busy with other tests: what comes at all comes far sooner.
PATIENCE = 20_000
expect.set_options(timeout=PATIENCE)

VIEWPORT: ViewportSize = {"width": 1440, "height": 900}

# Of this worker, and below those that systems give to connections.
_PORTS = random.Random(os.getpid()).sample(range(30_000, 32_768), 6)

# Nothing can be remembered after that, whatever the page does when it is left.
_FORGET = """() => {
  try {
    Storage.prototype.setItem = () => undefined;
    localStorage.clear();
    sessionStorage.clear();
  } catch { /* an empty page has none */ }
}"""


@pytest.fixture(scope="module", autouse=True)
def same_ports() -> Iterator[None]:
    """Servers one after the other have the same port where it is free.

    A browser keeps what it made of the scripts of an address, and a page is loaded in two thirds of the time.
    """
    bind = addresses._bind_given

    def bind_again(host: str, address: str, port: int) -> socket.socket:
        for known in _PORTS if port == 0 else ():
            with contextlib.suppress(InputError):
                return bind(host, address, known)
        return bind(host, address, port)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(addresses, "_bind_given", bind_again)
        yield


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = find_chromium()
    if path is None:
        pytest.skip(MISSING)
    with sync_playwright() as playwright:
        # No sandbox of its own: as root, in a container, it cannot make one.
        started = playwright.chromium.launch(
            executable_path=path, headless=True, chromium_sandbox=False, args=ARGUMENTS
        )
        yield started
        started.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A fresh one, for what cannot be put back; `page` is then of it."""
    made = new_context(browser)
    yield made
    made.close()


def new_context(browser: Browser) -> BrowserContext:
    made = browser.new_context(viewport=VIEWPORT, reduced_motion="reduce")
    made.set_default_timeout(PATIENCE)
    made.add_init_script(NEVER_SLOW)
    return made


@pytest.fixture(scope="session")
def kept_page(browser: Browser) -> Iterator[Page]:
    """A page that tests use one after the other: a new one takes a process, and as long as to load it."""
    made = new_context(browser)
    yield made.new_page()
    made.close()


@pytest.fixture
def page(request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page that fails the test if anything goes wrong in its scripts. Nothing is left in it from before."""
    is_fresh = "context" in request.fixturenames
    if is_fresh:
        opened: Page = request.getfixturevalue("context").new_page()
    else:
        opened = request.getfixturevalue("kept_page")
    errors: list[str] = []

    def note_error(error: Error) -> None:
        errors.append(str(error))

    def note_message(message: ConsoleMessage) -> None:
        if message.type == "error":
            errors.append(message.text)

    visited: set[str] = set()

    def note_visit(frame: Frame) -> None:
        if frame.parent_frame is None and frame.url.startswith("http"):
            visited.add(origin_of(frame.url))

    opened.on("pageerror", note_error)
    opened.on("console", note_message)
    opened.on("framenavigated", note_visit)
    yield opened
    opened.remove_listener("pageerror", note_error)
    opened.remove_listener("console", note_message)
    opened.remove_listener("framenavigated", note_visit)
    if not is_fresh:
        put_back(opened, visited)
    assert not errors, errors


def origin_of(url: str) -> str:
    return "/".join(url.split("/", 3)[:3])


def put_back(page: Page, visited: set[str]) -> None:
    """As a new page is: without what was remembered, routed, resized or let in."""
    page.unroute_all()
    last = origin_of(page.url)
    page.evaluate(_FORGET)
    for origin in visited - {last}:  # another server may come there
        page.route(f"{origin}/**", lambda route: route.fulfill(body="", content_type="text/html"))
        page.goto(f"{origin}/")
        page.evaluate(_FORGET)
    page.unroute_all()
    page.goto("about:blank")
    page.context.clear_cookies()
    page.set_viewport_size(VIEWPORT)
    page.emulate_media(media="null", color_scheme="light", reduced_motion="reduce", forced_colors="null")
    for other in page.context.pages:
        if other is not page:
            other.close()
