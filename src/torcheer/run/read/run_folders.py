"""Find the runs in a folder: each folder, at any depth, that holds parts or event files itself."""

from __future__ import annotations

import datetime
import errno
import os
import socket
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from torcheer.errors import InputError
from torcheer.run.part_storage import LOCK_ENDING, PART_ENDING
from torcheer.run.read.snapshot import JOURNALS

_MAX_DEPTH: Final = 8
_MAX_FOLDERS: Final = 10_000
_MAX_ENTRIES: Final = 1_000_000  # files and folders looked at in all


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRun:
    """A folder that is a run."""

    name: str  # its place in the folder that was searched, with /: `sweep/first`; `.` for that folder itself
    path: Path


def is_part(name: str) -> bool:
    """True for the name of a file that one of our writers makes: `rank-0.sqlite`."""
    return name.startswith("rank-") and name.endswith(PART_ENDING)


def is_event_file(name: str) -> bool:
    """TensorBoard's own rule: `events.out.tfevents.1700000000.host.1.0`"""
    return "tfevents" in name


class FoundRuns(list[FoundRun]):
    """Runs by name, and how many links were not followed."""

    num_links_out = 0


def find_runs(
    root: str | os.PathLike[str], links: LinkRule | None = None, look: Look | None = None
) -> FoundRuns:
    """All runs in a folder, by name. Hidden folders, and those that may not be read, are left out.

    Links are followed that stay within the folder, or as the rule says. `look` may find other things.
    """
    look = look or look_into
    found = FoundRuns()
    links = links or links_within(root)
    budget = _MAX_ENTRIES
    waiting = deque([(Path(root), ".", 0)])
    known: set[tuple[int, int]] = set()  # folders, so that links cannot lead round in circles
    while waiting and len(known) < _MAX_FOLDERS and budget > 0:
        path, name, depth = waiting.popleft()
        if not _is_new(path, known):
            continue
        seen = look(path, links)
        budget -= seen.num_entries
        found.num_links_out += seen.num_links_out
        if seen.is_run:
            found.append(FoundRun(name=name, path=path))
        if depth < _MAX_DEPTH:
            prefix = "" if name == "." else f"{name}/"
            waiting.extend((path / folder, prefix + folder, depth + 1) for folder in seen.folders)
    found.sort(key=lambda run: run.name)
    return found


def is_run(path: str | os.PathLike[str], links: LinkRule | None = None) -> bool:
    return look_into(Path(path), links or links_within(path)).is_run


class FolderEntries(NamedTuple):
    """What is in a folder."""

    parts: list[str]  # the names of files of ours
    has_events: bool  # are there event files?
    folders: list[str]
    num_entries: int
    num_links_out: int

    @property
    def is_run(self) -> bool:
        return bool(self.parts) or self.has_events


Look = Callable[[Path, "LinkRule"], FolderEntries]


def look_into(folder: Path, links: LinkRule) -> FolderEntries:
    parts, folders, has_events = [], [], False
    num_entries = num_links_out = 0
    for entry in entries_in(folder):
        num_entries += 1
        is_ours, is_event = is_part(entry.name), is_event_file(entry.name)
        if not (_is(entry.is_file) if is_ours or is_event else is_shown_folder(entry)):
            continue
        if not links.allows_entry(entry) or (is_ours and not _has_own_journals(entry, links)):
            num_links_out += 1
        elif is_ours:
            parts.append(entry.name)
        elif is_event:
            has_events = True
        else:
            folders.append(entry.name)
    return FolderEntries(sorted(parts), has_events, sorted(folders), num_entries, num_links_out)


def _has_own_journals(entry: os.DirEntry[str], links: LinkRule) -> bool:
    """The files that stand beside a part are read with it."""
    others = [entry.path + ending for ending in JOURNALS]
    others.append(entry.path.removesuffix(PART_ENDING) + LOCK_ENDING)
    return all(links.allows(other) for other in others if os.path.islink(other))


def is_shown_folder(entry: os.DirEntry[str]) -> bool:
    return not entry.name.startswith(".") and _is(entry.is_dir)


def entries_in(path: Path) -> Iterator[os.DirEntry[str]]:
    """What is in a folder; nothing where it has gone or may not be read.

    Raises OSError where no more files can be opened: that says nothing of the folder.
    """
    try:
        with os.scandir(path) as entries:
            for count, entry in enumerate(entries):
                if count >= _MAX_ENTRIES:
                    return
                yield entry
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE):
            raise


def _is_new(path: Path, known: set[tuple[int, int]]) -> bool:
    try:
        found = os.stat(path)
    except OSError:
        return False
    key = found.st_dev, found.st_ino
    is_new = key not in known
    known.add(key)
    return is_new


def _is(check: Callable[[], bool]) -> bool:
    """What an entry says of itself; False where it cannot be asked."""
    try:
        return check()
    except OSError:
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkRule:
    """Which links are followed: those that stay within some folders, or all."""

    roots: tuple[str, ...]  # without links in them
    follows_all: bool = False

    def allows(self, path: str | os.PathLike[str]) -> bool:
        if self.follows_all:
            return True
        try:
            real = os.path.realpath(path)
        except (OSError, ValueError):  # links in circles, on some systems
            return False
        return any(real == root or real.startswith(os.path.join(root, "")) for root in self.roots)

    def allows_entry(self, entry: os.DirEntry[str]) -> bool:
        return not entry.is_symlink() or self.allows(entry.path)


def links_within(*folders: str | os.PathLike[str], follow_links: bool = False) -> LinkRule:
    """A folder that was named may be a link itself."""
    return LinkRule(roots=tuple(os.path.realpath(folder) for folder in folders), follows_all=follow_links)


def links_note(count: int) -> str:
    """What is said of links that were not followed; nothing where there are none."""
    if not count:
        return ""
    if count == 1:
        return "1 link leads out of the folder, and is not followed"
    return f"{count:,} links lead out of the folder, and are not followed"


def folder_of(path: str | os.PathLike[str] | None) -> Path:
    """Raises InputError for what is no path."""
    if path is None or path == "":
        return _new_folder()
    try:
        # Absolute: the program may change its folder later.
        return Path(os.path.abspath(os.path.expanduser(os.fsdecode(path))))
    except TypeError as error:
        raise InputError(f"the path is a {type(path).__name__}: give the name of a folder.") from error


def _new_folder() -> Path:
    """One that nobody else has; where none can be made, opening it says why."""
    now = datetime.datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
    base = os.path.abspath(os.path.join("runs", f"{now}_{socket.gethostname()}"))
    for number in range(1000):
        folder = f"{base}.{number}" if number else base
        try:
            os.makedirs(folder)
        except FileExistsError:
            continue
        except OSError:
            break
        return Path(folder)
    return Path(base)
