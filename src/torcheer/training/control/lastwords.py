"""What a process printed last, kept for the case that it ends without a word of why."""

from __future__ import annotations

import re
import threading
from typing import Final

_KEPT_BYTES: Final = 1 << 15
_MAX_LINES: Final = 80
# Colours and movements of the cursor, as bars of progress use them.
_ESCAPES: Final = re.compile(
    r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[()#][0-9A-Za-z]|\x1b[=>A-Z]|[\x00-\x08\x0b-\x1f\x7f]"
)


class LastWords:
    """Bytes come in one thread, and are read in another."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept = b""

    def add(self, data: bytes) -> None:
        with self._lock:
            self._kept = (self._kept + data)[-_KEPT_BYTES:]

    def text(self) -> str:
        """The last lines, as a terminal would show them: of what was written over, what was written last."""
        with self._lock:
            text = self._kept.decode("utf-8", "replace")
        lines = [line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n")]
        shown = [_ESCAPES.sub("", line).rstrip() for line in lines]
        return "\n".join(shown[-_MAX_LINES:]).strip("\n")
