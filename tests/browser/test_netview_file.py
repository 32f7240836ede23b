"""NetView as one file, from disk or in the frame of a notebook; and NetView of a watched training."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from playwright.sync_api import Browser, FrameLocator, Page, expect
from torch import nn

import torcheer as tl
from tests.app.serving import SECRET
from tests.browser.netview_models import NUM_MOMENTS, Recorded
from tests.browser.netview_page import SIZE, FlatPlate, NetPage, layer_of
from tests.browser.pages import expect_equal, expect_param, expect_true, one_page
from tests.many import some
from torcheer.app import serve_runs_in_background
from torcheer.app.html_page import InlinePage
from torcheer.app.netview.net_page import net_file_page

EARLY = 5
SMALL_BYTES = 600_000


@pytest.fixture(scope="module")
def net_file(view: tl.NetView, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pages") / "net.html"
    view.write_html(path)
    return path


@pytest.fixture(scope="module")
def looked(browser: Browser) -> Iterator[Page]:
    with one_page(browser) as page:
        page.context.set_offline(True)
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        yield page
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []


@pytest.mark.parametrize(
    "name",
    some([pytest.param(name, id=name) for name in ("conv2", "hand", "attention.attn")], always=["hand"]),
)
def test_a_file_on_disk_has_the_recorded_values_of_every_moment(
    looked: Page, net_file: Path, view: tl.NetView, name: str
) -> None:
    layer = layer_of(view, name)
    net = NetPage.opened(looked, net_file, f"flat=yes&only={name}&step={EARLY}&item=2")
    plate = FlatPlate(net, layer, random.Random(name))
    for key, step in (("ArrowRight", EARLY + 1), ("End", NUM_MOMENTS - 1)):
        looked.keyboard.press(key)
        expect_param(looked, "step", str(step))
        net.is_settled()
        tensor = np.asarray(view.values(f"{name}.Act", step, 2)).reshape(-1)
        units = [0, tensor.size - 1, *(random.Random(step).randrange(tensor.size) for _ in range(10))]
        wanted = pytest.approx(tensor[units].tolist(), rel=6e-4, abs=float(np.ptp(tensor)) / 65531)
        expect_equal(lambda units=units: [read.values[0] for read in plate.read(units)], wanted)


def test_a_file_lays_the_weights_of_a_unit_on_what_it_receives_from(
    looked: Page, net_file: Path, view: tl.NetView
) -> None:
    unit = 100
    wanted = view.weights("conv2", unit, "received", step=EARLY)["conv1"].reshape(-1)
    net = NetPage.opened(
        looked, net_file, f"flat=yes&only=conv1&layer=conv2&unit={unit}&var=r.Wt&step={EARLY}"
    )
    reads = FlatPlate(net, layer_of(view, "conv1"), random.Random(1)).read_all()
    is_there = [text != "not there" for read in reads for text in read.texts]
    assert is_there == (~np.isnan(wanted)).tolist()
    shown = [read.values[0] for read, is_one in zip(reads, is_there, strict=True) if is_one]
    assert shown == pytest.approx(wanted[is_there].tolist(), rel=6e-4, abs=1e-4)
    expect(net.figure("Act")).to_have_text(re.compile("^−?[0-9.e−]+$"))
    exact = np.asarray(view.values("conv2.Act", EARLY)).reshape(-1)[unit]
    assert np.float32(net.figure("Act").inner_text().replace("−", "-")) == np.float32(exact)


def test_what_has_no_room_in_a_file_is_said_and_is_not_none(
    page: Page, recorded: Recorded, tmp_path: Path
) -> None:
    whole = len(net_file_page(recorded.folder / "net", max_bytes=0))
    small = tmp_path / "small.html"
    small.write_text(net_file_page(recorded.folder / "net", max_bytes=whole + 60_000), encoding="utf-8")
    net = NetPage.opened(page, small, "layer=vector&unit=3&var=r.Wt")
    expect(net.stage).to_contain_text("In this file:")
    expect(net.figure("Weights received")).to_have_text("not in this file")
    expect(net.stage).to_contain_text("Not in this file, which was limited in size")


def test_a_file_that_was_cut_says_so_and_what_writes_it_again(
    page: Page, net_file: Path, tmp_path: Path
) -> None:
    whole = net_file.read_text(encoding="utf-8")
    start = whole.index('id="torcheer-net">') + 200
    cut = tmp_path / "cut.html"
    cut.write_text(whole[:start] + whole[whole.index("</script>", start) :], encoding="utf-8")
    page.goto(cut.as_uri())
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("This page cannot be shown")
    expect(alert).to_contain_text("Write it again with view.write_html(path).")


@pytest.fixture
def frame(page: Page, recorded: Recorded, tmp_path: Path) -> FrameLocator:
    """Between the cells of a notebook."""
    page.set_viewport_size(SIZE)
    inline = InlinePage(net_file_page(recorded.folder / "net", max_bytes=SMALL_BYTES), 600)._repr_html_()
    notebook = tmp_path / "notebook.html"
    notebook.write_text(f"<!doctype html><body>{inline}</body>", encoding="utf-8")
    page.goto(notebook.as_uri())
    return page.frame_locator("iframe")


def test_a_picture_is_shown_where_a_frame_may_save_no_file(frame: FrameLocator) -> None:
    frame.get_by_role("button", name="Picture, video, full screen").click()
    # It floats: what it opens over stays where it is.
    menu = frame.get_by_role("dialog", name="Picture, video, full screen")
    assert menu.evaluate("menu => getComputedStyle(menu).position") == "absolute"
    expect(frame.get_by_role("button", name="Record video from here (WebM)")).to_be_disabled()
    expect(frame.get_by_role("button", name="Full screen", exact=True)).to_be_disabled()
    expect(menu).to_contain_text("view.write_html(path)")
    frame.get_by_role("button", name="Show picture (PNG)").click()
    picture = frame.get_by_role("img", name="The network as it is drawn")
    expect(picture).to_be_visible()
    # All of it is there, for the menu of the browser to save.
    expect(picture).to_have_attribute("src", re.compile("^data:image/png;base64,"))
    expect_true(lambda: picture.evaluate("image => image.naturalWidth") > 400)
    frame.get_by_role("button", name="Close").click()
    expect(picture).to_have_count(0)


def test_a_watched_training_has_its_layers_on_the_page(page: Page, tmp_path: Path) -> None:
    torch.manual_seed(4)
    model = nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(3 * 16, 5))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(2, 1, 6, 6)
    seen: list[torch.Tensor] = []
    model[0].register_forward_hook(lambda _, __, out: seen.append(out.detach().clone()))
    with tl.watch(
        model, optimizer, run=tmp_path / "watched", every=1, budget=None, when_full="block", tensors="whole"
    ):
        for _ in range(3):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
    with (
        tl.NetView(tmp_path / "watched") as view,
        serve_runs_in_background(tmp_path, secret=SECRET) as serving,
    ):
        net = NetPage.opened(page, serving, "flat=yes")
        expect(net.drawing).to_have_accessible_name(re.compile("layers"))
        for name in ("0", "3"):
            expect(net.layers.get_by_role("button", name=f"Isolate {name}", exact=True)).to_be_visible()
        net = NetPage.opened(page, serving, "flat=yes&only=0&item=1")
        plate = FlatPlate(net, layer_of(view, "0"), random.Random(2))
        for key, at in (("End", 2), ("Home", 0)):
            page.keyboard.press(key)
            net.is_settled()
            values = seen[at][1].reshape(-1).numpy()
            wanted = pytest.approx(values.tolist(), rel=6e-4, abs=float(np.ptp(values)) / 65531)
            expect_equal(lambda: [read.values[0] for read in plate.read_all()], wanted)
