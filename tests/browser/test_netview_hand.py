"""NetView by hand: fingers, keys wherever the focus is, full screen, video, an address that keeps it all."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from playwright.sync_api import Browser, Page, expect
from torch import nn

import torcheer as tl
from tests.app.serving import SECRET
from tests.browser.netview_page import SIZE, NetPage
from tests.browser.pages import eventually, expect_no_param, expect_param, go_to, one_page
from torcheer.app import serve_runs_in_background
from torcheer.app.server import Serving

NUM_MOMENTS = 5


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    torch.manual_seed(2)
    model = nn.Sequential(nn.Linear(12, 30), nn.Tanh(), nn.Linear(30, 6))
    with tl.NetView(model, torch.randn(2, 12), run=root / "net") as view:
        for _ in range(1, NUM_MOMENTS):
            view.update(torch.randn(2, 12))
    other = tl.Run(root / "net", rank=2)
    other.log_tensor(0, "elsewhere.Act", np.ones((1, 4), np.float32))
    other.close()
    return root


# --- keys ------------------------------------------------------------------------------------------


def test_keys_hold_while_a_box_or_a_slider_has_the_focus(looked: Page, serving: Serving) -> None:
    net = NetPage.opened(looked, serving, "step=1")
    looked.keyboard.press("Shift+Digit1")
    used = net.camera.get_by_role("button", name="Camera 1", exact=True)
    for field in (
        looked.get_by_role("checkbox", name="Arrows"),
        looked.get_by_role("slider", name="Fade small values"),
        looked.get_by_role("slider", name="Batch item"),
    ):
        looked.keyboard.press("0")
        expect(used).to_have_attribute("aria-pressed", "false")
        field.focus()
        looked.keyboard.press("1")
        expect(used).to_have_attribute("aria-pressed", "true")
        looked.keyboard.press("0")
        expect(used).to_have_attribute("aria-pressed", "false")


def test_boxes_and_sliders_keep_their_own_keys(looked: Page, serving: Serving) -> None:
    NetPage.opened(looked, serving, "step=1")
    box = looked.get_by_role("checkbox", name="Arrows")
    box.focus()
    looked.keyboard.press("Space")
    expect(box).not_to_be_checked()
    looked.keyboard.press("Space")
    expect(box).to_be_checked()
    slider = looked.get_by_role("slider", name="Fade small values")
    slider.focus()
    looked.keyboard.press("ArrowRight")
    looked.keyboard.press("ArrowRight")
    expect(slider).to_have_value("0.1")
    expect_param(looked, "fade", "0.1")
    looked.keyboard.press("Home")
    expect(slider).to_have_value("0")
    expect_no_param(looked, "fade")
    expect_param(looked, "step", "1")


def test_after_a_click_of_the_mouse_arrows_and_space_are_those_of_time(
    looked: Page, serving: Serving
) -> None:
    net = NetPage.opened(looked, serving, "step=1")
    net.variables.get_by_role("radio", name="Act", exact=True).click()
    looked.keyboard.press("ArrowRight")
    expect_param(looked, "step", "2")
    expect(net.variables.get_by_role("radio", name="Act", exact=True)).to_be_checked()
    for press in (
        looked.get_by_role("radio", name="2D", exact=True).click,
        looked.get_by_text("Arrows", exact=True).click,
    ):
        press()
        expect(net.drawing).to_be_focused()
    looked.keyboard.press("ArrowLeft")
    expect_param(looked, "step", "1")
    expect(looked.get_by_role("radio", name="2D", exact=True)).to_be_checked()
    looked.keyboard.press("Space")
    expect(net.time.get_by_role("button", name="Pause")).to_be_visible()
    looked.keyboard.press("Space")
    expect(net.time.get_by_role("button", name="Play")).to_be_visible()


def test_variables_that_were_reached_by_a_key_keep_their_arrows(looked: Page, serving: Serving) -> None:
    net = NetPage.opened(looked, serving, "step=1")
    looked.keyboard.press("v")
    looked.keyboard.press("ArrowRight")
    expect(net.variables.get_by_role("radio", name="Act", exact=True)).not_to_be_checked()
    expect(net.variables.locator("[aria-checked=true]")).to_be_focused()
    expect(looked).to_have_url(re.compile("var="))
    expect_param(looked, "step", "1")


def test_keys_of_folded_panels_hold(looked: Page, serving: Serving) -> None:
    net = NetPage.opened(looked, serving)
    looked.set_viewport_size({"width": 1000, "height": 700})
    expect(net.variables).to_have_count(0)
    looked.keyboard.press("]")
    expect_param(looked, "item", "1")
    looked.keyboard.press("v")
    expect(net.variables.get_by_role("radio", name="Act", exact=True)).to_be_focused()
    looked.keyboard.press("Escape")
    looked.set_viewport_size(SIZE)


# --- the address ------------------------------------------------------------------------------------


def test_an_address_keeps_run_hidden_layers_height_and_fading(looked: Page, serving: Serving) -> None:
    net = NetPage.opened(looked, serving)
    expect(looked).to_have_url(re.compile("run="))
    net.layers.get_by_role("button", name="Hide 0", exact=True).click()
    looked.get_by_role("checkbox", name="Height").uncheck()
    looked.get_by_role("slider", name="Fade small values").fill("0.5")
    expect_param(looked, "fade", "0.5")
    looked.reload()
    net.is_settled()
    expect(net.drawing).to_have_accessible_name(re.compile(": 2 layers, 18 units"))
    expect(looked.get_by_role("checkbox", name="Height")).not_to_be_checked()
    expect(looked.get_by_role("slider", name="Fade small values")).to_have_value("0.5")
    looked.get_by_role("button", name="Hide 2", exact=True).click()
    looked.get_by_role("button", name="Hide input", exact=True).click()
    expect(net.stage).to_contain_text("All layers are hidden")
    looked.get_by_role("button", name="Show all", exact=True).click()
    expect(net.drawing).to_have_accessible_name(re.compile(": 3 layers"))


def test_a_rank_is_chosen_where_there_are_several(looked: Page, serving: Serving) -> None:
    net = NetPage.opened(looked, serving)
    ranks = looked.get_by_role("combobox", name="Rank")
    expect(ranks.locator("option")).to_have_text(["rank 0", "rank 2"])
    ranks.select_option("2")
    expect_param(looked, "rank", "2")
    expect(net.drawing).to_have_accessible_name(re.compile(": 1 layer, 4 units"))
    ranks.select_option("0")
    expect(net.drawing).to_have_accessible_name(re.compile(": 3 layers"))
    expect(looked).not_to_have_url(re.compile("rank="))


# --- over time ----------------------------------------------------------------------------------------


def test_over_time_the_value_under_the_pointer_is_that_of_its_moment(
    looked: Page, serving: Serving, folder: Path
) -> None:
    net = NetPage.opened(looked, serving, "flat=yes&only=2&raster=yes")
    with tl.NetView(folder / "net") as view:
        wanted = [np.asarray(view.values("2.Act", step)).reshape(-1) for step in range(NUM_MOMENTS)]
    expect(net.drawing).to_have_accessible_name(re.compile("flat, over time"))
    net.is_settled()
    _, _, width, height = net.box()
    places = [(x, y) for x in range(20, int(width) - 20, 25) for y in range(80, int(height) - 40, 30)]

    def all_are_read() -> None:
        reads = [read for read in net.sweep(places) if read is not None]
        for read in reads:
            assert read.step is not None
            assert read.values[0] == pytest.approx(wanted[read.step][read.index[0]], rel=6e-4, abs=1e-4)
        assert {(read.step, read.index[0]) for read in reads} == set(
            itertools.product(range(NUM_MOMENTS), range(6))
        )

    eventually(all_are_read)


# --- the screen, and a film ----------------------------------------------------------------------------


def test_full_screen_is_gone_to_and_left(looked: Page, serving: Serving) -> None:
    net = NetPage.opened(looked, serving)
    net.open_menu()
    looked.get_by_role("button", name="Full screen", exact=True).click()
    looked.wait_for_function("() => document.fullscreenElement?.matches('.netview') === true")
    leave = looked.get_by_role("button", name="Leave full screen")
    expect(leave).to_be_visible()
    leave.click()
    looked.wait_for_function("() => document.fullscreenElement === null")
    expect(looked.get_by_role("button", name="Full screen", exact=True)).to_be_visible()


def test_a_video_of_the_moments_is_saved(looked: Page, serving: Serving) -> None:
    net = NetPage.opened(looked, serving, "step=1")
    net.open_menu()
    with looked.expect_download() as download:
        looked.get_by_role("button", name="Record video from here (WebM)").click()
        expect(net.stage).to_contain_text("A video is recorded")
    assert download.value.suggested_filename == "net-Act.webm"
    assert Path(download.value.path()).read_bytes()[:4] == b"\x1a\x45\xdf\xa3"  # as such files begin
    expect_param(looked, "step", str(NUM_MOMENTS - 1))
    expect(net.stage).not_to_contain_text("A video is recorded")


def test_a_video_is_stopped_by_hand_and_by_leaving(page: Page, tmp_path: Path) -> None:
    with tl.Run(tmp_path / "long") as run:
        for step in range(400):
            run.log_tensor(step, "a.Act", np.full((1, 4), step, np.float32))
    with serve_runs_in_background(tmp_path, secret=SECRET) as serving:
        net = NetPage.opened(page, serving, "step=0")
        for leave in (
            lambda: page.get_by_role("button", name=re.compile("^Stop the video")).click(),
            lambda: page.get_by_role("link", name="Runs", exact=True).click(),
        ):
            net.open_menu()
            with page.expect_download() as download:
                page.get_by_role("button", name="Record video from here (WebM)").click()
                expect_param(page, "step", r"[1-9]\d*")
                leave()
            assert Path(download.value.path()).stat().st_size > 500
        # What goes on elsewhere is left alone.
        expect(page.get_by_role("grid", name="Runs")).to_be_visible()
        expect_no_param(page, "step")


# --- fingers --------------------------------------------------------------------------------------------


class Fingers:
    """On the glass. The mouse of a test has one pointer; a touch has as many as there are fingers."""

    def __init__(self, net: NetPage) -> None:
        self.net = net
        self._session = net.page.context.new_cdp_session(net.page)

    def _send(self, kind: str, places: list[tuple[float, float]]) -> None:
        left, top, _, _ = self.net.box()
        points: list[dict[str, Any]] = [
            {"x": left + x, "y": top + y, "id": number} for number, (x, y) in enumerate(places)
        ]
        self._session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    def drag(self, ways: list[tuple[tuple[float, float], tuple[float, float]]], steps: int = 6) -> None:
        """Each finger from one place to another, all at once."""
        self._send("touchStart", [start for start, _ in ways])
        for step in range(1, steps + 1):
            share = step / steps
            self._send(
                "touchMove",
                [(x + (to_x - x) * share, y + (to_y - y) * share) for (x, y), (to_x, to_y) in ways],
            )
        self._send("touchEnd", [])

    def tap(self, x: float, y: float) -> None:
        self._send("touchStart", [(x, y)])
        self._send("touchEnd", [])


@pytest.fixture(scope="module")
def fingers(browser: Browser, serving: Serving) -> Iterator[Fingers]:
    with one_page(browser, size=SIZE, has_touch=True) as page:
        yield Fingers(NetPage.opened(page, serving))


CAMERA = """(slot) => {
  const kept = Object.entries(localStorage).find(([name]) => name.includes("netview.cameras"));
  return kept === undefined ? undefined : JSON.parse(kept[1])[slot];
}"""


def camera_of(net: NetPage, slot: int) -> list[float]:
    """Flat or not, around, up, distance, target: as it is now, by way of a slot that is empty."""
    net.two_frames()
    net.page.keyboard.press(f"Shift+Digit{slot}")
    net.page.wait_for_function(f"slot => ({CAMERA})(slot) !== undefined", arg=str(slot))
    return list(net.page.evaluate(CAMERA, str(slot)))


def test_one_finger_turns_and_two_zoom(fingers: Fingers) -> None:
    net = fingers.net
    _, _, width, height = net.box()
    x, y = width / 2, height / 2
    fingers.drag([((x, y), (x + 120, y + 30))])
    turned = camera_of(net, 1)
    fingers.drag([((x, y), (x - 60, y))])
    before = camera_of(net, 2)
    assert before[1] - turned[1] == pytest.approx(60 * 0.008, rel=0.15)
    assert before[3] == turned[3]
    # Twice as far apart: half as far away.
    fingers.drag([((x - 50, y), (x - 100, y)), ((x + 50, y), (x + 100, y))])
    after = camera_of(net, 3)
    assert after[3] == pytest.approx(before[3] / 2, rel=0.1)
    assert after[1:3] == before[1:3]


def test_a_tap_selects_the_unit_under_the_finger(fingers: Fingers) -> None:
    net = fingers.net
    _, _, width, height = net.box()
    places = [(x, y) for x in range(60, int(width) - 60, 20) for y in range(80, int(height) - 60, 20)]
    at, read = next(
        (place, one) for place, one in zip(places, net.sweep(places), strict=True) if one and one.layer == "0"
    )
    fingers.tap(*at)
    expect(net.figure("Unit")).to_have_text(f"0 [{read.index[0]}]")


def test_the_list_of_runs_leads_to_the_network(looked: Page, serving: Serving) -> None:
    go_to(looked, serving, "runs", "training")
    looked.get_by_role("link", name=re.compile("^NetView of ")).first.click()

    expect(looked).to_have_url(re.compile("#netview\\?run="))
    expect(NetPage(looked).drawing).to_have_accessible_name(re.compile(": 3 layers"))
