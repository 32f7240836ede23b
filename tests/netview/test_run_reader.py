"""The network of a run in Python: the same as on the page, also where nobody wrote one down."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
import torch
from torch import nn

import torcheer as tl
from tests.app.net_runs import AskedRun, layer, scene
from torcheer.netview import NetView
from torcheer.netview.analysis import responses_of
from torcheer.run import WatchedRow


def row(name: str, layer: str, variable: str, role: str = "activation", **more: object) -> WatchedRow:
    return WatchedRow(name=name, layer=layer, variable=variable, role=role, **({"module": ""} | more))


def write_watched(folder: Path, rank: int = 0) -> None:
    """As an inspector writes it: a piece of a layer, what the model gives, a tensor by itself, a weight."""
    prefix = f"rank {rank}/" if rank else ""
    with tl.Run(folder, rank=rank) as run:
        rows = [
            row("conv.Act", "conv", "Act", module="Conv2d", shape=[64, 8, 20, 20]),
            row("conv.Grad", "conv", "Grad", "gradient", module="Conv2d", shape=[64, 8, 20, 20]),
            row("Act", "", "Act", module="Net", shape=[64, 2]),
            row("inputs", "inputs", "", "tensor", shape=[64, 3]),
            row("conv.weight", "conv", "weight", "weight", shape=[8, 3, 3, 3]),
            row("later.Act", "later", "Act", shape=None),
        ]
        run.log_watch(0, rows, ("mean",), digest="a", every="1")
        for step in (3, 5):
            run.log_tensor(step, f"{prefix}conv.Act", numpy.full((4, 4, 5, 5), step))
            run.log_tensor(step, f"{prefix}conv.Grad", numpy.zeros((4, 4, 5, 5)))
            run.log_tensor(step, f"{prefix}Act", numpy.arange(8.0).reshape(4, 2) + step)
            run.log_tensor(step, f"{prefix}inputs", numpy.full((4, 3), step))
            run.log_tensor(step, f"{prefix}conv.weight", numpy.ones((8, 3, 3, 3)))


def test_a_watched_training_has_the_layers_of_the_page_with_their_values(tmp_path: Path) -> None:
    write_watched(tmp_path)
    with NetView(tmp_path) as view:
        layers = {one.name: one for one in view.scene.layers}
        shown = AskedRun(tmp_path).layers()
        assert list(layers) == list(shown) == ["conv", "(model)", "inputs"]
        for name, one in layers.items():
            assert (one.shape, one.variables, one.note, one.module) == tuple(
                shown[name][what] for what in ("shape", "variables", "note", "module")
            )
        assert "a piece of 8×20×20" in layers["conv"].note
        assert view.values("conv.Act", step=4, item=3).tolist() == numpy.full((4, 5, 5), 3).tolist()
        assert view.values("(model).Act", item=1).tolist() == [7, 8]
        assert view.values("inputs.Act", item=1).tolist() == [5, 5, 5]
        assert view.values("conv.weight").shape == (8, 3, 3, 3)
        with pytest.warns(tl.RunWarning, match="a watched run has says nothing of what connects"):
            assert view.weights("conv", 0) == {}
    assert responses_of(tmp_path).names == ["conv", "(model)", "inputs"]


def test_of_a_rank_that_alone_was_watched_the_layers_are_there(tmp_path: Path) -> None:
    write_watched(tmp_path, rank=2)
    with NetView(tmp_path) as view:
        assert [one.name for one in view.scene.layers] == ["conv", "(model)", "inputs"]
        assert view.values("(model).Act", step=3, item=1).tolist() == [5, 6]


def test_a_training_that_goes_on_is_seen_as_it_is_now(tmp_path: Path) -> None:
    with tl.Run(tmp_path) as run:
        run.log_tensor(0, "a.Act", numpy.zeros((2, 3)))
        run.flush()
        view = NetView(tmp_path)
        before = view.scene
        assert view.scene is before  # it is not read again and again
        run.log_tensor(1, "b.Act", numpy.zeros((2, 5)))
        run.log_tensor(1, "a.Act", numpy.zeros((2, 4)))
        run.flush()
        assert {one.name: one.shape for one in view.scene.layers} == {"a": [4], "b": [5]}
        view.close()


def test_a_real_training_is_shown_in_python(tmp_path: Path) -> None:
    model = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(5, 4)
    with tl.watch(model, optimizer, run=tmp_path / "a", every=1, budget=None, when_full="block"):
        output = model(x)
        output.square().sum().backward()
        optimizer.step()
    with NetView(tmp_path / "a") as view:
        layers = {one.name: one for one in view.scene.layers}
        assert list(layers)[:3] == ["0", "1", "2"]
        assert layers["2"].module == "Linear"
        assert "Grad" in layers["2"].variables
        assert numpy.array_equal(view.values("2.Act", item=0), output[0].detach().numpy())


@pytest.mark.parametrize(
    "damaged", [b'"name":123', b'"name"']
)  # no name, and fewer bytes than there should be
def test_a_scene_that_cannot_be_read_leaves_the_one_before_it(tmp_path: Path, damaged: bytes) -> None:
    with tl.Run(tmp_path) as run:
        run.log_netview(0, scene(layer("old", 3)))
        run.log_tensor(0, "a.Act", numpy.zeros((1, 3)))
        run.log_netview(1, scene(layer("b", 3)))
    connection = sqlite3.connect(tmp_path / "rank-0.sqlite")
    with connection:
        for record, data in connection.execute("SELECT record, bytes FROM data").fetchall():
            changed = data.replace(b'"name":"b"', damaged)
            connection.execute("UPDATE data SET bytes = ? WHERE record = ?", (changed, record))
    connection.close()
    assert [one.name for one in NetView(tmp_path).scene.layers] == ["old"]


def test_the_layers_of_a_training_cannot_be_placed_and_it_says_why(tmp_path: Path) -> None:
    write_watched(tmp_path)
    with tl.Run(tmp_path) as run:
        view = NetView(run)
        with pytest.raises(tl.InputError, match="places are kept with a network"):
            view.place("conv", above="inputs")
        with pytest.raises(tl.InputError, match="places are kept with a network"):
            view.reshape("conv", (10, 10))


def test_no_torch_is_needed_to_know_the_network_of_a_run() -> None:
    code = "import sys, torcheer.netview.network_reader; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
