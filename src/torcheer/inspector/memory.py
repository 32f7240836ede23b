"""Memory that two processes share and nobody can leak: it has no name, and goes with the last of them."""

from __future__ import annotations

import mmap
import os
import tempfile
from contextlib import suppress


class SharedMemory:
    """Some bytes without a name. Whoever is handed the file descriptor sees the same bytes."""

    __slots__ = ("descriptor", "map")

    def __init__(self, descriptor: int, num_bytes: int) -> None:
        """Takes over the descriptor."""
        self.descriptor = descriptor
        try:
            self.map = mmap.mmap(descriptor, num_bytes)
        except BaseException:
            os.close(descriptor)
            raise

    @classmethod
    def of_size(cls, num_bytes: int) -> SharedMemory:
        descriptor = _nameless_file()
        try:
            os.ftruncate(descriptor, num_bytes)
            if hasattr(os, "posix_fallocate"):
                # Where memory is short this raises now; later, a write into the map would kill the process.
                os.posix_fallocate(descriptor, 0, num_bytes)
        except BaseException:
            os.close(descriptor)
            raise
        return cls(descriptor, num_bytes)

    def close(self) -> None:
        """Let go of it as far as nobody here looks into it; the rest goes with the last view of it."""
        if self.descriptor < 0:
            return
        os.close(self.descriptor)
        self.descriptor = -1
        with suppress(BufferError):  # a tensor or an array looks at it, and lets go when it is collected
            self.map.close()
        del self.map


def _nameless_file() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("torcheer", os.MFD_CLOEXEC)
    descriptor, path = tempfile.mkstemp(prefix="torcheer-")
    os.unlink(path)
    return descriptor
