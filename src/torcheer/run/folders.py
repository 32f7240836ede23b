"""The folder of a run: the one that is named, or a new one."""

from __future__ import annotations

import datetime
import os
import socket
from pathlib import Path

from torcheer.errors import InputError


def folder_of(path: str | os.PathLike[str] | None) -> Path:
    """Raises InputError for what is no path."""
    if path is None or path == "":
        return _new_folder()
    try:
        # Absolute: the program may change its folder later.
        return Path(os.path.abspath(os.path.expanduser(os.fsdecode(path))))
    except TypeError as error:
        raise InputError(f"the path is a {type(path).__name__}: give the name of a folder.") from error


def _new_folder() -> Path:
    """One that nobody else has; where none can be made, opening it says why."""
    now = datetime.datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
    base = os.path.abspath(os.path.join("runs", f"{now}_{socket.gethostname()}"))
    for number in range(1000):
        folder = f"{base}.{number}" if number else base
        try:
            os.makedirs(folder)
        except FileExistsError:
            continue
        except OSError:
            break
        return Path(folder)
    return Path(base)
