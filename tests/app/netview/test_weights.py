"""The weights of a unit, as a page gets them: held against what torch's own modules do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import torcheer as tl
from tests.app.net_runs import AskedRun, Block, layer, scene
from torcheer.app.netview import net_reader as nets_module
from torcheer.app.netview import net_values
from torcheer.app.netview.net_messages import NOT_THERE
from torcheer.run import Connection


def assert_shows(block: Block, values: torch.Tensor, is_connected: torch.Tensor) -> None:
    wanted, mask = values.detach().numpy().reshape(-1), is_connected.numpy().reshape(-1)
    assert np.array_equal(block.levels != NOT_THERE, mask)
    assert np.abs(block.values[mask] - wanted[mask]).max() <= block.tolerance + 1e-7


def test_a_convolution_shows_its_kernel_where_it_lies(tmp_path: Path) -> None:
    torch.manual_seed(0)
    module = nn.Conv2d(2, 3, 3, stride=2, padding=1)
    connection = Connection(
        source="x",
        target="conv",
        form="conv",
        weight="conv.weight",
        stride=[2, 2],
        padding=[1, 1],
        dilation=[1, 1],
    )
    with tl.Run(tmp_path) as run:
        run.log_netview(0, scene(layer("x", 2, 8, 8), layer("conv", 3, 4, 4), connections=[connection]))
        run.log_tensor(0, "conv.weight", module.weight)
        run.log_tensor(0, "conv.bias", module.bias)
        run.log_tensor(3, "conv.weight", 2 * module.weight)
    asked = AskedRun(tmp_path)
    jacobian = torch.autograd.functional.jacobian(module, torch.zeros(1, 2, 8, 8)).reshape(48, 128)
    ones = nn.Conv2d(2, 3, 3, stride=2, padding=1)
    nn.init.ones_(ones.weight)
    touched = torch.autograd.functional.jacobian(ones, torch.zeros(1, 2, 8, 8)).reshape(48, 128) != 0
    for unit in (0, 5, 20, 47):
        answer, blocks = asked.weights("conv", unit)
        assert_shows(blocks["x"], jacobian[unit], touched[unit])
        assert answer["num_weights"] == int(touched[unit].sum())
        assert answer["bias"] == module.bias[unit // 16].item()
        assert blocks["x"].said["step"] == 0
    for unit in (0, 63, 127):
        answer, blocks = asked.weights("x", unit, "sent")
        assert_shows(blocks["conv"], jacobian[:, unit], touched[:, unit])
        assert answer["bias"] is None
    _, blocks = asked.weights("conv", 20, step=9)
    assert_shows(blocks["x"], 2 * jacobian[20], touched[20])
    assert blocks["x"].said["step"] == 3


def test_what_goes_with_a_weight_is_laid_in_the_same_way(tmp_path: Path) -> None:
    weight = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    connection = Connection(source="x", target="fc", form="linear", weight="deep.fc.weight")
    with tl.Run(tmp_path) as run:
        run.log_netview(0, scene(layer("x", 4), layer("fc", 3), connections=[connection]))
        for number, name in enumerate(("", ".Grad", ".Delta", ".exp_avg")):
            run.log_tensor(0, f"deep.fc.weight{name}", weight + number)
        run.log_tensor(0, "deep.fc.bias", np.array([1.0, 2.0, 3.0]))
        run.log_tensor(0, "deep.fc.bias.Grad", np.array([0.1, 0.2, np.inf]))
    asked = AskedRun(tmp_path)
    for number, name in enumerate(("Wt", "Grad", "Delta", "exp_avg")):
        _, blocks = asked.weights("fc", 1, variable=name)
        assert np.abs(blocks["x"].values - (weight[1] + number)).max() <= blocks["x"].tolerance
        _, blocks = asked.weights("x", 2, "sent", variable=name)
        assert np.abs(blocks["fc"].values - (weight[:, 2] + number)).max() <= blocks["fc"].tolerance
    assert [asked.weights("fc", unit)[0]["bias"] for unit in range(3)] == [1.0, 2.0, 3.0]
    assert [asked.weights("fc", unit, variable="Grad")[0]["bias"] for unit in range(3)] == [0.1, 0.2, None]
    assert "fc.weight.sum was not recorded" in asked.weights("fc", 1, variable="sum")[1]["x"].said["why"]


def test_an_embedding_shows_the_row_of_its_token(tmp_path: Path) -> None:
    weight = np.random.default_rng(0).normal(size=(10, 4)).astype(np.float32)
    tokens = np.array([[3, 7, 3], [1, 2, 9]])
    connection = Connection(source="ids", target="emb", form="embedding", weight="emb.weight")
    with tl.Run(tmp_path) as run:
        run.log_netview(0, scene(layer("ids", 3), layer("emb", 3, 4), connections=[connection]))
        run.log_tensor(0, "ids.Act", tokens)
        run.log_tensor(0, "emb.weight", weight)
    asked = AskedRun(tmp_path)
    for item in range(2):
        for unit in (0, 5, 11):
            _, blocks = asked.weights("emb", unit, item=item)
            token = unit // 4
            assert blocks["ids"].said["low"] == weight[tokens[item, token], unit % 4]
            there = blocks["ids"].levels != NOT_THERE
            assert there.tolist() == [place == token for place in range(3)]


@pytest.mark.parametrize("has_heads", [True, False])
def test_attention_is_that_of_the_item(tmp_path: Path, has_heads: bool) -> None:
    shape = (2, 2, 3, 3) if has_heads else (2, 3, 3)
    attention = np.random.default_rng(0).random(size=shape).astype(np.float32)
    connection = Connection(source="v", target="out", form="attention", weight="attn.Act")
    with tl.Run(tmp_path) as run:
        layers = layer("v", 3, 4), layer("attn", *shape[1:]), layer("out", 3, 4)
        run.log_netview(0, scene(*layers, connections=[connection]))
        run.log_tensor(0, "attn.Act", attention)
    asked = AskedRun(tmp_path)
    for item in range(2):
        # Query 1, feature 3, which is of the second of two heads.
        _, blocks = asked.weights("out", 7, item=item)
        row = attention[item, 1, 1] if has_heads else attention[item, 1]
        assert np.abs(blocks["v"].values.reshape(3, 4)[:, 3] - row).max() <= blocks["v"].tolerance
        assert (blocks["v"].levels.reshape(3, 4)[:, :3] == NOT_THERE).all()
    assert "there is no item 2" in asked.weights("out", 7, item=2)[1]["v"].said["why"]
    assert "attention has no Grad" in asked.weights("out", 7, variable="Grad")[1]["v"].said["why"]


def test_several_layers_at_the_other_end_have_a_block_each_and_those_that_do_not_fit_say_why(
    tmp_path: Path,
) -> None:
    connections = [
        Connection(source="x", target="fc", form="linear", weight="fc.weight"),
        Connection(source="skip", target="fc", form="other"),
        Connection(source="odd", target="fc", form="linear", weight="odd.weight"),
        Connection(source="lost", target="fc", form="linear", weight="lost.weight"),
    ]
    with tl.Run(tmp_path) as run:
        layers = (layer("x", 4), layer("skip", 3), layer("odd", 4), layer("lost", 4), layer("fc", 3))
        run.log_netview(0, scene(*layers, connections=connections))
        run.log_tensor(0, "fc.weight", np.arange(12.0).reshape(3, 4))
        run.log_tensor(0, "odd.weight", np.zeros((2, 2)))
    answer, blocks = AskedRun(tmp_path).weights("fc", 2)
    assert list(blocks) == ["x", "skip", "odd", "lost"]
    assert blocks["x"].values.tolist() == pytest.approx([8, 9, 10, 11], abs=1e-4)
    assert answer["num_weights"] == 4
    assert all(blocks[name].said["why"] for name in ("skip", "odd", "lost"))
    assert "lost.weight was not recorded" in blocks["lost"].said["why"]


def test_two_connections_of_the_same_layers_add_up(tmp_path: Path) -> None:
    connections = [
        Connection(source="x", target="fc", form="linear", weight=f"{name}.weight") for name in ("one", "two")
    ]
    with tl.Run(tmp_path) as run:
        run.log_netview(0, scene(layer("x", 4), layer("fc", 3), connections=connections))
        run.log_tensor(0, "one.weight", np.arange(12.0).reshape(3, 4))
        run.log_tensor(0, "two.weight", np.full((3, 4), 100.0))
    answer, blocks = AskedRun(tmp_path).weights("fc", 2)
    assert blocks["x"].values.tolist() == pytest.approx([108, 109, 110, 111], abs=1e-4)
    assert answer["num_weights"] == 8


def test_weights_are_read_once_and_not_where_they_are_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = Connection(source="x", target="fc", form="linear", weight="fc.weight")
    with tl.Run(tmp_path) as run:
        run.log_netview(0, scene(layer("x", 4), layer("fc", 3), connections=[connection]))
        run.log_tensor(0, "fc.weight", np.arange(12.0).reshape(3, 4))
    asked = AskedRun(tmp_path)
    asked.weights("fc", 0)
    monkeypatch.setattr(nets_module, "read_stretches", None)
    assert asked.weights("fc", 2)[1]["x"].said["high"] == 11.0
    monkeypatch.setattr(net_values, "_MAX_WEIGHT_BYTES", 90)
    assert "takes 96 B, more than is read" in asked.weights("fc", 2)[1]["x"].said["why"]
