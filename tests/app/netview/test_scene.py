"""The network of a run: as a NetView wrote it, as a training names its layers, or by names alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.tensorboard import SummaryWriter

import torcheer as tl
from tests.app.net_runs import AskedRun, layer, scene
from torcheer.app.netview.net_messages import NOT_THERE
from torcheer.run import Connection, Grid, Place, WatchedRow


def row(name: str, role: str = "activation", shape: Any = None, module: str = "Conv2d") -> WatchedRow:
    of_layer, _, variable = name.rpartition(".")
    if role in ("weight", "weight_gradient"):
        of_layer, variable = name.split(".weight")[0], "weight" + name.split(".weight")[1]
    return WatchedRow(name=name, layer=of_layer, variable=variable, role=role, module=module, shape=shape)


def test_the_last_scene_that_was_written_holds(tmp_path: Path) -> None:
    connection = Connection(
        source="x", target="conv1", form="conv", weight="conv1.weight", stride=[2, 2], padding=[1, 1]
    )
    placed = layer("conv1", 4, 3, 3, module="Conv2d", place=Place(relation="rightof", other="x", scale=2.0))
    with tl.Run(tmp_path) as run:
        run.log_netview(0, scene(layer("old", 3)))
        run.log_netview(0, scene(layer("x", 3, 6, 6, is_input=True), placed, connections=[connection]))
        run.log_tensor(0, "conv1.Act", np.zeros((2, 4, 3, 3)))
        run.log_tensor(0, "conv1.Net", np.full((2, 4, 3, 3), 7.0))
        run.log_tensor(0, "conv1.weight", np.full((4, 3, 2, 2), 0.5))
        run.log_tensor(0, "conv1.weight.Grad", np.full((4, 3, 2, 2), -0.25))
        run.log_tensor(0, "conv1.weight.exp_avg", np.zeros((4, 3, 2, 2)))
    found = AskedRun(tmp_path).scene()
    assert (found["source"], found["num_items"], found["note"]) == ("netview", 2, "")
    first, second = found["scene"]["layers"]
    assert (first["name"], first["is_input"], first["variables"]) == ("x", True, ["Act"])
    assert second["variables"] == ["Act", "Net"]
    assert second["place"] == {"relation": "rightof", "other": "x", "offset": [0.0] * 3, "scale": 2.0}
    assert found["scene"]["connections"][0]["stride"] == [2, 2]
    assert [(one["name"], one["group"], one["low"], one["high"]) for one in found["variables"]] == [
        ("Act", "State", 0.0, 0.0),
        ("Net", "State", 7.0, 7.0),
        ("r.Wt", "Weights of unit", 0.5, 0.5),
        ("s.Wt", "Weights of unit", 0.5, 0.5),
        ("r.Grad", "Weights of unit", -0.25, -0.25),
        ("s.Grad", "Weights of unit", -0.25, -0.25),
        ("r.exp_avg", "Weights of unit", 0.0, 0.0),
        ("s.exp_avg", "Weights of unit", 0.0, 0.0),
    ]
    assert all(one["about"].endswith(".") for one in found["variables"])


def test_a_name_is_split_at_the_last_dot_that_leaves_a_layer(tmp_path: Path) -> None:
    with tl.Run(tmp_path) as run:
        run.log_netview(0, scene(layer("a", 4), layer("a.b", 4)))
        for name in ("a.Act", "a.b.Act", "a.b.Net.Grad", "a.c.Act", "b.Act"):
            run.log_tensor(0, name, np.zeros((1, 4)))
        run.log_tensor(0, "a.Wide", np.zeros((1, 5)))  # is no variable of this layer
        run.log_tensor(0, "a.weight", np.zeros((4, 4)))  # has the shape of one, and is none
    asked = AskedRun(tmp_path)
    layers = asked.layers()
    assert {name: one["variables"] for name, one in layers.items()} == {
        "a": ["Act", "c.Act"],
        "a.b": ["Act", "Net.Grad"],
    }
    assert asked.variables()["Net.Grad"]["about"] == "The gradient of the loss with respect to Net."


def test_a_watched_training_has_its_layers_and_says_where_a_piece_was_kept(tmp_path: Path) -> None:
    with tl.Run(tmp_path) as run:
        rows = [
            row("conv.Act", shape=[64, 8, 20, 20]),
            row("fc.Act", shape=[64, 10], module="Linear"),
            row("unseen.Act", shape=[64, 10]),
            row("conv.Grad", "gradient", shape=[64, 8, 20, 20]),
            row("fc.weight", "weight", shape=[10, 10]),
            row("fc.weight.Grad", "weight_gradient", shape=[10, 10]),
            WatchedRow(name="Act", layer="", variable="Act", role="activation", module="Net", shape=[64, 2]),
            WatchedRow(name="inputs", layer="inputs", variable="", role="tensor", module="", shape=[64, 3]),
        ]
        run.log_watch(0, rows, ("mean",), digest="a", every="1")
        run.log_tensor(3, "conv.Act", np.arange(4 * 4 * 10 * 10.0).reshape(4, 4, 10, 10))
        run.log_tensor(3, "conv.Grad", np.zeros((4, 4, 10, 10)))
        for name, shape in {
            "fc.Act": (4, 10),
            "Act": (4, 2),
            "inputs": (4, 3),
            "fc.weight": (10, 10),
            "fc.bias": (10,),
            "conv.bias": (4,),  # a piece of it, as of the layer: nobody knows of which maps
        }.items():
            run.log_tensor(3, name, np.ones(shape))
    asked = AskedRun(tmp_path)
    found = asked.scene()
    assert (found["source"], found["num_items"], found["scene"]["connections"]) == ("watch", 4, [])
    layers = asked.layers()
    assert list(layers) == ["conv", "fc", "(model)", "inputs"]
    assert (layers["conv"]["shape"], layers["conv"]["module"]) == ([4, 10, 10], "Conv2d")
    assert "a piece of 8×20×20" in layers["conv"]["note"]
    assert layers["fc"]["note"] == ""
    assert layers["conv"]["variables"] == ["Act", "Grad"]
    assert layers["fc"]["variables"] == ["Act", "Bias"]
    assert list(asked.variables()) == ["Act", "Bias", "Grad"]
    blocks = asked.values("conv", "(model)", "inputs", step=5, item=1)
    assert [block.said["num_units"] for block in blocks.values()] == [400, 2, 3]
    assert (blocks["conv"].said["low"], blocks["conv"].said["high"]) == (400.0, 799.0)


def test_names_alone_make_layers_and_parameters_make_none(tmp_path: Path) -> None:
    with tl.Run(tmp_path) as run:
        run.log_tensor(0, "V1.Act", np.zeros((2, 6)))
        run.log_tensor(0, "V1.Ge", np.zeros((2, 6)))
        run.log_tensor(0, "V1.sub.Act", np.zeros((2, 3, 5)))
        run.log_tensor(0, "vector.Act", np.zeros(7))
        run.log_tensor(0, "loose", np.zeros((2, 6)))
        names = ("weight", "bias", "weight.Grad", "in_proj_weight", "weight_ih_l0", "weight.exp_avg")
        for name in names:
            run.log_tensor(0, f"V1.{name}", np.zeros((6, 6)))
    asked = AskedRun(tmp_path)
    found = asked.scene()
    assert found["source"] == "names"
    layers = asked.layers()
    assert {name: (one["shape"], one["variables"]) for name, one in layers.items()} == {
        "V1": ([6], ["Act", "Ge"]),
        "V1.sub": ([3, 5], ["Act"]),
        "vector": ([7], ["Act"]),
    }
    assert not layers["vector"]["has_items"]
    assert asked.variables()["Ge"]["group"] == "Others"
    assert asked.values("vector", item=5)["vector"].said["num_units"] == 7


def test_each_rank_has_its_own_layers(tmp_path: Path) -> None:
    with tl.Run(tmp_path) as first, tl.Run(tmp_path, rank=1) as second:
        first.log_tensor(0, "a.Act", np.zeros((1, 3)))
        second.log_tensor(0, "rank 1/a.Act", np.ones((1, 4)))
        second.log_tensor(0, "b.Act", np.ones((1, 5)))
    assert {name: one["shape"] for name, one in AskedRun(tmp_path).layers().items()} == {"a": [3]}
    other = AskedRun(tmp_path, rank=1)
    assert {name: one["shape"] for name, one in other.layers().items()} == {"a": [4], "b": [5]}
    assert other.values("a")["a"].said["low"] == 1.0
    assert AskedRun(tmp_path, rank=-3).layers() == {}
    assert other.scene()["ranks"] == [0, 1]


def test_a_rank_that_comes_later_is_told_and_one_without_layers_is_none(tmp_path: Path) -> None:
    with tl.Run(tmp_path) as first, tl.Run(tmp_path, rank=3) as other:
        first.log_tensor(0, "a.Act", np.zeros((1, 3)))
        other.log(0, {"loss": 1.0})
        first.flush()
        other.flush()
        asked = AskedRun(tmp_path)
        assert asked.scene_news()[0]["ranks"] == [0]
        other.log_tensor(0, "a.Act", np.zeros((1, 3)))
        other.flush()
        asked.look_anew()
        (news,) = asked.scene_news()
        assert news["ranks"] == [0, 3]


def test_a_scene_comes_anew_only_where_it_has_changed(tmp_path: Path) -> None:
    with tl.Run(tmp_path) as run:
        run.log_tensor(0, "a.Act", np.zeros((1, 3)))
        run.flush()
        asked = AskedRun(tmp_path)
        assert len(asked.scene_news()) == 1
        for step in range(1, 4):
            run.log_tensor(step, "a.Act", np.full((1, 3), step))
            run.flush()
            asked.look_anew()
            assert asked.scene_news() == []
        assert asked.variables()["Act"]["high"] == 3.0
        run.log_tensor(4, "b.Act", np.zeros((1, 3)))
        run.flush()
        asked.look_anew()
        (news,) = asked.scene_news()
        assert [one["name"] for one in news["scene"]["layers"]] == ["a", "b"]
        run.log_tensor(5, "a.Act", np.zeros((1, 8)))
        run.flush()
        asked.look_anew()
        assert asked.scene_news()[0]["scene"]["layers"][0]["shape"] == [8]


def test_a_run_without_layers_has_an_empty_scene(tmp_path: Path) -> None:
    with tl.Run(tmp_path) as run:
        run.log(0, loss=1.0)
    asked = AskedRun(tmp_path)
    found = asked.scene()
    assert (found["scene"]["layers"], found["variables"]) == ([], [])
    (moments,) = asked.moments_news()
    assert (moments["is_all"], moments["steps"], moments["is_running"]) == (True, [], False)


def test_a_grid_by_hand_is_kept_and_one_that_cannot_be_is_made_anew(tmp_path: Path) -> None:
    by_hand = Grid(num_units=6, tiles_across=1, tiles_down=1, columns=2, rows=3, gap=0)
    too_small = Grid(num_units=6, tiles_across=1, tiles_down=1, columns=1, rows=3, gap=0)
    with tl.Run(tmp_path) as run:
        run.log_netview(0, scene(layer("a", 6, grid=by_hand), layer("b", 6, grid=too_small)))
    layers = AskedRun(tmp_path).layers()
    assert (layers["a"]["grid"]["rows"], layers["a"]["grid"]["columns"]) == (3, 2)
    assert (layers["b"]["grid"]["rows"], layers["b"]["grid"]["columns"]) == (1, 6)


def test_a_layer_has_room_for_its_longest_sequence(tmp_path: Path) -> None:
    short, long = np.full((2, 3, 4), 1.0), np.full((2, 6, 4), 2.0)
    with tl.Run(tmp_path) as run:
        run.log_tensor(0, "a.Act", long)
        run.flush()
        asked = AskedRun(tmp_path)
        assert len(asked.scene_news()) == 1
        for step in range(1, 6):
            run.log_tensor(step, "a.Act", short if step % 2 else long)
            run.flush()
            asked.look_anew()
            assert asked.scene_news() == []
    assert asked.layers()["a"]["shape"] == [6, 4]
    assert (asked.values("a", step=1)["a"].levels == NOT_THERE).tolist() == [False] * 12 + [True] * 12
    assert not (asked.values("a", step=2)["a"].levels == NOT_THERE).any()


def test_tensors_of_event_files_are_shown_as_well(tmp_path: Path) -> None:
    arrays = np.random.default_rng(0).normal(size=(4, 2, 3, 4)).astype(np.float32)
    with SummaryWriter(str(tmp_path)) as writer:
        for step, array in enumerate(arrays):
            writer.add_tensor("a.Act", torch.from_numpy(array), step)
    asked = AskedRun(tmp_path)
    assert asked.layers()["a"]["shape"] == [3, 4]
    assert asked.moments_news()[0]["steps"] == [0, 1, 2, 3]
    block = asked.values("a", step=2, item=1)["a"]
    assert np.abs(block.values - arrays[2, 1].reshape(-1)).max() <= block.tolerance
    steps, values = asked.unit_series("a", 7, item=1)["Act"]
    assert values.tolist() == arrays[:, 1, 1, 3].astype(np.float64).tolist()
    assert steps.tolist() == [0, 1, 2, 3]


def test_shapes_that_together_would_be_endless_are_left_out(tmp_path: Path) -> None:
    """The extent of a layer is the largest of each dimension: of thin tensors, that may be anything."""
    with tl.Run(tmp_path) as run:
        for step in range(6):
            shape = [1] * 6
            shape[step] = 1 << 14
            run.log_tensor(step, "a.Act", np.zeros((1, *shape), dtype=np.uint8))
        run.log_tensor(0, "b.Act", np.zeros((1, 3)))
    found = AskedRun(tmp_path).scene()
    assert [one["name"] for one in found["scene"]["layers"]] == ["b"]
    assert "1 layers are left out" in found["note"]


def test_the_bias_of_a_layer_is_what_its_connection_says(tmp_path: Path) -> None:
    def linear(target: str, weight: str, bias: str | None) -> Connection:
        return Connection(source="below", target=target, form="linear", weight=weight, bias=bias)

    with tl.Run(tmp_path) as run:
        run.log_netview(
            0,
            scene(
                *(layer(name, 3) for name in ("below", "named", "without", "guessed")),
                connections=[
                    linear("named", "m", "b"),
                    linear("without", "w.weight", ""),
                    linear("guessed", "w.weight", None),
                ],
            ),
        )
        for name in ("below", "named", "without", "guessed"):
            run.log_tensor(0, f"{name}.Act", np.ones((2, 3)))
        for name, value in (("b", 7.0), ("w.bias", 8.0), ("without.bias", 9.0)):
            run.log_tensor(0, name, np.full(3, value))
    asked = AskedRun(tmp_path)

    assert [name for name, one in asked.layers().items() if "Bias" in one["variables"]] == [
        "named",
        "guessed",
    ]
    blocks = asked.values("named", "guessed", variable="Bias", step=0)
    assert {name: block.said["high"] for name, block in blocks.items()} == {"named": 7.0, "guessed": 8.0}
