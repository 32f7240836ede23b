"""The page of a network as a person uses it: point at a place of the drawing, and read what stands there."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from math import prod
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from playwright.sync_api import Locator, Page, ViewportSize, expect

import torcheer as tl
from tests.browser.pages import place_of, two_frames
from tests.browser.screen import number_in
from tests.netview.grid_cells import cell_of
from torcheer.app.server import Serving
from torcheer.netview import plate_size
from torcheer.run import NetLayer

Pixels = NDArray[np.uint8]
SIZE: ViewportSize = {"width": 1120, "height": 720}  # a software renderer takes its time for each pixel
_SPOKEN = re.compile(r"(.+?)(?: \[([-:\d, ]+)\])?(?: at step (\d+))?$")
_RAMP_STEPS = {"div": 11, "seq": 10}


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What the tip says: the layer, the index into the tensor of one item, the values of what is shown."""

    layer: str
    index: tuple[int, ...]
    texts: tuple[str, ...]  # one; of a place in a colour picture three
    step: int | None = None  # where time runs along the plate

    @property
    def values(self) -> tuple[float, ...]:
        return tuple(number_in(text) for text in self.texts)

    def place_in(self, layer: NetLayer) -> int:
        return int(np.ravel_multi_index(self.index, layer.shape))


class NetPage:
    """The page NetView."""

    is_slow = False  # as a card may be that draws in software

    def __init__(self, page: Page) -> None:
        self.page = page
        self.stage = page.get_by_role("region", name="Network", exact=True)
        self.drawing = self.stage.get_by_role("img", name=re.compile("^Network, variable"))
        self.tip = self.stage.get_by_role("tooltip")
        self.variables = page.get_by_role("radiogroup", name="Variable")
        self.unit = page.get_by_role("region", name="Selected unit")
        self.layers = page.get_by_role("list", name="Layers, from output to input")
        self.time = page.get_by_role("toolbar", name="Steps")
        self.camera = page.get_by_role("toolbar", name="Camera")

    @classmethod
    def opened(cls, page: Page, place: Serving | Path, query: str = "") -> NetPage:
        """Of a server or a file. A page that is open already goes there without being loaded again."""
        url = place.as_uri() if isinstance(place, Path) else place.url
        if page.url.startswith(url.partition("?")[0]):
            page.mouse.move(2, 2)
            page.evaluate("query => { location.hash = `#netview?${query}`; }", query)
        else:
            page.set_viewport_size(SIZE)
            page.goto(f"{url}#netview?{query}")
        found = cls(page)
        found.is_settled()
        return found

    def is_settled(self) -> None:
        """Wait until the values of the moment are here and drawn."""
        expect(self.drawing).to_be_visible()
        expect(self.stage).to_have_attribute("aria-busy", "false")
        self.two_frames()

    def two_frames(self) -> None:
        two_frames(self.page)

    # --- pointing ------------------------------------------------------------------------------------

    def box(self) -> tuple[float, float, float, float]:
        """Where the drawing is, once it stands still."""
        place = place_of(self.drawing)
        return place.x, place.y, place.width, place.height

    def point(self, x: float, y: float) -> Read | None:
        """What the tip says under the mouse, in pixels from the corner of the drawing; None without a tip."""
        left, top, _, _ = self.box()
        self.page.mouse.move(left + x, top + y)
        self.two_frames()
        return _read(self.drawing.evaluate(_READ_TIP))

    def sweep(self, places: Sequence[tuple[float, float]], enough: int = 0) -> list[Read | None]:
        """The same at many places, at once: the pointer need not travel. It ends at so many units."""
        said = self.drawing.evaluate(_SWEEP, [[list(place) for place in places], enough])
        return [_read(one) for one in said]

    def points(self, num: int, dice: random.Random) -> list[tuple[int, int, Read]]:
        """Places at random where there is a unit."""
        _, _, width, height = self.box()
        found: list[tuple[int, int, Read]] = []
        for _ in range(10):
            # Not where buttons stand over the drawing.
            places = [
                (dice.randrange(8, int(width) - 8), dice.randrange(60, int(height) - 40))
                for _ in range(4 * num)
            ]
            reads = self.sweep(places, num - len(found))
            found += [(x, y, read) for (x, y), read in zip(places, reads, strict=False) if read is not None]
            if len(found) >= num:
                return found
        raise AssertionError(f"only {len(found)} places of {40 * num} have a unit")

    def click(self, x: float, y: float, *, count: int = 1) -> None:
        left, top, _, _ = self.box()
        self.page.mouse.click(left + x, top + y, click_count=count)

    def away(self) -> None:
        """The pointer is nowhere on the drawing."""
        self.page.mouse.move(2, 2)
        expect(self.tip).to_have_count(0)

    def picture(self) -> Pixels:
        """The drawing as it is on the screen, in red, green and blue, once it does not change any more."""
        self.away()
        before = self._shot()
        for _ in range(200):
            if self.is_slow:
                self.page.wait_for_timeout(200)
            now = self._shot()
            if np.array_equal(before, now):
                return now
            before = now
        raise AssertionError("the drawing does not come to rest")

    def next_picture(self, before: Pixels) -> Pixels:
        """The same, once it is another one."""
        for _ in range(200):
            now = self.picture()
            if not np.array_equal(before, now):
                return now
        raise AssertionError("the drawing does not change")

    def _shot(self) -> Pixels:
        self.two_frames()
        left, top, width, height = self.box()
        shot = self.page.screenshot(clip={"x": left, "y": top, "width": width, "height": height})
        return np.asarray(Image.open(BytesIO(shot)).convert("RGB"))

    def drag(self, x: float, y: float, *, button: str = "left") -> None:
        left, top, width, height = self.box()
        start = left + width / 2, top + height / 2
        self.page.mouse.move(*start)
        self.page.mouse.down(button=button)  # type: ignore[arg-type]
        self.page.mouse.move(start[0] + x, start[1] + y, steps=5)
        self.page.mouse.up(button=button)  # type: ignore[arg-type]
        self.away()
        self.rests()

    def show_all(self) -> None:
        """All of it in view, wherever the camera was left."""
        self.drawing.press("0")
        self.rests()

    def open_menu(self) -> None:
        """Picture, video, full screen."""
        if not self.stage.get_by_role("dialog").is_visible():
            self.stage.get_by_role("button", name="Picture, video, full screen").click()

    def rests(self) -> None:
        """Wait for all of it to be drawn: on a slow card that is after something has moved."""
        if self.is_slow:
            self.page.wait_for_timeout(250)
        self.two_frames()

    # --- reading -------------------------------------------------------------------------------------

    def figure(self, name: str) -> Locator:
        """Of the selected unit."""
        return self.unit.locator(f"dt:text-is('{name}') + dd")

    def colours(self, kind: str) -> Pixels:
        """The 256 colours of a map, from the tokens of the theme."""
        steps = _RAMP_STEPS[kind]
        hexes: list[str] = self.page.evaluate(
            "([kind, steps]) => { const style = getComputedStyle(document.documentElement);"
            "return Array.from({ length: steps }, (_, at) => style.getPropertyValue(`--${kind}-${at}`)); }",
            [kind, steps],
        )
        stops = np.array([_rgb(text.strip()) for text in hexes], np.float64)
        places = np.linspace(0, steps - 1, 256)
        parts = [np.interp(places, np.arange(steps), stops[:, part]) for part in range(3)]
        return np.stack(parts, 1).round().astype(np.uint8)


