"""NetView: the weights of a selected unit are those of the model, laid on the units that they lead to."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import torch
from playwright.sync_api import Browser, Page, expect
from torch import Tensor

import torcheer as tl
from tests.app.serving import SECRET
from tests.browser.netviewmodels import NUM_MOMENTS, EveryShape, every_shape, write_every_shape
from tests.browser.netviewpage import FlatPlate, NetPage, Read, one_page
from tests.browser.screen import grouped
from torcheer.app.server import Serving, serve_runs_in_background
from torcheer.run.netscene import NetLayer

States = list[dict[str, Tensor]]
EARLY = 9


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def states(folder: Path) -> States:
    return write_every_shape(folder / "net")


@pytest.fixture(scope="module")
def layers(folder: Path, states: States) -> dict[str, NetLayer]:
    with tl.NetView(folder / "net") as view:
        return {layer.name: layer for layer in view.scene.layers}


@pytest.fixture(scope="module")
def serving(folder: Path, states: States) -> Iterator[Serving]:
    with serve_runs_in_background(folder, secret=SECRET) as served:
        yield served


@pytest.fixture(scope="module")
def looked(browser: Browser, serving: Serving) -> Iterator[Page]:
    with one_page(browser) as page:
        yield page


class Wired(NamedTuple):
    """A layer as a function of another one, without its bias, and the shapes of one item of both."""

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


def model_at(states: States, step: int) -> EveryShape:
    model, _ = every_shape()
    model.load_state_dict(states[step])
    return model


def connected(model: EveryShape, wired: Wired, source: NetLayer) -> Tensor:
    """Where there is a weight, whatever it is: with weights of one, nothing cancels and nothing is nought."""
    ones = EveryShape()
    ones.load_state_dict({name: torch.ones_like(value) for name, value in model.state_dict().items()})
    return jacobian(ones, wired, source) != 0


def assert_laid(reads: list[Read], wanted: Tensor, is_there: Tensor, layer: NetLayer) -> None:
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


@pytest.mark.parametrize("step", [EARLY, NUM_MOMENTS - 1])
@pytest.mark.parametrize("name", WIRED)
def test_a_unit_receives_and_sends_what_its_parameters_say(
    looked: Page, serving: Serving, states: States, layers: dict[str, NetLayer], name: str, step: int
) -> None:
    wired = WIRED[name]
    dice = random.Random(name)
    source, target = layers[wired.source], layers[wired.target]
    model = model_at(states, step)
    weights, is_there = jacobian(model, wired, source), connected(model, wired, source)
    unit = dice.choice([0, dice.randrange(weights.shape[0]), weights.shape[0] - 1])
    net = NetPage.opened(
        looked, serving, f"flat=yes&only={source.name}&layer={target.name}&unit={unit}&var=r.Wt&step={step}"
    )
    assert_laid(FlatPlate(net, source, dice).read_all(), weights[unit], is_there[unit], source)
    expect(net.figure("Weights received")).to_have_text(grouped(int(is_there[unit].sum())))

    unit = dice.randrange(weights.shape[1])
    net = NetPage.opened(
        looked, serving, f"flat=yes&only={target.name}&layer={source.name}&unit={unit}&var=s.Wt&step={step}"
    )
    assert_laid(FlatPlate(net, target, dice).read_all(), weights[:, unit], is_there[:, unit], target)
    expect(net.figure("Weights sent")).to_have_text(grouped(int(is_there[:, unit].sum())))


def test_a_feature_of_a_token_receives_its_entry_of_the_embedding(
    looked: Page, serving: Serving, states: States, layers: dict[str, NetLayer]
) -> None:
    _, (_, words) = every_shape()
    words_layer, table = layers["words"], states[-1]["embed.weight"]
    for item, place, feature in ((0, 2, 5), (1, 6, 0)):
        unit = place * 8 + feature
        net = NetPage.opened(
            looked, serving, f"flat=yes&only=words&layer=embed&unit={unit}&var=r.Wt&item={item}"
        )
        wanted = torch.zeros(7)
        wanted[place] = table[words[item, place], feature]
        is_there = torch.arange(7) == place
        reads = FlatPlate(net, words_layer, random.Random(1)).read_all()
        assert_laid(reads, wanted, is_there, words_layer)


def test_attention_is_laid_on_the_values_that_are_attended_to(
    looked: Page, serving: Serving, states: States, layers: dict[str, NetLayer]
) -> None:
    model, (_, words) = every_shape()
    model.load_state_dict(states[-1])
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
        reads = FlatPlate(net, layers["attention.v"], random.Random(2)).read_all()
        assert_laid(reads, wanted.flatten(), is_there.flatten(), layers["attention.v"])


def test_the_gradient_and_the_change_of_weights_are_laid_as_the_weights_are(
    looked: Page, serving: Serving, states: States, layers: dict[str, NetLayer]
) -> None:
    wired, source = WIRED["linear"], layers["vector"]
    before, after = (jacobian(model_at(states, step), wired, source) for step in (EARLY - 1, EARLY))
    everywhere = torch.ones(37, dtype=torch.bool)
    net = NetPage.opened(looked, serving, f"flat=yes&only=vector&layer=hand&unit=11&var=r.Delta&step={EARLY}")
    plate = FlatPlate(net, source, random.Random(3))
    assert_laid(plate.read_all(), (after - before)[11], everywhere, source)

    model, inputs = every_shape()
    model.load_state_dict(states[EARLY])
    outputs = model(*inputs)
    loss = (outputs[0] - 1).square().mean() + outputs[1].square().mean()
    (gradient,) = torch.autograd.grad(loss, [model.hand.weight])
    NetPage.opened(looked, serving, f"flat=yes&only=vector&layer=hand&unit=11&var=r.Grad&step={EARLY}")
    assert_laid(plate.read_all(), gradient[11], everywhere, source)


def test_a_click_selects_the_unit_and_shows_its_exact_values(
    page: Page, serving: Serving, folder: Path, layers: dict[str, NetLayer]
) -> None:
    dice = random.Random(4)
    net = NetPage.opened(page, serving, f"step={EARLY}")
    with tl.NetView(folder / "net") as view:
        for _ in range(3):
            x, y, read = net.points(1, dice)[0]
            left, top, _, _ = net.box()
            page.mouse.click(left + x, top + y)
            # With the first unit a strip opens below, and the drawing becomes smaller.
            expect(page.get_by_role("region", name="Unit over time")).to_be_visible()
            net.is_settled()
            layer = layers[read.layer]
            parts = range(3) if layer.grid.is_colour else [read.index[0]]
            expect(net.figure("Unit")).to_contain_text(read.layer)
            for variable in ("Act", "Grad"):
                if f"{layer.name}.{variable}" not in view.run.names("tensor"):
                    continue
                tensor = view.values(f"{layer.name}.{variable}", step=EARLY)
                expect(net.figure(variable)).to_be_visible()
                shown = net.figure(variable).inner_text().replace("−", "-").split(", ")
                wanted = [tensor[(part, *read.index[1:])] for part in parts]
                assert [np.float32(text) for text in shown] == [np.float32(value) for value in wanted]
            assert f"unit={read.place_in(layer)}" in page.url
    page.keyboard.press("Escape")
    expect(net.unit).to_contain_text("Click a unit")
