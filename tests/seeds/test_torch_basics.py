"""The training cycle of the torch basics: its snippets run, learn, and give what `tl.CIFAR10` and `tl.fit` give."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import torcheer as tl
from tests.training.cifar_files import learnable_parts, published, write_python_version

SEED = Path(__file__).with_name("torch_basics.py").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where the seed runs, with the set in ./data and torchvision told that the small set is the right one."""
    folder = tmp_path_factory.mktemp("basics")
    write_python_version(folder / "data", learnable_parts())
    with pytest.MonkeyPatch.context() as patch, published():
        patch.chdir(folder)
        yield folder


@pytest.fixture(scope="module")
def cycle(folder: Path) -> dict[str, Any]:
    """The names that the snippets leave behind."""
    names: dict[str, Any] = {"__name__": "__main__"}
    torch.manual_seed(0)
    source = SEED.replace("num_workers=2", "num_workers=0")  # which changes nothing but the time it takes
    exec(compile(source, "torch_basics.py", "exec"), names)
    return names


def test_the_cycle_learns_and_what_is_reloaded_is_what_was_saved(cycle: dict[str, Any], folder: Path) -> None:
    losses, total, correct = (cycle[name] for name in ("losses", "total", "correct"))

    assert losses[-1] < losses[0] / 2
    assert (total, correct > 35) == (40, True)
    saved = torch.load(folder / "cifar_net.pth")
    for name, value in cycle["net"].state_dict().items():
        assert torch.equal(saved[name], value)


def test_with_our_names_the_cycle_gives_the_same_numbers(cycle: dict[str, Any], folder: Path) -> None:
    torch.manual_seed(0)
    trainset = tl.CIFAR10(folder / "data", train=True, transform=cycle["transform"])
    loader = torch.utils.data.DataLoader(trainset, batch_size=4, shuffle=True)
    torch.manual_seed(0)
    net = cycle["our_model"]()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.001, momentum=0.9)

    tl.fit(net, loader, loss=cycle["criterion"], optimizer=optimizer, epochs=3, progress=False)
    evaluation = tl.evaluate(net, cycle["testloader"])

    assert evaluation.accuracy == cycle["correct"] / cycle["total"]
    for mine, theirs in zip(net.parameters(), cycle["net"].parameters(), strict=True):
        assert torch.equal(mine, theirs)
