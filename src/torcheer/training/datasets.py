"""Data to train on: scikit-learn's digits, any folder of pictures, and CIFAR by torchvision."""

from __future__ import annotations

import importlib
import operator
import os
from collections.abc import Callable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any, Final, SupportsIndex

import torch
from torch import Tensor
from torch.utils.data import Dataset

from torcheer.errors import FileFormatError, InputError
from torcheer.tensorfile import open_file

NUM_DIGITS: Final = 1797
_WHITE_DIGIT: Final = 16  # the brightest pixel of a digit
ENDINGS: Final = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp", ".gif")
NO_CLASS: Final = -1

Transform = Callable[[Any], Any]


class Digits(Dataset[tuple[Tensor, int]]):
    """Pictures of 8 by 8 pixels from 0 to 1, as tensors of shape (1, 8, 8), and which digit each is.

    `images` and `labels` are all of them at once.
    """

    classes: Final = tuple("0123456789")

    def __init__(self, images: Tensor, labels: Tensor) -> None:
        self.images = images
        self.labels = labels

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: SupportsIndex) -> tuple[Tensor, int]:
        place = operator.index(index)
        return self.images[place], int(self.labels[place])

    def __repr__(self) -> str:
        return f"<Digits: {len(self)} pictures of 8 × 8 pixels>"


def load_digits(*, num_test: int = 360, seed: int = 0) -> tuple[Digits, Digits]:
    """Digits to train with and digits to test with. The same seed parts them in the same way.

    Of the 1797 pictures `num_test` are for testing, a fifth unless you say otherwise.
    """
    if not 0 < num_test < NUM_DIGITS:
        raise InputError(
            f"num_test={num_test} leaves nothing to test or to train: give 1 to {NUM_DIGITS - 1}."
        )
    try:
        source: Any = importlib.import_module("sklearn.datasets")
    except ImportError as error:
        raise InputError(
            "load_digits needs scikit-learn for its pictures: pip install scikit-learn"
        ) from error
    pixels, targets = source.load_digits(return_X_y=True)
    order = torch.randperm(len(targets), generator=torch.Generator().manual_seed(seed))
    images = (torch.as_tensor(pixels, dtype=torch.float32).view(-1, 1, 8, 8) / _WHITE_DIGIT)[order]
    labels = torch.as_tensor(targets, dtype=torch.int64)[order]
    return Digits(images[num_test:], labels[num_test:]), Digits(images[:num_test], labels[:num_test])


def CIFAR10(root: str | PathLike[str], *options: Any, **named: Any) -> Any:  # noqa: N802 - as the class
    """torchvision's `CIFAR10`: pictures of 32 by 32 pixels in ten classes, from `root/cifar-10-batches-py`.

    `options` are those of torchvision: `train`, `transform`, `target_transform`, and `download=True`, which
    fetches what is missing. It reads the published files only, which it knows by their checksums.
    """
    return _cifar("CIFAR10", root, options, named)


def CIFAR100(root: str | PathLike[str], *options: Any, **named: Any) -> Any:  # noqa: N802 - as the class
    """torchvision's `CIFAR100`: the same with a hundred classes, from `root/cifar-100-python`."""
    return _cifar("CIFAR100", root, options, named)


def _cifar(name: str, root: str | PathLike[str], options: Any, named: Any) -> Any:
    try:
        made_by = getattr(importlib.import_module("torchvision.datasets"), name)
    # A torchvision that does not fit the installed torch raises RuntimeError.
    except (ImportError, RuntimeError) as error:
        raise InputError(
            f"{name} is torchvision's, which cannot be imported here ({error}): pip install "
            "'torcheer[vision]'. Without it, take tl.load_digits() or tl.ImageFolder(folder)."
        ) from error
    folder = Path(root).expanduser()
    try:
        return made_by(folder, *options, **named)
    except (RuntimeError, OSError) as error:
        raise InputError(
            f"there is no {name} in {folder.resolve()}, or not all of it: {error}. Say download=True; where "
            f"there is no network, put {made_by.url} there first, as it is."
        ) from error


