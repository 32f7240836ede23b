"""The analysis in a browser: the numbers are those of NumPy, and items lead into the network."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect
from scipy.spatial.distance import pdist
from scipy.stats import spearmanr

import torcheer as tl
from tests.app.net_runs import layer, scene
from tests.browser.pages import expect_equal, expect_param, place_of
from tests.browser.screen import number_in
from torcheer.app.server import Serving

RANDOM = np.random.default_rng(3)
CLASSES = np.array(["cat", "dog", "cat", "eel", "dog", "eel"])
IMAGES = RANDOM.normal(size=(6, 3, 5, 4)).astype(np.float32)
HIDDEN = RANDOM.normal(size=(6, 9)).astype(np.float32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    with tl.Run(folder / "run") as run:
        run.log_netview(0, scene(layer("image", 3, 5, 4, is_input=True), layer("fc", 9)))
        run.log_text(0, "classes", "\n".join(CLASSES))
        for step in (3, 8):
            run.log_tensor(step, "image.Act", IMAGES)
            run.log_tensor(step, "fc.Act", HIDDEN if step == 8 else -HIDDEN[::-1])
            run.log_moment(step, {"epoch": step})
    return folder


def open_analysis(page: Page, serving: Serving, query: str = "") -> Locator:
    page.goto(f"{serving.url}#netview?show=analysis&{query}")
    figure = page.get_by_role("region", name="fc", exact=True)
    expect(figure).to_have_attribute("aria-busy", "false")
    return figure


def expect_number(shown: Locator, wanted: float) -> None:
    """Wait for it as the last word."""
    expect_equal(
        lambda: number_in(shown.inner_text().split(":")[-1].strip()),
        pytest.approx(wanted, rel=5e-3, abs=1e-3),
    )


def test_the_pair_under_the_pointer_has_the_correlation_of_its_items(page: Page, serving: Serving) -> None:
    figure = open_analysis(page, serving)
    expect(page.get_by_role("combobox", name="Labels")).to_have_value("text:classes")
    area = place_of(figure.locator("canvas"))
    order = np.argsort(CLASSES, kind="stable")
    for row, column in ((0, 1), (4, 2), (5, 0)):
        page.mouse.move(*area.at((column + 0.5) / 6, (row + 0.5) / 6))
        one, other = order[row], order[column]
        reading = page.locator(".an-reading")
        expect(reading).to_contain_text(f"item {one}: {CLASSES[one]}")
        expect(reading).to_contain_text(f"with item {other}:")
        expect_number(reading, np.corrcoef(HIDDEN[one], HIDDEN[other])[0, 1])


def test_a_click_on_an_item_leads_to_it_in_the_network_and_back(page: Page, serving: Serving) -> None:
    figure = open_analysis(page, serving, "order=item")
    x, y = place_of(figure.locator("canvas")).at(0, 4.5 / 6)
    page.mouse.click(x + 2, y)
    expect(page.get_by_role("region", name="Network", exact=True)).to_be_visible()
    expect_param(page, "step", "8")
    expect_param(page, "item", "4")
    page.go_back()
    expect(page.get_by_role("region", name="fc", exact=True)).to_be_visible()


def test_layers_are_compared_by_rank_and_a_cell_shows_both(page: Page, serving: Serving) -> None:
    open_analysis(page, serving, "metric=euclidean")
    pairs = [pdist(points.reshape(6, -1).astype(float)) for points in (IMAGES, HIDDEN)]
    cell = page.get_by_role("button", name=re.compile("^image and fc:"))
    expect(cell).to_have_text(f"{spearmanr(*pairs).statistic:.2f}".replace("-", "−"))
    cell.click()
    expect(page.get_by_role("region", name="image", exact=True)).to_be_visible()


def test_an_earlier_moment_has_its_own_matrix_as_a_table(page: Page, serving: Serving) -> None:
    figure = open_analysis(page, serving, "step=3&metric=euclidean&order=item&table=yes")
    earlier = -HIDDEN[::-1].astype(float)
    cell = figure.get_by_role("row").nth(2).get_by_role("cell").first
    expect_number(cell, float(np.linalg.norm(earlier[1] - earlier[0])))


def test_a_unit_chosen_on_the_plate_shows_its_means(page: Page, serving: Serving) -> None:
    figure = open_analysis(page, serving, "see=tuning&table=yes")
    plate = figure.get_by_role("img", name=re.compile("^Selectivity"))
    page.mouse.click(*place_of(plate.locator("canvas")).at(7.5 / 9, 0.5))
    expect(figure).to_contain_text("fc [7]")
    row = figure.get_by_role("row").filter(has_text="dog")
    expect_number(row.get_by_role("cell").nth(1), HIDDEN[CLASSES == "dog", 7].mean())


def test_the_field_of_a_unit_is_laid_on_the_input(page: Page, serving: Serving) -> None:
    figure = open_analysis(page, serving, "see=field&layer=fc&unit=2&above=mean&table=yes")
    shares = np.maximum(HIDDEN[:, 2] - HIDDEN[:, 2].mean(dtype=float), 0)
    flat = IMAGES.reshape(6, -1).astype(float)
    field = shares @ flat / shares.sum() - flat.mean(axis=0)
    largest = int(np.abs(field).argmax())
    first = figure.get_by_role("row").nth(1)
    place = ", ".join(str(int(index)) for index in np.unravel_index(largest, (3, 5, 4)))
    expect(first).to_contain_text(f"image [{place}]")
    expect_number(first.get_by_role("cell"), field[largest])


def test_pictures_are_read_by_keys_as_well(page: Page, serving: Serving) -> None:
    figure = open_analysis(page, serving, "see=components")
    chart = figure.get_by_role("img")
    chart.focus()
    for key, item in (("Home", 0), ("ArrowRight", 1), ("End", 5)):
        page.keyboard.press(key)
        expect(page.locator(".an-reading")).to_contain_text(f"item {item}: {CLASSES[item]}")
    page.keyboard.press("Enter")
    expect(page.get_by_role("region", name="Network", exact=True)).to_be_visible()
    expect_param(page, "item", "5")


def test_without_labels_tuning_says_how_to_write_some(page: Page, serving: Serving) -> None:
    page.goto(f"{serving.url}#netview?show=analysis&see=tuning&labels=none")
    expect(page.get_by_text("Tuning needs labels")).to_be_visible()
    expect(page.get_by_text('view.update(x, label="cat")')).to_be_visible()
