"""The network and its moments, as a run keeps them beside the tensors of its layers."""

from pathlib import Path

import msgspec
import pytest

import torcheer as tl
from torcheer.netview import grid_of
from torcheer.run.read.run_reader import record_id
from torcheer.run.records import Connection, MomentHead, NetLayer, NetScene, NetViewHead, Place


def scene_of(*names: str) -> NetScene:
    layers = [
        NetLayer(
            name=name,
            module="Linear",
            shape=[20],
            grid=grid_of([20]),
            variables=["Act"],
            place=Place(scale=2.0),
        )
        for name in names
    ]
    return NetScene(
        layers=layers, connections=[Connection(source=names[0], target=names[-1], form="conv", stride=[2, 1])]
    )


def test_a_scene_comes_back_as_it_was_and_the_last_one_holds(tmp_path: Path) -> None:
    with tl.Run(tmp_path / "a") as run:
        run.log_netview(0, scene_of("a", "b"))
        run.log_netview(7, scene_of("a", "b", "é\ud800"))
    with tl.open_run(tmp_path / "a") as saved:
        reader = saved.reader()
        entries = reader.records("netview", "netview")
        assert [entry.step for entry in entries] == [0, 7]
        assert entries[-1].head == NetViewHead(num_layers=3, num_units=60)
        found = msgspec.json.decode(reader.data(record_id(entries[-1])) or b"", type=NetScene)
    assert [layer.name for layer in found.layers][:2] == ["a", "b"]
    assert found.layers[0] == scene_of("a", "b").layers[0]
    assert found.connections[0].stride == [2, 1]


def test_a_moment_has_its_counters_as_texts(tmp_path: Path) -> None:
    with tl.Run(tmp_path / "a") as run:
        run.log_moment(3, {"epoch": 12, "name": "digit 3"})
    with tl.open_run(tmp_path / "a") as saved:
        (entry,) = saved.reader().records("moment", "netview")
    assert entry.step == 3
    assert entry.head == MomentHead(counters={"epoch": "12", "name": "digit 3"})


def test_what_is_no_scene_is_told_and_stops_nothing(tmp_path: Path) -> None:
    with tl.Run(tmp_path / "a") as run:
        with pytest.warns(tl.RunWarning, match="no scene"):
            run.log_netview(0, "a picture")  # type: ignore[arg-type]
        run.log_moment(1, {})
    with tl.open_run(tmp_path / "a") as saved:
        assert len(saved.reader().records("moment", "netview")) == 1


def test_neither_is_thinned_with_the_tensors(tmp_path: Path) -> None:
    with tl.Run(tmp_path / "a", max_bytes=20_000) as run:
        run.log_netview(0, scene_of("a", "b"))
        for step in range(50):
            run.log_tensor(step, "a.Act", [0.5] * 500)
            run.log_moment(step, {"trial": step})
    with tl.open_run(tmp_path / "a") as saved:
        reader = saved.reader()
        assert len(reader.records("netview", "netview")) == 1
        assert len(reader.records("moment", "netview")) == 50
        assert len(reader.records("tensor", "a.Act")) < 15


def test_the_layers_of_a_moment_stay_together_or_go_together(tmp_path: Path) -> None:
    with tl.Run(tmp_path / "a", max_bytes=60_000) as run:
        run.log_netview(0, scene_of("large", "small"))
        run.log_tensor(0, "large.weight", [1.0] * 100)
        for step in range(60):
            run.log_tensor(step, "large.Act", [0.5] * 700)
            run.log_tensor(step, "small.Act", [0.5] * 10)
            run.log_tensor(step, "aside", [0.5] * 5)
    with tl.open_run(tmp_path / "a") as saved:
        large, small, aside = (
            [record.step for record in saved.tensors(name)] for name in ("large.Act", "small.Act", "aside")
        )
        kept = [record for name in saved.names("tensor") for record in saved.tensors(name)]
        num_bytes = sum(record.array.nbytes for record in kept)
        assert len(saved.tensors("large.weight")) == 1
    assert large == small
    assert 3 < len(large) < 60
    assert (large[0], large[-1]) == (0, 59)
    assert len(aside) > len(large)
    assert num_bytes <= 60_000
