"""Servers for the browser tests, the way from view to view, and what the page says of its connection."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from tests.app.serving import SECRET
from torcheer.app.addresses import listen
from torcheer.app.passfile import open_pass_file
from torcheer.app.savedpasses import SavedPasses
from torcheer.app.secret import Secret
from torcheer.app.server import Server, Serving

CONNECTED = "connected"
LOST = "connection lost"

# As the way back does it: at once, and whatever was to be written into the address is not.
_GO = """(address) => {
  history.replaceState(null, "", address);
  dispatchEvent(new PopStateEvent("popstate"));
}"""


def serve(*paths: Path, port: int = 0, secret: Secret = SECRET) -> Serving:
    return Serving(Server(SavedPasses(paths, open_pass_file), listen(port=port), secret))


def go_to(page: Page, serving: Serving, address: str, by_way_of: str = "runs") -> None:
    """To what is after the #.

    A page that is open already is not loaded again. It goes there by way of another view, so that nothing is
    left of what was done there before, but for what a page remembers.
    """
    if page.url.startswith(serving.url.partition("?")[0]):
        page.mouse.move(0, 0)
        for one in (by_way_of, address):
            page.evaluate(_GO, f"#{one}")
            view = one.partition("?")[0]
            expect(page.locator(f"a[aria-current=page][href^='#{view}']").last).to_be_visible()
    else:
        page.goto(f"{serving.url}#{address}")


def badge(page: Page, word: str) -> Locator:
    return page.get_by_role("banner").get_by_role("status").filter(has_text=re.compile(f"^{word}$"))
