"""All sets of features that paths lead to: looked for when somebody wants to know, and known by their ids."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from torcheer.app.features.finding import find_features, is_place_elsewhere
from torcheer.app.features.openset import FeaturePlace, OpenSet
from torcheer.app.runs.places import RunFolders
from torcheer.errors import InputError
from torcheer.run import LinkRule

MAX_SETS: Final = 1000
_SCAN_SECONDS: Final = 1.0  # a search that was made so lately is good enough
_GONE: Final = "this set of features is no longer here. Choose one from the list."


class FeatureShelf:
    """The sets below some folders, and those at some URLs."""

    def __init__(
        self, folders: Sequence[Path], urls: Sequence[str] = (), links: LinkRule | None = None
    ) -> None:
        self._folders = RunFolders(folders, partial(find_features, links=links))
        self._urls = [_place_of(url) for url in dict.fromkeys(urls)]
        self._lock = threading.Lock()
        self._scanned_at = float("-inf")
        self._sets: dict[str, OpenSet] = {}

    def sets(self) -> Mapping[str, OpenSet]:
        """By id. For a thread."""
        with self._lock:
            if time.monotonic() - self._scanned_at >= _SCAN_SECONDS:
                found = {place.id: place for place in (*self._found(), *self._urls)}
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

    def is_empty(self) -> bool:
        return not self.sets()

    def _found(self) -> list[FeaturePlace]:
        runs = list(self._folders.look().runs.values())[:MAX_SETS]
        return [FeaturePlace(id=run.id, name=run.name, place=str(run.path)) for run in runs]


def shelf_of(paths: Sequence[str | Path], links: LinkRule | None = None) -> FeatureShelf | None:
    """None where no path leads to a place that could hold some."""
    urls = [str(path) for path in paths if is_place_elsewhere(str(path))]
    folders = [Path(path) for path in paths if not is_place_elsewhere(str(path)) and Path(path).is_dir()]
    return FeatureShelf(folders, urls, links) if folders or urls else None


def _place_of(url: str) -> FeaturePlace:
    name = url.rstrip("/").rpartition("/")[2] or url
    return FeaturePlace(id=hashlib.blake2s(url.encode(), digest_size=8).hexdigest(), name=name, place=url)
