"""Photograph the pages of runs for docs/gallery/pages: `python -m tests.browser.gallery`.

The runs are those of examples/digits_trials.py, trained anew, so numbers and times differ a little each time.
NetView shows the same network while it learns, and AlexNet. With names of pictures, only these are taken.
"""

import os
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import torch
from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright
from torch.utils.data import DataLoader, Dataset

import torcheer as tl
import torcheer.autograd as T
from examples import alexnet_netview, digits, digits_trials
from tests.browser.chromium import ARGUMENTS, find_chromium
from torcheer.app import serve_runs_in_background
from torcheer.training.control import Control

FOLDER = Path(__file__).parent.parent.parent / "docs" / "gallery" / "pages"
SIZE = {"width": 1440, "height": 900}
THEMES = ("light", "dark")
NUM_COLOURS = 256
SETTLING_MS = 4000


class Shot(NamedTuple):
    """One page: its place in the address, and what is done there before it is photographed."""

    address: str
    prepare: Callable[[Page], None] = lambda page: None


def _scroll_to(heading: str) -> Callable[[Page], None]:
    def scroll(page: Page) -> None:
        page.get_by_role("heading", name=heading, exact=True).first.evaluate(
            "heading => heading.scrollIntoView({ block: 'start' })"
        )

    return scroll


def _open_pass(page: Page) -> None:
    page.keyboard.press("/")
    page.keyboard.type("features.2")
    page.keyboard.press("Enter")


SHOTS = {
    "runs": Shot("runs"),
    "charts": Shot("training"),
    "evaluation": Shot("training", _scroll_to("evaluation")),
    "layers": Shot("layers"),
    "tensors": Shot("tensors"),
    "projector": Shot("projector"),
    "parameters": Shot("parameters"),
    "graph": Shot("graph", _open_pass),
}


# A unit in the middle of a map, so that its kernel lies on the maps before it, at a moment when it learns.
UNIT = "layer=features.2&unit=347&step=24"
NETWORK_SHOTS = {
    "netview": Shot(f"netview?limits=-4,4&{UNIT}"),
    "netview-weights": Shot(f"netview?var=r.Wt&{UNIT}"),
    "netview-flat": Shot(f"netview?flat=yes&limits=-4,4&{UNIT}"),
}
ANALYSIS_SHOTS = {
    "netview-similarity": Shot("netview?show=analysis&one=features.2&two=hidden"),
    "netview-components": Shot("netview?show=analysis&see=components&one=features.2&two=hidden"),
}
ALEXNET_SHOTS = {"netview-alexnet": Shot("netview")}


def _train_for_a_while(page: Page) -> None:
    press = page.get_by_role("button", name="Init", exact=True)
    expect(press).to_be_enabled(timeout=60_000)
    press.click()
    page.get_by_role("radio", name="epoch").click()
    page.get_by_role("spinbutton", name="Number of steps").or_(
        page.get_by_role("textbox", name="Number of steps")
    ).fill("12")
    for name in ("Step", "Test all"):
        button = page.get_by_role("button", name=name, exact=True)
        expect(button).to_be_enabled(timeout=60_000)
        button.click()


CONTROL_SHOTS = {"control": Shot("control", _train_for_a_while)}


def _answer(page: Page) -> None:
    """One gradient that is right, and one that is not."""
    for symbol, answer in (("x", "g"), ("b", "g")):
        field = page.get_by_role("textbox", name=f"Gradient of {symbol}", exact=True)
        field.fill(answer)
        field.press("Enter")
        expect(page.get_by_role("form", name=f"Gradient of {symbol}").locator(".verdict")).to_be_visible()


def _explain(page: Page) -> None:
    """The page of a graph that a program made, which is one file."""
    torch.manual_seed(0)
    x, target = T.tensor([[1.0, -0.5], [0.25, 2.0]]), T.tensor([[1.0], [0.0]])
    w1, w2 = T.randn(2, 3, requires_grad=True), T.randn(3, 1, requires_grad=True)
    h = T.tanh(x @ w1)
    y = T.sigmoid(h @ w2)
    loss = ((y - target) ** 2).mean()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lesson.html"
        loss.explain(path, title="Two layers, by hand")
        page.goto(path.as_uri())
    expect(page.get_by_role("slider", name="Step")).to_be_visible()
    page.keyboard.press("End")


def _wait_for_probes(page: Page) -> None:
    expect(page.get_by_role("region", name="Probes", exact=True)).to_have_attribute(
        "aria-busy", "false", timeout=120_000
    )


def _wait_for_similarity(page: Page) -> None:
    expect(page.get_by_role("region", name="Layers compared", exact=True)).to_have_attribute(
        "aria-busy", "false", timeout=120_000
    )


FEATURE_SHOTS = {
    "features": Shot("features?see=similarity", _wait_for_similarity),
    "features-probes": Shot("features?see=probes", _wait_for_probes),
}
LEARN_SHOTS = {
    "learn": Shot("learn?example=two-layers&way=backward&step=10"),
    "learn-exercise": Shot("learn?exercise=bias", _answer),
    "learn-file": Shot("learn", _explain),
}


