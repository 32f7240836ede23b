"""NetView: whatever moment is gone to, what is drawn and read is the record of that moment."""

from __future__ import annotations

import random
import re
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from playwright.sync_api import Browser, Page, expect
from torch import nn

import torcheer as tl
from tests.app.serving import SECRET
from tests.browser.netviewmodels import NUM_MOMENTS, write_every_shape
from tests.browser.netviewpage import FlatPlate, NetPage, one_page
from torcheer.app.server import Serving, serve_runs_in_background

LAST = NUM_MOMENTS - 1


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    write_every_shape(root / "net")
    return root


@pytest.fixture(scope="module")
def view(folder: Path) -> Iterator[tl.NetView]:
    with tl.NetView(folder / "net") as opened:
        yield opened


@pytest.fixture(scope="module")
def serving(folder: Path) -> Iterator[Serving]:
    with serve_runs_in_background(folder, secret=SECRET) as served:
        yield served


@pytest.fixture(scope="module")
def looked(browser: Browser, serving: Serving) -> Iterator[Page]:
    with one_page(browser) as page:
        yield page


class Plate:
    """The layer `vector`, alone and flat, with which moments are told apart."""

    def __init__(self, net: NetPage, view: tl.NetView) -> None:
        layer = next(layer for layer in view.scene.layers if layer.name == "vector")
        self.net, self.view, self.layer = net, view, layer
        self.plate = FlatPlate(net, layer, random.Random(0))

    def expect_step(self, step: int, item: int = 0) -> None:
        """What is read there is the record of this step, and of no other."""
        self.net.is_settled()
        units = [0, 5, 17, 36]
        shown = [read.values[0] for read in self.plate.read(units)]
        wanted = [np.asarray(self.view.values("vector.Act", at, item))[units] for at in range(NUM_MOMENTS)]
        distances = [float(np.abs(np.array(shown) - one).max()) for one in wanted]
        assert int(np.argmin(distances)) == step, distances
        assert distances[step] < 5e-4


def opened(page: Page, serving: Serving, view: tl.NetView, query: str) -> Plate:
    return Plate(NetPage.opened(page, serving, f"flat=yes&only=vector&{query}"), view)


def test_keys_and_buttons_go_to_the_moment_they_name(
    looked: Page, serving: Serving, view: tl.NetView
) -> None:
    plate = opened(looked, serving, view, "step=11")
    plate.expect_step(11)
    for key, step in (
        ("ArrowRight", 12),
        ("ArrowRight", 13),
        ("Shift+ArrowLeft", 3),
        ("ArrowLeft", 2),
        ("Shift+ArrowRight", 12),
        ("Home", 0),
        ("End", LAST),
    ):
        looked.keyboard.press(key)
        looked.wait_for_url(re.compile(rf"step={step}(&|$)"))
        plate.expect_step(step)
    for name, step in (("First step", 0), ("Ten steps on", 10), ("One step back", 9), ("Last step", LAST)):
        plate.net.time.get_by_role("button", name=name, exact=True).click()
        looked.wait_for_url(re.compile(rf"step={step}(&|$)"))
        plate.expect_step(step)


def test_scrubbing_ends_at_the_record_where_it_stops(
    looked: Page, serving: Serving, view: tl.NetView
) -> None:
    plate = opened(looked, serving, view, "step=0")
    dice = random.Random(5)
    slider = plate.net.time.get_by_role("slider", name="Step")
    for _ in range(3):
        stop = dice.randrange(NUM_MOMENTS)
        way = [dice.randrange(NUM_MOMENTS) for _ in range(30)]
        # As fast as a hand: much faster than answers come.
        slider.evaluate(
            """async (slider, way) => {
                for (const at of way) {
                    slider.value = at;
                    slider.dispatchEvent(new Event("input", { bubbles: true }));
                    await new Promise(requestAnimationFrame);
                }
            }""",
            [*way, stop],
        )
        looked.wait_for_url(re.compile(rf"step={stop}(&|$)"))
        plate.expect_step(stop)


def test_counters_stand_beside_the_moment(looked: Page, serving: Serving) -> None:
    net = NetPage.opened(looked, serving, "step=17")
    for words in ("Epoch 1", "Trial 17", "Name batch 17"):
        expect(net.time).to_contain_text(words)


