"""Hyperparameters in a real page: the table, the parallel coordinates, and what they say to each other."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import torcheer as tl
from tests.app.serving import SECRET
from tests.browser.test_sections import opened_page
from torcheer.app.server import Serving, serve_runs_in_background

RUNS = [
    ({"lr": 0.1, "optimizer": "adam", "seed": 3}, 0.9),
    ({"lr": 0.001, "optimizer": "sgd", "seed": 3}, 0.7),
    ({"lr": 0.01, "optimizer": "sgd", "seed": 3}, 0.8),
    ({"lr": 0.0001, "optimizer": "=1+1", "seed": 3}, float("nan")),
]


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    root = tmp_path_factory.mktemp("runs")
    for nth, (hparams, accuracy) in enumerate(RUNS):
        with tl.Run(root / f"run-{nth}") as run:
            run.log(0, {"loss": 1.0 + nth})
            run.log_hparams(hparams, {"accuracy": accuracy})
    with serve_runs_in_background(root, secret=SECRET) as served:
        yield served


@pytest.fixture(scope="module")
def opened(browser: Browser, serving: Serving) -> Iterator[Page]:
    with opened_page(browser, f"{serving.url}#parameters") as page:
        yield page


@pytest.fixture
def parameters(opened: Page) -> Page:
    """The page as it is by itself: all that was chosen stands in the address."""
    opened.mouse.move(0, 0)
    opened.evaluate("() => { location.hash = '#runs'; }")
    expect(rows(opened)).to_have_count(0)
    opened.evaluate("() => { location.hash = '#parameters'; }")
    expect(rows(opened)).to_have_count(len(RUNS))
    return opened


def rows(page: Page) -> Locator:
    return page.get_by_role("region", name="Table of parameters").locator("tbody tr")


def column(page: Page, nth: int) -> list[str]:
    return (
        rows(page)
        .locator("td")
        .nth(0)
        .page.locator(f".par-table tbody td:nth-of-type({nth})")
        .all_inner_texts()
    )


def heads(page: Page) -> list[str]:
    return page.locator(".par-table thead button .clip").all_inner_texts()


def drag(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
    page.mouse.move(*end)
    page.mouse.up()


def brush(page: Page, name: str, low: float, high: float) -> None:
    """Along an axis, from a share of its height to another."""
    bounds = page.locator(f"rect[data-axis='{name}']").bounding_box()
    assert bounds is not None
    x = bounds["x"] + bounds["width"] / 2
    y = [bounds["y"] + (1 - place) * bounds["height"] for place in (low, high)]
    drag(page, (x, y[0]), (x, y[1]))


def test_the_table_has_what_was_logged_and_leaves_out_what_does_not_differ(parameters: Page) -> None:
    assert heads(parameters) == ["run", "lr", "optimizer", "accuracy"]
    assert column(parameters, 1) == ["0.1", "0.001", "0.01", "0.0001"]
    assert column(parameters, 2) == ["adam", "sgd", "sgd", "=1+1"]
    assert column(parameters, 3) == ["0.9", "0.7", "0.8", "–"]

    parameters.get_by_role("checkbox", name="Hide what does not differ").uncheck()

    expect(parameters.get_by_role("columnheader", name="seed")).to_be_visible()


def test_columns_can_be_shown_and_hidden(parameters: Page) -> None:
    parameters.get_by_role("checkbox", name="loss", exact=True).check()
    parameters.get_by_role("checkbox", name="lr", exact=True).uncheck()

    expect(parameters.get_by_role("columnheader", name="loss")).to_be_visible()
    assert heads(parameters) == ["run", "optimizer", "accuracy", "loss"]


def test_a_head_sorts_and_what_is_not_known_stands_last(parameters: Page) -> None:
    head = parameters.get_by_role("columnheader", name="accuracy")
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "descending")
    assert column(parameters, 3) == ["0.9", "0.8", "0.7", "–"]

    head.get_by_role("button").click()

    expect(head).to_have_attribute("aria-sort", "ascending")
    assert column(parameters, 3) == ["0.7", "0.8", "0.9", "–"]


def test_a_filter_compares_and_finds_words(parameters: Page) -> None:
    field = parameters.get_by_role("searchbox", name=re.compile("^Filter runs by"))
    field.fill("sgd lr>=0.01")
    expect(rows(parameters)).to_have_count(1)
    assert column(parameters, 1) == ["0.01"]
    field.fill("nothing")
    expect(parameters.get_by_text("No run passes the filter and the brushes.")).to_be_visible()


def test_a_brush_keeps_the_runs_that_pass_and_survives_a_reload(parameters: Page) -> None:
    brush(parameters, "lr", 0.6, 1.2)
    expect(rows(parameters)).to_have_count(2)
    brush(parameters, "accuracy", 0.9, 1.0)
    expect(rows(parameters)).to_have_count(1)
    assert column(parameters, 2) == ["adam"]
    parameters.wait_for_url(re.compile("brush=.*accuracy"))

    parameters.reload()

    expect(rows(parameters)).to_have_count(1)
    parameters.get_by_role("button", name="Clear 2 brushes").click()
    expect(rows(parameters)).to_have_count(len(RUNS))


def test_a_click_on_an_axis_takes_its_brush_away(parameters: Page) -> None:
    brush(parameters, "lr", 0.6, 1.0)
    expect(rows(parameters)).to_have_count(2)
    parameters.locator("rect[data-axis='lr']").click()
    expect(rows(parameters)).to_have_count(len(RUNS))


def test_axes_are_moved_by_keys_and_by_dragging(parameters: Page) -> None:
    parameters.get_by_role("button", name=re.compile("^Axis lr, 1 of 3")).press("ArrowRight")
    expect(parameters.get_by_role("button", name=re.compile("^Axis lr, 2 of 3"))).to_be_visible()

    axis = parameters.get_by_role("button", name=re.compile("^Axis accuracy, 3 of 3"))
    bounds = axis.bounding_box()
    first = parameters.get_by_role("button", name=re.compile("^Axis optimizer, 1 of 3")).bounding_box()
    assert bounds is not None
    assert first is not None
    drag(parameters, (bounds["x"] + 10, bounds["y"] + 8), (first["x"], bounds["y"] + 8))

    expect(parameters.get_by_role("button", name=re.compile("^Axis accuracy, 1 of 3"))).to_be_visible()
    expect(parameters.get_by_role("button", name=re.compile("^Axis optimizer, 2 of 3"))).to_be_visible()


def test_a_scale_can_be_linear_or_logarithmic(parameters: Page) -> None:
    scale = parameters.get_by_role("button", name=re.compile("^Scale of lr"))
    expect(scale).to_have_text("log")
    scale.click()
    expect(scale).to_have_text("linear")


def test_lines_take_the_colour_of_a_metric_and_its_limits_are_written(parameters: Page) -> None:
    before = parameters.locator("path.par-line").evaluate_all("(all) => all.map((one) => one.style.stroke)")
    parameters.get_by_role("combobox", name="Colour of the lines").select_option("m:accuracy")

    expect(parameters.locator(".par-ramp")).to_have_text(re.compile("0.700.*0.900"))
    after = parameters.locator("path.par-line").evaluate_all("(all) => all.map((one) => one.style.stroke)")
    assert len(set(after)) == len(RUNS)
    assert not set(after) & set(before)


def test_pointing_at_a_row_brings_out_its_line_and_its_point(parameters: Page) -> None:
    rows(parameters).nth(1).hover()

    expect(parameters.locator("path.par-line.hovered")).to_have_count(1)
    expect(parameters.locator("circle.par-point.on")).to_have_count(1)
    expect(parameters.locator(".par-remark")).to_have_text("run-1: 0.001, 0.7")


def test_the_scatter_leaves_out_runs_without_a_value_and_says_so(parameters: Page) -> None:
    expect(parameters.locator("circle.par-point")).to_have_count(len(RUNS) - 1)
    expect(parameters.get_by_text("1 run without both values")).to_be_visible()
    parameters.get_by_role("combobox", name="Up: column of the scatter").select_option("m:loss")
    expect(parameters.get_by_role("img", name="loss over lr: 4 runs")).to_be_visible()


def test_the_csv_has_all_columns_and_no_formula(parameters: Page) -> None:
    with parameters.expect_download() as download:
        parameters.get_by_role("button", name="Save the table as CSV").click()

    found = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text(encoding="utf-8"))))

    assert list(found[0]) == ["run", "lr", "optimizer", "seed", "accuracy", "loss"]
    assert [float(row["lr"]) for row in found] == [hparams["lr"] for hparams, _ in RUNS]
    assert found[3]["optimizer"] == "'=1+1"


def test_only_chosen_runs_on_wish(parameters: Page) -> None:
    parameters.get_by_role("checkbox", name="Show run-2").uncheck()
    expect(rows(parameters)).to_have_count(len(RUNS))
    parameters.get_by_role("radio", name="Chosen").click()
    expect(rows(parameters)).to_have_count(len(RUNS) - 1)


def test_without_hyperparameters_the_page_says_how_to_log_them(page: Page, tmp_path: Path) -> None:
    with tl.Run(tmp_path / "bare") as run:
        run.log(0, loss=1.0)
    with serve_runs_in_background(tmp_path, secret=SECRET) as served:
        page.goto(f"{served.url}#parameters")
        expect(page.get_by_text('run.log_hparams({"lr": 0.1})')).to_be_visible()

        with tl.Run(tmp_path / "bare") as again:
            again.log_hparams({"lr": 0.1})
        expect(rows(page)).to_have_count(1)
