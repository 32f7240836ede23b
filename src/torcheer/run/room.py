"""The last room on a disk is for numbers: records, which are large, leave it to them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from torcheer.run.schema import PAGE_BYTES

_LOG_BYTES = 1000 * PAGE_BYTES  # to which SQLite lets its log grow before it empties it by itself
_KEPT_BYTES = 16 << 20
_KEPT_SHARE = 8  # of a small disk: one part in so many


def is_low(path: Path) -> bool:
    """Whether the log of this file might not find the room to grow as it likes."""
    usage = _usage(path)
    return usage is not None and usage[0] < 2 * _LOG_BYTES + usage[1]


def has_room(path: Path, num_bytes: int, *, log_is_empty: bool) -> bool:
    """Whether records of so many bytes leave enough. Each byte stands in the log first, then in the file."""
    usage = _usage(path)
    if usage is None:
        return True  # it will be seen
    free, kept = usage
    waiting = 0 if log_is_empty else _size(path.with_name(path.name + "-wal"))
    return free >= 2 * num_bytes + waiting + kept


def _usage(path: Path) -> tuple[int, int] | None:
    """Free bytes, and those of them that are kept for numbers."""
    try:
        total, _, free = shutil.disk_usage(path.parent)
    except OSError:
        return None
    return (free, min(_KEPT_BYTES, total // _KEPT_SHARE)) if total else None


def _size(path: Path) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
