"""The responses of layers at the moments of a run, against what was written and what hooks saw."""

from pathlib import Path

import numpy
import pytest
import torch
from torch import Tensor, nn

import torcheer as tl
from torcheer.errors import InputError
from torcheer.netview import grid_of
from torcheer.netview.analysis import responses_of
from torcheer.run import NetLayer, NetScene, Place


def scene(*names: str, without_items: tuple[str, ...] = ()) -> NetScene:
    layers = [
        NetLayer(
            name=name,
            module="",
            shape=[3],
            grid=grid_of([3]),
            variables=["Act"],
            place=Place(),
            has_items=name not in without_items,
        )
        for name in names
    ]
    return NetScene(layers=layers, connections=[])


def write(folder: Path, *, with_scene: bool = True) -> dict[str, numpy.ndarray]:
    """Two layers at four moments with two items; one of them is missing at step 2."""
    rng = numpy.random.default_rng(0)
    values = {"b.conv": rng.random((4, 2, 2, 3), "f4"), "a": rng.random((4, 2, 5), "f4")}
    with tl.Run(folder) as run:
        if with_scene:
            run.log_netview(0, scene("b.conv", "a", "c"))
        for step in range(4):
            run.log_tensor(step, "b.conv.Act", values["b.conv"][step])
            if step != 2:
                run.log_tensor(step, "a.Act", values["a"][step])
            run.log_tensor(step, "a.weight", numpy.ones((2, 2)))
            run.log_tensor(step, "a.weight.Grad", numpy.ones((2, 2)))
            run.log_tensor(step, "a.Grad", numpy.full((2, 5), step))
            run.log_moment(step, {"trial": step % 2})
    return values


@pytest.mark.parametrize("with_scene", [True, False])
def test_a_run_gives_a_row_for_each_item_of_each_moment_that_all_layers_have(
    tmp_path: Path, with_scene: bool
) -> None:
    values = write(tmp_path / "a", with_scene=with_scene)
    seen = responses_of(tmp_path / "a")
    assert set(seen.names) == {"b.conv", "a"}
    if with_scene:
        assert seen.names == ["b.conv", "a"]
    assert seen.steps.tolist() == [0, 0, 1, 1, 3, 3]
    assert seen.items.tolist() == [0, 1] * 3
    assert numpy.array_equal(seen.maps("b.conv"), values["b.conv"][[0, 1, 3]].reshape(6, 2, 3))
    assert numpy.array_equal(seen.layer("a"), values["a"][[0, 1, 3]].reshape(6, 5))
    assert responses_of(tmp_path / "a", "Grad").names == ["a"]


def test_layers_moments_and_labels_of_a_run_are_chosen(tmp_path: Path) -> None:
    values = write(tmp_path / "a")
    with tl.open_run(tmp_path / "a") as run:
        seen = responses_of(run, layers="b.*", steps=[1, 2, 77], labels="trial")
        assert numpy.array_equal(seen.maps("b.conv"), values["b.conv"][1:3].reshape(4, 2, 3))
        assert seen.labels.tolist() == ["1", "1", "0", "0"]
        assert responses_of(run, layers="a", steps=[0], labels=["x", "y"]).labels.tolist() == ["x", "y"]
        for wrong in (
            {"layers": "d"},
            {"variable": "Net"},
            {"labels": "epoch"},
            {"labels": [1]},
            {"steps": [77]},
            {"max_bytes": 10},
        ):
            with pytest.raises(InputError):
                responses_of(run, **wrong)


def test_a_layer_without_items_is_one_row_for_each_moment(tmp_path: Path) -> None:
    with tl.Run(tmp_path / "a") as run:
        run.log_netview(0, scene("state", "batch", without_items=("state",)))
        for step in range(3):
            run.log_tensor(step, "state.Act", numpy.full((2, 3), step))
            run.log_tensor(step, "batch.Act", numpy.full((2, 3), step))
        seen = responses_of(run)  # while it is written
        assert seen.names == ["batch"]
        with pytest.raises(InputError, match="fewer of its items"):
            seen.layer("state")
        alone = responses_of(run, layers="state")
    assert alone.maps("state").shape == (3, 2, 3)
    assert alone.steps.tolist() == [0, 1, 2]


def test_a_watched_training_can_be_analysed(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = nn.Sequential()
    model.add_module("conv", nn.Conv2d(3, 4, 3))
    model.add_module("relu", nn.ReLU())
    model.add_module("flat", nn.Flatten())
    model.add_module("fc", nn.Linear(64, 5))
    x = torch.randn(20, 3, 6, 6)
    seen_by_hook: dict[str, list[Tensor]] = {"fc": []}
    model.fc.register_forward_hook(lambda _, __, out: seen_by_hook["fc"].append(out.detach().clone()))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with tl.watch(
        model, optimizer, run=tmp_path / "a", every=1, budget=None, when_full="block", tensors="whole"
    ):
        for _ in range(3):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
    seen = responses_of(tmp_path / "a", layers=["fc", "conv"])
    for row, (step, item) in enumerate(zip(seen.steps, seen.items, strict=True)):
        assert numpy.array_equal(seen.layer("fc")[row], seen_by_hook["fc"][step][item].numpy())
    assert set(responses_of(tmp_path / "a", "Grad").names) <= {"conv", "relu", "flat", "fc"}
