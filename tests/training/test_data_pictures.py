"""Folders of pictures: torchvision is the oracle."""

from pathlib import Path

import numpy
import pytest
from PIL import Image

from tests.vision import torchvision
from torcheer.errors import FileFormatError, InputError
from torcheer.training import ImageFolder


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
