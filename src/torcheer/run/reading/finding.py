"""Find the runs in a folder: each folder, at any depth, that holds parts or event files itself."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from torcheer.run.schema import PART_ENDING

_MAX_DEPTH: Final = 8
_MAX_FOLDERS: Final = 10_000
_MAX_ENTRIES: Final = 1_000_000  # files and folders looked at in all


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRun:
    """A folder that is a run."""

    name: str  # its place in the folder that was searched, with /: `sweep/first`; `.` for that folder itself
    path: Path


def is_part(name: str) -> bool:
    """Is this the name of a file that one of our writers makes? `rank-0.sqlite`"""
    return name.startswith("rank-") and name.endswith(PART_ENDING)


def is_event_file(name: str) -> bool:
    """TensorBoard's own rule: `events.out.tfevents.1700000000.host.1.0`"""
    return "tfevents" in name


def find_runs(root: str | os.PathLike[str]) -> list[FoundRun]:
    """All runs in a folder, by name. Hidden folders, and those that may not be read, are left out."""
    found = []
    top = Path(root)
    budget = _MAX_ENTRIES
    waiting = deque([(top, ".", 0)])
    known: set[tuple[int, int]] = set()  # folders, so that links cannot lead round in circles
    while waiting and len(known) < _MAX_FOLDERS and budget > 0:
        path, name, depth = waiting.popleft()
        if not _is_new(path, known):
            continue
        is_run, folders, num_entries = _look_into(path)
        budget -= num_entries
        if is_run:
            found.append(FoundRun(name=name, path=path))
        if depth < _MAX_DEPTH:
            waiting.extend((path / folder, _below(name, folder), depth + 1) for folder in folders)
    return sorted(found, key=lambda run: run.name)


def is_run(path: str | os.PathLike[str]) -> bool:
    return _look_into(Path(path))[0]


def part_files(folder: Path) -> tuple[list[str], bool]:
    """The names of our part files in a folder, and whether there are event files."""
    parts, has_events = [], False
    for entry in _entries(folder):
        if is_part(entry.name) and _is_file(entry):
            parts.append(entry.name)
        elif not has_events and is_event_file(entry.name):
            has_events = _is_file(entry)
    return sorted(parts), has_events


def _look_into(path: Path) -> tuple[bool, list[str], int]:
    """Is it a run; the folders in it; how many entries it has."""
    is_run = False
    folders = []
    num_entries = 0
    for entry in _entries(path):
        num_entries += 1
        name = entry.name
        if (is_part(name) or is_event_file(name)) and _is_file(entry):
            is_run = True
        elif not name.startswith(".") and _is_folder(entry):
            folders.append(name)
    return is_run, sorted(folders), num_entries


def _entries(path: Path) -> Iterator[os.DirEntry[str]]:
    """What is in a folder; nothing where it has gone or may not be read."""
    try:
        with os.scandir(path) as entries:
            for count, entry in enumerate(entries):
                if count >= _MAX_ENTRIES:
                    return
                yield entry
    except OSError:
        return


def _is_new(path: Path, known: set[tuple[int, int]]) -> bool:
    try:
        found = os.stat(path)
    except OSError:
        return False
    key = found.st_dev, found.st_ino
    is_new = key not in known
    known.add(key)
    return is_new


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:
        return False


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _below(name: str, folder: str) -> str:
    return folder if name == "." else f"{name}/{folder}"