def _epoch(model: torch.nn.Module, optimizer: torch.optim.Optimizer, train: Dataset[Any]) -> Iterator[None]:
    """Learn from each batch of the digits once."""
    for batch, wanted in DataLoader(train, batch_size=digits.BATCH_SIZE, shuffle=True):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(batch), wanted).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        yield


def record_digits(folder: Path) -> None:
    """The network of the digits, recorded while it learns."""
    torch.manual_seed(0)
    model, (train, test) = digits.Net(), tl.load_digits()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    images, labels = test.images[:8], test.labels[:8]

    def loss_of(outputs: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.cross_entropy(outputs, labels)

    with tl.NetView(model, images, run=folder / "digits-cnn", loss=loss_of, optimizer=optimizer) as view:
        step = 0
        for epoch in range(6):
            for _ in _epoch(model, optimizer, train):
                step += 1
                if step % 5 == 0:
                    view.update(epoch=epoch, trial=step)


def record_items(folder: Path) -> None:
    """What the network makes of 120 digits while it learns, with their labels."""
    torch.manual_seed(0)
    model, (train, test) = digits.Net(), tl.load_digits()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    images, labels = test.images[:120], test.labels[:120]
    with tl.NetView(model, images, run=folder / "digits-items", items=len(images)) as view:
        view.run.log_text(0, "digit", "\n".join(str(int(label)) for label in labels))
        for epoch in range(4):
            for _ in _epoch(model, optimizer, train):
                pass
            view.update(epoch=epoch)


def extract_features(folder: Path) -> None:
    """What the layers of the network make of all digits, after it has learnt."""
    torch.manual_seed(0)
    model, (train, test) = digits.Net(), tl.load_digits()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(4):
        for _ in _epoch(model, optimizer, train):
            pass
    tl.extract(model.eval(), test, layers="all", to=folder / "digits-cnn")


def record_alexnet(folder: Path) -> None:
    model, _ = alexnet_netview.network()
    pictures = [alexnet_netview.normalised(one) for one in alexnet_netview.pictures().values()]
    tl.NetView(model, torch.stack(pictures), run=folder / "alexnet", items=len(pictures)).close()


class Album(NamedTuple):
    """Runs, and the pages that are photographed of them."""

    record: Callable[[Path], None]
    shots: Mapping[str, Shot]
    target: str = ""  # a training that its pages control


ALBUMS = {
    "digits": Album(lambda folder: digits_trials.main(folder, num_epochs=30), SHOTS),
    "networks": Album(record_digits, NETWORK_SHOTS),
    "items": Album(record_items, ANALYSIS_SHOTS),
    "features": Album(extract_features, FEATURE_SHOTS),
    "alexnet": Album(record_alexnet, ALEXNET_SHOTS),
    "control": Album(Path.mkdir, CONTROL_SHOTS, "examples.etra25:loop"),
    "learn": Album(Path.mkdir, LEARN_SHOTS),
}


def main(names: Collection[str] = ()) -> None:
    executable = find_chromium()
    if executable is None:
        raise SystemExit("there is no Chromium here: `make browser` installs one where it may")
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        os.environ["HOME"] = folder  # so that the pages say ~/digits, wherever that is
        browser = playwright.chromium.launch(
            executable_path=executable, headless=True, chromium_sandbox=False, args=ARGUMENTS
        )
        for place, album in ALBUMS.items():
            shots = {name: shot for name, shot in album.shots.items() if not names or name in names}
            if not shots:
                continue
            runs = Path(folder) / place
            album.record(runs)
            controls = [Control(album.target, folder=runs)] if album.target else []
            with serve_runs_in_background(runs, controls=controls) as serving:
                for theme in THEMES:
                    _photograph_all(browser, serving.url, theme, shots)
        browser.close()


def _photograph_all(browser: Browser, url: str, theme: str, shots: Mapping[str, Shot]) -> None:
    context = browser.new_context(viewport=SIZE, color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(url)
    for name, shot in shots.items():
        page.goto(f"{url.partition('?')[0]}#{shot.address}")
        page.wait_for_timeout(SETTLING_MS)
        with suppress(TimeoutError):
            shot.prepare(page)
        page.wait_for_timeout(SETTLING_MS)
        _save(page.screenshot(), FOLDER / f"{name}-{theme}.png")
        print(f"{name}, {theme}", flush=True)
    context.close()


def _save(screenshot: bytes, path: Path) -> None:
    """With fewer colours: a third of the size, and hardly to be told from it."""
    image = Image.open(BytesIO(screenshot)).convert("RGB").quantize(NUM_COLOURS, dither=Image.Dither.NONE)
    image.save(path, optimize=True)


if __name__ == "__main__":
    main(sys.argv[1:])
