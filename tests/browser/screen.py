"""The page as a person uses it: find a thing, look at it, read what stands there."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from playwright.sync_api import Locator, Page, expect
from torch import Tensor

from tests.browser.pages import Rect, eventually, expect_true, two_frames

_SHOWN_NUMBER = re.compile("(−?)([0-9]+)(?:\\.([0-9]+))?(?:e(−?[0-9]+))?")
_SPECIAL = {"∞": math.inf, "−∞": -math.inf, "NaN": math.nan}

# The part of the drawing that has exactly this colour, in pixels of the page; null where there is none.
_FIND_COLOUR = """(name) => {
  const canvas = document.querySelector("canvas.graph-canvas");
  const hex = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const wanted = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  const { width, height } = canvas;
  if (width * height === 0) return null;
  const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
  let [left, top, right, bottom] = [width, height, -1, -1];
  for (let at = 0; at < data.length; at += 4) {
    if (data[at] !== wanted[0] || data[at + 1] !== wanted[1] || data[at + 2] !== wanted[2]) continue;
    const [x, y] = [(at / 4) % width, Math.floor(at / 4 / width)];
    [left, top] = [Math.min(left, x), Math.min(top, y)];
    [right, bottom] = [Math.max(right, x), Math.max(bottom, y)];
  }
  if (right < 0) return null;
  const bounds = canvas.getBoundingClientRect();
  const ratio = width / bounds.width;
  const [x, y] = [bounds.left + left / ratio, bounds.top + top / ratio];
  return [x, y, (right - left) / ratio, (bottom - top) / ratio];
}"""

_COUNT_COLOURS = """(canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return new Set(new Uint32Array(data.buffer)).size;
}"""

# Whether anything stands on the ground of the drawing, which has one colour and its dots another.
_IS_DRAWN = """() => {
  const canvas = document.querySelector("canvas.graph-canvas");
  if (canvas.width < 2) return false;
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const [pixels, colours] = [new Uint32Array(data.buffer), new Set()];
  for (let at = 0; at < pixels.length && colours.size < 9; at += 7) colours.add(pixels[at]);
  return colours.size > 8;
}"""


class Screen:
    """A page that shows a pass."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.tree = page.get_by_role("tree", name="Module tree")
        self.search = page.get_by_role("textbox", name="Find module or op")
        self.hits = page.get_by_role("listbox", name="Search hits")
        self.drawing = page.get_by_role("application")
        self.inspector = page.get_by_role("complementary", name="Inspector")
        self.title = self.inspector.get_by_role("heading", level=1)
        self.subtitle = self.inspector.locator(".subject-head .muted")
        self.grid = self.inspector.get_by_role("grid", name="Values")

    def is_ready(self) -> None:
        """Wait until something is drawn."""
        self.drawing.wait_for()
        self.page.wait_for_function(_IS_DRAWN)

    @classmethod
    def opened(cls, page: Page, place: Path | str) -> Screen:
        """The page of a file or an address, once it shows something."""
        page.goto(place.as_uri() if isinstance(place, Path) else place)
        screen = cls(page)
        screen.is_ready()
        return screen

    def as_opened(self) -> Screen:
        """Nothing is selected, searched or closed, and of the next op its output is shown."""
        self.page.mouse.move(0, 0)
        self.search.fill("")
        self.page.get_by_role("combobox", name="Expand to depth").select_option(label="Expand all")
        self.item("stem").click()
        self.choose_tab("Output")
        self.page.keyboard.press("Escape")
        expect(self.subtitle).to_have_text(re.compile("^pass ·"))
        return self

    # --- finding ---------------------------------------------------------------------------------

    def show_op(self, history: Any, label: str) -> int:
        """Search for an op and step to it; its index."""
        op = history[label]
        index, total = op.index, history.num_tensors_total
        self.page.keyboard.press("Escape")
        self.search.fill(op.layer_label)
        wanted = f"op {grouped(index + 1)} of {grouped(total)}"
        hits = self.page.locator(".hit-count")
        two_frames(self.page)
        expect(hits).to_have_text(re.compile(r"\d$"))
        count = hits.inner_text().split()[-1]
        for at in range(1, int(ungrouped(count)) + 1):
            self.search.press("Enter")
            expect(hits).to_have_text(f"{grouped(at)} of {count}")
            two_frames(self.page)
            if wanted in self.subtitle.inner_text():
                break
        expect(self.subtitle).to_contain_text(wanted)
        self.search.press("Escape")
        return int(index)

    def show_output(self, name: str) -> None:
        """Search for one of the model's outputs by its name."""
        self.search.fill(f"output.{name}")
        self.hits.get_by_title(f"output.{name}", exact=True).click()
        expect(self.title).to_have_text(f"output.{name}")

    def item(self, name: str) -> Locator:
        """A row of the tree by its name; the first where there are several."""
        rows = self.tree.get_by_role("treeitem")
        return rows.filter(has=self.page.locator(".name", has_text=re.compile(f"^{re.escape(name)}$"))).first

    # --- the drawing -----------------------------------------------------------------------------

    def coloured(self, token: str) -> Rect | None:
        found = self.page.evaluate(_FIND_COLOUR, token)
        return found and Rect(x=found[0], y=found[1], width=found[2], height=found[3])

    def selected_box(self) -> Rect:
        """The box with the outline of a selection, once it is in the drawing."""
        self.page.wait_for_function(f"() => ({_FIND_COLOUR})('--accent') !== null")
        found = self.coloured("--accent")
        assert found is not None
        return found

    def selected_box_when(self, condition: str) -> Rect:
        """The same, once a condition on `[x, y, width, height]` holds of it."""
        self.page.wait_for_function(
            f"() => {{ const box = ({_FIND_COLOUR})('--accent'); if (box === null) return false; "
            f"const [x, y, width, height] = box; return {condition}; }}"
        )
        return self.selected_box()

    # --- the inspector ---------------------------------------------------------------------------

    def figure(self, name: str) -> str:
        return self.inspector.locator(f"dt:text-is('{name}') + dd").first.inner_text()

    def expect_figure(self, name: str, text: str) -> None:
        expect(self.inspector.locator(f"dt:text-is('{name}') + dd").first).to_have_text(text)

    def section(self, title: str) -> Locator:
        return self.inspector.get_by_role("region", name=title, exact=True)

    def choose_tab(self, name: str) -> None:
        self.inspector.get_by_role("tab", name=name).click()
        expect(self.inspector.get_by_role("tabpanel", name=name)).to_be_visible()

    def window(self) -> str:
        """Which values the grid shows, as it would be written in Python."""
        return self.section("Numbers").locator(".remark").inner_text()

    def expect_window(self, start: str) -> None:
        """Wait until the grid begins there: `1, 0, 5:` is row 5 of tile 0 of item 1."""
        expect(self.section("Numbers").locator(".remark")).to_have_text(re.compile(rf"^\[{re.escape(start)}"))

    def expect_numbers(self, value: Tensor, start: str = "") -> None:
        """Wait for a window, and until all that the grid shows is in the tensor, to the last bit."""
        self.expect_window(start)

        def are_shown() -> None:
            part = part_of(value, self.window())
            assert part.numel() > 0
            assert_numbers([self.values()], part.reshape(1, -1))

        eventually(are_shown)

    def cells(self) -> list[list[str]]:
        """The exact values of the grid, row by row."""
        rows: list[list[str]] = self.grid.evaluate(
            "(table) => [...table.rows].map((row) => "
            "[...row.cells].map((cell) => cell.title.split('\\n')[1]))"
        )
        return rows

    def values(self) -> list[str]:
        """The same, one after the other."""
        return [text for row in self.cells() for text in row]

    def rounded_cells(self) -> list[list[str]]:
        """The grid as it stands there."""
        rows: list[list[str]] = self.grid.evaluate(
            "(table) => [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent))"
        )
        return rows

    def histogram_counts(self) -> list[int]:
        histogram = self.section("Histogram")
        expect(histogram).to_be_visible()
        if histogram.get_by_role("button", name="show as table").is_visible():
            histogram.get_by_role("button", name="show as table").click()
        expect(histogram.locator("tbody tr")).not_to_have_count(0)
        column: list[str] = histogram.locator("tbody tr td:last-child").all_inner_texts()
        return [int(ungrouped(text)) for text in column]

    def picture(self) -> Locator:
        return self.inspector.get_by_role("img", name=re.compile("^Picture of"))

    def expect_colourful(self) -> None:
        """Wait until the picture is drawn."""
        expect_true(lambda: self.picture().evaluate(_COUNT_COLOURS) > 20)


