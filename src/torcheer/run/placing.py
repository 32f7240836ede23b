"""Which file a writer takes: its rank's own, or the next one that nobody writes and nothing is wrong with."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import NamedTuple

from torcheer.run.faults import Fault, fault_of
from torcheer.run.locking import PartLock, take_lock
from torcheer.run.opening import NotOursError
from torcheer.run.partfile import PartFile, Settings
from torcheer.run.schema import LOCK_ENDING, PART_ENDING

_MOST_PARTS = 10_000  # of one rank


class Taken(NamedTuple):
    """A part, open, with the right to write it."""

    part: PartFile
    lock: PartLock
    passed_over: list[str]  # what was wrong with the files before it


def rank_of_process() -> int:
    """As torchrun and its kin say it."""
    return _whole_number("RANK") or 0


def num_ranks_of_program() -> int:
    """How many processes torchrun and its kin have started together."""
    return max(1, _whole_number("WORLD_SIZE") or 1)


def _whole_number(variable: str) -> int | None:
    text = os.environ.get(variable, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def take_part(folder: Path, rank: int, settings: Settings, damaged: set[str]) -> Taken:
    """Raises OSError or sqlite3.Error where the disk does not allow it. `damaged`: files not to take."""
    passed_over: list[str] = []
    for number in range(_MOST_PARTS):
        stem = f"rank-{rank}.{number}" if number else f"rank-{rank}"
        lock_path, part_path = folder / (stem + LOCK_ENDING), folder / (stem + PART_ENDING)
        if stem in damaged:
            continue
        if not (_may_write(lock_path) and _may_write(part_path)):
            passed_over.append(f"{part_path.name} may not be written to")
            continue
        lock = take_lock(lock_path)
        if lock is None:
            continue
        try:
            part = _open(part_path, settings, "; ".join(passed_over))
        except NotOursError as error:
            passed_over.append(str(error))
            damaged.add(stem)
            lock.release()
        except BaseException:
            lock.release()
            raise
        else:
            return Taken(part, lock, passed_over)
    raise FileExistsError(f"{folder} has {_MOST_PARTS:,} parts of rank {rank} that others write")


def _may_write(path: Path) -> bool:
    """A file of somebody else, in a folder that several share, is not ours to wait for."""
    return not path.exists() or os.access(path, os.R_OK | os.W_OK)


def _open(path: Path, settings: Settings, note: str) -> PartFile:
    if path.is_dir():
        raise NotOursError(f"{path.name} is a folder")
    try:
        return PartFile(path, settings, note)
    except sqlite3.Error as error:
        if fault_of(error) is Fault.PASSING:
            raise
        raise NotOursError(f"{path.name} is damaged, or no database ({error})") from error
