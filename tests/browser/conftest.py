"""A real Chromium for the pages: one a worker, a fresh context for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.browser.chromium import ARGUMENTS, MISSING, find_chromium


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
    made = browser.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    made.set_default_timeout(20_000)
    yield made
    made.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A page that fails the test if anything goes wrong in its scripts."""
    opened = context.new_page()
    errors: list[str] = []
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    yield opened
    assert not errors, errors
