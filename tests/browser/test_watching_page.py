"""The page of layers: figures of watched tensors as a map, to the digit, with alarms and gaps on its axis."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

import torcheer as tl
from tests.app.serving import SECRET
from tests.browser.netviewpage import one_page
from tests.browser.served import go_to
from tests.browser.watchedrun import (
    DIGEST,
    INF_CELL,
    LOST_CELL,
    NAN_CELL,
    NUM_STEPS,
    PLACE,
    ROWS,
    UNSEEN,
    begin_watching,
    figures,
    log_steps,
    row,
    weight,
    write_watched,
)
from tests.inspector.feeding import wait_until
from torcheer.app.server import Serving, serve_runs_in_background
from torcheer.inspector.columns import COLUMN, COLUMNS
from torcheer.run.records import WatchedRow

ALL_STEPS = np.arange(NUM_STEPS, dtype=np.int64)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    write_watched(root / "first")
    return root


@pytest.fixture(scope="module")
def serving(folder: Path) -> Iterator[Serving]:
    with serve_runs_in_background(folder, secret=SECRET) as served:
        yield served


@pytest.fixture(scope="module")
def looked(browser: Browser, serving: Serving) -> Iterator[Page]:
    with one_page(browser, size={"width": 1440, "height": 900}) as page:
        yield page


class Layers:
    """The page as a person reads it."""

    def __init__(self, page: Page, num_steps: int = NUM_STEPS) -> None:
        self.page = page
        self.num_steps = num_steps
        self.map = page.get_by_role("region", name="Map of the watched layers")
        self.cells = self.map.get_by_role("img", name=re.compile("arrows move"))
        self.reading = page.get_by_test_id("heat-reading")
        self.selected = page.get_by_role("region", name="Selected row")
        self.alarms = page.get_by_role("region", name="Alarms", exact=True)
        self.lines = page.get_by_role("region", name="Alarms and gaps over steps")

    def name(self, row: str) -> Locator:
        return self.map.locator(f"button[title^='{row} ']")

    def place(self, row: str, step: int) -> tuple[float, float]:
        """Where the cell is on the screen: each step is as wide as any other."""
        stage, label = self.cells.bounding_box(), self.name(row).bounding_box()
        assert stage is not None
        assert label is not None
        return stage["x"] + stage["width"] * (step + 0.5) / self.num_steps, label["y"] + label["height"] / 2

    def point(self, row: str, step: int) -> str:
        """What is read there."""
        self.page.mouse.move(*self.place(row, step))
        expect(self.reading).to_contain_text(f"{row} step {step} ")
        return self.reading.inner_text()

    def colours(self, row: str, step: int) -> set[tuple[int, int, int]]:
        """All colours of the pixels of a cell."""
        x, y = self.place(row, step)
        pixels = self.cells.locator("canvas").evaluate(
            """async (canvas, [x, y]) => {
                for (let frame = 0; frame < 2; frame++) await new Promise(requestAnimationFrame);
                const box = canvas.getBoundingClientRect();
                const context = canvas.getContext("2d");
                return [...context.getImageData(x - box.left - 3, y - box.top - 5, 6, 10).data];
            }""",
            [x, y],
        )
        return {(pixels[at], pixels[at + 1], pixels[at + 2]) for at in range(0, len(pixels), 4)}


TITLES = {"": "norm", "q25": "25 % quantile", "dead": "dead units"}


def open_layers(page: Page, serving: Serving, query: str = "", num_steps: int = NUM_STEPS) -> Layers:
    """Once what is asked for has come: until then, what was shown before stays."""
    go_to(page, serving, f"layers?{query}")
    layers = Layers(page, num_steps)
    asked = dict(part.split("=") for part in query.split("&") if part)
    figure, last = asked.get("fig", ""), asked.get("to", num_steps - 1)
    wanted = rf"^{TITLES.get(figure, figure)} of .* over steps {asked.get('from', 0)} to {last};"
    expect(layers.cells).to_have_accessible_name(re.compile(wanted))
    return layers


def number(text: str) -> float:
    return float(re.sub(r"\s", "", text).replace("−", "-"))


def test_the_value_under_the_pointer_is_the_recorded_figure(looked: Page, serving: Serving) -> None:
    table = figures(ALL_STEPS)
    for column in ("norm", "mean", "q25"):
        layers = open_layers(looked, serving, f"fig={column}")
        generator = random.Random(column)
        for _ in range(8):
            row, step = generator.choice(ROWS).name, generator.randrange(NUM_STEPS)
            if (row, step) in {NAN_CELL, LOST_CELL, INF_CELL, UNSEEN}:
                continue
            title = "25 % quantile" if column == "q25" else column
            found = re.search(rf"{title} (\S+)$", layers.point(row, step))
            assert found is not None
            wanted = table[COLUMN[column], PLACE[row], step]
            assert number(found[1]) == pytest.approx(wanted, rel=2e-4)


def test_nan_is_a_hatch_infinity_solid_and_what_was_not_recorded_grey(looked: Page, serving: Serving) -> None:
    layers = open_layers(looked, serving)
    danger, weak, edge, surface = (
        (0xBF, 0x23, 0x2B),
        (0xFB, 0xE9, 0xE9),
        (0xCD, 0xD2, 0xD8),
        (0xFF, 0xFF, 0xFF),
    )

    assert "of the finite values, has NaN" in layers.point(*NAN_CELL)
    assert "norm unknown: has NaN" in layers.point(*LOST_CELL)
    assert "has Inf" in layers.point(*INF_CELL)
    assert "not recorded" in layers.point(*UNSEEN)
    looked.mouse.move(0, 0)
    for cell in (NAN_CELL, LOST_CELL):
        assert layers.colours(*cell) == {danger, weak}
    assert layers.colours(*INF_CELL) == {danger}
    assert layers.colours(*UNSEEN) == {edge, surface}
    plain = layers.colours("conv.Act", 3)
    assert len(plain) == 1
    assert not plain & {danger, weak, edge, surface}


def test_a_press_on_an_alarm_leads_to_its_row_and_step(looked: Page, serving: Serving) -> None:
    layers = open_layers(looked, serving, "find=fc&shut=weight_gradient")
    layers.lines.get_by_role("button", name=re.compile("its norm is 118 at step 30")).click()

    looked.wait_for_url(re.compile(r"row=conv\.weight\.Grad"))
    assert "step=30" in looked.url
    # What hid the row is gone.
    expect(layers.name("conv.weight.Grad")).to_have_attribute("aria-pressed", "true")
    expect(layers.selected).to_contain_text("conv.weight.Grad")
    expect(layers.alarms.get_by_role("link", name=re.compile("norm is 118"))).to_have_attribute(
        "aria-current", "true"
    )
    layers.alarms.get_by_role("radio", name="This row 2").click()
    expect(layers.alarms.get_by_role("link")).to_have_count(2)
    layers.alarms.get_by_role("link", name=re.compile("25 % of the values")).click()
    looked.wait_for_url(re.compile("step=40"))
    expect(layers.selected).to_be_visible()


def test_a_row_that_the_figure_leaves_out_is_shown_with_another_figure(
    looked: Page, serving: Serving
) -> None:
    layers = open_layers(looked, serving, "fig=dead")
    layers.alarms.get_by_role("link", name=re.compile("25 % of the values")).click()
    expect(layers.name("conv.weight.Grad")).to_have_attribute("aria-pressed", "true")
    expect(looked.get_by_role("combobox", name="Figure")).to_have_value("norm")


def test_what_scrolls_away_under_the_pointer_is_no_longer_read(page: Page, serving: Serving) -> None:
    page.set_viewport_size({"width": 1440, "height": 600})
    layers = open_layers(page, serving, "row=conv.Act")
    expect(layers.selected).to_be_visible()
    layers.point("relu.Act", 30)
    page.mouse.wheel(0, 40)
    expect(page.locator(".heat-reading")).not_to_contain_text("relu.Act")


def test_gaps_stand_on_the_same_axis_and_say_what_is_missing(looked: Page, serving: Serving) -> None:
    layers = open_layers(looked, serving)
    gap = layers.lines.get_by_role("button", name="312 records were dropped (ring full), steps 20 to 23")
    box, stage = gap.bounding_box(), layers.cells.bounding_box()
    assert box is not None
    assert stage is not None
    assert box["x"] == pytest.approx(stage["x"] + stage["width"] * 20 / NUM_STEPS, abs=1)
    assert box["width"] == pytest.approx(stage["width"] * 4 / NUM_STEPS, abs=1)
    expect(layers.alarms).to_contain_text("312 records were dropped")


def test_the_map_works_by_keyboard_from_cell_to_cell(looked: Page, serving: Serving) -> None:
    layers = open_layers(looked, serving)
    spoken = looked.get_by_role("status", name="At the cursor")
    layers.cells.focus()
    looked.keyboard.press("ArrowDown")
    expect(spoken).to_contain_text(f"conv.Act · step {NUM_STEPS - 1} · norm")
    looked.keyboard.press("ArrowDown")
    looked.keyboard.press("Home")
    looked.keyboard.press("Shift+ArrowRight")
    looked.keyboard.press("ArrowLeft")
    expect(spoken).to_contain_text("relu.Act · step 9 · norm")
    looked.keyboard.press("Enter")
    looked.wait_for_url(re.compile(r"row=relu\.Act&step=9"))
    expect(layers.selected).to_contain_text("relu.Act")
    looked.keyboard.press("Escape")
    looked.keyboard.press("Escape")
    expect(layers.selected).to_have_count(0)


def test_a_part_of_the_steps_is_drawn_with_the_pointer_and_left_with_a_button(
    looked: Page, serving: Serving
) -> None:
    layers = open_layers(looked, serving)
    start, end = layers.place("conv.Act", 10), layers.place("conv.Act", 20)
    looked.mouse.move(*start)
    looked.mouse.down()
    looked.mouse.move(*end, steps=4)
    looked.mouse.up()
    looked.wait_for_url(re.compile("from=10&to=20"))
    expect(layers.cells).to_have_accessible_name(re.compile("over steps 10 to 20;"))
    looked.reload()
    expect(layers.cells).to_have_accessible_name(re.compile("over steps 10 to 20;"))
    looked.get_by_role("button", name="Show all steps").click()
    expect(layers.cells).to_have_accessible_name(re.compile(f"over steps 0 to {NUM_STEPS - 1};"))


def test_groups_fold_rows_are_filtered_and_the_address_keeps_it(looked: Page, serving: Serving) -> None:
    layers = open_layers(looked, serving)
    layers.map.get_by_role("button", name="Weights 2").click()
    expect(layers.name("conv.weight")).to_have_count(0)
    looked.get_by_role("textbox", name="Filter rows").fill("conv2d")
    expect(layers.name("relu.Act")).to_have_count(0)
    looked.wait_for_url(re.compile("find=conv2d"))
    looked.reload()
    expect(layers.map.get_by_role("button", name="Weights 1")).to_have_attribute("aria-expanded", "false")
    expect(layers.name("conv.Act")).to_be_visible()
    expect(layers.name("fc.Act")).to_have_count(0)
    looked.get_by_role("textbox", name="Filter rows").fill("nowhere")
    expect(layers.map).to_contain_text("No row has “nowhere”")


def test_a_figure_that_few_rows_have_leaves_the_others_out(looked: Page, serving: Serving) -> None:
    layers = open_layers(looked, serving, "fig=dead")
    expect(layers.name("relu.Act")).to_be_visible()
    expect(layers.name("conv.Act")).to_have_count(0)
    assert "dead units 30.0" in layers.point("relu.Act", 30)


def test_each_rank_has_its_own_figures_and_events(looked: Page, serving: Serving) -> None:
    layers = open_layers(looked, serving)
    looked.get_by_role("combobox", name="Rank").select_option("1")
    expect(layers.lines.get_by_role("button", name=re.compile("2 records were lost"))).to_be_visible()
    expect(layers.alarms.get_by_role("link")).to_have_count(0)
    wanted = figures(ALL_STEPS, rank=1)[COLUMN["norm"], PLACE["fc.weight"], 33]
    # Until those of the other rank have come, the figures of the first stay.
    end = time.monotonic() + 20
    while norm_in(layers.point("fc.weight", 33)) != pytest.approx(wanted, rel=2e-4):
        assert time.monotonic() < end, layers.point("fc.weight", 33)
        looked.wait_for_timeout(50)


def norm_in(words: str) -> float | None:
    found = re.search(r"norm (\S+)$", words)
    return None if found is None else number(found[1])


def test_limits_of_the_colours_can_be_fixed(looked: Page, serving: Serving) -> None:
    layers = open_layers(looked, serving, "fig=mean&scale=all")
    before = layers.colours("conv.Act", 3)
    looked.get_by_role("button", name=re.compile("Limits")).click()
    looked.get_by_role("textbox", name="Low limit").fill("-1e9")
    looked.get_by_role("textbox", name="Low limit").press("Enter")
    looked.get_by_role("textbox", name="High limit").fill("1e9")
    looked.get_by_role("textbox", name="High limit").press("Enter")
    looked.wait_for_url(re.compile("limits=-1000000000,1000000000"))
    # Now all that there is lies in the middle: one quiet grey.
    grey = pytest.approx((0xEE, 0xF0, 0xF2), abs=2)
    wait_until(lambda: [*layers.colours("conv.Act", 3)] == [grey], "that grey")
    assert layers.colours("conv.Act", 3) != before
    looked.get_by_role("textbox", name="High limit").fill("-2e9")
    looked.get_by_role("textbox", name="High limit").press("Enter")
    expect(looked.get_by_role("alert")).to_contain_text("The low limit must be below")


def test_a_row_in_full_has_its_figures_its_histograms_and_its_tensor(looked: Page, serving: Serving) -> None:
    layers = open_layers(looked, serving, "row=conv.weight&step=20")
    for name in ("Quantiles", "Mean ± std", "Norm"):
        expect(layers.selected.get_by_role("figure", name=name)).to_be_visible()
    expect(layers.selected.get_by_role("img", name=re.compile("^Ridges of 3 histograms"))).to_be_attached()
    layers.selected.get_by_role("button", name="show as table").click()
    table = layers.selected.get_by_role("table", name="Figures over steps")
    heads = table.locator("th").all_inner_texts()
    cells = table.locator("tbody tr[aria-selected=true] td").all_inner_texts()
    wanted = figures(ALL_STEPS)[:, PLACE["conv.weight"], 20]
    for column in ("mean", "std", "norm"):
        assert number(cells[heads.index(column)]) == pytest.approx(wanted[COLUMN[column]], rel=1e-3)
    layers.selected.get_by_role("link", name="Open in Tensors").click()
    expect(looked.get_by_role("toolbar", name="Steps")).to_contain_text("Step 20")
    shown = number(looked.locator("[data-figure=max]").inner_text())
    assert shown == pytest.approx(weight(20).max(), rel=1e-3)


def test_what_is_watched_grows_as_the_training_goes_on(page: Page, tmp_path: Path) -> None:
    with tl.Run(tmp_path / "live") as run, serve_runs_in_background(tmp_path, secret=SECRET) as served:
        begin_watching(run)
        log_steps(run, 0, 20)
        run.flush()
        layers = open_layers(page, served, num_steps=20)
        expect(layers.cells).to_have_accessible_name(re.compile("over steps 0 to 19;"))
        log_steps(run, 20, 40)
        run.log_alarm(
            35, "dead_units", layer="relu", variable="Act", value=0.5, message="relu.Act: half is dead"
        )
        run.flush()
        expect(layers.cells).to_have_accessible_name(re.compile("over steps 0 to 39;"))
        expect(layers.alarms.get_by_role("link", name=re.compile("half is dead"))).to_be_visible()
        layers.num_steps = 40
        wanted = figures(ALL_STEPS)[COLUMN["norm"], PLACE["fc.Act"], 30]
        found = re.search(r"norm (\S+)$", layers.point("fc.Act", 30))
        assert found is not None
        assert number(found[1]) == pytest.approx(wanted, rel=2e-4)


def test_a_lost_connection_leaves_the_map_as_it_was(context: BrowserContext, folder: Path) -> None:
    page = context.new_page()  # it may say that its server is gone
    with serve_runs_in_background(folder, secret=SECRET) as served:
        layers = open_layers(page, served)
    expect(page.locator(".toast")).to_be_visible()
    assert "norm" in layers.point("conv.Act", 3)


def test_alarms_of_layers_stand_beside_those_of_scalars_and_lead_here(looked: Page, serving: Serving) -> None:
    go_to(looked, serving, "training")
    strip = looked.get_by_role("region", name="Alarms", exact=True)
    expect(strip).to_contain_text("exploding gradient 1")
    strip.get_by_role("button", name=re.compile("25 % of the values are NaN")).click()
    looked.wait_for_url(re.compile(r"#layers\?.*row=conv\.weight\.Grad"))
    assert "step=40" in looked.url
    expect(Layers(looked).selected).to_contain_text("conv.weight.Grad")


def test_the_list_of_runs_counts_alarms_and_leads_to_them(looked: Page, serving: Serving) -> None:
    go_to(looked, serving, "runs", "layers")
    looked.get_by_role("link", name="3 alarms of first").click()
    expect(Layers(looked).alarms.get_by_role("link")).to_have_count(3)


def test_a_run_without_watched_layers_says_the_line_that_watches(page: Page, tmp_path: Path) -> None:
    with tl.Run(tmp_path / "plain") as run:
        run.log(0, loss=1.0)
    with serve_runs_in_background(tmp_path, secret=SECRET) as served:
        page.goto(f"{served.url}#layers")
        expect(page.get_by_text("Nothing is watched in these runs")).to_be_visible()
        expect(page.locator("pre")).to_contain_text("watch(model, optimizer=")


def test_a_name_that_begins_with_a_digit_is_read_from_its_beginning(page: Page, tmp_path: Path) -> None:
    """Names are cut at their beginning: what is no letter must not change its place for it."""
    rows = [row("0", "weight", "weight", "Linear", [2]), row("(a).1", "bias", "weight", "Linear", [2])]
    with tl.Run(tmp_path / "digits") as run:
        run.log_watch(0, rows, COLUMNS, digest=DIGEST, every="step")
        run.log_statistics(
            DIGEST, ALL_STEPS, 1.7e9 + ALL_STEPS, np.ones((len(COLUMNS), 2, NUM_STEPS), np.float32)
        )
    with serve_runs_in_background(tmp_path, secret=SECRET) as served:
        layers = open_layers(page, served)
        for name in ("0.weight", "(a).1.bias"):
            assert drawn_text(layers.name(name).locator(".heat-label")) == name
        expect(page.locator(".heat-reading")).to_have_text("2 rows · 60 steps watched (every step wanted)")


def drawn_text(label: Locator) -> str:
    """The letters of a text from left to right, as they stand on the screen."""
    text: str = label.evaluate(
        """element => {
            const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
            const found = [];
            for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
                for (let at = 0; at < node.length; at++) {
                    const range = document.createRange();
                    range.setStart(node, at);
                    range.setEnd(node, at + 1);
                    found.push([range.getBoundingClientRect().left, node.data[at]]);
                }
            }
            return found.sort((a, b) => a[0] - b[0]).map(([, letter]) => letter).join("");
        }"""
    )
    return text


def unseen_row(layer: str) -> WatchedRow:
    name = f"{layer}.Act"
    return WatchedRow(name=name, layer=layer, variable="Act", role="activation", module="Dropout")


def write_unseen(path: Path) -> None:
    """Two rows are seen; four are not: three have no shape, as a watcher leaves it, and one has."""
    rows = [
        row("fc", "Act", "activation", "Linear", [2, 3]),
        *(unseen_row(f"spare.{at}") for at in range(3)),
        row("fc", "weight", "weight", "Linear", [3, 3]),
        row("odd", "weight", "weight", "Linear", [3, 3]),
    ]
    table = np.full((len(COLUMNS), len(rows), NUM_STEPS), np.nan, np.float32)
    table[:, [0, 4]] = 1.0
    with tl.Run(path) as run:
        run.log_watch(0, rows, COLUMNS, digest=DIGEST, every="20/s")
        run.log_statistics(DIGEST, ALL_STEPS, 1.7e9 + ALL_STEPS, table)
        run.log_alarm(3, "stuck_weight", layer="odd", variable="weight", message="odd.weight: no gradient")


def test_rows_that_were_never_seen_are_folded_into_one_line(page: Page, tmp_path: Path) -> None:
    write_unseen(tmp_path / "first")
    with serve_runs_in_background(tmp_path, secret=SECRET) as served:
        layers = open_layers(page, served)
        line = layers.map.get_by_role("button", name=re.compile("4 rows were never seen"))
        expect(line).to_have_attribute("aria-expanded", "false")
        expect(layers.name("fc.weight")).to_be_visible()
        expect(layers.name("spare.1.Act")).to_have_count(0)
        line.click()
        expect(layers.name("spare.1.Act")).to_have_text("spare.1.Act")
        line.click()
        expect(layers.name("odd.weight")).to_have_count(0)
        # Of a part of the steps, only those without a shape are known not to be seen in the others either.
        page.goto("about:blank")
        open_layers(page, served, "from=10&to=20")
        expect(layers.map.get_by_role("button", name=re.compile("3 rows were never seen"))).to_be_visible()
        page.get_by_role("button", name="Show all steps").click()
        expect(line).to_be_visible()
        page.get_by_role("button", name="Show the rows that were never seen").click()
        expect(layers.name("spare.2.Act")).to_be_visible()
        page.get_by_role("button", name="Fold the rows that were never seen").click()
        expect(layers.name("spare.2.Act")).to_have_count(0)
        # One that is gone to is not hidden.
        layers.alarms.get_by_role("link", name=re.compile("no gradient")).click()
        expect(layers.name("odd.weight")).to_have_attribute("aria-pressed", "true")


def test_what_the_watcher_says_of_itself_is_no_metric_and_stands_last(page: Page, tmp_path: Path) -> None:
    with tl.Run(tmp_path / "first") as run:
        for step in range(3):
            run.log(step, {"watch/cost": 0.02, "watch/records a second": 20.0, "lr": 0.1})
        run.log_text(0, "words", "hello")
    with serve_runs_in_background(tmp_path, secret=SECRET) as served:
        page.goto(f"{served.url}#runs")
        expect(page.get_by_role("columnheader", name="lr")).to_be_visible()
        expect(page.get_by_role("columnheader", name="watch")).to_have_count(0)
        page.goto(f"{served.url}#training")
        fold = page.get_by_role("button", name=re.compile(r"^watch\s*2$"))
        expect(fold).to_have_attribute("aria-expanded", "false")
        expect(page.get_by_role("region", name="text")).to_be_visible()
        groups = page.locator("section:is(.chart-group, .sec-group)")
        expect(groups.last).to_have_accessible_name("watch")
        fold.click()
        expect(page.get_by_role("region", name="watch").locator(".scalar")).to_have_count(2)
        page.reload()  # what somebody opened stays open
        expect(fold).to_have_attribute("aria-expanded", "true")


def test_many_distributions_are_folded_and_asked_for_only_in_view(page: Page, tmp_path: Path) -> None:
    with tl.Run(tmp_path / "first") as run:
        for at in range(40):
            run.log_histogram(0, f"layer{at:02}.Act", weight(at))
    with serve_runs_in_background(tmp_path, secret=SECRET) as served:
        page.goto(f"{served.url}#training")
        fold = page.get_by_role("button", name=re.compile(r"^distributions\s*40"))
        expect(fold).to_have_attribute("aria-expanded", "false")
        page.get_by_role("textbox", name="Filter charts").fill("layer0")  # ten of them
        expect(page.locator(".sec-pair canvas").first).to_be_visible()
        page.get_by_role("textbox", name="Filter charts").fill("")
        expect(fold).to_have_attribute("aria-expanded", "false")
        fold.click()
        expect(page.locator(".sec-pair")).to_have_count(40)
        expect(page.locator(".sec-pair canvas").first).to_be_visible()
        expect(page.get_by_role("group", name="layer39.Act").locator("canvas")).to_have_count(0)
        page.get_by_role("group", name="layer39.Act").scroll_into_view_if_needed()
        expect(page.get_by_role("group", name="layer39.Act").locator("canvas")).to_have_count(2)
