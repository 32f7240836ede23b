"""Names of tensors as names of files: safe everywhere, and never one for two."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Final

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]")
_RESERVED: Final = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
_MOST: Final = 120  # characters


def stem_of(name: str) -> str:
    """The name itself where every file system takes it; otherwise its like, with a mark of its own."""
    plain = _UNSAFE.sub("_", name)[:_MOST].strip(".")
    if plain == name and plain and not _RESERVED.fullmatch(plain):
        return plain
    mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{plain}-{mark}" if plain else mark


def claim(folder: Path, stem: str, ending: str, make: Callable[[Path], None]) -> Path:
    """Make a file or folder that was not there: `a.mp4`, or `a-2.mp4` where somebody was first.

    `make` raises FileExistsError where it is there already.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for number in count(1):
        path = folder / (f"{stem}{ending}" if number == 1 else f"{stem}-{number}{ending}")
        try:
            make(path)
        except FileExistsError:
            continue
        return path
    raise AssertionError("unreachable")


def make_file(path: Path) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
