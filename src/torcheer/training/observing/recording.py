"""A run that is written, and what watches for it: they begin and end together."""

from __future__ import annotations

from torcheer.inspector import Watcher
from torcheer.run import Run, ending_of


class Recording:
    """Open until `end`. A run that somebody else opened stays open then (`is_own=False`)."""

    def __init__(self, run: Run, *, is_own: bool = True) -> None:
        self.run = run
        self.watcher: Watcher | None = None
        self.is_over = False
        self._is_own = is_own

    def end(self, error: BaseException | None) -> None:
        """With an error, both say that they died of it."""
        if self.is_over:
            return
        self.is_over = True
        watcher, self.watcher = self.watcher, None
        try:
            if watcher is not None:
                watcher.close_with(ending_of(error).reason)
        finally:
            if self._is_own:
                self.run.__exit__(None if error is None else type(error), error, None)
