"""A real Chromium for the pages: one a worker, and pages of it that are put back after each test."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Frame, Page, expect, sync_playwright

import torcheer as tl
from tests.app.serving import SECRET
from tests.browser import passes
from tests.browser.chromium import ARGUMENTS, MISSING, find_chromium
from tests.browser.netview_models import Recorded, record_every_shape
from tests.browser.pages import PATIENCE_MS, VIEWPORT, new_context, no_errors, one_page
from torcheer.app import listen, serve_runs_in_background
from torcheer.app.server import Serving

expect.set_options(timeout=PATIENCE_MS)

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
    bind = listen._bind_first
    # Six for each worker, below those that systems give to connections. Workers are copies: only here, not
    # where this file is read, have they numbers of their own.
    first = 30_000 + os.getpid() % 461 * 6

    def bind_again(host: str, address: str, ports: Sequence[int]) -> socket.socket:
        return bind(host, address, [*range(first, first + 6), 0] if list(ports) == [0] else ports)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(listen, "_bind_first", bind_again)
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


# --- pages -------------------------------------------------------------------------------------------


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A fresh one, for what cannot be put back; `page` is then of it."""
    made = new_context(browser)
    yield made
    made.close()


@pytest.fixture(scope="session")
def kept_page(browser: Browser) -> Iterator[Page]:
    """A page that tests use one after the other: a new one takes a process, and as long as to load it."""
    made = new_context(browser)
    yield made.new_page()
    made.close()


@pytest.fixture
def page(request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page that fails the test if anything goes wrong in its scripts. Nothing is left in it from before."""
    if "context" in request.fixturenames:
        opened: Page = request.getfixturevalue("context").new_page()
        with no_errors(opened):
            yield opened
        return
    opened = request.getfixturevalue("kept_page")
    visited: set[str] = set()

    def note_visit(frame: Frame) -> None:
        if frame.parent_frame is None and frame.url.startswith("http"):
            visited.add(origin_of(frame.url))

    opened.on("framenavigated", note_visit)
    try:
        with no_errors(opened):
            yield opened
    finally:
        opened.remove_listener("framenavigated", note_visit)
        put_back(opened, visited)


@pytest.fixture
def loose(context: BrowserContext) -> Iterator[Page]:
    """A page whose browser may complain, say of a server that does not let it in; its scripts may not."""
    opened = context.new_page()
    with no_errors(opened, may_complain=True):
        yield opened


@pytest.fixture(scope="module")
def looked(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Page]:
    """One page for all tests of a file that leave nothing behind but the address."""
    if "serving" in request.fixturenames:
        request.getfixturevalue("serving")  # it outlives the page
    with one_page(browser) as opened:
        yield opened


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


# --- what they show ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def serving(folder: Path) -> Iterator[Serving]:
    """A server of the runs in `folder`, which each file makes for itself."""
    with serve_runs_in_background(folder, secret=SECRET) as served:
        yield served


@pytest.fixture(scope="session")
def history() -> Any:
    """A pass with gradients."""
    return passes.pictures()


@pytest.fixture(scope="session")
def file(history: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same as a page in one file."""
    path = tmp_path_factory.mktemp("pages") / "pass.html"
    history.to_html(path)
    return path


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """A network of every shape while it learns."""
    return record_every_shape(tmp_path_factory.mktemp("recorded"))


@pytest.fixture(scope="session")
def view(recorded: Recorded) -> Iterator[tl.NetView]:
    with tl.NetView(recorded.folder / "net") as opened:
        yield opened
