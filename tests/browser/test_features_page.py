"""The page Features in a browser: the numbers are those of NumPy, and the keys lead where they should."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect
from scipy.spatial.distance import pdist
from scipy.stats import spearmanr

from tests.app.serving import SECRET
from tests.browser.pages import expect_equal, expect_param, go_to, place_of
from tests.browser.screen import number_in
from tests.features.making import made_features, write_rows
from torcheer.app import serve_runs_in_background
from torcheer.app.server import Serving
from torcheer.features import FolderStore

RANDOM = np.random.default_rng(5)
LABELS = np.repeat(["cat", "dog", "eel"], 20)[RANDOM.permutation(60)]
CENTRES = {name: RANDOM.normal(size=24) for name in ("cat", "dog", "eel")}
FLAT = np.array([CENTRES[label] + RANDOM.normal(size=24) * 0.7 for label in LABELS], np.float32)
PLANES = RANDOM.normal(size=(60, 3, 4, 5)).astype(np.float32)
HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("features")
    origins = {"conv": {"label": "conv2d_1_1", "transforms": ("mean over y",)}}
    made_features(folder / "vgg", {"conv": PLANES, "fc": FLAT}, LABELS, model="VGG", origins=origins)
    made_features(folder / "zzz", {HOSTILE: FLAT}, np.array([HOSTILE] * 60), model=HOSTILE, notes=(HOSTILE,))
    return folder


def open_features(page: Page, serving: Serving, query: str = "") -> Locator:
    go_to(page, serving, f"features?{query}")
    stage = page.get_by_role("region", name="Features", exact=True)
    expect(stage.get_by_role("radiogroup", name="What is shown")).to_be_visible()
    return stage


def point_at(page: Page, figure: Locator, row: int, column: int, shape: tuple[int, int]) -> None:
    place = place_of(figure.locator("canvas").first)
    page.mouse.move(*place.at((column + 0.5) / shape[1], (row + 0.5) / shape[0]))


def test_a_folder_with_nothing_but_features_opens_at_them(page: Page, serving: Serving) -> None:
    page.goto(serving.url)
    table = page.get_by_role("table", name="Layers")
    conv = table.get_by_role("row", name=re.compile("^conv"))
    expect(conv).to_contain_text("conv2d_1_1")
    expect(conv).to_contain_text("3×4×5")
    expect(conv).to_contain_text("mean over y")
    expect(page).to_have_title(re.compile("Features"))


def test_keys_lead_from_layer_to_layer_and_to_its_values(looked: Page, serving: Serving) -> None:
    open_features(looked, serving, "layer=conv")
    table = looked.get_by_role("table", name="Layers")
    table.focus()
    looked.keyboard.press("ArrowDown")
    expect(table.get_by_role("row", name=re.compile("^fc"))).to_have_attribute("aria-selected", "true")
    looked.keyboard.press("Enter")
    expect(looked.get_by_role("region", name="Values of fc")).to_be_visible()
    expect_param(looked, "layer", "fc")


def test_the_cell_under_the_pointer_is_read_and_a_click_shows_its_unit_and_sample(
    looked: Page, serving: Serving
) -> None:
    open_features(looked, serving, "see=values&layer=fc")
    figure = looked.get_by_role("region", name="Values of fc")
    expect(figure.locator("canvas")).to_be_visible()
    order = np.argsort(LABELS, kind="stable")
    row, column = 31, 7
    point_at(looked, figure, row, column, (60, 24))
    reading = looked.locator(".an-reading").first
    expect(reading).to_contain_text(f"sample {order[row]} ({LABELS[order[row]]})")
    expect(reading).to_contain_text(f"unit {column}")
    wanted = pytest.approx(float(FLAT[order[row], column]), rel=2e-3)
    expect_equal(lambda: number_in(reading.locator("span").last.inner_text()), wanted)
    looked.mouse.down()
    looked.mouse.up()
    expect(looked.get_by_role("spinbutton", name="Unit")).to_have_value(str(column))
    expect(looked.get_by_role("spinbutton", name="Sample")).to_have_value(str(order[row]))
    sample = looked.get_by_role("region", name=f"Sample {order[row]}", exact=True)
    expect(sample).to_contain_text(f"label {LABELS[order[row]]}")


def test_similarity_reads_the_correlation_of_a_pair_and_layers_their_rank_correlation(
    looked: Page, serving: Serving
) -> None:
    open_features(looked, serving, "see=similarity&layer=fc")
    figure = looked.get_by_role("region", name="Samples in fc")
    expect(figure).to_have_attribute("aria-busy", "false")
    expect(figure).to_contain_text("all 60 samples")
    order = np.argsort(LABELS, kind="stable")
    point_at(looked, figure, 5, 44, (60, 60))
    reading = figure.locator(".an-reading")
    expect(reading).to_contain_text(f"sample {order[5]} (cat)")
    expected = np.corrcoef(FLAT[order[5]], FLAT[order[44]])[0, 1]
    expect_equal(
        lambda: number_in(reading.locator("span").last.inner_text()), pytest.approx(expected, abs=2e-3)
    )
    layers = looked.get_by_role("region", name="Layers compared")
    expect(layers).to_have_attribute("aria-busy", "false")
    vectors = [pdist(one.reshape(60, -1).astype(np.float64), "correlation") for one in (PLANES, FLAT)]
    told = f"conv and fc: {spearmanr(*vectors).statistic:.2f}".replace("-", "−")
    layers.get_by_role("button", name=told).click()
    expect(looked.get_by_role("region", name="Samples in conv")).to_be_visible()


def test_probes_fill_in_layer_by_layer_and_a_click_shows_confusions(looked: Page, serving: Serving) -> None:
    open_features(looked, serving, "see=probes&layer=conv")
    figure = looked.get_by_role("region", name="Probes", exact=True)
    expect(figure).to_have_attribute("aria-busy", "false", timeout=60_000)
    rows = figure.get_by_role("option")
    expect(rows).to_have_count(2)
    row = figure.get_by_role("option", name=re.compile(r"^fc: \d\.\d{3} ± \d\.\d{3}$"))
    row.click()
    mean = float((row.get_attribute("aria-label") or "").split()[1])
    assert mean > 0.9
    expect(figure).to_contain_text("chance, 0.333")
    table = looked.get_by_role("table", name="Confusions")
    right = table.locator("td.ft-right")
    expect_equal(lambda: sum(map(int, right.all_inner_texts())) / 60, pytest.approx(mean, abs=1e-3))


def test_the_projector_shows_a_layer_coloured_by_label(looked: Page, serving: Serving) -> None:
    open_features(looked, serving, "see=projector&layer=fc")
    points = looked.get_by_role("img", name=re.compile("60 points of fc, PCA in 3 dimensions"))
    expect(points).to_be_visible()
    kinds = looked.get_by_role("list", name="Kinds")
    expect(kinds.get_by_role("button")).to_have_count(3)
    expect(kinds).to_contain_text("eel")


def test_text_from_data_stays_text(looked: Page, serving: Serving) -> None:
    open_features(looked, serving)
    looked.get_by_role("button", name=re.compile("^vgg")).click()
    looked.get_by_role("option", name=re.compile("^zzz")).click()
    expect(looked.get_by_role("table", name="Layers")).to_contain_text(HOSTILE)
    looked.get_by_role("radio", name="Values").click()
    expect(looked.get_by_role("region", name=re.compile("^Values of"))).to_be_visible()
    expect(looked.locator("img[src=x]")).to_have_count(0)


def test_the_page_of_runs_lists_the_sets_and_leads_to_them(looked: Page, serving: Serving) -> None:
    go_to(looked, serving, "runs", "features")
    part = looked.get_by_role("region", name="Features", exact=True)
    expect(part.get_by_role("row", name=re.compile("^vgg VGG 2 60"))).to_be_visible()
    part.get_by_role("link", name="vgg").click()
    expect(looked.get_by_role("table", name="Layers")).to_contain_text("conv2d_1_1")


def test_an_extraction_that_goes_on_is_followed(page: Page, tmp_path: Path) -> None:
    features = made_features(tmp_path / "set", {"fc": FLAT}, np.arange(60) % 3, num_done=32)
    with serve_runs_in_background(tmp_path, secret=SECRET) as served:
        open_features(page, served, "see=values")
        facts = page.get_by_role("complementary", name="Features and layers")
        expect(facts).to_contain_text("32 of 60")
        expect(facts.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "53")
        expect(page.get_by_role("region", name="Values of fc")).to_contain_text("all 32 samples")
        write_rows(
            FolderStore(tmp_path / "set"),
            features.manifest,
            {"fc": FLAT, "labels": np.arange(60) % 3},
            32,
            60,
        )
        expect(page.get_by_role("region", name="Values of fc")).to_contain_text("all 60 samples")
        expect(facts.get_by_role("progressbar")).to_have_count(0)
