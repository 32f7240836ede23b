"""What reading something takes, against the bytes that it has on the disk.

Memory is the peak of the process, above what it had before. Time is that of its processor, so that other
programs do not count.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

FREE_MEMORY_BYTES = 64 << 20
MEMORY_PER_BYTE = 16
FREE_SECONDS = 1.0
SECONDS_PER_BYTE = 1.0 / (1 << 20)


@dataclass(slots=True)
class Taken:
    """Filled when the block ends."""

    disk_bytes: int
    memory_bytes: int = 0
    seconds: float = 0.0

    @property
    def memory_share(self) -> float:
        """Of what is allowed."""
        return self.memory_bytes / (FREE_MEMORY_BYTES + MEMORY_PER_BYTE * self.disk_bytes)

    @property
    def time_share(self) -> float:
        return self.seconds / (FREE_SECONDS + SECONDS_PER_BYTE * self.disk_bytes)


def disk_bytes(folder: Path) -> int:
    """What the files of a folder take up: holes do not count, and a file has at least its length."""
    found = 0
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            status = path.stat()
            found += min(status.st_size, status.st_blocks * 512)
    return found


@contextmanager
def measured(folder: Path) -> Iterator[Taken]:
    """What the block takes. The folder is that which it reads."""
    taken = Taken(disk_bytes(folder))
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before, began = _memory("VmRSS"), time.process_time()
    try:
        yield taken
    finally:
        taken.seconds = time.process_time() - began
        taken.memory_bytes = max(0, _memory("VmHWM") - before)


def can_measure() -> bool:
    return os.access("/proc/self/clear_refs", os.W_OK)


def _memory(name: str) -> int:
    found = re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) * 1024
