"""Find sets of features in a folder: each folder, at any depth, whose manifest says so."""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path
from typing import Final

from torcheer.features.manifest import FORMAT, NAME
from torcheer.run.reading.finding import FoundRun

_MAX_DEPTH: Final = 8
_MAX_FOLDERS: Final = 10_000
_HEAD_BYTES: Final = 4096  # the format stands at the beginning
_SIGN: Final = f'"{FORMAT}"'.encode()


def is_feature_folder(path: Path) -> bool:
    try:
        with open(path / NAME, "rb") as file:
            return _SIGN in file.read(_HEAD_BYTES)
    except OSError:
        return False


def is_place_elsewhere(place: str) -> bool:
    """A URL: `s3://bucket/vgg`."""
    return "://" in place


def find_features(root: Path) -> list[FoundRun]:
    """All sets in a folder, by name. Hidden folders are left out, and what is inside a set."""
    found = []
    waiting = deque([(Path(root), ".", 0)])
    known: set[tuple[int, int]] = set()  # folders, so that links cannot lead round in circles
    while waiting and len(known) < _MAX_FOLDERS:
        path, name, depth = waiting.popleft()
        try:
            status = os.stat(path)
            if (status.st_dev, status.st_ino) in known:
                continue
            known.add((status.st_dev, status.st_ino))
            if is_feature_folder(path):
                found.append(FoundRun(name=name, path=path))
            elif depth < _MAX_DEPTH:
                waiting.extend(
                    (path / one, one if name == "." else f"{name}/{one}", depth + 1) for one in _folders(path)
                )
        except OSError:  # it has gone, or may not be read
            continue
    return sorted(found, key=lambda one: one.name)


def _folders(path: Path) -> list[str]:
    with os.scandir(path) as entries:
        return sorted(entry.name for entry in entries if not entry.name.startswith(".") and entry.is_dir())
