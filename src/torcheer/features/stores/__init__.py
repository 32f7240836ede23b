"""Where features are kept: a folder of .npy files, or Zarr wherever a URL points to. No torch in here."""

from __future__ import annotations

import os
from pathlib import Path

from torcheer.errors import InputError
from torcheer.features.stores.folder import Array, FolderStore, FolderWriter, raw_bytes
from torcheer.features.stores.zarr_store import ZarrStore, ZarrWriter

__all__ = ["Array", "FolderStore", "Store", "Writer", "ZarrStore", "raw_bytes", "store_at"]

# Everything may be done by several processes at once, which never write other values to the same rows.
Store = FolderStore | ZarrStore
Writer = FolderWriter | ZarrWriter


def store_at(place: str | os.PathLike[str]) -> Store:
    """`features/vgg` is a folder; `s3://bucket/vgg`, `memory://vgg` and `features/vgg.zarr` are Zarr."""
    text = os.fspath(place)
    if not isinstance(text, str) or not text.strip():
        raise InputError(
            f"{place!r} is no place for features: give a folder, or a URL such as s3://bucket/vgg."
        )
    if "://" in text or text.rstrip("/").endswith(".zarr"):
        return ZarrStore(text.rstrip("/"))
    if Path(text).exists() and not Path(text).is_dir():
        raise InputError(f"{text} is a file: features need a folder of their own.")
    return FolderStore(text)
