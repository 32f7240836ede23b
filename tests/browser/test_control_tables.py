"""The tables of the control page: every cell, picture and file is what the runs have."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import Browser, Locator, Page, expect

import torcheer as tl
from tests.browser.controlled import Controlled, begin, trained
from tests.browser.pages import eventually, expect_equal, one_page
from tests.browser.screen import number_in, says
from tests.training.small_loop import NUM_ITEMS
from torcheer.run import Table, TableRecord
from torcheer.training.control import Step

PARAMETERS = {"epochs": 3}

# Of each row the exact numbers, which stand in the tips, or what is written.
_READ_TABLE = """(table) => [...table.querySelectorAll("tbody tr:not([aria-hidden])")].map((row) =>
  [...row.cells].map((cell) => cell.title || cell.textContent))"""
_READ_PIXELS = """(canvas) => {
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return [canvas.width, canvas.height, [...data]];
}"""


class Tables:
    """The tables as a person sees them, and the runs that they are of."""

    def __init__(self, page: Page, served: Controlled) -> None:
        self.page, self.served = page, served
        self.area = page.get_by_role("region", name="Tables")

    @property
    def runs(self) -> list[tl.SavedRun]:
        return [tl.open_run(path) for path in self.served.runs]

    def records(self, name: str) -> list[TableRecord]:
        """Of all runs since Init."""
        found = [run.table(name).records for run in self.runs if name in run.names("table")]
        return [record for records in found for record in records]

    def grid(self, title: str) -> Locator:
        return self.area.get_by_role("grid", name=title, exact=True)

    def panel(self, title: str) -> Locator:
        return self.area.locator(".panel", has=self.page.get_by_role("grid", name=title, exact=True))

    def choose(self, title: str) -> None:
        self.area.get_by_role("tab", name=re.compile(f"^{title}")).click()

    def show_all_columns(self, name: str) -> None:
        self.panel(name.capitalize()).get_by_role("button", name="Columns").click()
        for box in self.page.get_by_role("dialog", name=f"Columns of {name}").get_by_role("checkbox").all():
            box.check()
        self.page.keyboard.press("Escape")

    def cells(self, title: str) -> list[dict[str, str]]:
        grid = self.grid(title)
        heads = [head.split("\n")[0].rstrip("↓↑ ") for head in grid.locator("thead th").all_inner_texts()]
        return [dict(zip(heads, row, strict=True)) for row in grid.evaluate(_READ_TABLE)]

    def saved(self, title: str) -> tuple[str, str]:
        """The name and the text of the file."""
        with self.page.expect_download() as download:
            self.panel(title).get_by_role("button", name="Save as CSV").click()
        return download.value.suggested_filename, download.value.path().read_text()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Controlled]:
    """Two runs of three epochs are over."""
    with trained(tmp_path_factory.mktemp("runs"), PARAMETERS) as found:
        yield found


@pytest.fixture(scope="module")
def tables(browser: Browser, served: Controlled) -> Iterator[Tables]:
    with one_page(browser) as page:
        page.goto(served.url)
        yield Tables(page, served)


def assert_cells(shown: Sequence[dict[str, str]], wanted: Sequence[dict[str, Any]]) -> None:
    """All numbers and texts, to the last digit. An empty cell is NaN in the record."""
    assert len(shown) == len(wanted)
    for texts, row in zip(shown, wanted, strict=True):
        for name, value in row.items():
            if isinstance(value, np.ndarray):
                continue
            text = texts[_title(name)]
            if isinstance(value, str):
                assert text == value
            else:
                is_empty = name.startswith("test ") and np.isnan(value)
                assert text == "" if is_empty else number_in(text) == value, (name, text, value)


def _title(name: str) -> str:
    return (name[:1].upper() + name[1:]).replace("_", " ")


def text_of(name: str, records: Sequence[TableRecord]) -> str:
    stream = io.StringIO()
    Table(name, records).write_csv(stream)
    return stream.getvalue()


def test_every_cell_and_every_file_is_what_the_runs_have(tables: Tables) -> None:
    for name in ("train epochs", "test epochs", "runs"):
        records = tables.records(name)
        tables.choose(name.capitalize())
        expect(tables.grid(name.capitalize()).locator("tbody tr")).to_have_count(len(records))
        tables.show_all_columns(name)
        # The newest first.
        wanted = [row for record in reversed(records) for row in Table(name, [record]).rows()]
        eventually(lambda name=name, wanted=wanted: assert_cells(tables.cells(name.capitalize()), wanted))
        file, text = tables.saved(name.capitalize())
        assert text == text_of(name, records)
        assert file == f"{name.replace(' ', '-')}-small-1.csv"
    # Of the run that was written last, the last row is marked, and one can sort by any column.
    tables.choose("Train epochs")
    grid = tables.grid("Train epochs")
    expect(grid.locator("tr[aria-current=true] td").nth(1)).to_have_text("3")
    expect(grid.locator("tr[aria-current=true] td").first).to_have_text("1")
    losses = sorted(float(record["loss"][0]) for record in tables.records("train epochs"))
    grid.get_by_role("button", name="Loss", exact=True).click()
    expect(grid.get_by_role("columnheader", name="Loss", exact=True)).to_have_attribute(
        "aria-sort", "descending"
    )
    expect_equal(lambda: [number_in(row["Loss"]) for row in tables.cells("Train epochs")], losses[::-1])


def test_statistics_are_those_of_the_runs(tables: Tables) -> None:
    tables.choose("Runs")
    tables.area.get_by_role("radio", name="Statistics").click()
    table = tables.area.get_by_role("table", name="Statistics of runs")
    expect(table).to_contain_text("2 runs · Runs 2, Epochs per run 3")
    (group,) = Table("runs", tables.records("runs")).statistics(["hidden"])
    rows = {cells[0]: cells[1:] for cells in table.evaluate(_READ_TABLE) if len(cells) == 6}
    assert {"train loss", "test errors", "run seconds"} <= set(rows)
    assert not {"seed", "run", "hidden", "epochs"} & set(rows)
    for name, (count, *texts) in rows.items():
        found = group.figures[name]
        assert int(count) == found.count == 2
        for text, value in zip(texts, (found.mean, found.std, found.low, found.high), strict=True):
            assert float(text) == value, name
    tables.area.get_by_role("radio", name="Rows").click()


def test_trials_of_the_last_test_are_shown_with_pictures_of_their_tensors(tables: Tables) -> None:
    record = tables.records("test trials")[-1]
    wrong = np.flatnonzero(record["error"]).tolist()
    grid = tables.grid("Test trials")
    expect(grid.locator("tbody tr")).to_have_count(NUM_ITEMS)
    expect(grid.locator(".cell-waiting")).to_have_count(0)
    expect(grid.locator("tbody tr.wrong")).to_have_count(len(wrong))
    for item, texts in enumerate(tables.cells("Test trials")):
        numbers = [number_in(texts[name]) for name in ("Trial", "Target", "Answer", "Loss")]
        assert numbers == [item, record["target"][item], record["answer"][item], record["loss"][item]]
    for name in ("x", "hidden", "Output"):
        tensor = np.asarray(record[name], np.float64)
        eventually(lambda name=name, tensor=tensor: assert_pictures(grid, name, tensor))

    tables.area.get_by_role("radio", name=f"Errors {len(wrong)}").click()
    expect_equal(lambda: [int(row[0]) for row in grid.evaluate(_READ_TABLE)], wrong)
    tables.area.get_by_role("radio", name=f"All {NUM_ITEMS}").click()
    file, text = tables.saved("Test trials")
    assert text == text_of("test trials", [record])
    assert file == "test-trials-small-1-run-1.csv"


def assert_pictures(grid: Locator, name: str, tensor: NDArray[np.float64]) -> None:
    """One for each row, whose pixels are as the values are; the scale in the head has the limits of all."""
    pictures = grid.get_by_role("img", name=re.compile(f"^{name} of trial "))
    expect(pictures).to_have_count(len(tensor))
    for item, picture in enumerate(pictures.all()):
        values = tensor[item].astype(np.float32)
        spoken = re.fullmatch(
            r".* of trial (\d+): \d+ values from (\S+) to (\S+)", picture.get_attribute("aria-label") or ""
        )
        assert spoken is not None
        assert int(spoken[1]) == item
        assert says(spoken[2], float(values.min()), 0)
        assert says(spoken[3], float(values.max()), 0)
        width, height, pixels = picture.evaluate(_READ_PIXELS)
        assert (width, height) == (values.size, 1)
        shown = picture.bounding_box()
        assert shown is not None
        assert 1 < shown["height"] <= 28
        assert values.size < shown["width"] <= 96
        colours = np.array(pixels, int).reshape(-1, 4)
        assert (colours[:, 3] == 255).all()
        if tensor.min() < 0:
            # Blue below nought, orange above it.
            is_far = np.abs(values) > 0.1 * np.abs(tensor).max()
            assert ((colours[:, 0] > colours[:, 2]) == (values > 0))[is_far].all()
        else:
            # The larger, the darker.
            order = np.argsort(values)
            assert (np.diff(colours[order, :3].sum(1)) <= 3).all()
    low, high = float(tensor.min()), float(tensor.max())
    limit = max(-low, high)
    limits = (-limit, limit) if low < 0 else (0.0 if low <= high / 2 else low, high)
    head = grid.locator("thead th", has_text=name)
    spoken = re.search(
        "Colours from (\\S+) to (\\S+)", head.get_by_role("img").get_attribute("aria-label") or ""
    )
    assert spoken is not None
    assert all(says(text, value, 0) for text, value in zip(spoken.groups(), limits, strict=True))


def test_an_item_is_tested_by_its_row_and_tables_follow_the_next_init(tables: Tables) -> None:
    grid = tables.grid("Test trials")
    grid.focus()
    for key in ("Home", "ArrowDown", "ArrowDown", "Enter"):
        tables.page.keyboard.press(key)
    expect(grid.locator("tr[aria-selected=true] td").first).to_have_text("2")
    network = tables.page.get_by_role("region", name="Network")
    expect(network).to_contain_text("test")
    expect(grid.locator("tbody tr")).to_have_count(NUM_ITEMS)
    tables.choose("Test items")
    expect(tables.grid("Test items").locator("tbody tr")).to_have_count(1)
    expect_equal(lambda: number_in(tables.cells("Test items")[0]["Trial"]), 2)

    begin(tables.served, PARAMETERS)
    tables.choose("Train epochs")
    expect(tables.area).to_contain_text("No train epochs yet")
    tables.served.control.do(Step(level="epoch", count=1))
    expect(tables.grid("Train epochs").locator("tbody tr")).to_have_count(1)
    loss = tables.records("train epochs")[0]["loss"][0]
    expect_equal(lambda: number_in(tables.cells("Train epochs")[0]["Loss"]), loss)
    # Runs are those of every Init.
    tables.choose("Runs")
    expect(tables.grid("Runs").locator("tbody tr")).to_have_count(2)
