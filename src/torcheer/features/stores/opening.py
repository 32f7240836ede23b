"""Which store a place is: a folder, or Zarr at a URL or in a path that ends in .zarr."""

from __future__ import annotations

import os
from pathlib import Path

from torcheer.errors import InputError
from torcheer.features.stores.folder import FolderStore
from torcheer.features.stores.protocol import Store

_ENDING = ".zarr"


def store_at(place: str | os.PathLike[str]) -> Store:
    """`features/vgg` is a folder; `s3://bucket/vgg`, `memory://vgg` and `features/vgg.zarr` are Zarr."""
    text = os.fspath(place)
    if not isinstance(text, str) or not text.strip():
        raise InputError(
            f"{place!r} is no place for features: give a folder, or a URL such as s3://bucket/vgg."
        )
    if "://" in text or text.rstrip("/").endswith(_ENDING):
        from torcheer.features.stores.zarrstore import ZarrStore

        return ZarrStore(text.rstrip("/"))
    if Path(text).exists() and not Path(text).is_dir():
        raise InputError(f"{text} is a file: features need a folder of their own.")
    return FolderStore(text)
