"""NetView: what is drawn, and from where: layers hidden and alone, cameras, themes, files, 742,000 units."""

from __future__ import annotations

import math
import random
import re
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from playwright.sync_api import Browser, Page, expect
from torch import nn

import torcheer as tl
from examples.alexnet import AlexNet
from tests.app.serving import SECRET
from tests.browser.netview_page import SIZE, FlatPlate, NetPage, Pixels, layer_of
from tests.browser.pages import NO_WEBGL, expect_equal, expect_param, one_page
from tests.many import some
from torcheer.app import serve_runs_in_background
from torcheer.app.server import Serving
from torcheer.netview import grid_of
from torcheer.run import NetLayer, Place

NUM_ALEXNET_UNITS = 742_248
LAYERS = ("input", "0", "3", "5")


def small() -> tuple[nn.Module, torch.Tensor]:
    torch.manual_seed(2)
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.Tanh(), nn.Flatten(), nn.Linear(4 * 8 * 8, 30), nn.Tanh(), nn.Linear(30, 6)
    )
    return model, torch.randn(2, 1, 10, 10)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("runs")
    model, x = small()
    with tl.NetView(model, x, run=root / "net") as view:
        view.update(-x)
    return root


def opened_whole(looked: Page, serving: Serving) -> NetPage:
    net = NetPage.opened(looked, serving)
    net.show_all()
    return net


def differing(one: Pixels, other: Pixels) -> float:
    """The share of pixels that are not the same."""
    assert one.shape == other.shape
    # Without the buttons at the top, and the frame around what has the focus.
    inner = slice(60, -8), slice(8, -8)
    return float((np.abs(one[inner].astype(int) - other[inner]).max(2) > 8).mean())


def expect_layers(net: NetPage, *names: str, num: int = 150) -> None:
    """Wait until these and no others are drawn."""
    expect_equal(lambda: {read.layer for _, _, read in net.points(num, random.Random(9))}, {*names})


def test_layers_are_hidden_and_shown_again(looked: Page, serving: Serving) -> None:
    net = opened_whole(looked, serving)
    expect_layers(net, *LAYERS)
    net.layers.get_by_role("button", name="Hide 3", exact=True).click()
    expect(net.drawing).to_have_accessible_name(re.compile(": 3 layers, 362 units"))
    expect_layers(net, "input", "0", "5")
    net.layers.get_by_role("button", name="Show 3", exact=True).click()
    expect_layers(net, *LAYERS)
    net.layers.get_by_role("button", name="Isolate 0", exact=True).click()
    expect_layers(net, "0", num=20)
    looked.get_by_role("button", name="Show all", exact=True).click()
    expect_layers(net, *LAYERS)


@pytest.mark.parametrize("name", some([pytest.param(name, id=name) for name in LAYERS], always=["0"]))
def test_a_double_click_shows_the_layer_under_it_alone_and_another_one_all(
    looked: Page, serving: Serving, name: str
) -> None:
    net = opened_whole(looked, serving)
    whole = net.picture()
    x, y = next((x, y) for x, y, read in net.points(100, random.Random(1)) if read.layer == name)
    net.click(x, y, count=2)
    expect(net.drawing).to_have_accessible_name(re.compile(": 1 layer,"))
    looked.keyboard.press("Escape")
    net.is_settled()
    net.rests()
    expect_layers(net, name, num=20)
    _, _, width, height = net.box()
    net.click(width / 2, height / 2, count=2)
    expect(net.drawing).to_have_accessible_name(re.compile(": 4 layers"))
    looked.keyboard.press("Escape")
    net.rests()
    assert differing(whole, net.picture()) < 0.01


def test_cameras_are_kept_and_come_back(page: Page, serving: Serving) -> None:
    net = NetPage.opened(page, serving)
    first = net.picture()
    page.keyboard.press("Shift+Digit1")
    expect(net.camera.get_by_role("button", name="Camera 1", exact=True)).to_have_attribute(
        "aria-pressed", "true"
    )
    net.drag(150, 40)
    turned = net.picture()
    assert differing(first, turned) > 0.05
    page.keyboard.press("Shift+Digit2")
    net.drag(90, -70, button="right")
    assert differing(turned, net.picture()) > 0.05
    page.keyboard.press("1")
    net.rests()
    assert differing(first, net.picture()) < 0.002
    page.reload()
    net.is_settled()
    page.keyboard.press("2")
    net.rests()
    assert differing(turned, net.picture()) < 0.002
    page.keyboard.press("0")
    net.rests()
    assert differing(first, net.picture()) < 0.002


