"""All runs of the folders: found, looked at when somebody wants to know, and known by their ids."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Final

from torcheer.app.runmessages import RunListing
from torcheer.app.runs.arrays import ArrayStore
from torcheer.app.runs.openrun import Opener, OpenRun
from torcheer.app.runs.places import Finder, Places, RunFolders
from torcheer.app.runs.summary import Summary

_MAX_OPEN: Final = 64  # readers: each has a few files open
_SCAN_SECONDS: Final = 0.5  # a search that was made so lately is good enough
_SUMMARY_SECONDS: Final = 1.0  # how often a run is summed up at most
_IDLE_SECONDS: Final = 60.0  # after so long a reader that nobody asked is closed


class RunShelf:
    """The runs of some folders. All methods may take their time: they are called in threads."""

    def __init__(
        self,
        folders: Sequence[Path],
        finder: Finder,
        opener: Opener,
        arrays: ArrayStore | None = None,
    ) -> None:
        self._folders = RunFolders(folders, finder)
        self._opener = opener
        self._arrays = arrays or ArrayStore()
        self._lock = threading.Lock()  # of the tables below
        self._scanning = threading.Lock()
        self._scanned_at = float("-inf")
        self._places = Places(runs={}, note="")
        self._ids: Mapping[str, str] = {}  # by path
        self._runs: dict[str, OpenRun] = {}
        self._summaries: dict[str, Summary] = {}
        self.revision = 0  # rises when runs come or go
        self.followed: Collection[str] = frozenset()  # ids of runs that are not to be closed

    @property
    def shown_folder(self) -> str:
        return self._folders.shown

    @property
    def note(self) -> str:
        return self._places.note

    def scan(self) -> None:
        """Look for runs that are new or gone."""
        with self._scanning:
            if time.monotonic() - self._scanned_at < _SCAN_SECONDS:
                return
            try:
                places = self._folders.look()
            except OSError as error:
                # What was there is likely to be there still.
                places = Places(runs=self._places.runs, note=f"the folder cannot be read: {error}.")
            self._take(places)
            self._scanned_at = time.monotonic()

    def scan_again(self) -> None:
        """The same, however lately it was done: somebody knows that there is something new."""
        with self._scanning:
            self._scanned_at = float("-inf")
        self.scan()

    def _take(self, places: Places) -> None:
        gone = []
        with self._lock:
            if places == self._places:
                return
            for run_id, run in list(self._runs.items()):
                if places.runs.get(run_id) != run.place:
                    gone.append(self._runs.pop(run_id))
                    self._summaries.pop(run_id, None)
            for run_id, place in places.runs.items():
                if run_id not in self._runs:
                    self._runs[run_id] = OpenRun(place, self._opener, self._arrays)
                    self._summaries[run_id] = Summary(self._runs[run_id])
            self._places = places
            self._ids = {str(place.path): run_id for run_id, place in places.runs.items()}
            self.revision += 1
        for run in gone:
            run.close_if_idle()

    def is_empty(self) -> bool:
        self.scan()
        return not self._runs

    def run(self, run_id: str) -> OpenRun | None:
        """The run of that id; looked for anew where it is not known yet."""
        found = self._runs.get(run_id)
        if found is None:
            self.scan()
            found = self._runs.get(run_id)
        return found

    def known(self, run_id: str) -> OpenRun | None:
        """The run of that id as of the last search: this takes no time."""
        return self._runs.get(run_id)

    def id_of(self, path: str) -> str | None:
        """The id of the run in that folder, as of the last search; None where there was none."""
        return self._ids.get(path)

    # --- the list -------------------------------------------------------------------------------

    def due(self) -> Sequence[Summary]:
        """The rows to be made anew, those of the newest runs first."""
        now = time.monotonic()
        due = [one for one in self.summaries() if one.is_due(now, _SUMMARY_SECONDS)]
        return sorted(due, key=lambda one: -one.traces.changed)

    def update(self, summaries: deque[Summary], seconds: float) -> None:
        """Make rows anew for so long, taking them from the queue."""
        end = time.monotonic() + seconds
        while summaries and time.monotonic() < end:
            try:
                summary = summaries.popleft()
            except IndexError:  # another thread took the last one
                break
            if not summary.update():
                summaries.append(summary)  # behind the others
            self._close_some()

    def summaries(self) -> Sequence[Summary]:
        with self._lock:
            return list(self._summaries.values())

    def listings(self) -> Mapping[str, RunListing]:
        """All runs as far as they are known."""
        return {summary.run.place.id: summary.listing for summary in self.summaries()}

    def _close_some(self) -> None:
        """Close the readers that were used longest ago, where there are many, and those that nobody uses."""
        with self._lock:
            is_open = [run for run in self._runs.values() if run.is_open]
        idle_since = time.monotonic() - _IDLE_SECONDS
        is_open.sort(key=lambda run: run.looked_at)
        num_too_many = len(is_open) - _MAX_OPEN
        for run in is_open:
            if run.place.id in self.followed:
                continue
            if num_too_many <= 0 and run.looked_at > idle_since:
                break
            num_too_many -= run.close_if_idle()

    def close(self) -> None:
        """Close all readers, until they are needed again."""
        with self._lock:
            runs = list(self._runs.values())
        for run in runs:
            run.close_if_idle()
