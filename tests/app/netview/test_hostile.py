"""Networks of somebody else's making: what they say of themselves is not believed, and nothing falls over."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from tests.app.net_runs import AskedRun, layer, scene
from tests.app.netview.test_moments import add_tensor, tensor_head
from tests.run.handmade_part import HandmadePart
from torcheer.run import Connection, Grid, MomentHead, NetScene, Place, TensorHead
from torcheer.run.records import NetViewHead, encode_head

LARGEST = 2**63 - 1


def add_scene(part: HandmadePart, shown: NetScene | bytes) -> None:
    data = shown if isinstance(shown, bytes) else msgspec.json.encode(shown)
    part.add_record("netview", "netview", NetViewHead(num_layers=1, num_units=1), data)


def ask_everything(asked: AskedRun) -> list[str]:
    """Every kind of question, about every layer; none may raise. The layers that there are."""
    asked.moments_news()
    names = list(asked.layers())
    for step in (0, 2**53 - 1):
        for variable in asked.variables():
            asked.values(*names, step=step, variable=variable, item=1)
            asked.raster(*names, step=step, num_moments=8, variable=variable)
    for name, one in asked.layers().items():
        if one["grid"]["num_units"]:
            asked.unit(name, one["grid"]["num_units"] - 1)
            asked.unit_series(name, 0)
            for direction in ("received", "sent"):
                asked.weights(name, 0, direction)
    return names


@pytest.mark.parametrize(
    "data",
    [
        b"{}",
        b"null",
        b"[" * 100_000,
        b"\xff\xfe",
        b'{"layers": 5, "connections": []}',
        b'{"layers": [{"name": "a"}], "connections": []}',
    ],
    ids=["nothing", "null", "deep", "no text", "no list", "half a layer"],
)
def test_a_scene_that_is_none_leaves_the_names(tmp_path: Path, data: bytes) -> None:
    part = HandmadePart(tmp_path)
    add_scene(part, data)
    add_tensor(part, "a.Act", 0)
    asked = AskedRun(tmp_path)
    assert asked.scene()["source"] == "names"
    assert ask_everything(asked) == ["a"]


def test_layers_that_cannot_be_are_left_out_and_the_others_are_shown(tmp_path: Path) -> None:
    def grid(**lies: Any) -> Grid:
        plain = {"num_units": 3, "tiles_across": 1, "tiles_down": 1, "columns": 3, "rows": 1, "gap": 0}
        return Grid(**(plain | lies))

    sound = [
        layer("a", 3),
        layer("wide", 3, grid=grid(columns=2**60)),
        layer("tiles", 3, grid=grid(tiles_across=2**62, tiles_down=2**62)),
        layer("negative", 3, grid=grid(columns=-3, rows=-1)),
        layer("zero", 3, grid=grid(columns=0)),
        layer("gap", 3, grid=grid(gap=2**60)),
        layer("other", 3, grid=grid(num_units=5, columns=5)),
        layer("colour", 3, grid=grid(is_colour=True, columns=1, rows=1)),
        layer("nothing", 4, 0, 5, grid=grid()),
        layer("maps", 2**20, 2, 2, grid=grid()),
        layer("placed", 3, place=Place(relation="above", other="nowhere", offset=[1e300] * 9, scale=1e-300)),
        layer("itself", 3, place=Place(relation="above", other="itself")),
        layer("words", 3, module="m" * 10_000, note="n" * 10_000, variables=["v" * 10_000, "Act", ""]),
    ]
    unsound = [
        layer("a", 3),
        layer("", 3),
        layer("n" * 5000, 3),
        layer("deep", 3, grid=grid()),
        layer("huge", 3, grid=grid()),
        layer("below", 3, grid=grid()),
    ]
    unsound[3] = msgspec.structs.replace(unsound[3], shape=[1] * 65)
    unsound[4] = msgspec.structs.replace(unsound[4], shape=[2**62, 2**62])
    unsound[5] = msgspec.structs.replace(unsound[5], shape=[-1, -3])
    part = HandmadePart(tmp_path)
    add_scene(part, scene(*sound, *unsound))
    for one in sound:
        add_tensor(part, f"{one.name}.Act", 0)
    asked = AskedRun(tmp_path)
    assert ask_everything(asked) == [one.name for one in sound]
    found = asked.scene()
    assert "6 layers are left out" in found["note"]
    for one in found["scene"]["layers"]:
        its = one["grid"]
        assert 1 <= its["columns"] * its["tiles_across"] <= 2**24
        assert 1 <= its["rows"] * its["tiles_down"] <= 2**24
        assert its["num_units"] == np.prod(one["shape"])
        assert len(one["note"]) <= 500
    layers = asked.layers()
    plain = {"relation": None, "other": "", "offset": [0.0, 0.0, 0.0], "scale": 1.0}
    assert layers["placed"]["place"] == layers["itself"]["place"] == plain
    assert layers["words"]["variables"] == ["Act"]


def test_a_scene_of_very_many_layers_is_cut(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path)
    add_scene(part, scene(*(layer(f"l{number}", 1) for number in range(2100))))
    found = AskedRun(tmp_path).scene()
    assert len(found["scene"]["layers"]) == 2048
    assert "52 layers are left out" in found["note"]


def test_connections_that_cannot_be_give_no_weights(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path)
    lies: list[dict[str, Any]] = [
        {},
        {"stride": [0, 0]},
        {"stride": [-1, -1], "dilation": [0, 0]},
        {"stride": [2**20] * 2, "padding": [-(2**20)] * 2},
        {"dilation": [2**26] * 2},
        {"groups": 0},
        {"groups": -7},
        {"stride": [1]},
        {"form": "transposed_conv", "stride": [0, 0]},
        {"form": "linear"},
        {"form": "embedding"},
        {"form": "attention"},
        {"form": "other"},
        {"stride": [2**62, 2**62]},
        {"stride": [1] * 1000},
        {"source": "nowhere"},
        {"weight": "w" * 10_000},
    ]
    plain: dict[str, Any] = {"target": "y", "form": "conv", "weight": "w", "stride": [1, 1]}
    plain |= {"padding": [0, 0], "dilation": [1, 1]}
    names = [f"x{number}" for number in range(len(lies))]
    connections = [
        Connection(**(plain | {"source": name} | lie)) for name, lie in zip(names, lies, strict=True)
    ]
    sources = [layer(name, 2, 4, 4) for name in names]
    add_scene(part, scene(*sources, layer("y", 3, 3, 3), connections=connections))
    weight = np.ones((3, 2, 2, 2), "<f4")
    part.add_record("tensor", "w", tensor_head(3, 2, 2, 2), weight.tobytes())
    asked = AskedRun(tmp_path)
    answer, blocks = asked.weights("y", 4)
    assert blocks["x0"].said["num_units"] == 32
    assert answer["bias"] is None
    assert all(block.said["num_units"] or block.said["why"] for block in blocks.values())
    for name in names:
        asked.weights(name, 0, "sent")
    assert len(asked.scene()["scene"]["connections"]) == len(lies) - 3


def test_records_that_are_not_what_they_say_are_passed_over(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path)
    good = add_tensor(part, "a.Act", 0, value=4.0)
    data = np.ones((1, 3), "<f4").tobytes()
    heads: list[TensorHead | bytes] = [
        tensor_head(2**40, 3),
        tensor_head(-1, -3),
        tensor_head(*([1] * 65), 3),
        msgspec.structs.replace(tensor_head(1, 3), dtype="float512"),
        msgspec.structs.replace(tensor_head(1, 3), dtype="float64"),
        b"",
        b"[" * 50_000,
        b'{"kind": "tensor"}',
        b'{"kind": "moment", "counters": {}}',
        encode_head(MomentHead(counters={})),
        b"\xff",
    ]
    for step, head in enumerate(heads, 1):
        part.add_record("tensor", "a.Act", head, data, step)
    asked = AskedRun(tmp_path)
    assert asked.moments_news()[0]["steps"] == [0]
    assert asked.values("a", step=50)["a"].said["low"] == 4.0
    ask_everything(asked)
    # Such records are counted as others are: nothing begins anew because of them.
    generation = asked.nets._of(asked.run.look()).index.generation
    add_tensor(part, "a.Act", 60)
    asked.look_anew()
    assert asked.moments_news()[0]["steps"] == [60]
    assert asked.nets._of(asked.run.look()).index.generation == generation
    assert good == 1


@pytest.mark.parametrize("damage", ["short", "long", "text", "none", "number"])
def test_bytes_that_are_damaged_are_said_to_be(tmp_path: Path, damage: str) -> None:
    part = HandmadePart(tmp_path)
    record = add_tensor(part, "a.Act", 0)
    add_tensor(part, "b.Act", 0, value=3.0)
    add_tensor(part, "a.Act", 1, value=2.0)
    if damage == "none":
        part.run("DELETE FROM data WHERE record = ?", record)
    else:
        bad = {"short": b"123", "long": bytes(5000), "text": "wörd", "number": 12}[damage]
        part.run("UPDATE data SET bytes = ? WHERE record = ?", bad, record)
    asked = AskedRun(tmp_path)
    blocks = asked.values("a", "b")
    assert "damaged" in blocks["a"].said["why"]
    assert (blocks["a"].said["num_units"], blocks["b"].said["low"]) == (0, 3.0)
    assert asked.unit("a", 0)["values"] == {}
    assert asked.unit_series("a", 0)["Act"][0].tolist() == [1.0]
    ask_everything(asked)


def test_steps_times_and_counters_of_any_size_can_be_sent(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path)
    for step in (-LARGEST, -1, 0, LARGEST):
        array = np.zeros((1, 3), "<f4")
        part.add_record("tensor", "a.Act", tensor_head(1, 3), array.tobytes(), step, 1e11)
    counters = {f"c{number}": "t" * 10_000 for number in range(500)} | {"n" * 10_000: "\ud800"[:0]}
    part.add_record("moment", "netview", MomentHead(counters=counters), b"", 0)
    asked = AskedRun(tmp_path)
    (news,) = asked.moments_news()
    assert news["steps"] == [-(2**53 - 1), -1, 0, 2**53 - 1]
    assert len(news["counters"]) <= 32
    assert len(json.dumps(news)) < 20_000
    assert asked.values("a", step=2**53 - 1)["a"].said["step"] == 0
    ask_everything(asked)


def test_a_bias_that_does_not_fit_says_so(tmp_path: Path) -> None:
    part = HandmadePart(tmp_path)
    add_scene(part, scene(layer("a", 4, 5)))
    vector = np.zeros(7, "<f4")
    part.add_record("tensor", "a.bias", tensor_head(7), vector.tobytes())
    block = AskedRun(tmp_path).values("a", variable="Bias")["a"]
    assert (block.said["num_units"], bool(block.said["why"])) == (0, True)