def test_the_wheel_zooms_to_what_is_under_the_pointer(looked: Page, serving: Serving) -> None:
    net = opened_whole(looked, serving)
    whole = net.picture()
    left, top, _, _ = net.box()
    x, y, before = next(
        (x, y, read) for x, y, read in net.points(40, random.Random(12)) if is_inside(net, x, y)
    )
    looked.mouse.move(left + x, top + y)
    looked.mouse.wheel(0, -250)
    near = net.next_picture(whole)
    after = net.point(x, y)
    assert after is not None
    assert (after.layer, after.index) == (before.layer, before.index)
    assert is_inside(net, x, y, 4)
    looked.mouse.move(left + x, top + y)
    looked.mouse.wheel(0, 250)
    net.next_picture(near)


def is_inside(net: NetPage, x: int, y: int, by: int = 3) -> bool:
    """Not at the edge of a unit: all around it is the same one."""
    around = net.sweep([(x + i * by, y + j * by) for i in (-1, 0, 1) for j in (-1, 0, 1)])
    return len({None if read is None else (read.layer, read.index) for read in around}) == 1


def test_the_flat_view_is_another_picture_of_the_same_units(looked: Page, serving: Serving) -> None:
    net = opened_whole(looked, serving)
    deep = net.picture()
    looked.get_by_role("radio", name="2D").or_(looked.get_by_role("button", name="2D")).first.click()
    expect_param(looked, "flat", "yes")
    net.is_settled()
    assert differing(deep, net.next_picture(deep)) > 0.1
    expect_layers(net, *LAYERS)


def test_height_can_be_switched_off(looked: Page, serving: Serving) -> None:
    net = opened_whole(looked, serving)
    raised = net.picture()
    looked.get_by_role("checkbox", name="Height").uncheck()
    flat = net.next_picture(raised)
    assert differing(raised, flat) > 0.01
    looked.get_by_role("checkbox", name="Height").check()
    assert differing(raised, net.next_picture(flat)) < 0.002


def test_a_picture_is_saved_with_the_plates_on_it(looked: Page, serving: Serving) -> None:
    net = opened_whole(looked, serving)
    shown = net.picture()
    net.open_menu()
    with looked.expect_download() as download:
        looked.get_by_role("button", name="Save picture (PNG)").click()
    assert download.value.suggested_filename.endswith(".png")
    saved = np.asarray(Image.open(BytesIO(Path(download.value.path()).read_bytes())).convert("RGB"))
    assert saved.shape == shown.shape
    assert differing(saved, shown) < 0.01
    assert len(np.unique(saved.reshape(-1, 3), axis=0)) > 100


def test_with_time_along_one_side_more_is_drawn(looked: Page, serving: Serving) -> None:
    net = opened_whole(looked, serving)
    now = net.picture()
    looked.get_by_role("checkbox", name="Raster").check()
    expect_param(looked, "raster", "yes")
    expect(net.drawing).to_have_accessible_name(re.compile("over time"))
    assert differing(now, net.next_picture(now)) > 0.02
    looked.get_by_role("checkbox", name="Raster").uncheck()


def test_the_colours_are_those_of_the_theme(looked: Page, serving: Serving, folder: Path) -> None:
    net = NetPage.opened(looked, serving, "flat=yes&only=3&limits=-1,1")
    with tl.NetView(folder / "net") as view:
        tensor, layer = np.asarray(view.values("3.Act")), layer_of(view, "3")
    plate = FlatPlate(net, layer, random.Random(3))
    light = net.picture()
    assert light[-3, 3].mean() > 220
    assert_coloured(light, net.colours("div"), plate, tensor)
    looked.emulate_media(color_scheme="dark")
    dark = net.next_picture(light)
    assert dark[-3, 3].mean() < 60
    assert_coloured(dark, net.colours("div"), plate, tensor)
    looked.emulate_media(color_scheme="light")