# --- numbers as the page writes them -------------------------------------------------------------------


def grouped(count: int) -> str:
    """100352 as `100 352`, with thin spaces."""
    digits = str(abs(count))
    text = f"{abs(count):,}".replace(",", "\u202f") if len(digits) > 4 else digits
    return f"−{text}" if count < 0 else text


def ungrouped(text: str) -> str:
    return text.replace("\u202f", "")


def number_in(text: str) -> float:
    """What a shown number says: a true minus, thin spaces between groups, no hyphen."""
    if text in _SPECIAL:
        return _SPECIAL[text]
    assert _SHOWN_NUMBER.fullmatch(ungrouped(text)), f"{text!r} is no number as the page writes them"
    return float(ungrouped(text).replace("−", "-"))


def says(text: str, value: float, num_digits: int = 3) -> bool:
    """Whether a shown number is this value, rounded to the digits it shows, of which there are enough."""
    shown = number_in(text)
    if not math.isfinite(value) or not math.isfinite(shown):
        return shown == value or (math.isnan(shown) and math.isnan(value))
    found = _SHOWN_NUMBER.fullmatch(ungrouped(text))
    assert found
    decimals = len(found[3] or "") - int((found[4] or "0").replace("−", "-"))
    if abs(shown - value) > 0.5000001 * 10.0**-decimals + 1e-7 * abs(value):
        return False
    significant = len((found[2] + (found[3] or "")).lstrip("0"))
    return significant >= num_digits or shown == value


