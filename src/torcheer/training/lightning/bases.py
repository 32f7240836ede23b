"""Lightning's own classes, whichever of its names the program uses: lightning or pytorch_lightning."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import Any

_PACKAGES = ("lightning.pytorch", "pytorch_lightning")


def _packages() -> list[Any]:
    """Those that the program has imported; where it has none yet, the one that is installed.

    Both hold the same code and know nothing of each other, so that where both are in use, both are taken.
    """
    imported = [sys.modules[name] for name in _PACKAGES if name in sys.modules]
    if imported:
        return imported
    for name in _PACKAGES:
        if importlib.util.find_spec(name.partition(".")[0]) is not None:
            return [importlib.import_module(name)]
    raise ImportError(
        "torcheer.training.lightning needs Lightning, which is not installed: pip install lightning"
    )


PACKAGES = _packages()
LOGGERS: tuple[type, ...] = tuple(package.loggers.logger.Logger for package in PACKAGES)
CALLBACKS: tuple[type, ...] = tuple(package.callbacks.Callback for package in PACKAGES)
DummyExperiment: Any = PACKAGES[0].loggers.logger.DummyExperiment
rank_zero_only: Any = PACKAGES[0].utilities.rank_zero.rank_zero_only
