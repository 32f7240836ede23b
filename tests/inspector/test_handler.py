"""`ParallelHandler`: one for a program, with real children."""

import os
import runpy
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import tests.vision  # noqa: F401
import torcheer as tl
from tests.inspector.oracle import hooks_of, train_step

SEED = Path(__file__).parents[1] / "seeds" / "pytorch_inspector.py"


def note(name: str, step: int, tensor: torch.Tensor) -> None:
    with (Path(os.environ["KEPT"]) / f"child {os.getpid()}").open("a") as file:
        file.write(f"{name} {step} {tuple(tensor.shape)}\n")


def say_goodbye() -> None:
    (Path(os.environ["KEPT"]) / f"goodbye {os.getpid()}").touch()


def noted(folder: Path) -> list[set[str]]:
    """The names that each child has seen."""
    files = sorted(folder.glob("child *"))
    return [{line.split()[0] for line in file.read_text().splitlines()} for file in files]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("KEPT", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    tl.ParallelHandler().stop()


def handler(**options: Any) -> tl.ParallelHandler:
    # A fork has torch already; others would load it anew, each time.
    options = {"frequency": 1e6, "timeout": 30.0, "budget": None, "start_method": "fork", **options}
    return tl.ParallelHandler(callback_onrun=note, callback_onclosing=say_goodbye, **options)


def network() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))


def train(model: nn.Module, num_steps: int = 3) -> None:
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(num_steps):
        train_step(model, optimizer, torch.randn(3, 4))


def test_the_seeds_own_snippet_runs(folder: Path) -> None:
    main = runpy.run_path(str(SEED))["main"]
    main()

    ph = tl.ParallelHandler()
    assert ph.ids == [0, 1]
    assert ph.is_alive()
    assert ph.is_alive(0)
    assert ph.is_alive(1)
    ph.stop()
    assert not ph.is_alive()


def test_it_is_the_same_one_everywhere_until_it_is_stopped() -> None:
    first = handler()
    assert tl.ParallelHandler() is first
    assert tl.ParrallelHandler() is first
    with pytest.warns(tl.InspectorWarning, match="there is a ParallelHandler already"):
        assert tl.ParallelHandler(callback_onrun=note) is first
    first.stop()
    assert tl.ParallelHandler() is not first


def test_models_layers_and_tensors_go_to_the_children_that_were_named(folder: Path) -> None:
    model, weight = network(), torch.randn(5, requires_grad=True)
    ph = handler(observe=["activation", "gradient", "weight"])
    one = ph.track_model(-1, {"net": model})
    other = ph.track_layer(-1, {"last": model[2]})
    assert ph.track_tensor(-1, {"prompt": weight}) == 2
    assert ph.track_layer(other, {"middle": model[1]}) == other != one
    train(model)
    (weight * 2).sum().backward()
    ph.stop()

    assert len(list(folder.glob("goodbye *"))) == 3
    assert sorted(map(sorted, noted(folder))) == [
        ["last.Act", "last.Grad", "last.bias", "last.weight", "middle.Act", "middle.Grad"],
        sorted(
            [
                "net.0.Act",
                "net.0.Grad",
                "net.0.bias",
                "net.0.weight",
                "net.1.Act",
                "net.1.Grad",
                "net.2.Act",
                "net.2.Grad",
                "net.2.bias",
                "net.2.weight",
            ]
        ),
        ["prompt", "prompt.Grad"],
    ]
    assert hooks_of(model) == 0


def test_tensors_alone_are_seen_at_each_backward_pass_that_reaches_them(folder: Path) -> None:
    prompt, scale = torch.randn(5, requires_grad=True), torch.randn(5, requires_grad=True)
    ph = handler()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one = ph.track_tensor(-1, {"prompt": prompt, "scale": scale})
    for _ in range(4):
        (prompt * scale).sum().backward()
    ph.watcher(one).flush()
    (file,) = folder.glob("child *")
    seen = [line.split()[:2] for line in file.read_text().splitlines()]
    assert [int(step) for name, step in seen if name == "prompt.Grad"] == [0, 1, 2, 3]

    constant = torch.randn(5)
    with pytest.warns(tl.InspectorWarning, match="none of which gets a gradient"):
        ph.track_tensor(-1, {"constant": constant})
    ph.stop()
    assert not prompt._backward_hooks


def test_a_child_with_nothing_to_do_ends_and_comes_back_when_there_is_something(folder: Path) -> None:
    model = network()
    ph = handler(observe="activation", timeout=0.3)
    one = ph.track_model(-1, {"net": model})
    train(model)
    until = time.monotonic() + 60
    while ph.is_alive(one) and time.monotonic() < until:
        ph.watcher(one).flush(0.1)
        time.sleep(0.05)
    assert not ph.is_alive(one)
    assert list(folder.glob("goodbye *"))
    # By one child, where each step of the training came before it was tired of waiting; else by several.
    num_noted = len(noted(folder))
    train(model)
    ph.stop()

    assert len(noted(folder)) > num_noted


def test_switched_off_and_on_at_any_time(folder: Path) -> None:
    model = network()
    ph = handler(observe="activation")
    ph.enabled = False
    ph.track_model(-1, {"net": model})
    train(model)
    assert ph.watcher(0).step == 2 or ph.watcher(0).step == 3
    ph.enabled = True
    train(model, 4)
    ph.enabled = False
    train(model, 4)
    ph.stop()

    steps = {int(line.split()[1]) for line in next(folder.glob("child *")).read_text().splitlines()}
    assert steps
    assert min(steps) >= 3
    assert max(steps) <= 6


def test_what_is_untracked_is_seen_no_more(folder: Path) -> None:
    model = network()
    ph = handler(observe="activation")
    one = ph.track_model(-1, {"net": model})
    ph.untrack(one, "net.0", "net.1")
    train(model)
    ph.stop()

    assert noted(folder) == [{"net.2.Act"}]


def test_what_it_cannot_track_is_told() -> None:
    ph = handler()
    one = ph.track_layer(-1, {"a": nn.Linear(2, 2)})
    with pytest.raises(tl.InputError, match="there is no child 7: give -1 for a new one, or one of: 0"):
        ph.track_layer(7, {"b": nn.Linear(2, 2)})
    with pytest.raises(tl.InputError, match="'a' is tracked by this child already"):
        ph.track_layer(one, {"a": nn.Linear(2, 2)})
    with pytest.raises(tl.InputError, match="give a Tensor for each name"):
        ph.track_tensor(-1, {"a": nn.Linear(2, 2)})  # type: ignore[dict-item]
    with pytest.raises(tl.InputError, match="by name"):
        ph.track_model(-1, nn.Linear(2, 2))  # type: ignore[arg-type]
    assert ph.ids == [0]


def test_what_can_be_tracked_is_listed() -> None:
    assert [layer.name for layer in tl.ParallelHandler.trackable(network())] == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"frequency": 0}, "every is 0"),
        ({"timeout": -1}, "timeout is -1"),
        ({"callback_onrun": 3}, "callback"),
    ],
)
def test_a_handler_that_cannot_be_meant_is_told_and_another_can_be_made(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(tl.InputError, match=message):
        tl.ParallelHandler(**options)
    assert handler().ids == []