# The words of the tip: the name of the unit, and what is shown of it.
_READ_TIP = """(drawing) => {
  const tip = drawing.parentElement.querySelector("[role=tooltip]");
  return tip === null ? null : [tip.querySelector("b").textContent, tip.querySelector("div").textContent];
}"""

_SWEEP = f"""async (drawing, [places, enough]) => {{
  const read = {_READ_TIP};
  const {{ left, top }} = drawing.getBoundingClientRect();
  const found = [];
  let numUnits = 0;
  for (const [x, y] of places) {{
    const at = {{ clientX: left + x, clientY: top + y, pointerId: 1, bubbles: true }};
    drawing.dispatchEvent(new PointerEvent("pointermove", at));
    await new Promise((done) => {{
      const {{ port1, port2 }} = new MessageChannel();
      port1.onmessage = done;
      port2.postMessage(null);
    }});
    const said = read(drawing);
    found.push(said);
    if (said !== null && ++numUnits === enough) break;
  }}
  drawing.dispatchEvent(new PointerEvent("pointerleave"));
  return found;
}}"""


def _read(said: list[str] | None) -> Read | None:
    if said is None:
        return None
    name, words = said
    found = _SPOKEN.match(name)
    assert found is not None
    index = tuple(0 if part == ":" else int(part) for part in (found[2] or "").split(", ") if part)
    texts = tuple(words.partition(" ")[2].split(", "))
    return Read(layer=found[1], index=index, texts=texts, step=int(found[3]) if found[3] else None)


