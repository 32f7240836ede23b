"""The page of layers: figures of watched tensors as a map, to the digit, with alarms and gaps on its axis."""

from __future__ import annotations

import random
import re
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

import torcheer as tl
from tests.app.serving import SECRET
from tests.browser.pages import VIEWPORT, eventually, expect_equal, expect_param, go_to, place_of, two_frames
from tests.browser.screen import number_in
from tests.browser.watched_run import (
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
from torcheer.app import serve_runs_in_background
from torcheer.app.server import Serving
from torcheer.inspector.frame_format import COLUMN, COLUMNS
from torcheer.run import WatchedRow

ALL_STEPS = np.arange(NUM_STEPS, dtype=np.int64)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    write_watched(root / "first")
    return root


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
        stage, label = place_of(self.cells), place_of(self.name(row))
        return stage.at((step + 0.5) / self.num_steps, 0)[0], label.middle[1]

    def expect_read(self, row: str, step: int, words: str) -> None:
        """Wait until this is read there. What comes under a pointer that rests is not read until it moves."""
        x, y = self.place(row, step)

        def is_read() -> None:
            self.page.mouse.move(x, y - 1)
            self.page.mouse.move(x, y)
            two_frames(self.page)
            read = self.reading.inner_text()
            assert f"{row} step {step} " in read
            assert words in read

        eventually(is_read)

    def expect_figure(self, row: str, step: int, title: str, wanted: float) -> None:
        """Wait until this is the figure that is read there."""

        def is_read() -> None:
            self.expect_read(row, step, title)
            found = re.search(rf"{title} (\S+)$", self.reading.inner_text())
            assert found is not None
            assert number_in(found[1]) == pytest.approx(wanted, rel=2e-4)

        eventually(is_read)

    def colours(self, row: str, step: int) -> set[tuple[int, int, int]]:
        """All colours of the pixels of a cell."""
        x, y = self.place(row, step)
        two_frames(self.page)
        pixels = self.cells.locator("canvas").evaluate(
            """(canvas, [x, y]) => {
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


def test_the_value_under_the_pointer_is_the_recorded_figure(looked: Page, serving: Serving) -> None:
    table = figures(ALL_STEPS)
    for column in ("norm", "mean", "q25"):
        layers = open_layers(looked, serving, f"fig={column}")
        generator = random.Random(column)
        for _ in range(6):
            row, step = generator.choice(ROWS).name, generator.randrange(NUM_STEPS)
            if (row, step) in {NAN_CELL, LOST_CELL, INF_CELL, UNSEEN}:
                continue
            wanted = table[COLUMN[column], PLACE[row], step]
            layers.expect_figure(row, step, TITLES.get(column, column), wanted)


def test_nan_is_a_hatch_infinity_solid_and_what_was_not_recorded_grey(looked: Page, serving: Serving) -> None:
    layers = open_layers(looked, serving)
    danger, weak, edge, surface = (
        (0xBF, 0x23, 0x2B),
        (0xFB, 0xE9, 0xE9),
        (0xCD, 0xD2, 0xD8),
        (0xFF, 0xFF, 0xFF),
    )

    layers.expect_read(*NAN_CELL, "of the finite values, has NaN")
    layers.expect_read(*LOST_CELL, "norm unknown: has NaN")
    layers.expect_read(*INF_CELL, "has Inf")
    layers.expect_read(*UNSEEN, "not recorded")
    looked.mouse.move(0, 0)
    for cell in (NAN_CELL, LOST_CELL):
        expect_equal(lambda cell=cell: layers.colours(*cell), {danger, weak})
    expect_equal(lambda: layers.colours(*INF_CELL), {danger})
    expect_equal(lambda: layers.colours(*UNSEEN), {edge, surface})
    plain = layers.colours("conv.Act", 3)
    assert len(plain) == 1
    assert not plain & {danger, weak, edge, surface}


def test_a_press_on_an_alarm_leads_to_its_row_and_step(looked: Page, serving: Serving) -> None:
    layers = open_layers(looked, serving, "find=fc&shut=weight_gradient")
    layers.lines.get_by_role("button", name=re.compile("its norm is 118 at step 30")).click()

    expect_param(looked, "row", r"conv\.weight\.Grad")
    expect_param(looked, "step", "30")
    # What hid the row is gone.
    expect(layers.name("conv.weight.Grad")).to_have_attribute("aria-pressed", "true")
    expect(layers.selected).to_contain_text("conv.weight.Grad")
    expect(layers.alarms.get_by_role("link", name=re.compile("norm is 118"))).to_have_attribute(
        "aria-current", "true"
    )
    layers.alarms.get_by_role("radio", name="This row 2").click()
    expect(layers.alarms.get_by_role("link")).to_have_count(2)
    layers.alarms.get_by_role("link", name=re.compile("25 % of the values")).click()
    expect_param(looked, "step", "40")
    expect(layers.selected).to_be_visible()


def test_a_row_that_the_figure_leaves_out_is_shown_with_another_figure(
    looked: Page, serving: Serving
) -> None:
    layers = open_layers(looked, serving, "fig=dead")
    layers.alarms.get_by_role("link", name=re.compile("25 % of the values")).click()
    expect(layers.name("conv.weight.Grad")).to_have_attribute("aria-pressed", "true")
    expect(looked.get_by_role("combobox", name="Figure")).to_have_value("norm")


def test_what_scrolls_away_under_the_pointer_is_no_longer_read(looked: Page, serving: Serving) -> None:
    looked.set_viewport_size({"width": 1440, "height": 600})
    layers = open_layers(looked, serving, "row=conv.Act")
    expect(layers.selected).to_be_visible()
    layers.expect_read("relu.Act", 30, "norm")
    looked.mouse.wheel(0, 40)
    expect(looked.locator(".heat-reading")).not_to_contain_text("relu.Act")
    looked.set_viewport_size(VIEWPORT)


def test_gaps_stand_on_the_same_axis_and_say_what_is_missing(looked: Page, serving: Serving) -> None:
    layers = open_layers(looked, serving)
    gap = layers.lines.get_by_role("button", name="312 records were dropped (ring full), steps 20 to 23")
    box, stage = place_of(gap), place_of(layers.cells)
    assert box.x == pytest.approx(stage.at(20 / NUM_STEPS, 0)[0], abs=1)
    assert box.width == pytest.approx(stage.width * 4 / NUM_STEPS, abs=1)
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
    expect_param(looked, "row", r"relu\.Act&step=9")
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
    expect_param(looked, "from", "10&to=20")
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
    expect_param(looked, "find", "conv2d")
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
    layers.expect_read("relu.Act", 30, "dead units 30.0")


def test_each_rank_has_its_own_figures_and_events(looked: Page, serving: Serving) -> None:
    layers = open_layers(looked, serving)
    looked.get_by_role("combobox", name="Rank").select_option("1")
    expect(layers.lines.get_by_role("button", name=re.compile("2 records were lost"))).to_be_visible()
    expect(layers.alarms.get_by_role("link")).to_have_count(0)
    wanted = figures(ALL_STEPS, rank=1)[COLUMN["norm"], PLACE["fc.weight"], 33]
    # Until those of the other rank have come, the figures of the first stay.
    layers.expect_figure("fc.weight", 33, "norm", wanted)


def test_limits_of_the_colours_can_be_fixed(looked: Page, serving: Serving) -> None:
    layers = open_layers(looked, serving, "fig=mean&scale=all")
    before = layers.colours("conv.Act", 3)
    looked.get_by_role("button", name=re.compile("Limits")).click()
    looked.get_by_role("textbox", name="Low limit").fill("-1e9")
    looked.get_by_role("textbox", name="Low limit").press("Enter")
    looked.get_by_role("textbox", name="High limit").fill("1e9")
    looked.get_by_role("textbox", name="High limit").press("Enter")
    expect_param(looked, "limits", "-1000000000,1000000000")
    # Now all that there is lies in the middle: one quiet grey.
    grey = pytest.approx((0xEE, 0xF0, 0xF2), abs=2)
    expect_equal(lambda: [*layers.colours("conv.Act", 3)], [grey])
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
    expect(table.locator("tbody tr[aria-selected=true]")).to_have_count(1)
    heads = table.locator("th").all_inner_texts()
    cells = table.locator("tbody tr[aria-selected=true] td").all_inner_texts()
    wanted = figures(ALL_STEPS)[:, PLACE["conv.weight"], 20]
    for column in ("mean", "std", "norm"):
        assert number_in(cells[heads.index(column)]) == pytest.approx(wanted[COLUMN[column]], rel=1e-3)
    layers.selected.get_by_role("link", name="Open in Tensors").click()
    expect(looked.get_by_role("toolbar", name="Steps")).to_contain_text("Step 20")
    largest = looked.locator("[data-figure=max]")
    expect_equal(lambda: number_in(largest.inner_text()), pytest.approx(weight(20).max(), rel=1e-3))


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
        layers.expect_figure("fc.Act", 30, "norm", wanted)


def test_a_lost_connection_leaves_the_map_as_it_was(page: Page, folder: Path) -> None:
    with serve_runs_in_background(folder, secret=SECRET) as served:
        layers = open_layers(page, served)
    expect(page.locator(".toast")).to_be_visible()
    layers.expect_read("conv.Act", 3, "norm")


def test_alarms_of_layers_stand_beside_those_of_scalars_and_lead_here(looked: Page, serving: Serving) -> None:
    go_to(looked, serving, "training")
    strip = looked.get_by_role("region", name="Alarms", exact=True)
    expect(strip).to_contain_text("exploding gradient 1")
    strip.get_by_role("button", name=re.compile("25 % of the values are NaN")).click()
    expect(looked).to_have_url(re.compile(r"#layers\?.*row=conv\.weight\.Grad"))
    expect_param(looked, "step", "40")
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
            expect_equal(lambda name=name: drawn_text(layers.name(name).locator(".heat-label")), name)
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
