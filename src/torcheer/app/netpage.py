"""Show the NetView of a run in a browser, from the program that records it."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

from torcheer.app.server import Serving, serve_runs_in_background
from torcheer.desktop import open_in_browser

_servings: dict[Path, Serving] = {}
_lock = threading.Lock()


def show_net(folder: str | os.PathLike[str]) -> str:
    """Open the page of this run, which goes on as the run does; returns its address."""
    url = net_address(folder)
    sys.stdout.write(f"The NetView is at {url}\n")
    sys.stdout.flush()
    open_in_browser(url)
    return url


def net_address(folder: str | os.PathLike[str]) -> str:
    """Where the NetView of this run is served, beside the program, until that ends."""
    path = Path(os.path.abspath(folder))
    with _lock:
        if path not in _servings:
            _servings[path] = serve_runs_in_background(path)
        return f"{_servings[path].url}#netview"
