"""Pages for the tests: how one is opened, the way from view to view, and waiting for what takes a moment."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    Locator,
    Page,
    ViewportSize,
    expect,
)

from tests.app.serving import SECRET
from torcheer.app.access import Secret
from torcheer.app.listen import listen
from torcheer.app.passes.saved import SavedPasses
from torcheer.app.server import Server, Serving

T = TypeVar("T")

PATIENCE_MS: Final = 20_000  # for a machine that is busy with other tests: what comes at all comes far sooner
VIEWPORT: Final[ViewportSize] = {"width": 1440, "height": 900}

# On a card that is known to be slow, less is drawn while something moves, and one has to wait for the rest.
NEVER_SLOW: Final = """if (globalThis.WebGL2RenderingContext !== undefined) {
  WebGL2RenderingContext.prototype.fenceSync = () => null;
}"""
NO_WEBGL: Final = """{
  const own = HTMLCanvasElement.prototype.getContext;
  HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
    return kind === "webgl2" ? null : own.call(this, kind, ...rest);
  };
}"""

_GONE: Final = re.compile("net::ERR_(CONNECTION|EMPTY_RESPONSE|SOCKET)|WebSocket connection to")
CONNECTED: Final = "connected"
LOST: Final = "connection lost"

# As the way back does it: at once, and whatever was to be written into the address is not.
_GO = """(address) => {
  history.replaceState(null, "", address);
  dispatchEvent(new PopStateEvent("popstate"));
}"""


# --- opening -----------------------------------------------------------------------------------------


def new_context(
    browser: Browser, *, size: ViewportSize = VIEWPORT, may_be_slow: bool = False, **options: Any
) -> BrowserContext:
    made = browser.new_context(viewport=size, reduced_motion="reduce", **options)
    made.set_default_timeout(PATIENCE_MS)
    if not may_be_slow:
        made.add_init_script(NEVER_SLOW)
    return made


@contextmanager
def no_errors(page: Page, *, may_complain: bool = False) -> Iterator[None]:
    """Nothing goes wrong in the scripts of a page meanwhile.

    At the end of a test its server may be gone a moment before the page is, whose browser says so.
    """
    errors: list[str] = []

    def note_error(error: Error) -> None:
        errors.append(str(error))

    def note_message(message: ConsoleMessage) -> None:
        if message.type == "error" and not may_complain and _GONE.search(message.text) is None:
            errors.append(message.text)

    page.on("pageerror", note_error)
    page.on("console", note_message)
    yield
    page.remove_listener("pageerror", note_error)
    page.remove_listener("console", note_message)
    assert not errors, errors


@contextmanager
def one_page(
    browser: Browser, *, size: ViewportSize = VIEWPORT, may_be_slow: bool = False, **options: Any
) -> Iterator[Page]:
    """A page for many tests, which leave nothing behind but the address: it is loaded once."""
    context = new_context(browser, size=size, may_be_slow=may_be_slow, **options)
    page = context.new_page()
    with no_errors(page):
        yield page
        context.close()


def serve(*paths: Path, port: int = 0, secret: Secret = SECRET) -> Serving:
    """A server of passes."""
    return Serving(Server(SavedPasses(paths), listen(port=port), secret))


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
            two_frames(page)
    else:
        page.goto(f"{serving.url}#{address}")


def badge(page: Page, word: str) -> Locator:
    """What the page says of its connection."""
    return page.get_by_role("banner").get_by_role("status").filter(has_text=re.compile(f"^{word}$"))


# --- waiting -----------------------------------------------------------------------------------------


def eventually(check: Callable[[], T]) -> T:
    """What the check returns, once it holds: it is tried until it raises no AssertionError any more."""
    end = time.monotonic() + PATIENCE_MS / 1000
    while True:
        try:
            return check()
        except AssertionError:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)


def expect_equal(read: Callable[[], object], wanted: object) -> None:
    """Wait until what is read of the page is what is wanted."""

    def is_so() -> None:
        found = read()
        assert found == wanted

    eventually(is_so)


def expect_true(read: Callable[[], object]) -> None:
    """Wait until what is read of the page is true."""

    def is_so() -> None:
        assert read()

    eventually(is_so)


def expect_param(page: Page, name: str, value: str) -> None:
    """Wait for it in the address, which is written up to a fifth of a second later. `value` is a pattern."""
    expect(page).to_have_url(re.compile(rf"[?&]{name}={value}(&|$)"))


def expect_no_param(page: Page, name: str) -> None:
    expect(page).not_to_have_url(re.compile(rf"[?&]{name}="))


def two_frames(page: Page) -> None:
    """What was to be drawn is drawn then, and what is new listens to keys: that is after the next paint."""
    page.evaluate(
        "() => new Promise((done) => "
        "requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rect:
    """A part of the page, in CSS pixels."""

    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> tuple[float, float]:
        return self.at(0.5, 0.5)

    def at(self, across: float, down: float) -> tuple[float, float]:
        """A place in it, by shares of its width and height."""
        return self.x + across * self.width, self.y + down * self.height


# Where it is in one frame and in the next.
_TWO_PLACES = """async (element) => {
  const places = [];
  for (let frame = 0; frame < 2; frame++) {
    await new Promise(requestAnimationFrame);
    const { x, y, width, height } = element.getBoundingClientRect();
    places.push([x, y, width, height]);
  }
  return places;
}"""


def place_of(locator: Locator) -> Rect:
    """Where an element is, once it stands still."""

    def still() -> Rect:
        before, now = locator.evaluate(_TWO_PLACES)
        assert before == now
        assert now[2] > 0
        return Rect(x=now[0], y=now[1], width=now[2], height=now[3])

    return eventually(still)


def scrolled_size(page: Page) -> list[int]:
    """The width and the height of all that there is to scroll to."""
    found: list[int] = page.evaluate(
        "() => [document.documentElement.scrollWidth, document.documentElement.scrollHeight]"
    )
    return found


def canvas_text(canvas: Locator) -> str:
    """All pixels of a canvas, as a text to compare."""
    return str(canvas.evaluate("(canvas) => canvas.toDataURL()"))


def changed_canvas(canvas: Locator, before: str) -> str:
    """The same, once it is another picture than before and does not change any more."""

    def changed() -> str:
        two_frames(canvas.page)
        found = canvas_text(canvas)
        assert found != before
        return found

    return eventually(changed)
