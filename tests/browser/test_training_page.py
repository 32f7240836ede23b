"""Charts of scalars in a real page: what was logged is what stands there, and a link shows the same."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

import torcheer as tl
from tests.browser.pages import (
    eventually,
    expect_equal,
    expect_no_param,
    expect_param,
    expect_true,
    go_to,
    place_of,
)
from tests.browser.screen import number_in
from torcheer.app.server import Serving

NUM_MANY = 5000
HOSTILE = "<b>bold</b>/<img src=x onerror=alert(1)>"
SVG = "{http://www.w3.org/2000/svg}"


def loss(step: int) -> float:
    return 2.0 * math.exp(-step / 20) + 0.125 * (step % 3)


def many(step: int) -> float:
    return math.sin(step / 300) + (5.0 if step == 4321 else 0.0)


def log_first(folder: Path) -> None:
    with tl.Run(folder / "first") as run:
        for step in range(60):
            run.log(
                step,
                {"train/loss": loss(step), "train/acc": step / 60, "val/loss": loss(step) + 1, "lr": 0.5},
            )
        for step in range(NUM_MANY):
            run.log(step, {"many/points": many(step)})
        run.log(0, {HOSTILE: 7.25})


def log_second(folder: Path) -> None:
    with tl.Run(folder / "second") as run:
        for step in range(30):
            value = math.nan if step >= 20 else 3.0
            run.log(step, {"train/loss": value, "train/acc": 0.25})


def log_together(folder: Path) -> None:
    writer = tl.SummaryWriter(str(folder / "together"))
    for step in range(5):
        writer.add_scalars("waves", {"sin": step, "cos": -step}, step)
        writer.add_scalar("a" * 60, step, step)
        writer.add_scalar("bounds/mid", step, step)
        writer.add_scalar("bounds/low", step - 1, step)
        writer.add_scalar("bounds/high", step + 1, step)
    writer.add_custom_scalars(
        {
            "Mine": {
                "all bounds": ["Multiline", ["bounds/.*"]],
                "margin": ["Margin", ["bounds/mid", "bounds/low", "bounds/high"]],
                "endless": ["Multiline", ["(a|a)*b", "bounds/(low|high)$"]],
            }
        }
    )
    writer.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    for log in (log_first, log_second, log_together):
        log(root)
    return root


class Training:
    """The page of charts."""

    def __init__(self, page: Page, serving: Serving) -> None:
        self.page = page
        self.serving = serving

    def show(self, *names: str, **params: str) -> None:
        """Choose runs by their names, and open the page with what else stands in its address."""
        self.page.mouse.move(0, 0)
        query = "".join(f"&{name}={value}" for name, value in params.items())
        go_to(self.page, self.serving, f"training?runs=-{query}")
        for name in names:
            self.page.get_by_role("checkbox", name=re.compile(rf"^(Show )?{re.escape(name)}$")).check()

    def group(self, name: str) -> Locator:
        return self.page.get_by_role("region", name=name, exact=True)

    def fold(self, name: str) -> Locator:
        """The heading that opens and closes a group."""
        return self.group(name).locator("button[aria-expanded]").first

    def figure(self, name: str) -> Locator:
        found = self.page.get_by_role("figure", name=name, exact=True)
        found.scroll_into_view_if_needed()
        return found

    def plot(self, name: str, says: str = "last values") -> Locator:
        """The picture of a chart, once its data is there."""
        plot = self.figure(name).get_by_role("img")
        expect(plot).to_have_attribute("aria-label", re.compile(says))
        return plot

    def values(self, name: str) -> Locator:
        return self.figure(name).locator(".chart-values > span")

    def cells(self) -> Locator:
        """The table of values at the cursor."""
        return self.page.get_by_role("region", name="Values at the cursor").get_by_role("table")

    def act(self, name: str, action: str) -> None:
        self.figure(name).get_by_role("button", name=f"Actions of {name}").click()
        self.page.get_by_role("menuitem", name=action).click()

    def download(self, name: str, action: str) -> str:
        with self.page.expect_download() as info:
            self.act(name, action)
        return Path(info.value.path()).read_text(encoding="utf-8")

    def drag(self, plot: Locator, start: float, end: float) -> None:
        """From one share of the width of the values to another, more or less."""
        place = place_of(plot)
        left, width, y = place.x + 40, place.width - 56, place.y + 40
        self.page.mouse.move(left + start * width, y)
        self.page.mouse.down()
        self.page.mouse.move(left + (start + end) / 2 * width, y)
        self.page.mouse.move(left + end * width, y)
        self.page.mouse.up()


@pytest.fixture
def training(looked: Page, serving: Serving) -> Training:
    """For tests that leave nothing behind but the address."""
    return Training(looked, serving)


@pytest.fixture
def fresh(page: Page, serving: Serving) -> Training:
    return Training(page, serving)


def expect_pixels(plot: Locator, token: str, *, above: int) -> None:
    """Wait until more pixels of a chart have exactly a colour of the page."""
    expect_true(lambda: pixels_of(plot, token) > above)


def pixels_of(plot: Locator, token: str) -> int:
    count: int = plot.locator("canvas").first.evaluate(
        """(canvas, token) => {
          const hex = getComputedStyle(document.documentElement).getPropertyValue(token).trim();
          const wanted = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          let count = 0;
          for (let at = 0; at < data.length; at += 4)
            if (data[at + 3] === 255 && wanted.every((value, part) => data[at + part] === value)) count += 1;
          return count;
        }""",
        token,
    )
    return count


def smoothed(values: list[float], weight: float) -> float:
    """The last of a running average, straight from its definition."""
    weights = weight ** np.arange(len(values) - 1, -1, -1)
    return float((weights * values).sum() / weights.sum())


# --- what stands there -----------------------------------------------------------------------------


def test_charts_stand_in_groups_by_prefix_in_the_order_of_logging(training: Training) -> None:
    training.show("first")
    training.plot("train/loss")
    groups = training.page.locator(".chart-group h2")
    expect(groups).to_have_text(["train", "val", "scalars", "many", "<b>bold<"])
    expect(training.group("train").locator("figcaption b")).to_have_text(["loss", "acc"])


def test_a_closed_group_stays_closed_after_a_reload(fresh: Training) -> None:
    fresh.show("first")
    fresh.plot("train/loss")
    fresh.fold("train").click()
    expect(fresh.page.get_by_role("figure", name="train/loss")).to_have_count(0)
    fresh.page.reload()
    fresh.plot("val/loss")
    expect(fresh.fold("train")).to_have_attribute("aria-expanded", "false")
    expect(fresh.page.get_by_role("figure", name="train/loss")).to_have_count(0)


def test_a_chart_says_in_a_sentence_what_it_shows(training: Training) -> None:
    training.show("first", "second", sm="0")
    training.plot("train/acc", "2 lines over step 0 to step 59; .*second 0.250, first 0.983")


def test_lines_have_the_colours_of_their_runs(training: Training) -> None:
    training.show("second", sm="0")
    plot = training.plot("train/acc")
    swatch = training.page.locator(".chart-values .sw").first
    token = str(swatch.evaluate("(one) => one.style.background")).removeprefix("var(").removesuffix(")")
    expect_pixels(plot, token.replace("--c", "--cat-") if "cat" not in token else token, above=50)


def test_values_that_are_not_finite_are_gaps_with_marks(training: Training) -> None:
    training.show("second", sm="0")
    plot = training.plot("train/loss", "10 values are NaN or infinite")
    expect_pixels(plot, "--danger", above=5)
    expect_equal(lambda: pixels_of(training.plot("train/acc"), "--danger"), 0)


def test_scalars_that_were_logged_together_stand_in_one_chart(training: Training) -> None:
    training.show("together", sm="0")
    training.plot("waves", "2 lines.*sin · together 4.*cos · together −4")


def test_a_run_may_ask_for_charts_of_its_own(training: Training) -> None:
    training.show("together", sm="0")
    expect(training.page.locator(".chart-group h2").first).to_have_text("Mine")
    training.plot("Mine/all bounds", "3 lines")
    training.plot("Mine/margin", "1 line over")
    training.plot("Mine/endless", "2 lines")
    said = training.group("Mine").get_by_role("list", name="Patterns that are not supported")
    expect(said).to_contain_text("endless: the pattern (a|a)*b is not supported")


def test_a_hostile_name_is_a_text(training: Training) -> None:
    training.show("first")
    training.plot(HOSTILE)
    expect(training.values(HOSTILE)).to_have_text(["7.25"])
    expect(training.page.locator(".scalar img")).to_have_count(0)


# --- looking closer --------------------------------------------------------------------------------


def test_the_cursor_reads_all_charts_at_one_step(training: Training) -> None:
    training.show("first", sm="0")
    plot = training.plot("train/loss")
    training.plot("train/acc")
    plot.hover()
    heading = training.page.get_by_role("region", name="Values at the cursor").locator("b")
    expect(heading).to_contain_text("step ")

    def all_are_read() -> None:
        step = int(heading.inner_text().split()[-1])
        assert 20 <= step <= 40
        assert abs(number_in(training.values("train/loss").first.inner_text()) - loss(step)) < 0.006
        assert abs(number_in(training.values("train/acc").first.inner_text()) - step / 60) < 0.0006

    eventually(all_are_read)
    training.page.get_by_label("Same cursor in all charts").uncheck()
    plot.hover()
    expect(training.values("train/acc")).to_have_text("0.983")


def test_the_table_of_values_keeps_its_charts_wherever_one_scrolls(training: Training) -> None:
    training.show("first", "second", sm="0")
    training.plot("train/loss", "2 lines")
    heads = training.cells().get_by_role("columnheader")
    expect(heads).to_have_text(["run", "train/loss", "val/loss", "train/acc"])
    # What was logged last, finite or not.
    expect(training.cells().locator(".bad")).to_have_text("NaN")
    expect(training.cells()).to_contain_text(f"{loss(59) + 1:.2f}")
    before = training.cells().inner_text()
    training.plot("many/points")
    training.plot(HOSTILE)
    expect_equal(training.cells().inner_text, before)


def test_a_line_of_few_points_is_drawn_as_it_was_logged_until_somebody_smooths_it(training: Training) -> None:
    training.show("second")
    training.plot("train/acc")
    expect(training.page.get_by_role("region", name="Values at the cursor")).not_to_contain_text("smoothed")
    training.page.get_by_role("slider", name="Smoothing").press("ArrowRight")
    expect(training.page.get_by_role("region", name="Values at the cursor")).to_contain_text("smoothed")


def test_a_chart_of_one_point_shows_it(training: Training) -> None:
    training.show("first")
    plot = training.plot(HOSTILE)
    expect_pixels(plot, "--cat-1", above=15)


def test_only_the_charts_scroll(training: Training) -> None:
    training.show("first", "second")
    training.plot("train/loss", "2 lines")
    body = "document.querySelector('.frame-view .panel-body')"
    training.page.wait_for_function(f"() => {body}.scrollHeight > {body}.clientHeight")
    training.page.wait_for_function("() => document.documentElement.scrollHeight === innerHeight")


def test_buckets_end_where_their_points_do(training: Training) -> None:
    training.show("first")
    training.plot("many/points", f"over step 0 to step {NUM_MANY - 1};")


def test_a_drag_zooms_all_charts_and_brings_single_points(training: Training) -> None:
    training.show("first", sm="0")
    plot = training.plot("many/points")
    training.drag(plot, 0.85, 0.88)
    expect(training.page).to_have_url(re.compile(r"lo=42\d\d&hi=4[34]\d\d"))
    training.act("many/points", "Show as table")
    table = training.figure("many/points").get_by_role("table")
    expect(table).to_contain_text("4321")
    # A point of its own, exact; in buckets it was the highest of ten.
    row = table.get_by_role("row").filter(has=training.page.locator("td:text-is('4321')"))
    expect(row.locator("td").last).to_have_attribute("title", str(many(4321)))
    training.page.get_by_role("button", name="Show all", exact=True).click()
    expect_no_param(training.page, "lo")
    expect(table.locator("caption")).to_contain_text("means of many points")


def test_the_spike_between_two_pixels_is_within_the_limits(training: Training) -> None:
    training.show("first", sm="0.9")
    training.plot("many/points")
    svg = ElementTree.fromstring(training.download("many/points", "Download SVG"))
    ticks = [node.text for node in svg.iter(f"{SVG}text") if node.get("text-anchor") == "end"]
    highest = max(number_in(text or "") for text in ticks)
    assert highest >= 4


def test_double_click_and_escape_show_all_again(training: Training) -> None:
    training.show("first")
    plot = training.plot("train/loss")
    ways: list[Callable[[], None]] = [plot.dblclick, lambda: training.page.keyboard.press("Escape")]
    for leave in ways:
        training.drag(plot, 0.2, 0.7)
        expect(training.page).to_have_url(re.compile("lo="))
        expect(plot).not_to_have_attribute("aria-label", re.compile("over step 0 to step 59"))
        leave()
        expect_no_param(training.page, "lo")
        expect(plot).to_have_attribute("aria-label", re.compile("over step 0 to step 59"))


def test_a_chart_works_by_keyboard(training: Training) -> None:
    training.show("first", sm="0")
    plot = training.plot("train/loss")
    plot.focus()
    keys = training.page.keyboard
    said = training.page.get_by_role("status", name="At the cursor")
    keys.press("Home")
    expect(said).to_have_text(re.compile("^step 0: first 2$"))
    keys.press("ArrowRight")
    expect(said).to_have_text(re.compile("^step 1: "))
    keys.press("Shift+ArrowRight")
    expect(said).to_have_text(re.compile("^step 11: "))
    keys.press("End")
    expect(said).to_have_text(re.compile("^step 59: "))
    keys.press("+")
    expect_param(training.page, "hi", "59")
    keys.press("0")
    expect_no_param(training.page, "hi")
    keys.press("Enter")
    expect_param(training.page, "big", "train/loss")
    expect(training.figure("train/loss")).to_have_class(re.compile("large"))
    keys.press("Escape")
    expect_no_param(training.page, "big")
    # Also where it was asked for with the mouse.
    training.act("train/loss", "Enlarge")
    expect_param(training.page, "big", "train/loss")
    keys.press("Escape")
    expect_no_param(training.page, "big")


# --- options ---------------------------------------------------------------------------------------


def test_smoothing_is_the_average_that_it_says(training: Training) -> None:
    training.show("first")
    training.plot("train/loss")
    field = training.page.get_by_label("Smoothing as a number")
    field.fill("0.9")
    field.press("Enter")
    expect_param(training.page, "sm", "0.9")
    wanted = smoothed([loss(step) for step in range(60)], 0.9)
    assert f"{wanted:.3f}" != f"{loss(59):.3f}"
    # The number is the one that was logged; where the line is drawn stands beside it.
    expect(training.values("train/loss")).to_have_text(f"{loss(59):.3f}")
    cell = training.cells().get_by_role("cell").nth(1)
    expect(cell).to_have_text(f"{loss(59):.3f}{wanted:.3f}")
    said = training.page.get_by_role("status", name="At the cursor")
    training.plot("train/loss").focus()
    training.page.keyboard.press("End")
    expect(said).to_have_text(re.compile(rf"^step 59: first {loss(59):.4}\d*, smoothed {wanted:.3}\d*$"))
    expect(training.values("train/loss")).to_have_text(f"{loss(59):.3f}{wanted:.3f}")
    training.page.keyboard.press("Escape")
    field.fill("1.5")
    field.press("Enter")
    expect(training.page.get_by_role("alert")).to_have_text("From 0 to below 1.")
    training.page.get_by_role("slider", name="Smoothing").press("Home")
    expect_param(training.page, "sm", "0")
    expect(training.values("train/loss")).to_have_text(f"{loss(59):.3f}")


def test_a_link_shows_the_same(fresh: Training) -> None:
    fresh.show("first")
    fresh.plot("train/loss")
    page = fresh.page
    page.get_by_role("radio", name="Relative").click()
    page.get_by_role("radio", name="Log", exact=True).click()
    page.get_by_label("Ignore outliers").check()
    page.get_by_label("Filter charts").fill("^train")
    expect(page.get_by_role("figure", name="val/loss")).to_have_count(0)
    fresh.act("train/acc", "Set limits…")
    expect(page.get_by_label("Lowest value")).to_be_focused()  # it asks for the focus when it opens
    page.get_by_label("Highest value").fill("0.5")
    page.get_by_label("Highest value").press("Enter")
    expect_param(page, "y", "train/acc::0.5")
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    fresh.plot("train/loss")
    expect(page.get_by_role("radio", name="Relative")).to_have_attribute("aria-checked", "true")
    expect(page.get_by_role("radio", name="Log", exact=True)).to_have_attribute("aria-checked", "true")
    expect(page.get_by_label("Ignore outliers")).to_be_checked()
    expect(page.get_by_label("Filter charts")).to_have_value("^train")
    expect(page.get_by_role("figure", name="val/loss")).to_have_count(0)
    expect(fresh.figure("train/acc").get_by_role("button", name="fixed")).to_be_visible()


def test_a_filter_finds_by_globs_and_never_hangs_the_page(training: Training) -> None:
    training.show("first", "together")
    training.plot("train/loss")
    charts = training.page.get_by_label("Filter charts")
    charts.fill("tr*SS|^val")
    expect(training.page.get_by_role("figure", name="val/loss")).to_be_visible()
    expect(training.page.get_by_role("figure", name="train/acc")).to_have_count(0)
    charts.fill("(a|a)*b$")  # as a regular expression it would take years on the name of 60 letters
    expect(training.page.get_by_text("No chart has such a name")).to_be_visible()


def test_the_other_theme_repaints_the_charts(fresh: Training) -> None:
    fresh.show("second", sm="0")
    plot = fresh.plot("train/loss", "NaN")
    expect_pixels(plot, "--danger", above=5)
    light = fresh.page.evaluate("getComputedStyle(document.body).backgroundColor")
    fresh.page.get_by_role("button", name=re.compile("^Switch to the")).click()
    fresh.page.wait_for_function(
        "(light) => getComputedStyle(document.body).backgroundColor !== light", arg=light
    )
    expect_pixels(plot, "--danger", above=5)  # which is another red now


# --- files and alarms ------------------------------------------------------------------------------


def test_a_csv_has_every_point_exactly(training: Training) -> None:
    training.show("first", "second")
    training.plot("train/loss", "2 lines")
    rows = list(csv.DictReader(training.download("train/loss", "Download CSV").splitlines()))
    first = [row for row in rows if row["run"] == "first"]
    assert [int(row["step"]) for row in first] == list(range(60))
    assert [float(row["value"]) for row in first] == [loss(step) for step in range(60)]
    second = [float(row["value"]) for row in rows if row["run"] == "second"]
    assert second[:20] == [3.0] * 20
    assert all(math.isnan(value) for value in second[20:])
    assert all(row["points"] == "1" and row["name"] == "train/loss" for row in rows)


def test_an_svg_opens_elsewhere(training: Training) -> None:
    training.show("first", "second")
    training.plot("train/acc", "2 lines")
    svg = ElementTree.fromstring(training.download("train/acc", "Download SVG"))
    assert svg.tag == f"{SVG}svg"
    texts = [node.text for node in svg.iter(f"{SVG}text")]
    assert {"train/acc", "first", "second"} <= set(texts)
    assert len([node for node in svg.iter(f"{SVG}path") if "L" in (node.get("d") or "")]) >= 4


def test_alarms_name_the_first_bad_step_and_lead_there(fresh: Training) -> None:
    fresh.show("first", "second")
    fresh.plot("train/loss", "2 lines")
    alarm = fresh.group("Alarms").get_by_role("button")
    said = "train/loss of second became NaN or infinite at step 20 (10 values)."
    expect(alarm).to_have_attribute("aria-label", said)
    fresh.fold("train").click()
    expect(fresh.page.get_by_role("figure", name="train/loss")).to_have_count(0)
    alarm.click()
    expect(fresh.page.get_by_role("figure", name="train/loss")).to_be_visible()
    expect(fresh.page.get_by_role("region", name="Values at the cursor")).to_contain_text("step 20")


def test_without_alarms_there_is_no_strip(training: Training) -> None:
    training.show("first")
    training.plot("train/loss")
    expect(training.group("Alarms")).to_have_count(0)
