"""The training cycle of the torch basics: its snippets run, and give what they give with torchvision."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
import torch

from tests.training.cifarfiles import learnable_parts, write_python_version
from tests.vision import torchvision

SEED = Path(__file__).with_name("torch_basics.py").read_text(encoding="utf-8")
OUR_IMPORTS = "import torcheer.training.data as torchvision", "import torcheer.training.data.transforms as"
THEIR_IMPORTS = "import torchvision", "import torchvision.transforms as"


def cycle(source: str) -> dict[str, Any]:
    """The names that the snippets leave behind."""
    names: dict[str, Any] = {"__name__": "__main__"}
    torch.manual_seed(0)
    exec(compile(source, "torch_basics.py", "exec"), names)
    return names


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the seed runs, with the set in ./data."""
    folder = tmp_path_factory.mktemp("basics")
    write_python_version(folder / "data", learnable_parts())
    return folder


@pytest.fixture(scope="module")
def with_torchvision(folder: Path) -> dict[str, Any]:
    """The seed with the imports that it has, and with torchvision told that the small set is the right one."""
    source = SEED
    for ours, theirs in zip(OUR_IMPORTS, THEIR_IMPORTS, strict=True):
        assert ours in source
        source = source.replace(ours, theirs)
    source = source.replace("num_workers=2", "num_workers=0")  # which changes nothing but the time it takes
    cifar = torchvision.datasets.CIFAR10
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(cifar, "train_list", [(name, None) for name, _ in cifar.train_list])
        patch.setattr(cifar, "test_list", [(name, None) for name, _ in cifar.test_list])
        patch.setattr(cifar, "meta", MappingProxyType({**cifar.meta, "md5": None}))
        return cycle(source)


def test_with_other_imports_the_cycle_gives_the_same_numbers(
    folder: Path, with_torchvision: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)

    ours = cycle(SEED)

    assert type(ours["trainset"]).__module__.startswith("torcheer.")
    assert ours["losses"] == with_torchvision["losses"]
    assert (ours["correct"], ours["total"]) == (with_torchvision["correct"], with_torchvision["total"])
    for mine, theirs in zip(ours["net"].parameters(), with_torchvision["net"].parameters(), strict=True):
        assert torch.equal(mine, theirs)


def test_the_cycle_learns_and_what_is_reloaded_is_what_was_saved(
    with_torchvision: dict[str, Any], folder: Path
) -> None:
    losses, total, correct = (with_torchvision[name] for name in ("losses", "total", "correct"))

    assert losses[-1] < losses[0] / 2
    assert (total, correct > 35) == (40, True)
    saved = torch.load(folder / "cifar_net.pth")
    for name, value in with_torchvision["net"].state_dict().items():
        assert torch.equal(saved[name], value)
