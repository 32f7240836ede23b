"""Find sets of features in a folder: each folder, at any depth, whose manifest says so."""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path
from typing import Final

from torcheer.features import FORMAT, NAME
from torcheer.run import FoundRun, FoundRuns, LinkRule, links_within
from torcheer.tensorfile import open_file

_MAX_DEPTH: Final = 8
_MAX_FOLDERS: Final = 10_000
_HEAD_BYTES: Final = 4096  # the format stands at the beginning
_SIGN: Final = f'"{FORMAT}"'.encode()


def is_feature_folder(path: Path) -> bool:
    try:
        with open_file(path / NAME) as file:
            return _SIGN in file.read(_HEAD_BYTES)
    except OSError:
        return False


def is_place_elsewhere(place: str) -> bool:
    """A URL: `s3://bucket/vgg`."""
    return "://" in place


def find_features(root: Path, links: LinkRule | None = None) -> FoundRuns:
    """All sets in a folder, by name. Hidden folders are left out, and what is inside a set.

    Links are followed that stay within the folder, or as the rule says; a set with others in it is left out.
    """
    found = FoundRuns()
    links = links or links_within(root)
    waiting = deque([(Path(root), ".", 0)])
    known: set[tuple[int, int]] = set()  # folders, so that links cannot lead round in circles
    while waiting and len(known) < _MAX_FOLDERS:
        path, name, depth = waiting.popleft()
        try:
            status = os.stat(path)
            if (status.st_dev, status.st_ino) in known:
                continue
            known.add((status.st_dev, status.st_ino))
            is_set = is_feature_folder(path)
            folders, num_links_out = _folders(path, links, counts_files=is_set)
            found.num_links_out += num_links_out
            if is_set and not num_links_out:
                found.append(FoundRun(name=name, path=path))
            elif not is_set and depth < _MAX_DEPTH:
                waiting.extend(
                    (path / one, one if name == "." else f"{name}/{one}", depth + 1) for one in folders
                )
        except OSError:  # it has gone, or may not be read
            continue
    found.sort(key=lambda one: one.name)
    return found


def _folders(path: Path, links: LinkRule, *, counts_files: bool) -> tuple[list[str], int]:
    """The folders in a folder, and how many links lead out."""
    folders, num_links_out = [], 0
    with os.scandir(path) as entries:
        for entry in entries:
            is_folder = not entry.name.startswith(".") and entry.is_dir()
            if not (is_folder or counts_files):
                continue
            if not links.allows_entry(entry):
                num_links_out += 1
            elif is_folder:
                folders.append(entry.name)
    return sorted(folders), num_links_out
