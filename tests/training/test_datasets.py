"""Data to train on: digits, CIFAR by torchvision, and folders of pictures."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy
import pytest
import torch
from PIL import Image
from sklearn.datasets import load_digits as of_scikit_learn
from torch.utils.data import DataLoader

import torcheer as tl
from tests.training.cifar_files import published, random_parts, write_python_version
from tests.vision import torchvision
from torcheer.errors import FileFormatError, InputError
from torcheer.training import ImageFolder, load_digits

# --- folders of pictures: torchvision is the oracle ---------------------------------------------------------


def write_picture(path: Path, seed: int, mode: str = "RGB") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = numpy.random.default_rng(seed).integers(0, 256, (5, 7, 4), numpy.uint8)
    Image.fromarray(pixels, "RGBA").convert(mode).save(path)


@pytest.fixture(scope="module")
def animals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pictures of several kinds, nested, with what does not belong there."""
    root = tmp_path_factory.mktemp("animals")
    names = [
        *("cat/2.png", "cat/10.PNG", "cat/deep-er/a.jpg", "cat/deep/b.bmp", "cat/z.webp"),
        *("dog/1.jpeg", "dog/grey.pgm", "Bird/1.tiff", "root.png", "dog/.hidden.png"),
    ]
    for seed, name in enumerate(names):
        write_picture(root / name, seed, "L" if name.endswith("pgm") else "RGB")
    (root / "dog" / "notes.txt").write_text("no picture")
    (root / ".ipynb_checkpoints").mkdir()
    (root / "cat" / "deep" / "round").symlink_to(root / "cat", target_is_directory=True)
    return root


def test_a_folder_reads_as_torchvision_reads_it(animals: Path) -> None:
    found = ImageFolder(animals, transform=numpy.array)

    plain = [path for path, _ in found.samples]
    names = [str(Path(path).relative_to(animals)) for path in plain]
    assert names == [
        *("Bird/1.tiff", "cat/10.PNG", "cat/2.png", "cat/z.webp", "cat/deep/b.bmp", "cat/deep-er/a.jpg"),
        *("dog/1.jpeg", "dog/grey.pgm"),
    ]
    assert found.classes == ["Bird", "cat", "dog"]
    assert found.class_to_idx == {"Bird": 0, "cat": 1, "dog": 2}
    assert found.targets == [0, 1, 1, 1, 1, 1, 2, 2]
    assert found.find_broken() == []
    for path, (image, _) in zip(plain, found, strict=True):
        assert numpy.array_equal(image, numpy.array(torchvision.datasets.folder.pil_loader(path)))


def test_the_order_is_torchvision_s(tmp_path: Path) -> None:
    for seed, name in enumerate(["b/x/1.png", "b/x-y/2.png", "b/z.png", "a/10.png", "a/9.png"]):
        write_picture(tmp_path / name, seed)

    assert ImageFolder(tmp_path).samples == torchvision.datasets.ImageFolder(str(tmp_path)).samples


def test_a_folder_without_subfolders_has_no_classes(animals: Path) -> None:
    found = ImageFolder(animals / "dog", transform=numpy.array, mode="L", target_transform=str)

    assert found.classes == []
    assert found.targets == [-1, -1]
    image, label = found[1]
    assert (image.shape, label) == ((5, 7), "-1")


def test_a_broken_picture_is_named(tmp_path: Path) -> None:
    write_picture(tmp_path / "a" / "good.png", 0)
    write_picture(tmp_path / "a" / "cut.png", 1)
    cut = tmp_path / "a" / "cut.png"
    cut.write_bytes(cut.read_bytes()[:60])
    (tmp_path / "a" / "empty.jpg").touch()
    (tmp_path / "a" / "page.png").write_text("<html>")

    found = ImageFolder(tmp_path)

    assert [Path(path).name for path in found.find_broken()] == ["cut.png", "empty.jpg", "page.png"]
    with pytest.raises(FileFormatError, match=r"a/cut\.png is no picture that can be read"):
        found[0]


@pytest.mark.parametrize(
    ("names", "why"),
    [
        ([], "there are no pictures in"),
        (["readme.txt"], "their names end in .jpg"),
        (["a/1.png", "b/notes.txt"], "there are no pictures in b of"),
    ],
)
def test_a_folder_that_cannot_be_meant_is_an_error_that_names_the_fix(
    tmp_path: Path, names: list[str], why: str
) -> None:
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()

    with pytest.raises(InputError, match=why):
        ImageFolder(tmp_path)


def test_an_empty_class_keeps_its_number_where_it_is_meant(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    write_picture(tmp_path / "b" / "1.png", 0)

    found = ImageFolder(tmp_path, allow_empty=True)

    assert (found.classes, found.targets) == (["a", "b"], [1])


def test_what_is_missing_or_no_mode_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no folder"):
        ImageFolder(tmp_path / "nowhere")
    with pytest.raises(InputError, match="mode='GREY' is none of Pillow's"):
        ImageFolder(tmp_path, mode="GREY")


# --- digits -------------------------------------------------------------------------------------------------


def test_every_digit_is_in_one_of_the_two_with_its_label() -> None:
    pixels, targets = of_scikit_learn(return_X_y=True)
    train, test = load_digits(num_test=400, seed=3)

    assert (len(train), len(test)) == (1397, 400)
    images, labels = (
        torch.cat([getattr(part, name) for part in (train, test)]) for name in ("images", "labels")
    )
    both = sorted(
        (*row, label) for row, label in zip((images * 16).flatten(1).tolist(), labels.tolist(), strict=True)
    )
    assert both == sorted((*row, label) for row, label in zip(pixels.tolist(), targets.tolist(), strict=True))


def test_the_same_seed_parts_them_in_the_same_way_and_draws_no_numbers() -> None:
    before = torch.get_rng_state()

    (train, test), (again, _), (other, _) = load_digits(), load_digits(), load_digits(seed=1)

    assert torch.equal(train.images, again.images)
    assert not torch.equal(train.labels, other.labels)
    assert torch.equal(torch.get_rng_state(), before)
    assert len(test) == 360


def test_a_loader_gives_batches_of_them() -> None:
    train, _ = load_digits()

    images, labels = next(iter(DataLoader(train, batch_size=8)))

    assert torch.equal(images, train.images[:8])
    assert torch.equal(labels, train.labels[:8])
    assert images.shape == (8, 1, 8, 8)
    assert train.classes[labels[0]] == str(labels[0].item())


def test_what_is_missing_or_cannot_be_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for number in (0, 1797, -1):
        with pytest.raises(InputError, match="1 to 1796"):
            load_digits(num_test=number)
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(InputError, match="pip install scikit-learn"):
        load_digits()


# --- CIFAR --------------------------------------------------------------------------------------------------


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
