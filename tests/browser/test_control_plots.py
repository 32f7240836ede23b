"""Plots and network of the control page: lines, last values and units are those of the recorded run."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import torcheer as tl
from tests.browser.controlled import Controlled, begin, trained
from tests.browser.netview_page import NetPage
from tests.browser.pages import eventually, expect_equal, expect_true, one_page
from tests.browser.screen import number_in, says
from tests.training.small_loop import NUM_TRIALS
from torcheer.training.control import control_commands

PARAMETERS = {"epochs": 2}

_READ_TABLE = """(box) => [[...box.querySelectorAll("thead th")].map((head) => head.textContent.trim()),
  ...[...box.querySelectorAll("tbody tr:not([aria-hidden])")].map((row) =>
    [...row.cells].map((cell, at) => at === 0 ? cell.textContent : cell.title))]"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Controlled]:
    """Two runs of two epochs are over."""
    with trained(tmp_path_factory.mktemp("runs"), PARAMETERS) as found:
        yield found


@pytest.fixture(scope="module")
def looked(browser: Browser, served: Controlled) -> Iterator[Page]:
    with one_page(browser) as page:
        page.goto(served.url)
        yield page


def figure(page: Page, title: str) -> Locator:
    return page.get_by_role("region", name="Plots").get_by_role(
        "figure", name=f"{title} over epochs", exact=True
    )


def act(page: Page, title: str, action: str) -> None:
    figure(page, title).get_by_role("button", name=f"Actions of {title}").click()
    page.get_by_role("menuitem", name=action).click()


def test_plots_have_the_points_of_the_run_with_the_earlier_one_behind(
    looked: Page, served: Controlled
) -> None:
    runs = [tl.open_run(path) for path in served.runs]
    for plot in served.control.status.about.plots if served.control.status.about else ():
        names = {line.label: line.name for line in plot.lines}
        drawing = figure(looked, plot.title).locator(".plot")
        # The axis counts epochs, and the earlier run is only there to be compared with.
        lines = f"{len(names)} {'line' if len(names) == 1 else 'lines'}"
        expect(drawing).to_have_attribute(
            "aria-label", re.compile(f"^{plot.title}, {lines} over epoch 0 to epoch 2; last values: ")
        )
        legend = figure(looked, plot.title).locator(".plot-legend > span")
        eventually(lambda names=names, legend=legend: assert_legend(legend, names, runs[-1]))
        act(looked, plot.title, "Show as table")
        table = looked.get_by_role("region", name=f"Numbers of {plot.title}")
        eventually(lambda names=names, table=table: assert_points(table, names, runs))
        act(looked, plot.title, "Show as chart")


def assert_legend(legend: Locator, names: dict[str, str], run: tl.SavedRun) -> None:
    for label, shown in zip(names, legend.all_inner_texts(), strict=True):
        assert shown.split() == [label, shown.split()[-1]]
        assert says(shown.split()[-1], float(run.scalars(names[label]).values[-1]), 0)


def assert_points(table: Locator, names: dict[str, str], runs: list[tl.SavedRun]) -> None:
    head, *rows = table.evaluate(_READ_TABLE)
    assert len(head) == 1 + 2 * len(names)
    for column, title in enumerate(head[1:], start=1):
        label, _, run_name = title.partition(" · ") if len(names) > 1 or title in names else ("", "", title)
        name = names.get(label) or next(iter(names.values()))
        saved = runs[0] if run_name.endswith(runs[0].path.name) else runs[1]
        points = [(number_in(row[0]), number_in(row[column])) for row in rows if row[column] != ""]
        wanted = saved.scalars(name)
        assert points == list(zip(wanted.steps.tolist(), wanted.values.tolist(), strict=True))


def test_the_cursor_reads_out_epochs_and_values(looked: Page, served: Controlled) -> None:
    losses = tl.open_run(served.runs[-1]).scalars("train/loss").values
    plot = figure(looked, "loss").locator(".plot")
    plot.focus()
    spoken = looked.get_by_role("status", name="At the cursor")
    for key, epoch, loss in (("End", "2", losses[-1]), ("ArrowLeft", "1.75", losses[-2])):
        looked.keyboard.press(key)
        expect(spoken).to_contain_text(f"epoch {epoch}: ")
        said = re.search("trial (\\S+)$", spoken.inner_text())
        assert said is not None
        assert says(said[1], float(loss), 0)
        # In all plots at once.
        expect(figure(looked, "gradient norm").locator(".plot-cursor")).to_have_text(f"epoch {epoch}")
    looked.keyboard.press("Escape")
    expect(looked.locator(".plot-cursor")).to_have_count(0)


def test_the_network_and_the_plots_follow_every_step(looked: Page, served: Controlled) -> None:
    net = NetPage(looked)
    begin(served, PARAMETERS)
    expect(net.stage).to_contain_text("epoch 0 · trial 0 · init")
    served.control.do(control_commands.Step(level="trial", count=NUM_TRIALS - 1))
    expect(net.stage).to_contain_text(f"epoch 0 · trial {NUM_TRIALS - 1}")
    expect_equal(lambda: len(tl.open_run(served.runs[-1]).scalars("train/loss").values), 3)
    loss = float(tl.open_run(served.runs[-1]).scalars("train/loss").values[-1])
    trial = figure(looked, "loss").locator(".plot-legend > span", has_text="trial")
    # In the first moment the run has no point yet, and its name stands there alone.
    expect(trial).to_contain_text(re.compile("trial.*\\d"))
    expect_true(lambda: says(trial.inner_text().split()[-1], loss, 0))
    eventually(lambda: assert_units(net, served))

    served.control.do(control_commands.TestItem(item=5))
    expect(net.stage).to_contain_text("test")
    eventually(lambda: assert_units(net, served))
    # What is chosen here is shown there.
    net.stage.get_by_role("combobox", name="Variable").select_option("Grad")
    looked.get_by_role("link", name="Open NetView").click()
    expect(looked.get_by_role("radiogroup", name="Variable").locator("[aria-checked=true]")).to_have_text(
        "Grad"
    )
    looked.go_back()
    expect(net.stage.get_by_role("combobox", name="Variable")).to_have_value("Grad")
    net.stage.get_by_role("combobox", name="Variable").select_option("Act")


def assert_units(net: NetPage, served: Controlled) -> None:
    """What the pointer reads is what was recorded last."""
    net.is_settled()
    with tl.NetView(served.runs[-1]) as view:
        found = net.points(30, random.Random(0))
        assert {read.layer for _, _, read in found} == {layer.name for layer in view.scene.layers}
        for _, _, read in found:
            value = np.asarray(view.values(f"{read.layer}.Act"), np.float64)[read.index]
            assert read.values[0] == pytest.approx(value, rel=6e-4, abs=1e-4), read
