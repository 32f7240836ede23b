"""Libraries that only some analyses need: imported on first use, and named where they are missing."""

from __future__ import annotations

import importlib
from typing import Any

from torcheer.errors import InputError


class MissingLibraryError(InputError):
    """An analysis needs a library that is not installed; the message says how to get it."""


def needed(module: str, what: str) -> Any:
    """Import a module of scikit-learn or SciPy, or say how to install it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        library = "SciPy" if module.startswith("scipy") else "scikit-learn"
        raise MissingLibraryError(f"{what} needs {library}: pip install 'torcheer[analysis]'.") from error
