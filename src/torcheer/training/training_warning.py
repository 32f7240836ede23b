"""`TrainingWarning`, for a training that goes on."""

from __future__ import annotations

from torcheer.run import warn_caller


class TrainingWarning(UserWarning):
    """Something about a training that its owner should know. The training goes on."""


def warn(message: str) -> None:
    warn_caller(message, TrainingWarning)
