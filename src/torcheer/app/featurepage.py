"""The page of a set of features, opened from the program that made or read them."""

from __future__ import annotations

import sys

from torcheer.app.beside import address_of
from torcheer.app.features.finding import is_place_elsewhere
from torcheer.desktop import open_in_browser
from torcheer.errors import InputError


def show_features(path: str) -> str:
    """Serve the page beside the program, until that ends, and open it. Returns its address."""
    if is_place_elsewhere(path):
        raise InputError(f"features at a URL are shown from the shell: torcheer view {path}")
    url = address_of(path, "features")
    sys.stdout.write(f"The features are at {url}\n")
    sys.stdout.flush()
    open_in_browser(url)
    return url
