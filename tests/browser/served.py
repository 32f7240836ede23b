"""Servers for the browser tests, and what the page says of its connection."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Locator, Page

from tests.app.serving import SECRET
from torcheer.app.addresses import listen
from torcheer.app.passfile import open_pass_file
from torcheer.app.savedpasses import SavedPasses
from torcheer.app.secret import Secret
from torcheer.app.server import Server, Serving

CONNECTED = "connected"
LOST = "connection lost"


def serve(*paths: Path, port: int = 0, secret: Secret = SECRET) -> Serving:
    return Serving(Server(SavedPasses(paths, open_pass_file), listen(port=port), secret))


def badge(page: Page, word: str) -> Locator:
    return page.get_by_role("banner").get_by_role("status").filter(has_text=re.compile(f"^{word}$"))
