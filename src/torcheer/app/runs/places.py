"""Where the runs are: the folders that were named, looked through for runs, each with an id."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from torcheer.run import FoundRun, FoundRuns, links_note

Finder = Callable[[Path], Sequence[FoundRun]]

MAX_RUNS: Final = 10_000
_ROOT: Final = "."  # the name of a folder that is a run itself
_PASSING: Final = ("-shm", ".lock", "-journal")  # files that change when somebody merely reads


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlace:
    """A run that was found. Pages name it by its id, which tells nobody a path."""

    id: str
    name: str  # for people
    path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """What was found, and what people should know of the search."""

    runs: Mapping[str, RunPlace]
    note: str


class RunFolders:
    """The folders with runs in them."""

    def __init__(self, folders: Sequence[Path], finder: Finder) -> None:
        self._folders = list(dict.fromkeys(Path(os.path.abspath(folder)) for folder in folders))
        self._finder = finder

    @property
    def shown(self) -> str:
        """The folders, for people."""
        return ", ".join(map(_with_home, self._folders))

    def look(self) -> Places:
        """All runs that are there now."""
        runs: dict[str, RunPlace] = {}
        notes = []
        for folder, start in zip(self._folders, _starts(self._folders), strict=True):
            if not folder.is_dir():
                notes.append(f"{_with_home(folder)} is not there any more, or is no folder.")
                continue
            all_found = self._finder(folder)
            if isinstance(all_found, FoundRuns) and all_found.num_links_out:
                notes.append(f"{links_note(all_found.num_links_out)}: start with --follow-links to see them.")
            for found in all_found:
                inside = "" if found.name == _ROOT else found.name
                place = "/".join(filter(None, (start, inside))) or _ROOT
                run = RunPlace(
                    id=_id(place), name=(folder.name or "/") if place == _ROOT else place, path=found.path
                )
                runs.setdefault(run.id, run)
        if len(runs) > MAX_RUNS:
            notes.append(f"there are {len(runs):,} runs; {MAX_RUNS:,} of them are shown.")
            runs = dict(list(runs.items())[:MAX_RUNS])
        return Places(runs=runs, note=" ".join(notes))


def _id(place: str) -> str:
    # Of the place in the folder, not of the path: it stays when the folder moves, and for the next server.
    return hashlib.blake2s(place.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _starts(folders: Sequence[Path]) -> Sequence[str]:
    """What the runs' names begin with: nothing for one folder, else where the folders part."""
    if len(folders) == 1:
        return [""]
    try:
        common = os.path.commonpath([folder.parent for folder in folders])
    except ValueError:  # on two drives
        return [folder.as_posix() for folder in folders]
    return [folder.relative_to(common).as_posix() for folder in folders]


def _with_home(folder: Path) -> str:
    try:
        return f"~/{folder.relative_to(Path.home()).as_posix()}"
    except (ValueError, RuntimeError):
        return str(folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class Traces:
    """What can be seen of a run's files without opening them."""

    files: frozenset[tuple[str, int, int]]  # name, bytes, time of change in nanoseconds

    @property
    def changed(self) -> float:
        """The newest change, in seconds since 1970."""
        return max((changed_ns for _, _, changed_ns in self.files), default=0) / 1e9


def traces_of(folder: Path) -> Traces:
    """Cheap: it is asked for every run, every second."""
    files = set()
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if not entry.name.endswith(_PASSING) and entry.is_file():
                    status = entry.stat()
                    files.add((entry.name, status.st_size, status.st_mtime_ns))
    except OSError:
        pass  # it has just gone: the next search says so
    return Traces(files=frozenset(files))
