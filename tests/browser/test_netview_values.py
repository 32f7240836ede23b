"""NetView: what is read at a unit is what was recorded, of every shape, moment, item, variable and weight."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from playwright.sync_api import Page, expect
from torch import Tensor, nn

import torcheer as tl
from tests.app.serving import SECRET
from tests.browser.netview_models import NUM_MOMENTS, EveryShape, Recorded, every_shape
from tests.browser.netview_page import FlatPlate, NetPage, Pixels, Read, layer_of
from tests.browser.pages import eventually, expect_equal, expect_param
from tests.browser.screen import grouped
from tests.many import IS_ALL, some
from torcheer.app import serve_runs_in_background
from torcheer.app.server import Serving
from torcheer.run import NetLayer

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
EARLY = 9
LAST = NUM_MOMENTS - 1


@pytest.fixture(scope="module")
def folder(recorded: Recorded) -> Path:
    return recorded.folder


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


# --- shapes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", some([pytest.param(name, id=name) for name in VIEWS], always=["flat", "bars from another side"])
)
def test_the_value_under_the_pointer_and_its_colour_are_those_of_the_record(
    looked: Page, serving: Serving, view: tl.NetView, name: str
) -> None:
    is_flat, turn = VIEWS[name]
    dice = random.Random(name)
    net = NetPage.opened(looked, serving, f"limits=-{LIMIT},{LIMIT}{'&flat=yes' if is_flat else ''}")
    net.show_all()
    if turn != (0, 0):
        net.drag(*turn)
    picture, ramp = net.picture(), net.colours("div")
    tensors = {layer: np.asarray(view.values(f"{layer}.Act"), np.float64) for layer in LAYERS}
    seen: set[str] = set()
    matches = []
    for x, y, read in net.points(600 if IS_ALL else 180, dice):
        layer = layer_of(view, read.layer)
        if read.layer in tensors:
            tensor = tensors[read.layer]
        else:
            tensor = tensors[read.layer] = np.asarray(view.values(f"{read.layer}.Act"), np.float64)
        assert_reads(read, layer, tensor)
        seen.add(read.layer)
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


@pytest.mark.parametrize(
    "name",
    some(
        [pytest.param(name, id=name) for name in LAYERS],
        always=["picture", "conv2", "hand", "attention.attn"],
    ),
)
def test_each_unit_of_a_layer_lies_where_its_grid_says(
    looked: Page, serving: Serving, view: tl.NetView, name: str
) -> None:
    dice = random.Random(name)
    layer, tensor = layer_of(view, name), np.asarray(view.values(f"{name}.Act"), np.float64)
    net = NetPage.opened(looked, serving, f"flat=yes&only={name}")
    plate = FlatPlate(net, layer, dice)
    units = [0, tensor.size - 1, *(dice.randrange(tensor.size) for _ in range(20))]
    for read in plate.read(units):
        assert_reads(read, layer, tensor)


# --- moments, items, variables -------------------------------------------------------------------------


class VectorPlate:
    """The layer `vector`, alone and flat, with which moments are told apart."""

    def __init__(self, net: NetPage, view: tl.NetView) -> None:
        self.net = net
        self.plate = FlatPlate(net, layer_of(view, "vector"), random.Random(0))
        self.units = [0, 5, 17, 36]
        self.slider = net.time.get_by_role("slider", name="Step")
        self._of_item = cache(
            lambda item: [
                np.asarray(view.values("vector.Act", at, item))[self.units] for at in range(NUM_MOMENTS)
            ]
        )

    def expect_step(self, step: int, item: int = 0) -> None:
        """What is read there is the record of this step, and of no other."""
        expect(self.slider).to_have_value(str(step))
        self.net.is_settled()

        def is_read() -> None:
            shown = [read.values[0] for read in self.plate.read(self.units)]
            distances = [float(np.abs(np.array(shown) - one).max()) for one in self._of_item(item)]
            assert int(np.argmin(distances)) == step, distances
            assert distances[step] < 5e-4

        eventually(is_read)


def opened_vector(page: Page, serving: Serving, view: tl.NetView, query: str) -> VectorPlate:
    return VectorPlate(NetPage.opened(page, serving, f"flat=yes&only=vector&{query}"), view)


def test_keys_buttons_and_items_go_to_the_record_they_name(
    looked: Page, serving: Serving, view: tl.NetView
) -> None:
    plate = opened_vector(looked, serving, view, "step=11")
    plate.expect_step(11)
    for key, step in (
        ("ArrowRight", 12),
        ("Shift+ArrowLeft", 2),
        ("ArrowLeft", 1),
        ("Shift+ArrowRight", 11),
        ("Home", 0),
        ("End", LAST),
    ):
        looked.keyboard.press(key)
        plate.expect_step(step)
    for name, step in (("First step", 0), ("Ten steps on", 10), ("One step back", 9), ("Last step", LAST)):
        plate.net.time.get_by_role("button", name=name, exact=True).click()
        plate.expect_step(step)
    expect_param(looked, "step", str(LAST))
    for key, item in (("]", 1), ("]", 2), ("[", 1)):
        looked.keyboard.press(key)
        plate.expect_step(LAST, item)
    expect_param(looked, "item", "1")


def test_scrubbing_ends_at_the_record_where_it_stops(
    looked: Page, serving: Serving, view: tl.NetView
) -> None:
    plate = opened_vector(looked, serving, view, "step=0")
    dice = random.Random(5)
    for _ in range(2):
        way = [dice.randrange(NUM_MOMENTS) for _ in range(16)]
        # As fast as a hand: much faster than answers come.
        plate.slider.evaluate(
            """async (slider, way) => {
                for (const at of way) {
                    slider.value = at;
                    slider.dispatchEvent(new Event("input", { bubbles: true }));
                    await new Promise(requestAnimationFrame);
                }
            }""",
            way,
        )
        plate.expect_step(way[-1])
        expect_param(looked, "step", str(way[-1]))


def test_playing_goes_on_to_the_last_record(looked: Page, serving: Serving, view: tl.NetView) -> None:
    plate = opened_vector(looked, serving, view, f"step={LAST - 3}")
    looked.keyboard.press("Space")
    expect(plate.net.time.get_by_role("button", name="Pause")).to_be_visible()
    expect_param(looked, "step", str(LAST))
    expect(plate.net.time.get_by_role("button", name="Play")).to_be_visible()
    plate.expect_step(LAST)


def test_variables_are_those_that_were_recorded(looked: Page, serving: Serving, view: tl.NetView) -> None:
    plate = opened_vector(looked, serving, view, "step=8")
    for name in ("Net", "Grad", "Net.Grad", "Act"):
        plate.net.variables.get_by_role("radio", name=name, exact=True).click()
        plate.net.is_settled()
        expect_values(plate.plate, np.asarray(view.values(f"vector.{name}", 8)))


def test_counters_and_the_values_of_a_unit_over_time_are_those_that_were_recorded(
    looked: Page, serving: Serving, view: tl.NetView
) -> None:
    net = NetPage.opened(looked, serving, "layer=conv2&unit=200&step=17&item=1")
    for words in ("Epoch 1", "Trial 17", "Name batch 17"):
        expect(net.time).to_contain_text(words)
    strip = looked.get_by_role("region", name="Unit over time")
    strip.get_by_role("button", name="Table").click()
    rows = strip.locator("tbody tr")
    expect(rows).to_have_count(NUM_MOMENTS)
    variables = ("Act", "Net", "Grad", "Net.Grad")
    wanted = {
        (step, name): np.float32(np.asarray(view.values(f"conv2.{name}", step, 1)).reshape(-1)[200])
        for step in range(NUM_MOMENTS)
        for name in variables
    }

    def listed() -> dict[tuple[int, str], np.float32]:
        names = strip.locator("thead th").all_inner_texts()[1:]
        cells: list[list[str]] = rows.evaluate_all(
            "rows => rows.map(r => [...r.cells].map(c => c.textContent))"
        )
        return {
            (int(step), name): np.float32(text.replace("−", "-"))
            for step, *texts in cells
            for name, text in zip(names, texts, strict=True)
            if name in variables
        }

    expect_equal(listed, wanted)
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
            expect_param(page, "step", "1")
            before = np.asarray(view.values(f"{layer.name}.Act", step=1))
            expect_values(plate, before)
            view.update(torch.randn(2, 6))
            view.run.flush()
            expect(net.time.get_by_role("slider", name="Step")).to_have_attribute("max", "3")
            net.is_settled()
            assert_values(plate, before)
            page.keyboard.press("f")
            expect_values(plate, np.asarray(view.values(f"{layer.name}.Act", step=3)))


def assert_values(plate: FlatPlate, tensor: NDArray[np.float32]) -> None:
    shown = [read.values[0] for read in plate.read_all()]
    assert shown == pytest.approx(tensor.tolist(), rel=6e-4, abs=float(np.ptp(tensor)) / 65531)


def expect_values(plate: FlatPlate, tensor: NDArray[np.float32]) -> None:
    """Wait for them: what is new comes by itself, after a while."""
    eventually(lambda: assert_values(plate, tensor))


# --- weights -----------------------------------------------------------------------------------------


class Wired(NamedTuple):
    """A layer as a function of another one, without its bias."""

    source: str
    target: str
    apply: Callable[[EveryShape, Tensor], Tensor]


def _conv1(model: EveryShape, x: Tensor) -> Tensor:
    return torch.conv2d(x[None], model.conv1.weight, stride=2, padding=1)[0]


def _conv2(model: EveryShape, x: Tensor) -> Tensor:
    return torch.conv2d(x[None], model.conv2.weight, padding=(0, 1), groups=2)[0]


WIRED = {
    "strided and padded convolution": Wired("picture", "conv1", _conv1),
    "convolution in groups": Wired("conv1", "conv2", _conv2),
    "linear after flatten": Wired("conv2", "vector", lambda model, x: model.vector.weight @ x.flatten()),
    "linear": Wired("vector", "hand", lambda model, x: model.hand.weight @ x),
    "linear of tokens": Wired("attention", "out", lambda model, x: x @ model.out.weight.T),
}


def jacobian(model: EveryShape, wired: Wired, source: NetLayer) -> Tensor:
    """What each unit of the target receives from each unit of the source, by autograd."""
    x = torch.zeros(source.shape)
    found = torch.autograd.functional.jacobian(lambda x: wired.apply(model, x).flatten(), x)
    return found.flatten(1).detach()


def connected(wired: Wired, source: NetLayer) -> Tensor:
    """Where there is a weight, whatever it is: with weights of one, nothing cancels and nothing is nought."""
    ones = EveryShape()
    ones.load_state_dict({name: torch.ones_like(value) for name, value in ones.state_dict().items()})
    return jacobian(ones, wired, source) != 0


def expect_laid(plate: FlatPlate, wanted: Tensor, is_there: Tensor) -> None:
    """On all units of a layer or, of a large one, on some of them and all that have a weight."""
    num_units = plate.layer.grid.num_units
    few = random.Random(1).sample(range(num_units), min(num_units, 60))
    units = sorted({*few, *(int(unit) for unit in is_there.nonzero().flatten()[:100])})
    eventually(lambda: assert_laid(plate.read(units), wanted, is_there, plate.layer))


def assert_laid(reads: Sequence[Read], wanted: Tensor, is_there: Tensor, layer: NetLayer) -> None:
    maps = 3 if layer.grid.is_colour else 1
    level = float(wanted.max() - wanted.min()) / 65531
    for read in reads:
        first = read.place_in(layer)
        units = [first + part * wanted.numel() // maps for part in range(maps)]
        assert len(read.texts) == maps
        for unit, text in zip(units, read.texts, strict=True):
            if not is_there[unit]:
                assert text == "not there", (read, unit)
        if all(is_there[unit] for unit in units):
            assert read.values == pytest.approx(wanted[units].tolist(), rel=6e-4, abs=level), read


@pytest.mark.parametrize(
    ("name", "step"),
    some(
        [
            pytest.param(name, step, id=f"{name} at {step}")
            for step in (EARLY, LAST)
            for name in sorted(WIRED, key=lambda name: (step == EARLY) == (name == "linear"))
        ],
        always=[*(f"{name} at {EARLY}" for name in WIRED if name != "linear"), f"linear at {LAST}"],
    ),
)
def test_a_unit_receives_and_sends_what_its_parameters_say(
    looked: Page, serving: Serving, recorded: Recorded, view: tl.NetView, name: str, step: int
) -> None:
    wired = WIRED[name]
    dice = random.Random(name)
    source, target = layer_of(view, wired.source), layer_of(view, wired.target)
    weights = jacobian(recorded.model_at(step), wired, source)
    is_there = connected(wired, source)
    unit = dice.choice([0, dice.randrange(weights.shape[0]), weights.shape[0] - 1])
    net = NetPage.opened(
        looked, serving, f"flat=yes&only={source.name}&layer={target.name}&unit={unit}&var=r.Wt&step={step}"
    )
    expect(net.figure("Weights received")).to_have_text(grouped(int(is_there[unit].sum())))
    expect_laid(FlatPlate(net, source, dice), weights[unit], is_there[unit])

    unit = dice.randrange(weights.shape[1])
    net = NetPage.opened(
        looked, serving, f"flat=yes&only={target.name}&layer={source.name}&unit={unit}&var=s.Wt&step={step}"
    )
    expect(net.figure("Weights sent")).to_have_text(grouped(int(is_there[:, unit].sum())))
    expect_laid(FlatPlate(net, target, dice), weights[:, unit], is_there[:, unit])


def test_a_feature_of_a_token_receives_its_entry_of_the_embedding(
    looked: Page, serving: Serving, recorded: Recorded, view: tl.NetView
) -> None:
    _, (_, words) = every_shape()
    table = recorded.states[-1]["embed.weight"]
    for item, place, feature in ((0, 2, 5), (1, 6, 0)):
        unit = place * 8 + feature
        net = NetPage.opened(
            looked, serving, f"flat=yes&only=words&layer=embed&unit={unit}&var=r.Wt&item={item}"
        )
        wanted = torch.zeros(7)
        wanted[place] = table[words[item, place], feature]
        plate = FlatPlate(net, layer_of(view, "words"), random.Random(1))
        expect_laid(plate, wanted, torch.arange(7) == place)


def test_attention_is_laid_on_the_values_that_are_attended_to(
    looked: Page, serving: Serving, recorded: Recorded, view: tl.NetView
) -> None:
    _, (_, words) = every_shape()
    model = recorded.model_at(-1)
    with torch.no_grad():
        features = model.embed(words)
        _, attention = model.attention(features, features, features, average_attn_weights=False)
    for item, place, feature in ((0, 0, 6), (2, 5, 1)):
        unit = place * 8 + feature
        net = NetPage.opened(
            looked,
            serving,
            f"flat=yes&only=attention.v&layer=attention.heads&unit={unit}&var=r.Wt&item={item}",
        )
        wanted, is_there = torch.zeros(7, 8), torch.zeros(7, 8, dtype=torch.bool)
        wanted[:, feature] = attention[item, feature // 4, place]
        is_there[:, feature] = True
        plate = FlatPlate(net, layer_of(view, "attention.v"), random.Random(2))
        expect_laid(plate, wanted.flatten(), is_there.flatten())


def test_the_gradient_and_the_change_of_weights_are_laid_as_the_weights_are(
    looked: Page, serving: Serving, recorded: Recorded, view: tl.NetView
) -> None:
    wired, source = WIRED["linear"], layer_of(view, "vector")
    before, after = (jacobian(recorded.model_at(step), wired, source) for step in (EARLY - 1, EARLY))
    everywhere = torch.ones(37, dtype=torch.bool)
    net = NetPage.opened(looked, serving, f"flat=yes&only=vector&layer=hand&unit=11&var=r.Delta&step={EARLY}")
    plate = FlatPlate(net, source, random.Random(3))
    expect_laid(plate, (after - before)[11], everywhere)

    _, inputs = every_shape()
    model = recorded.model_at(EARLY)
    outputs = model(*inputs)
    loss = (outputs[0] - 1).square().mean() + outputs[1].square().mean()
    (gradient,) = torch.autograd.grad(loss, [model.hand.weight])
    NetPage.opened(looked, serving, f"flat=yes&only=vector&layer=hand&unit=11&var=r.Grad&step={EARLY}")
    expect_laid(plate, gradient[11], everywhere)


def test_a_click_selects_the_unit_and_shows_its_exact_values(
    looked: Page, serving: Serving, view: tl.NetView
) -> None:
    dice = random.Random(4)
    net = NetPage.opened(looked, serving, f"step={EARLY}")
    net.show_all()
    for _ in range(2):
        x, y, read = net.points(1, dice)[0]
        net.click(x, y)
        # With the first unit a strip opens below, and the drawing becomes smaller.
        expect(looked.get_by_role("region", name="Unit over time")).to_be_visible()
        net.is_settled()
        layer = layer_of(view, read.layer)
        parts = range(3) if layer.grid.is_colour else [read.index[0]]
        expect(net.figure("Unit")).to_have_text(re.compile(rf"^{re.escape(read.layer)} "))
        expect_param(looked, "unit", str(read.place_in(layer)))
        for variable in ("Act", "Grad"):
            if f"{layer.name}.{variable}" not in view.run.names("tensor"):
                continue
            tensor = view.values(f"{layer.name}.{variable}", step=EARLY)
            wanted = [np.float32(tensor[(part, *read.index[1:])]) for part in parts]
            expect_equal(lambda name=variable: exact_values(net, name), wanted)
    looked.keyboard.press("Escape")
    expect(net.unit).to_contain_text("Click a unit")


def exact_values(net: NetPage, variable: str) -> list[np.float32]:
    expect(net.figure(variable)).to_have_text(re.compile(r"^[−\d]"))
    return [np.float32(text.replace("−", "-")) for text in net.figure(variable).inner_text().split(", ")]
