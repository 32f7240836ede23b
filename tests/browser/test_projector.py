"""The projector in a real page: where points are, which are near, what is chosen; labels are only text."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from playwright.sync_api import Page, expect

import torcheer as tl
from tests.app.serving import SECRET
from tests.browser.pages import (
    NO_WEBGL,
    expect_equal,
    expect_no_param,
    expect_param,
    expect_true,
    go_to,
    place_of,
    two_frames,
)
from torcheer.app import serve_runs_in_background
from torcheer.app.server import Serving

NUM_POINTS = 240
KINDS = ["ant", "bee", "<b>cat</b>"]
HOSTILE = '<img src=x onerror="document.title=1">'


def kind_of(point: int) -> str:
    return KINDS[point % 3]


def points_at(step: int) -> NDArray[np.float32]:
    """Three groups in ten dimensions, of which no two have the same variance."""
    random = np.random.default_rng(step)
    middles = np.random.default_rng(9).normal(0, 6, (3, 10))
    noise = random.normal(0, 1, (NUM_POINTS, 10)) * np.linspace(2, 0.2, 10)
    return np.asarray(middles[np.arange(NUM_POINTS) % 3] + noise, dtype=np.float32)


def nearest(points: NDArray[np.float32], to: int, count: int, metric: str) -> list[int]:
    wide = points.astype(np.float64)
    if metric == "cosine":
        unit = wide / np.linalg.norm(wide, axis=1, keepdims=True)
        distances = 1 - unit @ unit[to]
    else:
        distances = np.linalg.norm(wide - wide[to], axis=1)
    order = np.argsort(distances, kind="stable")
    return [int(one) for one in order if one != to][:count]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    pictures = np.zeros((NUM_POINTS, 3, 4, 4), dtype=np.float32)
    pictures[np.arange(NUM_POINTS), np.arange(NUM_POINTS) % 3] = 1  # red, green, blue
    with tl.Run(root / "first") as run:
        labels = [[kind_of(at), f"point {at}", str(at / 7)] for at in range(NUM_POINTS)]
        for step in (0, 10):
            run.log_embedding(
                step,
                "groups",
                points_at(step),
                metadata=labels,
                metadata_header=["kind", "name", "size"],
                label_img=pictures,
            )
        broken = points_at(0)[:30].copy()
        broken[4, 2], broken[7, 0] = np.nan, np.inf
        run.log_embedding(0, "odd", broken, metadata=[HOSTILE] * 30)
        run.log_embedding(0, "bare", points_at(0)[:50, :2])
    return root


class Projector:
    """The page as a person uses it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.drawing = page.get_by_role("img", name=re.compile("Arrow keys go from point to point"))
        self.panel = page.get_by_role("complementary", name="Points")
        self.nearest = page.get_by_role("list", name="Nearest points").get_by_role("button")
        self.selection = page.get_by_role("region", name="Selection")

    def wait(self, method: str = "PCA") -> Projector:
        expect(self.drawing).to_have_accessible_name(re.compile(method))
        two_frames(self.page)  # then it listens to keys
        return self

    def select(self, query: str) -> None:
        self.page.get_by_role("textbox", name="Find points").fill(query)
        self.panel.get_by_role("button", name="Select", exact=True).click()

    def look_at(self, point: int) -> None:
        self.page.get_by_role("textbox", name="Find points").fill(f"^point {point}$")
        self.page.get_by_role("list", name="Points found").get_by_role("button").click()

    def expect_neighbours(self, wanted: list[int]) -> None:
        expect(self.nearest.locator(".muted")).to_have_text([str(one) for one in wanted])

    def drag(self, *corners: tuple[float, float]) -> None:
        """With Shift, from corner to corner; places are shares of the width and height."""
        place = place_of(self.drawing)
        self.page.keyboard.down("Shift")
        for at, corner in enumerate(corners):
            self.page.mouse.move(*place.at(*corner))
            if at == 0:
                self.page.mouse.down()
        self.page.mouse.up()
        self.page.keyboard.up("Shift")

    def colours(self) -> set[tuple[int, int, int]]:
        """Of the middle of the drawing, where no tool covers it."""
        shot = Image.open(io.BytesIO(self.drawing.screenshot())).convert("RGB")
        width, height = shot.size
        middle = shot.crop((width // 8, height // 8, width * 7 // 8, height * 7 // 8))
        return set(map(tuple, np.unique(np.asarray(middle).reshape(-1, 3), axis=0).tolist()))


def open_projector(page: Page, serving: Serving, query: str = "embedding=groups") -> Projector:
    go_to(page, serving, f"projector?{query}")
    return Projector(page).wait()


@pytest.fixture
def projector(looked: Page, serving: Serving) -> Projector:
    return open_projector(looked, serving)


def theme_colour(page: Page, name: str) -> tuple[int, int, int]:
    text = page.evaluate(
        "(name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim()", name
    )
    return int(text[1:3], 16), int(text[3:5], 16), int(text[5:7], 16)


# --- where points are --------------------------------------------------------------------------


def test_axes_shares_and_coordinates_are_those_that_numpy_finds(projector: Projector) -> None:
    points = points_at(10).astype(np.float64)
    variances, vectors = np.linalg.eigh(np.cov(points.T))
    shares = 100 * variances[::-1] / variances.sum()
    first = (points - points.mean(axis=0)) @ vectors[:, -1]

    chooser = projector.page.get_by_role("combobox", name="Component of X")
    expect_equal(
        lambda: [re.sub(r"\s", "", text) for text in chooser.locator("option").all_text_contents()],
        [f"PC{at + 1}·{share:.1f}%" for at, share in enumerate(shares)],
    )
    projector.page.get_by_role("checkbox", name="Show as table").check()
    with projector.page.expect_download() as download:
        projector.page.locator(".projector-stage").get_by_role("button", name="CSV").click()
    rows = list(csv.DictReader(Path(download.value.path()).read_text().splitlines()))
    projector.page.get_by_role("checkbox", name="Show as table").uncheck()

    found = np.array([float(row["pca_1"]) for row in rows])
    np.testing.assert_allclose(found * np.sign(found @ first), first, atol=1e-3)
    assert [row["kind"] for row in rows] == [kind_of(at) for at in range(NUM_POINTS)]


def test_points_have_the_colours_of_their_kinds_and_their_pictures_on_wish(projector: Projector) -> None:
    pictures = projector.page.get_by_role("radiogroup", name="Pictures")
    primary = {(255, 0, 0), (0, 255, 0), (0, 0, 255)}
    projector.page.keyboard.press("2")  # without depth, which changes colours
    expect(projector.drawing).to_have_accessible_name(re.compile("in 2 dimensions"))

    pictures.get_by_role("radio", name="Off").click()
    kinds = {theme_colour(projector.page, f"--cat-{at}") for at in (1, 2, 3)}
    expect_equal(lambda: projector.colours() & (kinds | primary), kinds)
    pictures.get_by_role("radio", name="On").click()
    expect_equal(lambda: projector.colours() & primary, primary)
    pictures.get_by_role("radio", name="Auto").click()


def test_a_legend_isolates_a_kind_and_numbers_have_a_scale_with_limits(projector: Projector) -> None:
    kind = projector.panel.get_by_role("button", name=re.compile("^ant"))

    kind.click()
    expect(projector.drawing).to_have_accessible_name(re.compile("^80 points of 240"))
    kind.click()
    expect(projector.drawing).to_have_accessible_name(re.compile("^240 points of groups"))
    projector.panel.get_by_role("combobox", name="Colour by").select_option("size")
    expect(projector.panel.get_by_role("img", name="Colours from 0 to 34.14")).to_be_visible()


# --- neighbours --------------------------------------------------------------------------------


def test_the_nearest_points_are_those_of_brute_force_at_every_step(projector: Projector) -> None:
    projector.look_at(17)
    expect(projector.nearest).to_have_count(10)
    projector.expect_neighbours(nearest(points_at(10), 17, 10, "euclidean"))

    projector.panel.get_by_role("radio", name="Cosine").click()
    expect_param(projector.page, "metric", "cosine")
    projector.expect_neighbours(nearest(points_at(10), 17, 10, "cosine"))

    projector.page.get_by_role("button", name="First step").click()
    expect(projector.drawing).to_have_accessible_name(re.compile("at step 0"))
    projector.expect_neighbours(nearest(points_at(0), 17, 10, "cosine"))


def test_the_keyboard_goes_from_point_to_point_and_to_their_neighbours(projector: Projector) -> None:
    projector.drawing.focus()
    projector.page.keyboard.press("ArrowRight")
    projector.page.keyboard.press("ArrowRight")
    projector.page.keyboard.press("Enter")

    expect(projector.nearest).to_have_count(10)
    projector.page.keyboard.press("Enter")
    expect(projector.selection).to_contain_text("11 points")
    projector.page.keyboard.press("Escape")
    expect(projector.nearest).to_have_count(0)
    projector.page.keyboard.press("Escape")
    expect(projector.selection).to_contain_text("none")


# --- selections --------------------------------------------------------------------------------


def test_shift_and_drag_selects_what_is_inside_a_box_or_a_lasso(projector: Projector) -> None:
    projector.page.keyboard.press("2")
    expect(projector.drawing).to_have_accessible_name(re.compile("in 2 dimensions"))

    projector.drag((0.02, 0.98), (0.98, 0.02))
    expect(projector.selection).to_contain_text("240 points")
    projector.drag((0.02, 0.98), (0.03, 0.97))
    expect(projector.selection).to_contain_text("none")
    projector.page.get_by_role("button", name="Select with a lasso").click()
    projector.drag((0.02, 0.98), (0.02, 0.02), (0.98, 0.02), (0.98, 0.98))
    expect(projector.selection).to_contain_text("240 points")
    projector.drag((0.02, 0.98), (0.02, 0.02), (0.03, 0.5))
    expect(projector.selection).to_contain_text("none")


def test_a_saved_selection_stays_over_a_reload_and_can_be_taken_along(projector: Projector) -> None:
    projector.select("^point 10$|^point 11$|^point 12$|^point 13$")
    expect(projector.selection).to_contain_text("10-13")
    projector.selection.get_by_role("textbox", name="Name of the selection").fill("four <i>of</i> them")
    projector.selection.get_by_role("button", name="Save").click()
    expect(projector.page).to_have_url(re.compile("selection="))
    projector.page.reload()
    projector.wait()

    expect(projector.selection).to_contain_text("4 points")
    expect(projector.selection.get_by_role("list", name="Saved selections")).to_contain_text(
        "four <i>of</i> them"
    )
    with projector.page.expect_download() as download:
        projector.selection.get_by_role("button", name="CSV").click()
    rows = list(csv.DictReader(Path(download.value.path()).read_text().splitlines()))
    assert [row["index"] for row in rows] == ["10", "11", "12", "13"]
    assert [row["name"] for row in rows] == ["point 10", "point 11", "point 12", "point 13"]


def test_a_selection_is_isolated_and_one_that_the_browser_does_not_know_is_missing(
    looked: Page, serving: Serving
) -> None:
    projector = open_projector(looked, serving, "embedding=groups&selection=nobody")
    expect(projector.selection.get_by_role("alert")).to_contain_text("nobody")

    projector.select("^point 10$|^point 11$|^point 12$|^point 13$")
    projector.selection.get_by_role("button", name="Isolate").click()
    expect(projector.drawing).to_have_accessible_name(re.compile("^4 points of 240"))
    projector.selection.get_by_role("button", name="Show all").click()
    expect(projector.drawing).to_have_accessible_name(re.compile("^240 points"))


# --- what may go wrong -------------------------------------------------------------------------


def test_hostile_labels_are_text_and_points_without_a_place_are_counted(
    looked: Page, serving: Serving
) -> None:
    projector = open_projector(looked, serving, "embedding=odd")

    expect(looked.get_by_text("2 points with NaN or infinity: not drawn.")).to_be_visible()
    expect(projector.drawing).to_have_accessible_name(re.compile("^28 points of 30"))
    expect(projector.panel.get_by_role("button", name=HOSTILE)).to_be_visible()
    expect(looked).not_to_have_title("1")
    expect(looked.locator("img[src=x]")).to_have_count(0)


@pytest.mark.usefixtures("context")
def test_without_webgl_the_page_says_so_and_offers_the_table(page: Page, serving: Serving) -> None:
    page.add_init_script(NO_WEBGL)
    open_projector(page, serving, "embedding=groups&dims=2")

    expect(page.get_by_text("No WebGL2 in this browser: nothing can be drawn here.")).to_be_visible()
    expect(page.get_by_text("The points can be shown as a table.")).to_be_visible()
    page.get_by_role("checkbox", name="Show as table").check()
    expect(page.get_by_role("grid", name="Points")).to_be_visible()


def test_a_lost_graphics_card_is_told_and_drawn_with_again(projector: Projector) -> None:
    projector.page.keyboard.press("2")
    expect(projector.drawing).to_have_accessible_name(re.compile("in 2 dimensions"))
    extension = projector.page.locator("canvas[data-painter=WebGL2]").evaluate_handle(
        "(canvas) => canvas.getContext('webgl2').getExtension('WEBGL_lose_context')"
    )

    extension.evaluate("(extension) => extension.loseContext()")
    expect(projector.page.get_by_text("The graphics card was taken away.")).to_be_visible()
    projector.page.get_by_role("button", name="Try now").click()

    expect(projector.page.get_by_text("The graphics card was taken away.")).to_have_count(0)
    expect_true(lambda: theme_colour(projector.page, "--cat-1") in projector.colours())


def test_points_of_a_new_step_come_by_themselves(page: Page, tmp_path: Path) -> None:
    with tl.Run(tmp_path / "live") as run, serve_runs_in_background(tmp_path, secret=SECRET) as serving:
        run.log_embedding(0, "groups", points_at(0))
        run.flush()
        projector = open_projector(page, serving)
        expect(projector.drawing).to_have_accessible_name(re.compile("at step 0"))

        run.log_embedding(10, "groups", points_at(10))
        run.flush()

        expect(projector.drawing).to_have_accessible_name(re.compile("at step 10"))


# --- the server's methods ------------------------------------------------------------------------


def test_tsne_is_made_by_the_server_on_wish(looked: Page, serving: Serving) -> None:
    projector = open_projector(looked, serving, "embedding=bare&method=tsne&dims=2&near=5")
    expect(projector.drawing).to_have_accessible_name(re.compile("^50 points of bare"))
    expect(projector.panel).to_contain_text("There are no labels to colour by.")

    looked.get_by_role("button", name="Run t-SNE").click()

    made = re.compile("t-SNE in 2 dimensions")
    expect(projector.drawing).to_have_accessible_name(made, timeout=60_000)

    looked.reload()
    expect(projector.drawing).to_have_accessible_name(made, timeout=60_000)


def test_the_point_the_search_and_the_camera_are_there_again_after_a_reload(projector: Projector) -> None:
    page = projector.page
    page.get_by_role("combobox", name="Search in").select_option("name")
    projector.look_at(17)
    expect(projector.nearest).to_have_count(10)
    projector.drawing.hover()
    page.mouse.wheel(0, -300)
    expect(page).to_have_url(re.compile("cam="))
    expect_param(page, "point", "17")
    wanted = nearest(points_at(10), 17, 10, "euclidean")
    two_frames(page)
    before = page.url

    page.reload()
    projector.wait()

    expect(page.get_by_role("heading", name="Point 17")).to_be_visible()
    expect(page.get_by_role("textbox", name="Find points")).to_have_value("^point 17$")
    expect(page.get_by_role("combobox", name="Search in")).to_have_value("name")
    projector.expect_neighbours(wanted)
    expect(page).to_have_url(before)


def test_arrows_choose_in_a_switch_and_leave_the_step_alone(projector: Projector) -> None:
    switch = projector.page.get_by_role("radiogroup", name="Pictures")
    switch.get_by_role("radio", name="Auto").focus()

    projector.page.keyboard.press("ArrowRight")

    expect(switch.get_by_role("radio", name="On")).to_be_checked()
    expect(switch.get_by_role("radio", name="On")).to_be_focused()
    expect(projector.drawing).to_have_accessible_name(re.compile("at step 10"))
    expect_no_param(projector.page, "step")
    switch.get_by_role("radio", name="Auto").click()
