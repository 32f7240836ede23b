"""Folders of pictures, and pictures as tensors: torchvision is the oracle."""

from pathlib import Path

import numpy
import pytest
import torch
from PIL import Image

from tests.vision import torchvision
from torcheer.errors import FileFormatError, InputError
from torcheer.training.data import transforms
from torcheer.training.data.imagefolder import ImageFolder


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
    found = ImageFolder(animals, transform=transforms.ToTensor())

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
    theirs = torchvision.transforms.ToTensor()
    for path, (image, _) in zip(plain, found, strict=True):
        assert torch.equal(image, theirs(torchvision.datasets.folder.pil_loader(path)))


def test_the_order_is_torchvision_s(tmp_path: Path) -> None:
    for seed, name in enumerate(["b/x/1.png", "b/x-y/2.png", "b/z.png", "a/10.png", "a/9.png"]):
        write_picture(tmp_path / name, seed)

    assert ImageFolder(tmp_path).samples == torchvision.datasets.ImageFolder(str(tmp_path)).samples


def test_a_folder_without_subfolders_has_no_classes(animals: Path) -> None:
    found = ImageFolder(animals / "dog", transform=transforms.to_tensor, mode="L", target_transform=str)

    assert found.classes == []
    assert found.targets == [-1, -1]
    image, label = found[1]
    assert (image.shape, label) == ((1, 5, 7), "-1")


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


def test_what_is_missing_or_no_mode_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="is no folder"):
        ImageFolder(tmp_path / "nowhere")
    with pytest.raises(InputError, match="mode='GREY' is none of Pillow's"):
        ImageFolder(tmp_path, mode="GREY")
    monkeypatch.setattr("torcheer.training.data.pictures.pillow", lambda: None)
    with pytest.raises(InputError, match="pip install pillow"):
        ImageFolder(tmp_path)


# --- transforms ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I", "I;16", "F"])
def test_a_picture_of_any_mode_becomes_torchvision_s_tensor(mode: str) -> None:
    pixels = numpy.random.default_rng(0).integers(0, 256, (5, 7), numpy.uint8)
    picture = (
        Image.fromarray(pixels).convert("RGB" if mode in ("P", "LA", "RGBA", "CMYK") else "L").convert(mode)
    )

    wanted = torchvision.transforms.ToTensor()(picture)

    if mode == "I;16":
        wanted = wanted.int()
    assert torch.equal(transforms.to_tensor(picture), wanted)
    assert transforms.to_tensor(picture).dtype == wanted.dtype


def test_a_picture_of_sixteen_bits_keeps_its_brighter_half() -> None:
    picture = Image.fromarray(numpy.array([[0, 40_000], [65_535, 1]], numpy.uint16))

    assert transforms.to_tensor(picture).tolist() == [[[0, 40_000], [65_535, 1]]]


@pytest.mark.parametrize(
    "array", [numpy.arange(24, dtype=t).reshape(2, 3, 4) for t in ("u1", "f4", "f8", "i8")]
)
def test_an_array_becomes_torchvision_s_tensor_and_shares_nothing_with_it(array: numpy.ndarray) -> None:
    for pixels in (array, array[:, :, 0], array[:, ::-1]):
        wanted = torchvision.transforms.ToTensor()(pixels.copy())
        found = transforms.to_tensor(pixels)

        assert torch.equal(found, wanted)
        found.zero_()
        assert array.any()


def test_normalize_is_torchvision_s() -> None:
    mean, std = (0.5, 0.4, 0.3), (0.2, 0.25, 0.3)
    steps = transforms.Compose([transforms.ToTensor(), transforms.Normalize(mean, std)])
    theirs = torchvision.transforms.Compose(
        [torchvision.transforms.ToTensor(), torchvision.transforms.Normalize(mean, std)]
    )
    pixels = numpy.random.default_rng(0).integers(0, 256, (5, 7, 3), numpy.uint8)

    assert torch.equal(steps(pixels), theirs(pixels))
    batch = torch.rand(2, 3, 4, 4)
    assert torch.equal(steps.transforms[1](batch), theirs.transforms[1](batch))


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda: transforms.Compose(transforms.ToTensor(), transforms.ToTensor()), "one list of steps"),
        (lambda: transforms.Compose(transforms.ToTensor()), "one list of steps"),
        (lambda: transforms.to_tensor(torch.zeros(1, 2, 2)), "tensor already"),
        (lambda: transforms.to_tensor(numpy.zeros(3)), r"shape \(3,\)"),
        (lambda: transforms.normalize(torch.zeros(3, 2, 2), [0.5], [0, 1, 1]), "has a zero"),
        (lambda: transforms.normalize(torch.zeros(3, 2, 2), [0.5, 0.5], [1]), "3 channels"),
        (lambda: transforms.normalize(torch.zeros(3, 2, 2, dtype=torch.uint8), [0], [1]), "ToTensor"),
        (lambda: transforms.Normalize([0], [1])(Image.new("RGB", (2, 2))), "ToTensor"),
    ],
)
def test_a_transform_that_cannot_work_says_what_would(call: object, why: str) -> None:
    with pytest.raises(InputError, match=why):
        call()  # type: ignore[operator]
