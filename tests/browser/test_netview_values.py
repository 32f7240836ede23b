"""NetView: the value under the pointer is that of the recorded tensor in every shape; so is its colour."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import Browser, Page

import torcheer as tl
from tests.app.serving import SECRET
from tests.browser.netviewmodels import write_every_shape
from tests.browser.netviewpage import FlatPlate, NetPage, Pixels, Read, one_page
from torcheer.app.server import Serving, serve_runs_in_background
from torcheer.run.netscene import NetLayer

LAYERS = (
    "picture",
    "words",
    "conv1",
    "conv2",
    "vector",
    "hand",
    "embed",
    "attention.attn",
    "attention",
    "out",
)
LIMIT = 1.5
SHADES = (1.0, 0.82, 0.68, 0.9)  # of the faces of a bar
VIEWS = {
    "bars": (False, (0, 0)),
    "bars from another side": (False, (260, 60)),
    "bars from low": (False, (-420, -130)),
    "flat": (True, (0, 0)),
}


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


def layer_of(view: tl.NetView, name: str) -> NetLayer:
    return next(layer for layer in view.scene.layers if layer.name == name)


def recorded(view: tl.NetView, layer: str) -> NDArray[np.float64]:
    return np.asarray(view.values(f"{layer}.Act"), np.float64)


def assert_reads(read: Read, layer: NetLayer, tensor: NDArray[np.float64]) -> None:
    """As exact as four digits and a level of two bytes are."""
    assert len(read.index) == len(layer.shape)
    wanted = (
        [tensor[(part, *read.index[1:])] for part in range(3)]
        if layer.grid.is_colour
        else [tensor[read.index]]
    )
    level = float(tensor.max() - tensor.min()) / 65531
    assert len(read.values) == len(wanted)
    for shown, value in zip(read.values, wanted, strict=True):
        assert shown == pytest.approx(value, rel=6e-4, abs=level), (read, value)


@pytest.mark.parametrize("name", VIEWS)
def test_the_value_under_the_pointer_and_its_colour_are_those_of_the_record(
    looked: Page, serving: Serving, view: tl.NetView, name: str
) -> None:
    is_flat, turn = VIEWS[name]
    dice = random.Random(name)
    net = NetPage.opened(looked, serving, f"limits=-{LIMIT},{LIMIT}{'&flat=yes' if is_flat else ''}")
    if turn != (0, 0):
        net.drag(*turn)
    picture, ramp = net.picture(), net.colours("div")
    seen: dict[str, int] = {}
    matches = []
    for x, y, read in net.points(240, dice):
        layer = layer_of(view, read.layer)
        tensor = recorded(view, read.layer)
        assert_reads(read, layer, tensor)
        seen[read.layer] = seen.get(read.layer, 0) + 1
        if is_even(picture, x, y):
            matches.append(is_coloured(picture[y, x], tensor, read, layer, ramp))
    assert len(seen) >= 8
    # Lines and names are drawn over a few of them.
    assert len(matches) >= 20
    assert np.mean(matches) >= 0.9


def is_even(picture: Pixels, x: int, y: int) -> bool:
    """Not at an edge, where colours mix."""
    around = picture[y - 1 : y + 2, x - 1 : x + 2].reshape(-1, 3).astype(int)
    return bool((np.ptp(around, axis=0) <= 2).all())


def is_coloured(
    pixel: Pixels, tensor: NDArray[np.float64], read: Read, layer: NetLayer, ramp: Pixels
) -> bool:
    if layer.grid.is_colour:
        parts = np.array([tensor[(part, *read.index[1:])] for part in range(3)])
        wanted = (parts - tensor.min()) / np.ptp(tensor) * 255
        return bool(np.abs(pixel - wanted).max() <= 3)
    at = round(float(np.clip((tensor[read.index] + LIMIT) / (2 * LIMIT), 0, 1)) * 255)
    return any(np.abs(pixel - ramp[at] * shade).max() <= 4 for shade in SHADES)


@pytest.mark.parametrize("name", LAYERS)
def test_each_unit_of_a_layer_lies_where_its_grid_says(
    looked: Page, serving: Serving, view: tl.NetView, name: str
) -> None:
    dice = random.Random(name)
    layer, tensor = layer_of(view, name), recorded(view, name)
    net = NetPage.opened(looked, serving, f"flat=yes&only={name}")
    plate = FlatPlate(net, layer, dice)
    units = [0, tensor.size - 1, *(dice.randrange(tensor.size) for _ in range(20))]
    for read in plate.read(units):
        assert_reads(read, layer, tensor)
