"""Which process of a program this is, and of how many. Without torch there is no process group."""

from __future__ import annotations

import os
import sys
from typing import Any

from torcheer.errors import InputError


def has_process_group() -> bool:
    distributed = sys.modules.get("torch.distributed")
    return distributed is not None and distributed.is_available() and distributed.is_initialized()


def rank_of(rank: Any = None) -> int:
    """The given rank, checked. None: as the process group says it, or torchrun before there is one."""
    if rank is None:
        return sys.modules["torch.distributed"].get_rank() if has_process_group() else rank_of_process()
    if not isinstance(rank, int) or isinstance(rank, bool) or rank < 0:
        raise InputError(f"rank is {rank!r}: give a whole number from 0 on.")
    return rank


def num_ranks() -> int:
    if has_process_group():
        return int(sys.modules["torch.distributed"].get_world_size())
    return max(1, _whole_number("WORLD_SIZE") or 1)  # as torchrun and its kin say it


def rank_of_process() -> int:
    """As torchrun and its kin say it."""
    return _whole_number("RANK") or 0


def _whole_number(variable: str) -> int | None:
    text = os.environ.get(variable, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