def assert_coloured(picture: Pixels, ramp: Pixels, plate: FlatPlate, tensor: np.ndarray) -> None:
    for unit in range(30):
        x, y = (round(part) for part in plate.place(unit))
        wanted = ramp[round(float(np.clip((tensor[unit] + 1) / 2, 0, 1)) * 255)]
        assert np.abs(picture[y, x].astype(int) - wanted).max() <= 3


@pytest.mark.usefixtures("context")
def test_without_webgl_the_page_says_so_and_the_rest_of_it_works(page: Page, serving: Serving) -> None:
    page.add_init_script(NO_WEBGL)
    net = NetPage.opened(page, serving)
    expect(net.stage).to_contain_text("No WebGL2 in this browser: nothing can be drawn here.")
    expect(net.layers.get_by_role("button", name="Hide 3", exact=True)).to_be_visible()


ODD = {
    "no numbers": np.array([math.nan, math.inf, -math.inf, 0.5, -2.0, 0.0], np.float32),
    "all NaN": np.full(5, math.nan, np.float32),
    "all alike": np.full(4, 0.25, np.float32),
    "huge": np.array([3e38, -3e38, 1.0], np.float32),
    "tiny": np.array([1e-42, 3e-42, 0.0], np.float32),
    "whole": np.array([-7, 3, 2**40], np.int64),
}


def test_what_is_no_number_is_said_and_never_looks_like_one(page: Page, tmp_path: Path) -> None:
    with tl.Run(tmp_path / "odd") as run:
        for name, values in ODD.items():
            run.log_tensor(0, f"{name}.Act", values[None])
    danger_of = "() => getComputedStyle(document.documentElement).getPropertyValue('--danger').trim()"
    with serve_runs_in_background(tmp_path, secret=SECRET) as serving:
        for name, values in ODD.items():
            net = NetPage.opened(page, serving, f"flat=yes&only={name.replace(' ', '%20')}")
            shape = list(values.shape)
            layer = NetLayer(
                name=name, module="", shape=shape, grid=grid_of(shape), variables=["Act"], place=Place()
            )
            picture = net.picture()
            plate = FlatPlate(net, layer, random.Random(1))
            code = page.evaluate(danger_of).lstrip("#")
            danger = [int(code[at : at + 2], 16) for at in (0, 2, 4)]
            low, high = (float(limit(values[np.isfinite(values)], initial=0)) for limit in (np.min, np.max))
            for unit, read in enumerate(plate.read_all()):
                shown, value = read.values[0], float(values[unit])
                x, y = (round(part) for part in plate.place(unit))
                cell = picture[y - 20 : y + 20, x - 20 : x + 20].reshape(-1, 3).astype(int)
                has_danger = bool((np.abs(cell - danger).max(1) <= 3).any())
                assert has_danger == (not math.isfinite(value)), (name, unit)
                if math.isnan(value):
                    assert math.isnan(shown)
                elif math.isinf(value):
                    assert shown == value
                else:
                    assert shown == pytest.approx(value, rel=6e-4, abs=high / 65531 - low / 65531)


def test_alexnet_with_its_742_248_units_is_drawn_and_turns(browser: Browser, tmp_path: Path) -> None:
    torch.manual_seed(0)
    x = torch.rand(1, 3, 224, 224)
    with tl.NetView(AlexNet().eval(), x, run=tmp_path / "net", weights=None) as view:
        layers = {layer.name: layer for layer in view.scene.layers}
        values = {name: np.asarray(view.values(f"{name}.Act")) for name in layers}
    assert sum(layer.grid.num_units for layer in layers.values()) == NUM_ALEXNET_UNITS
    with (
        serve_runs_in_background(tmp_path, secret=SECRET) as serving,
        one_page(browser, size=SIZE, may_be_slow=True) as page,
    ):
        net = NetPage.opened(page, serving)
        net.is_slow = True
        expect(net.drawing).to_have_accessible_name(re.compile("13 layers, 742.248 units"))
        before = net.picture()
        net.drag(-170, 30)
        assert differing(before, net.next_picture(before)) > 0.1
        for _, _, read in net.points(60, random.Random(80)):
            tensor, layer = values[read.layer], layers[read.layer]
            index = (slice(None), *read.index[1:]) if layer.grid.is_colour else read.index
            wanted = np.atleast_1d(tensor[index]).tolist()
            level = float(np.ptp(tensor)) / 65531
            assert list(read.values) == pytest.approx(wanted, rel=6e-4, abs=level)
