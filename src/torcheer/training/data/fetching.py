"""Fetch a published file: whole and with the right checksum, or not at all."""

from __future__ import annotations

import hashlib
import os
import urllib.request
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Final

from rich.progress import wrap_file

from torcheer.errors import FileFormatError, InputError

_TIMEOUT_SECONDS: Final = 30
_CHUNK_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A file that never changes."""

    address: str
    sha256: str
    num_bytes: int

    @property
    def name(self) -> str:
        return self.address.rsplit("/", 1)[-1]


def fetch(published: Published, folder: Path) -> Path:
    """Download a file into a folder. It gets its name there once it is known to be the right one."""
    path = folder / published.name
    partial = folder / f"{published.name}.{os.getpid()}.part"
    by_hand = f"get {published.name} by any other way and put it into {folder.resolve()}, as it is."
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if _download(published, partial) != published.sha256:
            raise FileFormatError(
                f"{published.address} gave another file than the published one of {published.num_bytes:,} "
                f"bytes, so it was not kept. Try again, or {by_hand}"
            )
        os.replace(partial, path)
    except (OSError, HTTPException) as error:
        raise InputError(
            f"{published.address} could not be downloaded ({error}). Try again, or {by_hand}"
        ) from error
    finally:
        partial.unlink(missing_ok=True)
    return path


def _download(published: Published, path: Path) -> str:
    """The checksum of what came. Ends where there is more than there should be."""
    checksum, num_bytes = hashlib.sha256(), 0
    with (
        urllib.request.urlopen(published.address, timeout=_TIMEOUT_SECONDS) as answer,
        wrap_file(answer, published.num_bytes, description=published.name, transient=True) as source,
        path.open("wb") as file,
    ):
        while num_bytes <= published.num_bytes and (chunk := source.read(_CHUNK_BYTES)):
            num_bytes += len(chunk)
            checksum.update(chunk)
            file.write(chunk)
    return checksum.hexdigest()
