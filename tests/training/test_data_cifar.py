"""CIFAR by torchvision: its class, its refusals as errors that name the fix."""

import os
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import torcheer as tl
from tests.training.cifarfiles import published, random_parts, write_python_version
from tests.vision import torchvision


@pytest.fixture
def as_published() -> Iterator[None]:
    with published():
        yield


@pytest.mark.usefixtures("as_published")
def test_the_set_is_torchvision_s(tmp_path: Path) -> None:
    parts = random_parts()
    write_python_version(tmp_path, parts)

    train, test = tl.CIFAR10(tmp_path), tl.CIFAR10(str(tmp_path), train=False, target_transform=str)

    assert type(train) is torchvision.datasets.CIFAR10
    assert (len(train), len(test)) == (20, 4)
    assert test[1][1] == str(parts["test_batch"].labels[1])


def test_a_file_that_is_not_the_published_one_is_refused_and_not_run(tmp_path: Path) -> None:
    class Harm:
        def __reduce__(self) -> tuple[object, ...]:
            return os.mkdir, (str(tmp_path / "harm"),)

    folder = write_python_version(tmp_path, random_parts())
    (folder / "test_batch").write_bytes(pickle.dumps({"data": Harm(), "labels": [0]}))

    with pytest.raises(tl.InputError, match=r"there is no CIFAR10 in .*, or not all of it"):
        tl.CIFAR10(tmp_path, train=False)
    assert not (tmp_path / "harm").exists()


def test_what_is_not_there_is_said_with_where_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(tl.InputError, match=r"CIFAR100 in .*download=True.*cifar-100-python\.tar\.gz"):
        tl.CIFAR100(tmp_path / "nowhere")


def test_without_torchvision_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torchvision.datasets", None)

    with pytest.raises(tl.InputError, match=r"pip install 'torcheer\[vision\]'.*tl\.load_digits"):
        tl.CIFAR10("data")
