"""A secret of this user's own, kept in a private file, so that open pages outlive the server."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_NUM_BYTES: Final = 32
_NAME: Final = "secret"


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """The secret, and a note where it holds for this process only."""

    value: bytes = field(repr=False)
    note: str = ""


def user_secret(folder: Path | None = None) -> Secret:
    """This user's secret, made on first use. Where it cannot be kept, one for this process and a note."""
    try:
        path = (state_folder() if folder is None else folder) / _NAME
        try:
            return Secret(value=_read(path))
        except FileNotFoundError:
            _create(path)
            return Secret(value=_read(path))
    except (OSError, RuntimeError) as error:  # Path.home() raises a RuntimeError
        note = (
            f"no secret can be kept ({error}): pages that are open now must be opened anew after a restart."
        )
        return Secret(value=secrets.token_bytes(_NUM_BYTES), note=note)


def state_folder(platform: str = sys.platform, environment: Mapping[str, str] = os.environ) -> Path:
    """Where programs keep what should outlive them, by the rules of the system."""
    if platform == "win32":
        local = environment.get("LOCALAPPDATA", "")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "torcheer"
    if platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "torcheer"
    # XDG says that a relative path here is to be ignored.
    given = Path(environment.get("XDG_STATE_HOME", ""))
    return (given if given.is_absolute() else Path.home() / ".local" / "state") / "torcheer"


def _read(path: Path) -> bytes:
    # A symbolic link is not followed, and a pipe is not waited for.
    flags = (
        os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    )
    descriptor = os.open(path, flags)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(f"{path} is no ordinary file: remove it")
        if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o077):
            raise OSError(f"{path} is not private to this user: remove it, and a new one is made")
        value = os.read(descriptor, _NUM_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(value) != _NUM_BYTES:
        raise OSError(f"{path} is damaged: remove it, and a new one is made")
    return value


def _create(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_name(f"{_NAME}.{secrets.token_hex(4)}.partial")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(temporary, flags, 0o600)
    try:
        try:
            os.write(descriptor, secrets.token_bytes(_NUM_BYTES))
        finally:
            os.close(descriptor)
        # A link takes its name at once and only if it is free: of two servers that start together, both go on
        # with the secret of the first, and neither sees it half written.
        with contextlib.suppress(FileExistsError):
            os.link(temporary, path)
    finally:
        os.unlink(temporary)
