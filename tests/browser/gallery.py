"""Photograph the pages of runs for docs/gallery/pages: `python -m tests.browser.gallery`.

The runs are those of examples/digits.py, trained anew, so numbers and times differ a little each time.
"""

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from examples import digits
from tests.browser.chromium import ARGUMENTS, find_chromium
from torcheer.app.server import serve_runs_in_background

FOLDER = Path(__file__).parent.parent.parent / "docs" / "gallery" / "pages"
SIZE = {"width": 1440, "height": 900}
THEMES = ("light", "dark")
NUM_COLOURS = 128
SETTLING_MS = 4000


class Shot(NamedTuple):
    """One page: its place in the address, and what is done there before it is photographed."""

    address: str
    prepare: Callable[[Page], None] = lambda page: None


def _scroll_to(heading: str) -> Callable[[Page], None]:
    def scroll(page: Page) -> None:
        page.get_by_role("heading", name=heading, exact=True).first.evaluate(
            "heading => heading.scrollIntoView({ block: 'start' })"
        )

    return scroll


def _open_pass(page: Page) -> None:
    page.keyboard.press("/")
    page.keyboard.type("features.2")
    page.keyboard.press("Enter")


SHOTS = {
    "runs": Shot("runs"),
    "charts": Shot("training"),
    "evaluation": Shot("training", _scroll_to("evaluation")),
    "layers": Shot("layers"),
    "tensors": Shot("tensors"),
    "projector": Shot("projector"),
    "parameters": Shot("parameters"),
    "graph": Shot("graph", _open_pass),
}


def main() -> None:
    executable = find_chromium()
    if executable is None:
        raise SystemExit("there is no Chromium here: `make browser` installs one where it may")
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        runs = Path(folder) / "digits"
        os.environ["HOME"] = folder  # so that the pages say ~/digits, wherever that is
        digits.main(runs, num_epochs=30)
        browser = playwright.chromium.launch(
            executable_path=executable, headless=True, chromium_sandbox=False, args=ARGUMENTS
        )
        with serve_runs_in_background(runs) as serving:
            for theme in THEMES:
                _photograph_all(browser, serving.url, theme)
        browser.close()


def _photograph_all(browser: Browser, url: str, theme: str) -> None:
    context = browser.new_context(viewport=SIZE, color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(url)
    for name, shot in SHOTS.items():
        page.goto(f"{url.partition('?')[0]}#{shot.address}")
        page.wait_for_timeout(SETTLING_MS)
        with suppress(TimeoutError):
            shot.prepare(page)
        page.wait_for_timeout(SETTLING_MS)
        _save(page.screenshot(), FOLDER / f"{name}-{theme}.png")
        print(f"{name}, {theme}", flush=True)
    context.close()


def _save(screenshot: bytes, path: Path) -> None:
    """With fewer colours: a third of the size, and hardly to be told from it."""
    image = Image.open(BytesIO(screenshot)).convert("RGB").quantize(NUM_COLOURS, dither=Image.Dither.NONE)
    image.save(path, optimize=True)


if __name__ == "__main__":
    main()
