"""Where the disk has little room left, figures come first: tensors and histograms leave it to them."""

from __future__ import annotations

import shutil
import time
from typing import Final

from torcheer.inspector.child.telling import Voice
from torcheer.run import Run

_LEFT_BYTES: Final = 256 << 20  # which tensors leave to all else
_LEFT_SHARE: Final = 4  # of a small disk: one part in so many
_HEAD_BYTES: Final = 512  # of a record, beside its data
_LOOK_SECONDS: Final = 1.0  # for which it is known how much is free
_MANY_BYTES: Final = 1 << 20  # that were kept since, and it has to be looked again


class Scarcity:
    """Says whether tensors may be kept."""

    def __init__(self, run: Run, voice: Voice) -> None:
        self._run, self._voice = run, voice
        self._looked_at, self._room = float("-inf"), 0

    def has_room_for(self, num_records: int, num_bytes: int) -> bool:
        """False: they are left out, which the user is told once."""
        num_bytes += num_records * _HEAD_BYTES
        now = time.monotonic()
        if now - self._looked_at > _LOOK_SECONDS or num_bytes > _MANY_BYTES or self._room < _MANY_BYTES:
            self._looked_at, self._room = now, self._free_bytes()
        # Each byte stands in the log of the database first, and then in its place.
        self._room -= 2 * num_bytes
        queue = self._run._queue
        if self._room >= 0 and not queue.is_short_of_room and not queue.is_stuck:
            return True
        self._voice.tell(
            f"the disk of the run {self._run.path} is nearly full: tensors and histograms are left out, so "
            "that there is room for the figures of all steps. Make room, and they are kept again.",
            cause="scarcity",
        )
        return False

    def _free_bytes(self) -> int:
        """Beside what is on its way, and what is for others."""
        try:
            total, _, free = shutil.disk_usage(self._run.path)
        except OSError:  # it will be seen when it is written
            return 1 << 62
        return free - min(_LEFT_BYTES, total // _LEFT_SHARE) - 2 * self._run._queue.num_bytes
