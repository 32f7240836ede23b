"""`TrainingWarning`, for a training that goes on."""

from __future__ import annotations

import logging
import sys
import warnings
from pathlib import Path

_LOG = logging.getLogger("torcheer")
_PACKAGE = str(Path(__file__).resolve().parents[1])


class TrainingWarning(UserWarning):
    """Something about a training that its owner should know. The training goes on."""


def warn(message: str) -> None:
    """With the line of whoever called torcheer."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    try:
        warnings.warn(message, TrainingWarning, stacklevel=level + 1)
    except TrainingWarning:  # warnings are errors in this process; this one must not end a training
        _LOG.warning("%s", message)
