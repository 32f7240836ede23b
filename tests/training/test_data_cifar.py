"""CIFAR from its own files: torchvision's reader is the oracle, on sets that are written here."""

import pickle
from pathlib import Path
from types import MappingProxyType

import numpy
import pytest
import torch
from torch.utils.data import DataLoader

from tests.training.cifarfiles import (
    NAMES,
    Part,
    packed,
    random_parts,
    write_binary_version,
    write_python_version,
)
from tests.vision import torchvision
from torcheer.errors import FileFormatError, InputError
from torcheer.training.data.cifar10 import CIFAR10, CIFAR100
from torcheer.training.data.transforms import Compose, Normalize, ToTensor


class Oracle(torchvision.datasets.CIFAR10):  # type: ignore[misc]
    """torchvision's class, for files that are not the published ones."""

    train_list = tuple((f"data_batch_{number}", None) for number in range(1, 6))
    test_list = (("test_batch", None),)
    meta = MappingProxyType({"filename": "batches.meta", "key": "label_names", "md5": None})


@pytest.fixture(scope="module")
def parts() -> dict[str, Part]:
    return random_parts()


@pytest.fixture(scope="module")
def root(parts: dict[str, Part], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both versions side by side, in folders of their own, and packed."""
    root = tmp_path_factory.mktemp("cifar")
    write_python_version(root / "py", parts)
    write_binary_version(root / "bin", parts)
    for kind, name in (("py", "cifar-10-python.tar.gz"), ("bin", "cifar-10-binary.tar.gz")):
        (root / f"{kind}-packed").mkdir()
        (folder,) = (root / kind).iterdir()
        packed(folder, root / f"{kind}-packed" / name)
    packed(root / "bin" / "cifar-10-batches-bin", root / "renamed.tar")
    return root


@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize(
    "place",
    [
        *("py", "bin", "py-packed", "bin-packed", "py/cifar-10-batches-py", "bin/cifar-10-batches-bin"),
        *("py-packed/cifar-10-python.tar.gz", "renamed.tar"),
    ],
)
def test_every_form_of_the_set_reads_as_torchvision_reads_it(root: Path, place: str, train: bool) -> None:
    oracle = Oracle(str(root / "py"), train=train)

    found = CIFAR10(root=root / place, train=train, download=True, transform=None)

    assert len(found) == len(oracle) == (20 if train else 4)
    assert numpy.array_equal(found.data, oracle.data)
    assert found.data.dtype == oracle.data.dtype
    assert found.targets == oracle.targets
    assert (found.classes, found.class_to_idx) == (oracle.classes, oracle.class_to_idx)
    for mine, theirs in zip(found, oracle, strict=True):
        assert type(mine[0]) is type(theirs[0])
        assert mine[0] == theirs[0]
        assert mine[1] == theirs[1]


def test_transforms_are_given_what_torchvision_gives_them(root: Path) -> None:
    crop = torchvision.transforms.RandomCrop(32, padding=4)
    for transform in (torchvision.transforms.ToTensor(), torchvision.transforms.Compose([crop, ToTensor()])):
        theirs = Oracle(str(root / "py"), transform=transform, target_transform=str)
        mine = CIFAR10(root / "bin", transform=transform, target_transform=str)

        for number in (0, -1):
            torch.manual_seed(0)
            wanted = theirs[number]
            torch.manual_seed(0)
            assert torch.equal(mine[number][0], wanted[0])
            assert mine[number][1] == wanted[1]


def test_a_loader_with_workers_gives_batches(root: Path) -> None:
    found = CIFAR10(root / "py", transform=Compose([ToTensor(), Normalize([0.5], [0.5])]))

    images, labels = next(iter(DataLoader(found, batch_size=20, num_workers=1)))

    assert torch.equal(images, torch.from_numpy(found.data).permute(0, 3, 1, 2) / 255 * 2 - 1)
    assert labels.tolist() == found.targets


def test_without_pillow_a_picture_is_an_array(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torcheer.training.data.pictures.pillow", lambda: None)
    found = CIFAR10(root / "py")

    assert numpy.array_equal(found[3][0], found.data[3])
    assert torch.equal(ToTensor()(found[3][0]), torch.from_numpy(found.data[3]).permute(2, 0, 1) / 255)


def test_an_index_beyond_the_end_is_an_index_error(root: Path) -> None:
    found = CIFAR10(root / "py", train=False)

    assert found[torch.tensor(1)][1] == found[numpy.int64(1)][1] == found[-3][1]
    with pytest.raises(IndexError):
        found[4]


@pytest.mark.parametrize("is_binary", [False, True])
def test_cifar_100_reads_as_torchvision_reads_it(tmp_path: Path, is_binary: bool) -> None:
    pixels = numpy.random.default_rng(0).integers(0, 256, (3, 3072), numpy.uint8)
    fine, coarse, names = [7, 99, 0], [1, 19, 0], [f"class_{number}" for number in range(100)]
    folder = tmp_path / "cifar-100-python"
    folder.mkdir()
    entries = {"data": pixels, "fine_labels": fine, "coarse_labels": coarse}
    for name, content in (("train", entries), ("test", entries), ("meta", {"fine_label_names": names})):
        (folder / name).write_bytes(pickle.dumps(content))
    if is_binary:
        other = tmp_path / "other" / "cifar-100-binary"
        other.mkdir(parents=True)
        rows = numpy.concatenate([numpy.array([coarse, fine], numpy.uint8).T, pixels], 1)
        for name in ("train.bin", "test.bin"):
            (other / name).write_bytes(rows.tobytes())
        (other / "fine_label_names.txt").write_text("\n".join(names))

    class Oracle100(torchvision.datasets.CIFAR100):  # type: ignore[misc]
        train_list = (("train", None),)
        test_list = (("test", None),)
        meta = MappingProxyType({"filename": "meta", "key": "fine_label_names", "md5": None})

    oracle = Oracle100(str(tmp_path))
    found = CIFAR100(tmp_path / "other" if is_binary else tmp_path)

    assert numpy.array_equal(found.data, oracle.data)
    assert (found.targets, found.classes) == (oracle.targets, oracle.classes)


# --- what people write themselves ------------------------------------------------------------------------


def test_labels_may_be_an_array_or_numbers_of_numpy_and_keys_may_be_bytes(tmp_path: Path) -> None:
    parts = random_parts()
    folder = write_python_version(tmp_path, parts)
    for number, labels in enumerate((numpy.array([1, 2, 3, 4]), list(numpy.array([5, 6, 7, 8]))), start=1):
        entries = {b"data": parts["test_batch"].pixels, b"labels": labels}
        (folder / f"data_batch_{number}").write_bytes(pickle.dumps(entries))
    (folder / "batches.meta").unlink()

    found = CIFAR10(tmp_path)

    assert found.targets[:8] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert found.classes == NAMES


# --- what is missing, and what is wrong ------------------------------------------------------------------


def test_where_there_is_no_set_the_error_says_where_to_get_it_and_where_to_put_it(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        CIFAR10(tmp_path)

    for words in (str(tmp_path), "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz", "170 MB"):
        assert words in str(caught.value)


def test_a_missing_file_is_named_unless_the_archive_has_it(tmp_path: Path, root: Path) -> None:
    folder = write_python_version(tmp_path, random_parts())
    (folder / "data_batch_3").unlink()

    with pytest.raises(InputError, match="data_batch_3 missing"):
        CIFAR10(tmp_path)
    assert len(CIFAR10(tmp_path, train=False)) == 4
    (tmp_path / "cifar-10-python.tar.gz").symlink_to(root / "py-packed" / "cifar-10-python.tar.gz")
    assert len(CIFAR10(tmp_path)) == 20


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (
            pickle.dumps({"labels": [1], "data": numpy.zeros((2, 3072), "u1")}),
            "1 labels need a table of 1 × 3072",
        ),
        (pickle.dumps({"labels": [1], "data": numpy.zeros((1, 3071), "u1")}), "1 × 3071"),
        (pickle.dumps({"labels": [1], "data": numpy.zeros((1, 3072), "i1")}), "no table of bytes"),
        (pickle.dumps({"labels": [11], "data": numpy.zeros((1, 3072), "u1")}), "labels from 11 to 11"),
        (pickle.dumps({"labels": [-1], "data": numpy.zeros((1, 3072), "u1")}), "labels from -1"),
        (pickle.dumps({"labels": ["1"], "data": numpy.zeros((1, 3072), "u1")}), "whole numbers"),
        (pickle.dumps({"data": numpy.zeros((1, 3072), "u1")}), "no 'labels', only 'data'"),
        (pickle.dumps([1, 2]), "no dict"),
        (b"version https://git-lfs.github.com/spec/v1\n", "damaged"),
    ],
)
def test_a_batch_that_is_none_is_refused_with_the_reason(tmp_path: Path, content: bytes, why: str) -> None:
    folder = write_python_version(tmp_path, random_parts())
    (folder / "test_batch").write_bytes(content)

    with pytest.raises(FileFormatError, match=f"^test_batch in .*{why}"):
        CIFAR10(tmp_path, train=False)


def test_a_binary_batch_that_is_cut_short_is_refused(tmp_path: Path) -> None:
    path = write_binary_version(tmp_path, random_parts()) / "test_batch.bin"
    path.write_bytes(path.read_bytes()[:-1])

    with pytest.raises(FileFormatError, match="12291 bytes are 3 pictures and a rest"):
        CIFAR10(tmp_path, train=False)
