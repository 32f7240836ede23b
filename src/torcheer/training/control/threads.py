"""How many threads torch may use in the process of a training."""

from __future__ import annotations

import os
from typing import Final

import torch

_CHOICES: Final = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")


def leave_a_core_free() -> None:
    """For the page and its server, which torch's threads would fight with. Who chose a number keeps it."""
    if not any(os.environ.get(name) for name in _CHOICES):
        torch.set_num_threads(max(1, min(torch.get_num_threads(), _num_cores() - 1)))


def _num_cores() -> int:
    """That this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
