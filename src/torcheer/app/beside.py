"""Pages of folders, served beside the program that runs, until it ends: each folder once."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Final

from torcheer.app.server import Serving, serve_runs_in_background

_servings: Final[dict[Path, Serving]] = {}
_lock: Final = threading.Lock()


def address_of(folder: str | os.PathLike[str], view: str) -> str:
    """Where a view of this folder is served."""
    path = Path(os.path.abspath(folder))
    with _lock:
        if path not in _servings:
            _servings[path] = serve_runs_in_background(path)
        return f"{_servings[path].url}#{view}"
