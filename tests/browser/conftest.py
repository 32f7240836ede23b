"""A real Chromium for the pages: one a worker, and a page of it that is put back after each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    Page,
    ViewportSize,
    expect,
    sync_playwright,
)

from tests.browser.chromium import ARGUMENTS, MISSING, find_chromium

# For a machine that is busy with other tests: what comes at all comes far sooner.
PATIENCE = 20_000
expect.set_options(timeout=PATIENCE)

VIEWPORT: ViewportSize = {"width": 1440, "height": 900}

# Nothing can be remembered after that, whatever the page does when it is left.
_FORGET = """() => {
  try {
    Storage.prototype.setItem = () => undefined;
    localStorage.clear();
    sessionStorage.clear();
  } catch { /* an empty page has none */ }
}"""


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

    opened.on("pageerror", note_error)
    opened.on("console", note_message)
    yield opened
    opened.remove_listener("pageerror", note_error)
    opened.remove_listener("console", note_message)
    if not is_fresh:
        put_back(opened)
    assert not errors, errors


def put_back(page: Page) -> None:
    """As a new page is: without what was remembered, routed, resized or let in."""
    page.unroute_all()
    page.evaluate(_FORGET)
    page.goto("about:blank")
    page.context.clear_cookies()
    page.set_viewport_size(VIEWPORT)
    page.emulate_media(media="null", color_scheme="light", reduced_motion="reduce", forced_colors="null")
    for other in page.context.pages:
        if other is not page:
            other.close()
