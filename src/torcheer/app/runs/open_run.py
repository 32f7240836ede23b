"""Where runs are, and one run while it is looked at.

Its reader is opened when it is needed and closed when others are.
"""

from __future__ import annotations

import hashlib
import logging
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from torcheer.app.background_threads import Turns
from torcheer.app.cache import Cache
from torcheer.app.runs.scalar_buckets import SeriesArrays
from torcheer.errors import TorcheerError
from torcheer.run import FoundRun, FoundRuns, InterruptedReading, RunReader, interruptible, links_note

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
    runs: Mapping[str, RunPlace]
    note: str


class RunFolders:
    def __init__(self, folders: Sequence[Path], finder: Finder) -> None:
        self._folders = list(dict.fromkeys(Path(os.path.abspath(folder)) for folder in folders))
        self._finder = finder

    @property
    def shown(self) -> str:
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
                # Of the place in the folder, not of the path: it stays when the folder moves, and for the
                # next server.
                digest = hashlib.blake2s(place.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
                name = (folder.name or "/") if place == _ROOT else place
                run = RunPlace(id=digest, name=name, path=found.path)
                runs.setdefault(run.id, run)
        if len(runs) > MAX_RUNS:
            notes.append(f"there are {len(runs):,} runs; {MAX_RUNS:,} of them are shown.")
            runs = dict(list(runs.items())[:MAX_RUNS])
        return Places(runs=runs, note=" ".join(notes))


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


# What can be seen of a run's files without opening them: name, bytes, time of change in nanoseconds.
Traces = frozenset[tuple[str, int, int]]


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
    return frozenset(files)


_LOG: Final = logging.getLogger("torcheer.app")
Result = TypeVar("Result")
Opener = Callable[[Path], RunReader]
ArrayCache = Cache[SeriesArrays]  # by run and name

_FRESH_SECONDS: Final = 0.05  # what was looked at so lately need not be looked at again
SLICE_SECONDS: Final = 0.1  # of a look at a run
_LIVELY_SECONDS: Final = 30.0  # after a change, whatever the run says of itself
_QUICK_SECONDS: Final = 0.02


class OpenRun:
    """A run. Whoever uses its reader holds the lock. Questions take turns first, to hold up no threads."""

    def __init__(self, place: RunPlace, opener: Opener, arrays: ArrayCache) -> None:
        self.place = place
        self.turns = Turns()  # of those who follow it
        self.slow_turns = Turns()  # of questions that may take their time: the news goes on beside them
        self.lock = threading.RLock()
        self.version = 0  # rises whenever there is news
        self.looks_seconds = float("inf")  # of a processor, for the last look
        self.looked_at = float("-inf")  # by time.monotonic()
        self.is_running = True  # until it is known
        self.changed_at = float("-inf")  # by time.monotonic()
        self._opener = opener
        self._arrays = arrays
        self._reader: RunReader | None = None
        self._is_read = False  # once, from beginning to end

    @property
    def is_open(self) -> bool:
        return self._reader is not None

    @property
    def is_quick(self) -> bool:
        """Whether a look takes so little time that many runs can be looked at one after the other."""
        return self.looks_seconds < _QUICK_SECONDS

    def is_lively(self, now: float) -> bool:
        """Whether there may be news at any moment."""
        return self.is_open and (self.is_running or now - self.changed_at < _LIVELY_SECONDS)

    def look(self) -> RunReader:
        """The reader, with what was written by now. The lock is held by whoever asks.

        Where that takes long it is interrupted, so that others have their turn: look again.
        """
        began, began_work = time.monotonic(), time.thread_time()
        if self._reader is not None and self._is_read and began - self.looked_at < _FRESH_SECONDS:
            return self._reader
        try:
            with interruptible(seconds=SLICE_SECONDS):
                return self._look(began)
        except InterruptedReading:
            raise  # the next look goes on with it
        except BaseException:
            self.close()
            raise
        finally:
            self.looked_at = time.monotonic()
            self.looks_seconds = time.thread_time() - began_work

    def _look(self, now: float) -> RunReader:
        is_first = self._reader is None or not self._is_read
        if self._reader is None:
            self._reader = self._opener(self.place.path)
        has_news = self._reader.refresh()
        self._is_read = True
        was_running, self.is_running = self.is_running, self._reader.status().state in ("running", "unknown")
        if has_news or is_first or was_running != self.is_running:
            self.version += 1
        if has_news and not is_first:
            self.changed_at = now
        return self._reader

    def attempt(self, work: Callable[[], Result]) -> Result | None:
        """What the work gives; None where the run cannot be read: the list of runs says why."""
        try:
            return work()
        except (TorcheerError, OSError):
            return None
        except Exception:
            _LOG.exception("the run %r could not be read", self.place.name)
            return None

    def try_look(self, look: Callable[[RunReader], Result]) -> Result | None:
        """What a look at the reader gives; None where the run cannot be read."""
        with self.lock:
            return self.attempt(lambda: look(self.look()))

    def arrays(self, name: str) -> SeriesArrays:
        """The points of a scalar as of the last look. The lock is held by whoever asks."""
        reader = self._reader or self.look()
        arrays = self._arrays.get((self, name)) or SeriesArrays()
        arrays.read_on(reader, name)
        self._arrays.put((self, name), arrays, arrays.num_bytes)
        return arrays

    def has_arrays(self, name: str) -> bool:
        return (self, name) in self._arrays

    def close(self) -> None:
        """Close the reader until it is needed again."""
        with self.lock:
            reader, self._reader = self._reader, None
            self._is_read = False
            self._arrays.drop(self)  # their cursors are those of the reader
            if reader is not None:
                reader.close()

    def close_if_idle(self) -> bool:
        """Close it unless somebody uses it this moment; whether it is closed now."""
        if not self.lock.acquire(blocking=False):
            return False
        try:
            self.close()
        finally:
            self.lock.release()
        return True
