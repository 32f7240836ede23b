"""Find the files of CIFAR below a folder: unpacked, or in the archive as it was downloaded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from torcheer.errors import FileFormatError
from torcheer.training.data.archives import MAX_FILE_BYTES, read_members
from torcheer.training.data.cifareditions import Cifar, Edition


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A folder with the files of one version, or an archive with that folder in it."""

    path: Path
    edition: Edition
    wanted: tuple[str, ...]  # the files to train with, or those to test with
    is_archive: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether all files are there; of an archive that is seen when it is read."""
        return self.is_archive or all((self.path / name).is_file() for name in self.wanted)

    def read(self, names: set[str]) -> Iterator[tuple[str, bytes]]:
        """Those of the files that are there, and what they hold."""
        if self.is_archive:
            members = {f"{self.edition.folder}/{name}": name for name in names}
            for member, content in read_members(self.path, set(members)):
                yield members[member], content
            return
        for name in sorted(names):
            path = self.path / name
            if path.is_file():
                yield name, _content(path)


def find_place(root: Path, cifar: Cifar, train: bool) -> Place | None:
    """The first place that has all of it, unpacked ones before archives; or else the first that has some."""
    places = [
        Place(
            path=path, edition=edition, wanted=edition.train if train else edition.test, is_archive=is_archive
        )
        for path, edition, is_archive in _candidates(root, cifar)
    ]
    return next((place for place in places if place.is_whole), places[0] if places else None)


def _candidates(root: Path, cifar: Cifar) -> Iterator[tuple[Path, Edition, bool]]:
    if root.is_file():
        yield root, _edition_in(root, cifar), True
        return
    for edition in cifar.editions:
        for folder in (root / edition.folder, root):
            if any((folder / name).is_file() for name in (*edition.train, *edition.test)):
                yield folder, edition, False
    for edition in cifar.editions:
        for ending in (".tar.gz", ".tgz", ".tar"):
            path = root / edition.archive.replace(".tar.gz", ending)
            if path.is_file():
                yield path, edition, True


def _edition_in(archive: Path, cifar: Cifar) -> Edition:
    """The version that an archive holds, whatever its name."""
    for edition in cifar.editions:
        if any(
            read_members(archive, {f"{edition.folder}/{name}" for name in (*edition.train, *edition.test)})
        ):
            return edition
    folders = " and no ".join(edition.folder for edition in cifar.editions)
    raise FileFormatError(f"{archive} is no archive of {cifar.title}: there is no {folders} in it.")


def _content(path: Path) -> bytes:
    num_bytes = path.stat().st_size
    if num_bytes > MAX_FILE_BYTES:
        raise FileFormatError(f"{path} has {num_bytes:,} bytes, too many for a file of CIFAR.")
    return path.read_bytes()
