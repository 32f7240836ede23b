"""Sets of features that paths lead to: found, opened, and known by their ids."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy
from numpy.typing import NDArray

from torcheer.app.background_threads import Turns
from torcheer.app.runs.open_run import RunFolders
from torcheer.errors import FileFormatError, InputError
from torcheer.features import FOLDER, FORMAT, NAME, Features, Store, read_manifest, store_at
from torcheer.run import FolderEntries, FoundRuns, LinkRule, entries_in, find_runs, is_shown_folder
from torcheer.tensorfile import open_file

_HEAD_BYTES: Final = 4096  # the format stands at the beginning
_SIGN: Final = f'"{FORMAT}"'.encode()


def is_place_elsewhere(place: str) -> bool:
    """A URL: `s3://bucket/vgg`."""
    return "://" in place


def find_features(root: Path, links: LinkRule | None = None) -> FoundRuns:
    """All sets in a folder, by name. What is inside a set is left out, and so is a set with links out."""
    return find_runs(root, links, _look_into)


def _look_into(folder: Path, links: LinkRule) -> FolderEntries:
    entries = list(entries_in(folder))
    is_set = False
    if any(entry.name == NAME for entry in entries):
        with suppress(OSError), open_file(folder / NAME) as file:
            is_set = _SIGN in file.read(_HEAD_BYTES)
    followed = entries if is_set else [entry for entry in entries if is_shown_folder(entry)]
    allowed = [entry.name for entry in followed if links.allows_entry(entry)]
    num_links_out = len(followed) - len(allowed)
    manifests = [NAME] if is_set and not num_links_out else []
    return FolderEntries(manifests, False, [] if is_set else sorted(allowed), len(entries), num_links_out)


Indices = NDArray[numpy.int64]
Array = NDArray[Any]

_SIZE_SECONDS: Final = 5.0  # so long the size on the disk is not asked for again
_MAX_MANIFEST_BYTES: Final = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class FeaturePlace:
    """Where a set is. Pages name it by its id, which tells nobody a path."""

    id: str
    name: str  # for people
    place: str  # a folder, or a URL


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Progress:
    """How far an extraction is: one look at its journals."""

    done: Indices  # the samples that are there
    num_samples: int
    is_complete: bool


class OpenSet:
    """For many pages. What reads it takes its turn: one thread at a time."""

    def __init__(self, place: FeaturePlace) -> None:
        self.place = place
        self.turns = Turns()
        self._lock = threading.Lock()
        self._features: Features | None = None
        self._store: Store | None = None
        self._trace: tuple[int, int] | None = None
        self._progress: Progress | None = None
        self._labels: tuple[int, Array | None] | None = None
        self._size = (float("-inf"), 0)

    @property
    def folder(self) -> Path | None:
        """None where it is not on a disk of this machine."""
        return None if is_place_elsewhere(self.place.place) else Path(self.place.place)

    def features(self) -> Features:
        """Opened anew where the manifest is another one."""
        with self._lock:
            trace = None
            if self.folder is not None:
                with suppress(OSError):
                    status = os.stat(self.folder / NAME)
                    trace = status.st_mtime_ns, status.st_size
            if self._features is None or trace != self._trace:
                self._store = store_at(self.place.place)
                content = self._store.read(NAME)
                if content is None:
                    raise InputError(
                        f"{self.place.name} is no longer here. Choose another set of features from the list."
                    )
                if len(content) > _MAX_MANIFEST_BYTES:
                    raise FileFormatError(f"the manifest of {self.place.name} is too large to be one.")
                self._features = Features(self._store, read_manifest(content, self.place.name))
                self._trace, self._progress, self._labels = trace, None, None
            return self._features

    def progress(self) -> Progress:
        """Looked up anew until all samples are there."""
        features = self.features()
        with self._lock:
            if self._progress is None or not self._progress.is_complete:
                is_complete = features.is_complete  # asks the disk again while it is not
                done = numpy.flatnonzero(features.done)
                self._progress = Progress(
                    done=done, num_samples=features.num_samples, is_complete=is_complete
                )
            return self._progress

    def labels(self) -> Array | None:
        """One for each sample, those not there yet among them; None where there are none."""
        features, progress = self.features(), self.progress()
        with self._lock:
            if self._labels is None or self._labels[0] != len(progress.done):
                found = features.label_names
                is_plain = found is not None and found.ndim == 1 and len(found) == progress.num_samples
                self._labels = len(progress.done), found if is_plain else None
            return self._labels[1]

    def num_bytes(self) -> int:
        """On the disk. Of what is elsewhere it is asked once: that may take long."""
        self.features()
        with self._lock:
            asked_at, size = self._size
            is_old = time.monotonic() - asked_at > _SIZE_SECONDS
            if asked_at == float("-inf") or (is_old and self.folder is not None):
                assert self._store is not None
                size = self._store.used_bytes()
                self._size = time.monotonic(), size
            return size

    def updated(self) -> float:
        """When it was written to last, in seconds since 1970; 0 where nobody knows."""
        if self.folder is None:
            return 0.0
        newest = 0.0
        with suppress(OSError):  # it may have gone, or have no journal yet
            newest = (self.folder / NAME).stat().st_mtime
            for place in (self.folder / FOLDER).iterdir():
                newest = max(newest, place.stat().st_mtime)
        return newest


MAX_SETS: Final = 1000
_SCAN_SECONDS: Final = 1.0  # a search that was made so lately is good enough
_GONE: Final = "this set of features is no longer here. Choose one from the list."


class FeatureShelf:
    """The sets below some folders, and those at some URLs."""

    def __init__(
        self, folders: Sequence[Path], urls: Sequence[str] = (), links: LinkRule | None = None
    ) -> None:
        self._folders = RunFolders(folders, partial(find_features, links=links))
        self._urls = [
            FeaturePlace(
                id=hashlib.blake2s(url.encode(), digest_size=8).hexdigest(),
                name=url.rstrip("/").rpartition("/")[2] or url,
                place=url,
            )
            for url in dict.fromkeys(urls)
        ]
        self._lock = threading.Lock()
        self._scanned_at = float("-inf")
        self._sets: dict[str, OpenSet] = {}

    def sets(self) -> Mapping[str, OpenSet]:
        """By id. For a thread."""
        with self._lock:
            if time.monotonic() - self._scanned_at >= _SCAN_SECONDS:
                try:
                    runs = list(self._folders.look().runs.values())[:MAX_SETS]
                except OSError:  # no more files can be opened: what was there is likely to be there still
                    return dict(self._sets)
                places = [FeaturePlace(id=run.id, name=run.name, place=str(run.path)) for run in runs]
                found = {place.id: place for place in (*places, *self._urls)}
                kept = {one: old for one, old in self._sets.items() if found.get(one) == old.place}
                self._sets = {one: kept.get(one) or OpenSet(place) for one, place in found.items()}
                self._scanned_at = time.monotonic()
            return dict(self._sets)

    def known(self, set_id: str) -> OpenSet:
        """For a thread."""
        with self._lock:
            found = self._sets.get(set_id)
        found = found or self.sets().get(set_id)
        if found is None:
            raise InputError(_GONE)
        return found


def shelf_of(paths: Sequence[str | Path], links: LinkRule | None = None) -> FeatureShelf | None:
    """None where no path leads to a place that could hold some."""
    urls = [str(path) for path in paths if is_place_elsewhere(str(path))]
    folders = [Path(path) for path in paths if not is_place_elsewhere(str(path)) and Path(path).is_dir()]
    return FeatureShelf(folders, urls, links) if folders or urls else None
