"""A folder of pictures as a data set: each subfolder is a class."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any, Final, SupportsIndex

from torch.utils.data import Dataset

from torcheer.errors import FileFormatError, InputError
from torcheer.training.data.pictures import check_mode, read_picture

ENDINGS: Final = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp", ".gif")
NO_CLASS: Final = -1

Transform = Callable[[Any], Any]


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
        check_mode(mode)
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