class ImageFolder(Dataset[tuple[Any, Any]]):
    """The pictures below a folder, in the order of their names; the subfolder that each is in is its class.

    A folder with pictures and no subfolders has no `classes`, and the label of each is -1; beside subfolders
    they are left out. So is what has a name that begins with a dot. A subfolder without pictures is an error,
    unless `allow_empty` says that this is meant. `mode` is Pillow's: "L" gives grey pictures.

    `samples` has the path and the label of each item. A file that is no picture raises an error that names
    it when its turn comes; `find_broken()` looks at all of them now.
    """

    def __init__(
        self,
        root: str | PathLike[str],
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        *,
        mode: str = "RGB",
        allow_empty: bool = False,
    ) -> None:
        try:
            importlib.import_module("PIL.Image").new(mode, (1, 1))
        except (ValueError, LookupError, TypeError) as error:
            raise InputError(f"mode={mode!r} is none of Pillow's: give 'RGB', or 'L' for grey.") from error
        self.root = Path(root).expanduser()
        self.transform = transform
        self.target_transform = target_transform
        self.mode = mode
        if not self.root.is_dir():
            raise InputError(f"{self.root} is no folder: give the one that has a subfolder for each class.")
        self.samples, self.classes = _find(self.root, allow_empty=allow_empty)
        self.targets = [target for _, target in self.samples]
        self.class_to_idx = {name: index for index, name in enumerate(self.classes)}

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: SupportsIndex) -> tuple[Any, Any]:
        path, target = self.samples[operator.index(index)]
        picture = read_picture(Path(path), self.mode)
        return (
            picture if self.transform is None else self.transform(picture),
            target if self.target_transform is None else self.target_transform(target),
        )

    def find_broken(self) -> list[str]:
        """The paths of all files that cannot be read as pictures: each is opened, so it takes its time."""
        return [path for path, _ in self.samples if not self._is_whole(Path(path))]

    def _is_whole(self, path: Path) -> bool:
        try:
            read_picture(path, self.mode)
        except FileFormatError:
            return False
        return True

    def __repr__(self) -> str:
        return f"<ImageFolder {self.root}: {len(self)} pictures, {len(self.classes)} classes>"


def _find(root: Path, *, allow_empty: bool) -> tuple[list[tuple[str, int]], list[str]]:
    classes = sorted(path.name for path in root.iterdir() if path.is_dir() and not path.name.startswith("."))
    found = {name: sorted(_pictures(root / name), key=os.path.split) for name in classes}
    if not any(found.values()):
        here = sorted(str(path) for path in root.iterdir() if _is_picture(path.name) and path.is_file())
        if not here:
            raise InputError(
                f"there are no pictures in {root.resolve()} or its subfolders: their names end in "
                f"{', '.join(ENDINGS)}."
            )
        return [(path, NO_CLASS) for path in here], []
    if (empty := [name for name, paths in found.items() if not paths]) and not allow_empty:
        raise InputError(
            f"there are no pictures in {', '.join(empty[:5])} of {root.resolve()}: remove what is no class, "
            "or say allow_empty=True where a class has no pictures yet."
        )
    return [(path, index) for index, name in enumerate(classes) for path in found[name]], classes


def _pictures(folder: Path) -> Iterator[str]:
    """All pictures below a folder, through links as well, each folder once."""
    seen = set()
    for here, folders, files in os.walk(folder, followlinks=True):
        identity = os.path.realpath(here)
        folders[:] = [] if identity in seen else [name for name in folders if not name.startswith(".")]
        if identity in seen:
            continue
        seen.add(identity)
        yield from (os.path.join(here, name) for name in files if _is_picture(name))


def _is_picture(name: str) -> bool:
    return name.lower().endswith(ENDINGS) and not name.startswith(".")


def read_picture(path: Path, mode: str) -> Any:
    """The picture in a file, whole, in a mode of Pillow's. What is no picture is named."""
    from PIL import Image

    try:
        with open_file(path) as file:
            return Image.open(file).convert(mode)
    # Pillow raises whatever its decoders meet: a broken file is no reason to know them all.
    except Exception as error:
        reason = str(error).partition(" <")[0] or type(error).__name__
        raise FileFormatError(
            f"{path} is no picture that can be read: {reason}. Remove it or get it again; find_broken() "
            "lists all such files."
        ) from error
