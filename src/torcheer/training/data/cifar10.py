"""CIFAR-10 and CIFAR-100 from their own files, with the manners of torchvision's classes."""

from __future__ import annotations

import operator
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, SupportsIndex

import numpy
from numpy.typing import NDArray
from torch.utils.data import Dataset

from torcheer.errors import FileFormatError, InputError
from torcheer.training.data.cifarbatches import Batch
from torcheer.training.data.cifareditions import CIFAR_10, CIFAR_100, Cifar
from torcheer.training.data.cifarplaces import Place, find_place
from torcheer.training.data.fetching import fetch
from torcheer.training.data.pictures import picture_of

Transform = Callable[[Any], Any]


class CIFAR10(Dataset[tuple[Any, Any]]):
    """Pictures of 32 by 32 pixels in ten classes, read from a folder on disk.

    `root` holds `cifar-10-batches-py` or `cifar-10-batches-bin`, or the archive of either as it was
    downloaded; it may also be one of these itself. The python version is read without unpickling it: a file
    that asks for anything but numbers and texts is refused. With `download`, what is not there is fetched.

    An item is a picture, as `transform` leaves it, and its label. The picture is Pillow's, as torchvision
    gives it, or an array of its pixels where Pillow is not installed. `data` has all pictures as bytes
    (number, height, width, colour), `targets` their labels, `classes` the names.
    """

    _cifar: ClassVar[Cifar] = CIFAR_10

    def __init__(
        self,
        root: str | PathLike[str],
        train: bool = True,
        transform: Transform | None = None,
        target_transform: Transform | None = None,
        download: bool = False,
    ) -> None:
        self.root = Path(root).expanduser()
        self.train = train
        self.transform = transform
        self.target_transform = target_transform
        place = find_place(self.root, self._cifar, train)
        if download and not (place and place.is_whole):
            fetch(self._cifar.published, self.root)
            place = find_place(self.root, self._cifar, train)
        if place is None:
            raise InputError(_not_there(self.root, self._cifar))
        pixels, labels, self.classes = _load(place, self._cifar)
        self.data: NDArray[numpy.uint8] = pixels.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        self.targets: list[int] = labels.tolist()
        self.class_to_idx = {name: index for index, name in enumerate(self.classes)}

    def __len__(self) -> int:
        return len(self.targets)

    def __getitem__(self, index: SupportsIndex) -> tuple[Any, Any]:
        place = operator.index(index)
        picture, target = picture_of(self.data[place]), self.targets[place]
        return (
            picture if self.transform is None else self.transform(picture),
            target if self.target_transform is None else self.target_transform(target),
        )

    def __repr__(self) -> str:
        which = "train" if self.train else "test"
        return (
            f"<{type(self).__name__} {which}: {len(self)} pictures, {len(self.classes)} classes, {self.root}>"
        )


class CIFAR100(CIFAR10):
    """The same with a hundred classes: `cifar-100-python`, `cifar-100-binary`, or the archive of either."""

    _cifar = CIFAR_100


Loaded = tuple[NDArray[numpy.uint8], NDArray[numpy.int64], list[str]]


def _load(place: Place, cifar: Cifar) -> Loaded:
    edition, batches, classes = place.edition, dict[str, Batch](), list(cifar.classes)
    for name, content in place.read({*place.wanted, edition.names}):
        source = f"{name} in {place.path}"
        if name == edition.names:
            classes = edition.read_names(content, source)
        else:
            batches[name] = edition.read_batch(content, source)
    missing = [name for name in place.wanted if name not in batches] or ([] if classes else [edition.names])
    if missing:
        raise InputError(
            f"{cifar.title} in {place.path} is not whole: {', '.join(missing)} missing. Unpack "
            f"{edition.archive} again, or put it beside its folder as it is."
        )
    for name, batch in batches.items():
        _check_labels(batch.labels, len(classes), f"{name} in {place.path}")
    found = [batches[name] for name in place.wanted]
    return (
        numpy.concatenate([batch.pixels for batch in found]),
        numpy.concatenate([batch.labels for batch in found]),
        classes,
    )


def _check_labels(labels: NDArray[numpy.int64], num_classes: int, source: str) -> None:
    if len(labels) and not 0 <= labels.min() <= labels.max() < num_classes:
        raise FileFormatError(
            f"{source} has labels from {labels.min()} to {labels.max()}, and there are {num_classes} "
            "classes: it is damaged, or a file of another set."
        )


def _not_there(root: Path, cifar: Cifar) -> str:
    first = cifar.editions[0]
    folders = " or ".join(edition.folder for edition in cifar.editions)
    return (
        f"there is no {cifar.title} in {root.resolve()}: no folder {folders}, and no {first.archive}. Get "
        f"{cifar.published.address} ({cifar.published.num_bytes / 1e6:.0f} MB) and put it there as it is, or "
        "say download=True."
    )
