"""A shelf of saved passes: files, and folders that are looked at anew each time."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from torcheer.app.messages import PassListing
from torcheer.app.passes import PassSource
from torcheer.errors import InputError
from torcheer.graph import readable_bytes
from torcheer.run import LinkRule, links_within

_ENDING: Final = ".safetensors"
_MAX_PASSES: Final = 1000
_HEAD_BYTES: Final = 4096  # enough to see whose file it is
_WANTED: Final = "give a saved pass, or a folder with saved passes"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Saved:
    """A file as it was when it was looked at."""

    path: Path
    name: str
    num_bytes: int
    changed_ns: int

    @property
    def id(self) -> str:
        """The same while the file is the same, also for the next server; it tells nobody the path."""
        text = f"{self.path}\0{self.num_bytes}\0{self.changed_ns}"
        return hashlib.blake2s(text.encode("utf-8", "surrogateescape"), digest_size=10).hexdigest()

    @property
    def detail(self) -> str:
        changed = time.strftime("%Y-%m-%d %H:%M", time.localtime(self.changed_ns // 10**9))
        return f"{readable_bytes(self.num_bytes)}, saved {changed}"


class SavedPasses:
    """Saved passes by the paths of their files, or of folders with such files in them."""

    def __init__(
        self, paths: Sequence[Path], opener: Callable[[Path], PassSource], links: LinkRule | None = None
    ) -> None:
        if not paths:
            raise InputError(f"there is no path: {_WANTED}.")
        for path in paths:
            if not path.exists():
                raise InputError(f"there is no {path}: {_WANTED}.")
            if not path.is_dir() and not path.is_file():
                raise InputError(f"{path} is no ordinary file: {_WANTED}.")
        self._paths = [Path(os.path.abspath(path)) for path in paths]
        self._base = _common_folder(self._paths)
        self._opener = opener
        self._links = links or links_within(*self._paths)

    def listing(self) -> Sequence[PassListing]:
        return [PassListing(id=saved.id, name=saved.name, detail=saved.detail) for saved in self._all()]

    def source(self, pass_id: str) -> PassSource | None:
        # By looking through the list: an id never becomes a path.
        found = next((saved for saved in self._all() if saved.id == pass_id), None)
        return None if found is None else self._opener(found.path)

    def _all(self) -> Sequence[_Saved]:
        """Each file once, in the order of the paths, those of a folder by their names."""
        files = dict.fromkeys(file for path in self._paths for file in _files(path, self._links))
        found = (self._look_at(file) for file in files)
        return [saved for saved in found if saved is not None][:_MAX_PASSES]

    def _look_at(self, file: Path) -> _Saved | None:
        """None for a file that has just gone."""
        try:
            status = file.stat()
        except OSError:
            return None
        name = str(file.relative_to(self._base) if self._base else file).removesuffix(_ENDING)
        return _Saved(path=file, name=name, num_bytes=status.st_size, changed_ns=status.st_mtime_ns)


def _common_folder(paths: Sequence[Path]) -> Path | None:
    """The folder from which all names begin; None where there is none, as on two drives."""
    try:
        return Path(os.path.commonpath([path if path.is_dir() else path.parent for path in paths]))
    except ValueError:
        return None


def _files(path: Path, links: LinkRule) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    try:
        children = sorted(path.iterdir())
    except OSError:
        return  # a folder that has gone, or is closed to us, has no passes for now
    for child in children:
        if child.suffix == _ENDING and (not child.is_symlink() or links.allows(child)) and _is_pass(child):
            yield child


def _is_pass(path: Path) -> bool:
    """Whether a file says that it is one of ours: other tensors, such as weights, are not shown."""
    try:
        # A pipe would keep us waiting.
        if not path.is_file():
            return False
        with open(path, "rb") as file:
            return b'"torcheer.' in file.read(_HEAD_BYTES)
    except OSError:
        return False