def assert_numbers(shown: Sequence[Sequence[str]], expected: Tensor) -> None:
    """All shown numbers are, to the last bit, those of a tensor of two dimensions."""
    read = torch.tensor([[number_in(text) for text in row] for row in shown], dtype=torch.float64)
    wanted = expected.detach()
    # As in the tensor: 0.1 of four bytes is written as 0.1, which is another number in eight.
    same = read.to(wanted.dtype) if wanted.is_floating_point() else read
    assert read.shape == wanted.shape, (read.shape, wanted.shape)
    assert torch.equal(same.double().nan_to_num(-1.25), wanted.double().nan_to_num(-1.25)), (same, wanted)


def part_of(value: Tensor, window: str) -> Tensor:
    """A part of a tensor by what stands over the grid: `[0, 3, 0:5, 2:9]`."""
    assert re.fullmatch(r"\[[0-9:, ]*\]", window), window
    part: Tensor = eval(f"value{window}", {"value": value}) if window != "[]" else value
    return part


def expect_figures(screen: Screen, tensor: Tensor) -> None:
    """Wait until they are those of the tensor."""
    values = tensor.detach().double()
    finite = values[values.isfinite()]
    counts = f"{grouped(int(values.isnan().sum()))} / {grouped(int(values.isinf().sum()))}"
    screen.expect_figure("NaN / Inf", counts)
    share = 100 * (values == 0).sum().item() / values.numel()
    screen.expect_figure("zeros", f"{share:.1f}\u202f%")
    wanted = {"mean": finite.mean(), "std": finite.std(), "min": finite.min(), "max": finite.max()}

    def are_shown() -> None:
        for name, value in wanted.items():
            assert says(screen.figure(name), value.item()), (name, screen.figure(name), value)

    eventually(are_shown)
