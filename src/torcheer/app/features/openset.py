"""One set of features that is open: its manifest, its layers and labels, and how far it is."""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy
from numpy.typing import NDArray

from torcheer.app.features.finding import is_place_elsewhere
from torcheer.app.turns import Turns
from torcheer.errors import FileFormatError, InputError
from torcheer.features import FOLDER, NAME, Features, Store, read_manifest, store_at

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

    # --- all about it: for a thread ------------------------------------------------------------

    def features(self) -> Features:
        """Opened anew where the manifest is another one."""
        with self._lock:
            trace = self._manifest_trace()
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

    def _manifest_trace(self) -> tuple[int, int] | None:
        if self.folder is None:
            return None
        try:
            status = os.stat(self.folder / NAME)
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size