def test_playing_goes_on_to_the_last_record(looked: Page, serving: Serving, view: tl.NetView) -> None:
    plate = opened(looked, serving, view, f"step={LAST - 3}")
    looked.keyboard.press("Space")
    expect(plate.net.time.get_by_role("button", name="Pause")).to_be_visible()
    looked.wait_for_url(re.compile(rf"step={LAST}(&|$)"))
    expect(plate.net.time.get_by_role("button", name="Play")).to_be_visible()
    plate.expect_step(LAST)


def test_each_item_of_the_batch_has_its_own_values(looked: Page, serving: Serving, view: tl.NetView) -> None:
    plate = opened(looked, serving, view, "step=6")
    looked.keyboard.press("]")
    plate.expect_step(6, item=1)
    looked.keyboard.press("]")
    plate.expect_step(6, item=2)
    looked.keyboard.press("[")
    plate.expect_step(6, item=1)


def test_variables_are_those_that_were_recorded(looked: Page, serving: Serving, view: tl.NetView) -> None:
    plate = opened(looked, serving, view, "step=8")
    for name in ("Net", "Grad", "Net.Grad", "Act"):
        plate.net.variables.get_by_role("radio", name=name, exact=True).click()
        plate.net.is_settled()
        tensor = np.asarray(view.values(f"vector.{name}", 8))
        level = float(np.ptp(tensor)) / 65531
        for unit, read in enumerate(plate.plate.read_all()):
            assert read.values[0] == pytest.approx(tensor[unit], rel=6e-4, abs=level)


def test_a_unit_over_time_is_listed_as_it_was_recorded(
    looked: Page, serving: Serving, view: tl.NetView
) -> None:
    net = NetPage.opened(looked, serving, "layer=conv2&unit=200&step=4&item=1")
    strip = looked.get_by_role("region", name="Unit over time")
    strip.get_by_role("button", name="Table").click()
    rows = strip.locator("tbody tr")
    expect(rows).to_have_count(NUM_MOMENTS)
    names = strip.locator("thead th").all_inner_texts()[1:]
    assert {"Act", "Net", "Grad", "Net.Grad"} <= set(names)
    cells: list[list[str]] = rows.evaluate_all("rows => rows.map(r => [...r.cells].map(c => c.textContent))")
    for cell in cells:
        step = int(cell[0])
        for name, text in zip(names, cell[1:], strict=True):
            if name not in ("Act", "Net", "Grad", "Net.Grad"):
                continue
            wanted = np.asarray(view.values(f"conv2.{name}", step, 1)).reshape(-1)[200]
            assert np.float32(text.replace("−", "-")) == np.float32(wanted), (step, name)
    assert {int(cell[0]) for cell in cells} == set(range(NUM_MOMENTS))
    strip.get_by_role("button", name="Table").click()
    net.is_settled()


def test_what_comes_is_followed_until_somebody_looks_back(page: Page, tmp_path: Path) -> None:
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(6, 20), nn.Tanh())
    with tl.NetView(model, torch.randn(2, 6), run=tmp_path / "live") as view:
        view.run.flush()
        with serve_runs_in_background(tmp_path, secret=SECRET) as serving:
            layer = view.scene.layers[-1]
            net = NetPage.opened(page, serving, f"flat=yes&only={layer.name}")
            plate = FlatPlate(net, layer, random.Random(1))
            for _ in range(2):
                view.update(torch.randn(2, 6))
                view.run.flush()
                expect_values(plate, np.asarray(view.values(f"{layer.name}.Act")))
            page.keyboard.press("ArrowLeft")
            page.wait_for_url(re.compile("step=1(&|$)"))
            before = np.asarray(view.values(f"{layer.name}.Act", step=1))
            expect_values(plate, before)
            view.update(torch.randn(2, 6))
            view.run.flush()
            expect(net.time.get_by_role("slider", name="Step")).to_have_attribute("max", "3")
            net.is_settled()
            assert_values(plate, before)
            page.keyboard.press("f")
            expect_values(plate, np.asarray(view.values(f"{layer.name}.Act", step=3)))


def assert_values(plate: FlatPlate, tensor: np.ndarray) -> None:
    assert [read.values[0] for read in plate.read_all()] == pytest.approx(tensor.tolist(), rel=6e-4, abs=4e-5)


def expect_values(plate: FlatPlate, tensor: np.ndarray) -> None:
    """Wait for them: what is new comes by itself, after a while."""
    end = time.monotonic() + 20
    while True:
        try:
            assert_values(plate, tensor)
        except AssertionError:
            if time.monotonic() > end:
                raise
            plate.net.page.wait_for_timeout(50)
        else:
            return