def _rgb(text: str) -> tuple[int, int, int]:
    digits = text.lstrip("#")
    digits = "".join(digit * 2 for digit in digits) if len(digits) == 3 else digits
    return int(digits[0:2], 16), int(digits[2:4], 16), int(digits[4:6], 16)


def layer_of(view: tl.NetView, name: str) -> NetLayer:
    return next(layer for layer in view.scene.layers if layer.name == name)


class FlatPlate:
    """One layer alone, flat: where each of its units lies, learnt by pointing at some of them."""

    def __init__(self, net: NetPage, layer: NetLayer, dice: random.Random) -> None:
        self.net = net
        self.layer = layer
        seen = []
        for x, y, read in net.points(24, dice):
            assert read.layer == layer.name
            column, row = cell_of(layer.grid, read.place_in(layer))
            seen.append((x, y, column, row))
        xs, ys, columns, rows = (np.array(part, np.float64) for part in zip(*seen, strict=True))
        self.across = _line(columns, xs, plate_size(layer.grid)[0])
        self.down = _line(rows, ys, plate_size(layer.grid)[1])
        # All cells are of one size, upright and not mirrored: nothing lies further off than within its cell.
        for places, cells, (size, start) in ((xs, columns, self.across), (ys, rows, self.down)):
            assert size > 0
            assert np.abs(places - (start + size * (cells + 0.5))).max() <= 0.75 * size + 1

    def place(self, unit: int) -> tuple[float, float]:
        """The middle of a unit, in pixels from the corner of the drawing."""
        column, row = cell_of(self.layer.grid, unit)
        (width, left), (height, top) = self.across, self.down
        return left + width * (column + 0.5), top + height * (row + 0.5)

    def read_all(self) -> list[Read]:
        return self.read(range(self.layer.grid.num_units))

    def read(self, units: Sequence[int]) -> list[Read]:
        """Point at some units, and see that it is these."""
        found = []
        for unit, read in zip(units, self.net.sweep([self.place(unit) for unit in units]), strict=True):
            assert read is not None
            first = unit % (prod(self.layer.shape) // 3) if self.layer.grid.is_colour else unit
            assert (read.layer, read.place_in(self.layer)) == (self.layer.name, first)
            found.append(read)
        return found


def _line(cells: NDArray[np.float64], places: NDArray[np.float64], num_cells: int) -> tuple[float, float]:
    """The size of a cell, and where the first begins."""
    if num_cells == 1:
        return 1e6, float(places.mean()) - 5e5
    size, start = np.polyfit(cells + 0.5, places, 1)
    return float(size), float(start)
