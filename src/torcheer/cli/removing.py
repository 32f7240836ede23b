"""Remove a run from the disk: its own files, and the folder where nothing is left in it."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from torcheer.errors import InputError
from torcheer.graph import readable_bytes
from torcheer.run import LOCK_ENDING, PART_ENDING, State, is_event_file, is_part, open_run

_BESIDE: Final = ("-wal", "-shm", "-journal")  # that SQLite puts beside a part
_RECENT_SECONDS: Final = 60  # event files that were written to since may be written to still
_SHOWN: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """What would go, and what else is there."""

    folder: Path
    state: State
    updated: float
    files: tuple[Path, ...]
    others: tuple[str, ...]  # names in the folder that are no files of the run

    @property
    def description(self) -> str:
        num_bytes = 0
        for path in self.files:
            with suppress(OSError):
                num_bytes += path.stat().st_size
        return f"{self.folder}: {self.state}, {len(self.files)} files, {readable_bytes(num_bytes)}"


def plan_removal(folder: Path) -> Removal:
    with open_run(folder) as run:
        status = run.status()
    files, others = [], []
    with os.scandir(folder) as entries:
        for entry in entries:
            if _is_own(entry.name) and (entry.is_symlink() or entry.is_file(follow_symlinks=False)):
                files.append(folder / entry.name)
            else:
                others.append(entry.name)
    return Removal(
        folder=folder,
        state=status.state,
        updated=status.updated,
        files=tuple(sorted(files)),
        others=tuple(sorted(others)),
    )


def check_removal(plan: Removal, *, force: bool, files_only: bool) -> None:
    """InputError where it should not be done; nothing was removed then."""
    is_recent = plan.state == "unknown" and time.time() - plan.updated < _RECENT_SECONDS
    if not force and (plan.state == "running" or is_recent):
        what = "was written to a moment ago" if is_recent else "is being written"
        raise InputError(
            f"{plan.folder} {what}: stop the training first, or say --force. Nothing was removed."
        )
    if plan.others and not files_only:
        shown = ", ".join(map(repr, plan.others[:_SHOWN]))
        more = f" and {len(plan.others) - _SHOWN} more" if len(plan.others) > _SHOWN else ""
        raise InputError(
            f"{plan.folder} holds what is not the run's own: {shown}{more}. Move it away, or say "
            "--files-only to remove the run's own files and leave the rest. Nothing was removed."
        )


def remove_run(plan: Removal) -> str:
    """What was done, in a sentence."""
    for path in plan.files:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise InputError(
                f"{path} cannot be removed ({error.strerror}): see that you may write to its folder."
            ) from error
    try:
        plan.folder.rmdir()
    except OSError:  # there is something else in it, or it is a link
        return f"removed {len(plan.files)} files of {plan.folder}; the folder stays"
    return f"removed {plan.folder}"


def _is_own(name: str) -> bool:
    if is_event_file(name) or is_part(name):
        return True
    if name.startswith("rank-") and name.endswith(LOCK_ENDING):
        return True
    return any(name.endswith(PART_ENDING + ending) and name.startswith("rank-") for ending in _BESIDE)
