"""A NetView in a browser, for the bench: what it draws is counted, turned, scrubbed and waited for."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import numpy

import torcheer as tl

_WIDTH, _HEIGHT = 1440, 900

# What WebGL is asked to do is counted on the way: bytes and time of uploads, how long a whole frame takes.
_COUNTING: Final = """{
  const count = (window.netCount = { bytes: 0, uploadMs: 0, sharp: [] });
  const own = WebGL2RenderingContext.prototype;
  const { texSubImage2D, fenceSync, clientWaitSync } = own;
  own.texSubImage2D = function (...given) {
    const start = performance.now();
    texSubImage2D.apply(this, given);
    this.finish();
    count.uploadMs += performance.now() - start;
    count.bytes += given.at(-1)?.byteLength ?? 0;
  };
  let start = 0;
  own.fenceSync = function (...given) {
    start = performance.now();
    return fenceSync.apply(this, given);
  };
  own.clientWaitSync = function (...given) {
    const state = clientWaitSync.apply(this, given);
    const isDone = state === this.ALREADY_SIGNALED || state === this.CONDITION_SATISFIED;
    if (isDone) count.sharp.push(performance.now() - start);
    return state;
  };
}"""

# Turned by a hand for so many frames: milliseconds from frame to frame.
TURN: Final = """async (drawing, numFrames) => {
  const place = drawing.getBoundingClientRect();
  const send = (type, by) => drawing.dispatchEvent(new PointerEvent(type, {
    pointerId: 1, button: 0, clientX: place.left + 400 + by, clientY: place.top + 300, bubbles: true }));
  drawing.setPointerCapture = () => undefined;
  send("pointerdown", 0);
  const times = [];
  for (let at = 0; at <= numFrames; at++) {
    times.push(await new Promise(requestAnimationFrame));
    send("pointermove", 5 + at * 6);
  }
  send("pointerup", 5 + numFrames * 6);
  return times.slice(1).map((time, at) => time - times[at]);
}"""

# To a moment: until its values are on the screen.
SCRUB: Final = """async (slider, to) => {
  const stage = document.querySelector(".netview-stage");
  const start = performance.now();
  slider.value = to;
  slider.dispatchEvent(new Event("input", { bubbles: true }));
  do await new Promise(requestAnimationFrame);
  while (stage.getAttribute("aria-busy") !== "false");
  await new Promise(requestAnimationFrame);
  return performance.now() - start;
}"""


@contextmanager
def net_page(folder: Path) -> Iterator[Any]:
    """The NetView of the run in a folder, with its values on the screen."""
    from playwright.sync_api import sync_playwright

    from tests.browser.chromium import ARGUMENTS, find_chromium
    from torcheer.app import serve_runs_in_background

    with sync_playwright() as playwright, serve_runs_in_background(folder) as serving:
        browser = playwright.chromium.launch(
            executable_path=find_chromium(), headless=True, chromium_sandbox=False, args=ARGUMENTS
        )
        page = browser.new_page(viewport={"width": _WIDTH, "height": _HEIGHT}, reduced_motion="reduce")
        page.add_init_script(_COUNTING)
        page.goto(f"{serving.url}#netview")
        page.wait_for_selector(".netview-stage[aria-busy=false] canvas.above", timeout=120_000)
        page.wait_for_timeout(1500)
        yield page
        browser.close()


def ms_to_pixels(page: Any, view: tl.NetView, inputs: Any) -> float:
    """Milliseconds until a frame of the page shows the layers otherwise than before."""
    bounds = page.locator("canvas.above").bounding_box()
    # Without buttons and names of the moment, which change as well.
    middle = [int(bounds[side]) for side in ("x", "y", "width", "height")]
    frames: list[tuple[float, bytes]] = []
    session = page.context.new_cdp_session(page)

    def keep(event: Any) -> None:
        frames.append((event["metadata"]["timestamp"], base64.b64decode(event["data"])))
        session.send("Page.screencastFrameAck", {"sessionId": event["sessionId"]})

    session.on("Page.screencastFrame", keep)
    session.send("Page.startScreencast", {"format": "png"})
    page.wait_for_timeout(1000)
    before = _part(frames[-1][1], middle)
    frames.clear()
    started = time.time()
    view.update(inputs)
    seen = 0
    try:
        while time.time() - started < 60:
            page.wait_for_timeout(20)
            for timestamp, data in frames[seen:]:
                seen += 1
                if (_part(data, middle) != before).mean() > 1e-3:
                    return (timestamp - started) * 1e3
        raise RuntimeError("an update did not come to the page within a minute")
    finally:
        session.send("Page.stopScreencast")
        session.detach()


def _part(data: bytes, middle: list[int]) -> numpy.ndarray[Any, Any]:
    from PIL import Image

    left, top, width, height = middle
    return numpy.asarray(Image.open(BytesIO(data)).convert("L"))[top + 60 : top + height, left : left + width]
