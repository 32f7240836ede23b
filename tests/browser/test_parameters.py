"""Hyperparameters in a real page: the table, the parallel coordinates, and what they say to each other."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

import torcheer as tl
from tests.app.serving import SECRET
from tests.browser.pages import expect_true, go_to, place_of
from torcheer.app import serve_runs_in_background
from torcheer.app.server import Serving

RUNS = [
    ({"lr": 0.1, "optimizer": "adam", "seed": 3}, 0.9),
    ({"lr": 0.001, "optimizer": "sgd", "seed": 3}, 0.7),
    ({"lr": 0.01, "optimizer": "sgd", "seed": 3}, 0.8),
    ({"lr": 0.0001, "optimizer": "=1+1", "seed": 3}, float("nan")),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    for nth, (hparams, accuracy) in enumerate(RUNS):
        with tl.Run(root / f"run-{nth}") as run:
            run.log(0, {"loss": 1.0 + nth})
            run.log_hparams(hparams, {"accuracy": accuracy})
    return root


@pytest.fixture
def parameters(looked: Page, serving: Serving) -> Page:
    """The page as it is by itself: all that was chosen stands in the address."""
    go_to(looked, serving, "parameters")
    expect(rows(looked)).to_have_count(len(RUNS))
    return looked


def rows(page: Page) -> Locator:
    return page.get_by_role("region", name="Table of parameters").locator("tbody tr")


def expect_column(page: Page, nth: int, *texts: str) -> None:
    expect(page.locator(f".par-table tbody td:nth-of-type({nth})")).to_have_text(texts)


def expect_heads(page: Page, *texts: str) -> None:
    expect(page.locator(".par-table thead button .clip")).to_have_text(texts)


def drag(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
    page.mouse.move(*end)
    page.mouse.up()


def brush(page: Page, name: str, low: float, high: float) -> None:
    """Along an axis, from a share of its height to another."""
    axis = place_of(page.locator(f"rect[data-axis='{name}']"))
    drag(page, axis.at(0.5, 1 - low), axis.at(0.5, 1 - high))


def test_the_table_has_what_was_logged_and_leaves_out_what_does_not_differ(parameters: Page) -> None:
    expect_heads(parameters, "run", "lr", "optimizer", "accuracy")
    expect_column(parameters, 1, "0.1", "0.001", "0.01", "0.0001")
    expect_column(parameters, 2, "adam", "sgd", "sgd", "=1+1")
    expect_column(parameters, 3, "0.9", "0.7", "0.8", "–")

    parameters.get_by_role("checkbox", name="Hide what does not differ").uncheck()

    expect(parameters.get_by_role("columnheader", name="seed")).to_be_visible()


def test_columns_can_be_shown_and_hidden(parameters: Page) -> None:
    parameters.get_by_role("checkbox", name="loss", exact=True).check()
    parameters.get_by_role("checkbox", name="lr", exact=True).uncheck()

    expect(parameters.get_by_role("columnheader", name="loss")).to_be_visible()
    expect_heads(parameters, "run", "optimizer", "accuracy", "loss")


def test_a_head_sorts_and_what_is_not_known_stands_last(parameters: Page) -> None:
    head = parameters.get_by_role("columnheader", name="accuracy")
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "descending")
    expect_column(parameters, 3, "0.9", "0.8", "0.7", "–")

    head.get_by_role("button").click()

    expect(head).to_have_attribute("aria-sort", "ascending")
    expect_column(parameters, 3, "0.7", "0.8", "0.9", "–")


def test_a_filter_compares_and_finds_words(parameters: Page) -> None:
    field = parameters.get_by_role("searchbox", name=re.compile("^Filter runs by"))
    field.fill("sgd lr>=0.01")
    expect(rows(parameters)).to_have_count(1)
    expect_column(parameters, 1, "0.01")
    field.fill("nothing")
    expect(parameters.get_by_text("No run passes the filter and the brushes.")).to_be_visible()


def test_a_brush_keeps_the_runs_that_pass_and_survives_a_reload(parameters: Page) -> None:
    brush(parameters, "lr", 0.6, 1.2)
    expect(rows(parameters)).to_have_count(2)
    brush(parameters, "accuracy", 0.9, 1.0)
    expect(rows(parameters)).to_have_count(1)
    expect_column(parameters, 2, "adam")
    expect(parameters).to_have_url(re.compile("brush=.*accuracy"))

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
    first = place_of(parameters.get_by_role("button", name=re.compile("^Axis optimizer, 1 of 3")))
    place = place_of(axis)
    drag(parameters, (place.x + 10, place.y + 8), (first.x, place.y + 8))

    expect(parameters.get_by_role("button", name=re.compile("^Axis accuracy, 1 of 3"))).to_be_visible()
    expect(parameters.get_by_role("button", name=re.compile("^Axis optimizer, 2 of 3"))).to_be_visible()


def test_a_scale_can_be_linear_or_logarithmic(parameters: Page) -> None:
    scale = parameters.get_by_role("button", name=re.compile("^Scale of lr"))
    expect(scale).to_have_text("log")
    scale.click()
    expect(scale).to_have_text("linear")


def test_lines_take_the_colour_of_a_metric_and_its_limits_are_written(parameters: Page) -> None:
    before = strokes(parameters)
    parameters.get_by_role("combobox", name="Colour of the lines").select_option("m:accuracy")

    expect(parameters.locator(".par-ramp")).to_have_text(re.compile("0.700.*0.900"))
    expect_true(lambda: len(strokes(parameters) - before) == len(strokes(parameters)) == len(RUNS))


def strokes(page: Page) -> set[str]:
    return set(page.locator("path.par-line").evaluate_all("(all) => all.map((one) => one.style.stroke)"))


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
